"""Launches of Triton kernels on the CPU device: results, checks, and the parts of Triton that a launch uses."""

import io

import kernels_triton as kernels
import numpy as np
import prlx
import pytest
import triton


def test_add_is_clean_and_right(rng):
    x, y = rng.standard_normal((2, 1000)).astype(np.float32)
    out = np.zeros_like(x)
    with prlx.cpu(check="all") as device:
        kernels.add[(4,)](x, y, out, 1000, BLOCK=256)
    np.testing.assert_array_equal(out, x + y)
    assert device.findings == [] and device.launches == 1 and device.warp_instructions > 0


def test_softmax(rng):
    x = rng.standard_normal((16, 100)).astype(np.float32)
    out = np.zeros_like(x)
    with prlx.cpu(check="all"):
        kernels.softmax[(16,)](out, x, 100, BLOCK=128)
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(1, keepdims=True), rtol=1e-5)


def test_matmul_with_ragged_edges(rng):
    a = rng.standard_normal((70, 50)).astype(np.float16)
    b = rng.standard_normal((50, 90)).astype(np.float16)
    c = np.zeros((70, 90), np.float16)
    with prlx.cpu(check="all"):
        kernels.matmul[(2, 2)](a, b, c, 70, 90, 50, BM=64, BN=64, BK=32)
    want = a.astype(np.float32) @ b.astype(np.float32)
    np.testing.assert_allclose(c.astype(np.float32), want, rtol=1e-2, atol=1e-2)


def test_autotuned_matmul_takes_a_grid_function(rng):
    a, b = rng.standard_normal((2, 64, 64)).astype(np.float16)
    c = np.zeros((64, 64), np.float16)
    with prlx.cpu() as device:
        grid = lambda meta: (triton.cdiv(64, meta["BM"]), triton.cdiv(64, meta["BN"]))
        kernels.tuned_matmul[grid](a, b, c, 64, 64, 64)
    want = a.astype(np.float32) @ b.astype(np.float32)
    np.testing.assert_allclose(c.astype(np.float32), want, rtol=1e-2, atol=1e-2)
    assert device.launches > 2, "every configuration runs, then the best one"
    assert kernels.tuned_matmul.best_config in kernels.tuned_matmul.configs


def test_heuristics(rng):
    x = rng.standard_normal((8, 77)).astype(np.float32)
    out = np.zeros(8, np.float32)
    with prlx.cpu(check="all"):
        kernels.row_sums[(8,)](out, x, 77)
    np.testing.assert_allclose(out, x.sum(1), rtol=1e-4, atol=1e-5)


def test_dropout_keeps_about_half(rng):
    x = np.ones(4096, np.float32)
    out = np.zeros_like(x)
    with prlx.cpu(check="all"):
        kernels.dropout[(16,)](x, out, 4096, 0.5, 123, BLOCK=256)
    assert set(np.unique(out)) == {0.0, 2.0}
    assert 0.45 < (out > 0).mean() < 0.55


def test_layer_norm(rng):
    x = rng.standard_normal((5, 200)).astype(np.float32)
    w, b = rng.standard_normal((2, 200)).astype(np.float32)
    out = np.zeros_like(x)
    with prlx.cpu(check="all"):
        kernels.layer_norm[(5,)](x, out, w, b, 200, 1e-5, BLOCK=256)
    want = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * w + b
    np.testing.assert_allclose(out, want, rtol=1e-4, atol=1e-4)


def test_causal_attention(rng):
    heads, length, d = 2, 64, 32
    q, k, v = rng.standard_normal((3, heads, length, d)).astype(np.float16)
    out = np.zeros_like(q)
    with prlx.cpu(check="all"):
        kernels.attention[(2, heads)](q, k, v, out, d**-0.5, LENGTH=length, D=d, BM=32, BN=32)
    score = np.einsum("hqd,hkd->hqk", q.astype(np.float32), k.astype(np.float32)) * d**-0.5
    score = np.where(np.tril(np.ones((length, length), bool)), score, -np.inf)
    p = np.exp(score - score.max(-1, keepdims=True))
    want = (p / p.sum(-1, keepdims=True)) @ v.astype(np.float32)
    np.testing.assert_allclose(out.astype(np.float32), want, rtol=2e-2, atol=2e-2)


def test_device_print_goes_to_stdout(rng):
    out = io.StringIO()
    with prlx.cpu(stdout=out):
        kernels.talk[(1,)](np.array([42], np.int32), num_warps=1)
    assert "42" in out.getvalue() and "value" in out.getvalue()


def test_atomics(rng):
    x = rng.integers(0, 16, 1000).astype(np.int32)
    counts = np.zeros(16, np.int32)
    with prlx.cpu(check="all"):
        kernels.histogram[(4,)](x, counts, 1000, BLOCK=256)
    np.testing.assert_array_equal(counts, np.bincount(x, minlength=16))


def test_tensor_descriptors_of_the_host(rng):
    tools = pytest.importorskip("triton.tools.tensor_descriptor")
    a = rng.standard_normal((64, 64)).astype(np.float16)
    b = np.zeros_like(a)
    with prlx.cpu("sm_90", check="all"):
        source, target = (_descriptor(tools, array, [32, 32]) for array in (a, b))
        kernels.copy_tiles[(2, 2)](source, target, BM=32, BN=32)
    np.testing.assert_array_equal(a, b)


def _descriptor(tools, array, block):
    from prlx._triton import Tensor

    return tools.TensorDescriptor.from_tensor(Tensor(array), block)


def test_tensor_descriptors_of_the_device(rng):
    a = rng.standard_normal((64, 64)).astype(np.float16)
    b = np.zeros_like(a)
    with prlx.cpu("sm_90", check="all"):
        kernels.copy_tiles_device[(2, 2)](a, b, 64, 64, BM=32, BN=32)
    np.testing.assert_array_equal(b, a * 2)


def test_a_read_past_the_end_is_raised_with_its_line(rng):
    x = np.zeros(250, np.float32)
    out = np.zeros(256, np.float32)
    with pytest.raises(prlx.CheckError) as caught, prlx.cpu(check="bounds"):
        kernels.softmax[(2,)](out, x, 128, BLOCK=128)
    finding = caught.value.findings.errors[0]
    assert finding.kind == "out-of-bounds" and "`x`" in finding.message
    source = open(kernels.__file__).read().splitlines()
    assert "tl.load(x" in source[finding.line - 1]
    assert finding.launched.file == __file__
    assert "kernels.softmax[(2,)]" in open(__file__).read().splitlines()[finding.launched.line - 1]


def test_views_share_the_allocation_of_their_owner(rng):
    base = np.zeros(512, np.float32)
    x = np.arange(256, dtype=np.float32)
    with prlx.cpu(check="all"):
        kernels.add[(1,)](x, base[256:], base[:256], 256, BLOCK=256)
    np.testing.assert_array_equal(base[:256], x)


def test_memory_at_odd_addresses(rng):
    raw = np.zeros(1028, np.uint8)
    out = np.frombuffer(memoryview(raw)[4:], np.float32)
    x = np.arange(256, dtype=np.float32)
    with prlx.cpu(check="all"):
        kernels.add[(1,)](x, x, out, 256, BLOCK=256)
    np.testing.assert_array_equal(out, 2 * x)


def test_the_driver_of_triton_comes_back():
    before = dict(vars(triton.runtime.driver.driver)) if hasattr(triton.runtime.driver, "driver") else {}
    run = triton.runtime.jit.JITFunction.run
    with prlx.cpu():
        assert triton.runtime.jit.JITFunction.run is not run
    assert triton.runtime.jit.JITFunction.run is run
    if before:
        assert dict(vars(triton.runtime.driver.driver)) == before


def test_seeds_find_a_result_that_depends_on_the_schedule():
    from prlx._device import ScheduleError

    out = np.zeros(1, np.float32)
    with pytest.raises(ScheduleError, match="seed"), prlx.cpu(seeds=range(8)):
        kernels.last_one[(64,)](out)


@pytest.mark.parametrize("fusion", [True, False])
def test_products_and_sums_are_fused_as_triton_asks(fusion, rng):
    x, y, z = rng.standard_normal((3, 128)).astype(np.float32)
    out = np.zeros_like(x)
    with prlx.cpu():
        kernels.multiply_add[(1,)](x, y, z, out, BLOCK=128, enable_fp_fusion=fusion)
    exact = x.astype(np.float64) * y + z
    np.testing.assert_array_equal(out, exact.astype(np.float32) if fusion else x * y + z)


def test_numpy_scalars_are_numbers():
    x, out = np.ones(64, np.float32), np.zeros(64, np.float32)
    for factor, n in ((np.float64(0.5), 64), (np.float32(0.5), np.int64(64)), (0.5, np.uint8(64))):
        out[:] = 0
        with prlx.cpu(check="all"):
            kernels.scale[(1,)](x, out, factor, n, BLOCK=np.int64(64))
        assert (out == 0.5).all()


def test_plain_arrays_in_descriptors_tuples_and_reinterpret(rng):
    tools = pytest.importorskip("triton.tools.tensor_descriptor")
    import triton.language as tl

    a = rng.standard_normal((64, 64)).astype(np.float16)
    for make in (
        lambda x: tools.TensorDescriptor.from_tensor(x, [32, 32]),
        lambda x: tools.TensorDescriptor(x, [64, 64], [64, 1], [32, 32]),
    ):
        b = np.zeros_like(a)
        with prlx.cpu("sm_90", check="all"):
            kernels.copy_tiles[(2, 2)](make(a), make(b), BM=32, BN=32)
        np.testing.assert_array_equal(a, b)
    x, out = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    with prlx.cpu(check="all"):
        kernels.copy_pair[(1,)]((x, out), BLOCK=32)
    np.testing.assert_array_equal(out, x)
    out[:] = 0
    with prlx.cpu(check="all"):
        pair = triton.reinterpret(x, tl.float32), triton.reinterpret(out, tl.float32)
        kernels.copy_pair[(1,)](pair, BLOCK=32)
    np.testing.assert_array_equal(out, x)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_tensor_descriptors_of_the_host_with_and_without_tma(arch, rng):
    tools = pytest.importorskip("triton.tools.tensor_descriptor")
    a = rng.standard_normal((64, 64)).astype(np.float32)
    b = np.zeros_like(a)
    with prlx.cpu(arch, check="all"):
        source, target = (tools.TensorDescriptor.from_tensor(array, [32, 32]) for array in (a, b))
        kernels.copy_tiles[(2, 2)](source, target, BM=32, BN=32)
    np.testing.assert_array_equal(a, b)


def test_benchmarks_count_instructions():
    x, out = np.ones(64, np.float32), np.zeros(64, np.float32)
    with prlx.cpu() as device:
        cost = triton.testing.do_bench(lambda: kernels.scale[(1,)](x, out, 2.0, 64, BLOCK=64))
        assert cost == device.warp_instructions / 1e6 > 0
        run = lambda: kernels.scale[(1,)](x, out, 2.0, 64, BLOCK=64)
        two = triton.testing.do_bench(run, quantiles=[0.2, 0.5])
    assert two == [cost, cost]


def test_equal_kernels_of_two_files_have_their_own_places(tmp_path):
    import importlib.util

    text = "\n".join(
        [
            "import triton",
            "import triton.language as tl",
            "",
            "@triton.jit",
            "def store(x, BLOCK: tl.constexpr):",
            "    tl.store(x + tl.arange(0, BLOCK), 1.0)",
        ]
    )
    for name in ("first", "second"):
        (tmp_path / f"{name}.py").write_text(text)
        spec = importlib.util.spec_from_file_location(name, tmp_path / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        findings = prlx.check(lambda: module.store[(1,)](np.zeros(60, np.float32), BLOCK=64), check="bounds")
        assert (findings.errors[0].file, findings.errors[0].line) == (str(tmp_path / f"{name}.py"), 6)
