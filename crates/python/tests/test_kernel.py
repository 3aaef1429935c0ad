"""`prlx.Kernel`: kernels of PTX and of CUDA source on the CPU device."""

import io
import os
import pickle

import numpy as np
import prlx
import pytest

SAXPY = """
extern "C" __global__ void saxpy(float *y, const float *x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
template <int N> __global__ void fill(int *out) { out[threadIdx.x] = N; }
template __global__ void fill<7>(int *);
"""

SHOUT = """
extern "C" __global__ void shout(int *x) {
    printf("thread %d\\n", threadIdx.x);
    x[threadIdx.x] = 1;
}
"""


def test_cuda_source(rng):
    x, y = rng.standard_normal((2, 300)).astype(np.float32)
    want = y + np.float32(2) * x
    saxpy = prlx.Kernel(SAXPY, "saxpy")
    with prlx.cpu(check="all") as device:
        saxpy[3, 128](y, x, 2.0, 300)
    np.testing.assert_allclose(y, want, rtol=1e-6)
    assert device.findings == []


def test_a_mangled_name_is_found_by_its_source_name():
    out = np.zeros(4, np.int32)
    prlx.Kernel(SAXPY, "fill")[1, 4](out)
    assert out.tolist() == [7] * 4


def test_errors_of_the_compiler_are_shown():
    with pytest.raises(prlx.ModuleError, match="identifier .* is undefined"):
        prlx.Kernel('extern "C" __global__ void k() { nothing(); }')


def test_printed_text():
    out = io.StringIO()
    with prlx.cpu(stdout=out):
        prlx.Kernel(SHOUT)[1, 2](np.zeros(2, np.int32))
    assert out.getvalue() == "thread 0\nthread 1\n"


def test_a_wrong_launch_says_what_is_wrong():
    saxpy = prlx.Kernel(SAXPY, "saxpy")
    y = np.zeros(4, np.float32)
    with pytest.raises(prlx.LaunchError, match="has 4 parameters .*was given 2"):
        saxpy[1, 4](y, y)
    with pytest.raises(prlx.LaunchError, match="too large"):
        saxpy[1, 2048](y, y, 1.0, 4)
    with pytest.raises(prlx.ModuleError, match="there is no kernel `nope`"):
        prlx.Kernel(SAXPY, "nope")


def test_a_fault_without_checks_names_the_array():
    saxpy = prlx.Kernel(SAXPY, "saxpy")
    y = np.zeros(4, np.float32)
    with pytest.raises(prlx.KernelFault, match="`x`|`y`"):
        saxpy[1, 64](y, y.copy(), 1.0, 64)


def here(function):
    """The place of the line after the first one of a function."""
    return f"{os.path.relpath(__file__)}:{function.__code__.co_firstlineno + 1}"


def test_errors_and_findings_have_the_place_of_the_launch():
    saxpy = prlx.Kernel(SAXPY, "saxpy")
    y, x = np.zeros((2, 4), np.float32)

    def launch():
        saxpy[1, 64](y, x, 1.0, 64)

    with pytest.raises(prlx.KernelFault) as fault, prlx.cpu():
        launch()
    assert fault.value.__notes__ == [f"launched at {here(launch)}"]
    with pytest.raises(prlx.CheckError, match=f"^saxpy, launched at {here(launch)}\n") as error:
        with prlx.cpu(check="bounds"):
            launch()
    assert not hasattr(error.value, "__notes__"), "the text has the place once"
    findings = prlx.check(lambda: [launch() for _ in range(3)])
    assert str(findings).count(f"saxpy, launched at {here(launch)}") == 1
    assert [str(f.launched) for f in findings.errors] == [here(launch)] * len(findings.errors)
    assert pickle.loads(pickle.dumps(findings)).errors[0].launched == findings.errors[0].launched


def test_schedules_that_differ_have_the_place_of_the_launch():
    last = prlx.Kernel('extern "C" __global__ void last(float *x) { x[0] = blockIdx.x; }', "last")
    x = np.zeros(1, np.float32)

    def launch():
        last[64, 1](x)

    with pytest.raises(prlx.ScheduleError) as error:
        prlx.repeat(launch, 10)
    assert error.value.__notes__ == [f"launched at {here(launch)}"]
    found = prlx.check(launch, seeds=range(10)).errors
    assert [str(f.launched) for f in found if f.kind == "schedule"] == [here(launch)]


def test_a_deadlock_is_raised():
    ptx = """
.version 7.0
.target sm_70
.address_size 64
.visible .entry wait(.param .u64 flag)
{
    .reg .b32 %r<2>; .reg .b64 %rd<2>; .reg .pred %p;
    ld.param.u64 %rd1, [flag];
AGAIN:
    ld.acquire.gpu.global.u32 %r1, [%rd1];
    setp.eq.u32 %p, %r1, 0;
    @%p bra AGAIN;
    ret;
}"""
    with pytest.raises(prlx.KernelStuck):
        prlx.Kernel(ptx)[1, 32](np.zeros(1, np.uint32))


def test_headers_of_cuda_are_found():
    out = np.zeros(1, np.float16)
    source = '#include <cuda_fp16.h>\nextern "C" __global__ void k(__half *o) { o[0] = __float2half(2.f); }'
    prlx.Kernel(source, "k")[1, 1](out)
    assert out[0] == 2


def test_newer_compilers_are_preferred(tmp_path, monkeypatch):
    from prlx import _nvrtc

    for name in ("cu13/lib/libnvrtc.so.13", "cu9/lib/libnvrtc.so.9", "cuda_nvrtc/lib/libnvrtc.so.12"):
        path = tmp_path / "nvidia" / name
        path.parent.mkdir(parents=True)
        path.touch()
    monkeypatch.setattr(_nvrtc.site, "getsitepackages", lambda: [str(tmp_path)])
    found = [p.rpartition(".")[2] for p in _nvrtc._candidates() if p.startswith(str(tmp_path))]
    assert found[:3] == ["13", "9", "12"]


def test_kernels_have_the_names_of_the_source():
    source = """
namespace ns {
template <typename T> __global__ void add(T *x, T by) { x[threadIdx.x] += by; }
template __global__ void add<float>(float *, float);
template __global__ void add<int>(int *, int);
}
__global__ void once(int *x) { x[threadIdx.x] = 7; }
"""
    x = np.zeros(4, np.int32)
    prlx.Kernel(source, "ns::add<int>")[1, 4](x, 3)
    prlx.Kernel(source, "once")[1, 2](x)
    assert x.tolist() == [7, 7, 3, 3]
    with pytest.raises(prlx.ModuleError, match=r"several kernels are called `ns::add`: it has .*ns::add<float>"):
        prlx.Kernel(source, "ns::add")
    assert prlx.compare(lambda: prlx.Kernel(source, "once")[1, 4](x), lambda: OTHER_ONCE[1, 4](x)).same


TEMPLATES = """
namespace ns {
template <typename T, int N = 2>
__global__ void __launch_bounds__(128) scale(T *x, T by) { x[threadIdx.x] *= by * N; }
}
template <bool UP> __global__ void step(int *x) { x[threadIdx.x] += UP ? 1 : -1; }
"""


def test_templates_are_instantiated_by_name():
    x, n = np.ones(4, np.float32), np.zeros(4, np.int32)
    prlx.Kernel(TEMPLATES, "ns::scale<float>")[1, 4](x, 3.0)
    prlx.Kernel(TEMPLATES, "ns::scale<float, 5>")[1, 4](x, 1.0)
    prlx.Kernel(TEMPLATES, "step< (1 < 2) >")[1, 2](n)
    assert x.tolist() == [30.0] * 4 and n.tolist() == [1, 1, 0, 0]
    with pytest.raises(prlx.LaunchError, match="argument `x` is 3"):
        prlx.Kernel(TEMPLATES, "ns::scale<float>")[1, 4](3, 3.0)


def test_a_template_without_arguments_says_what_to_do():
    with pytest.raises(prlx.ModuleError, match=r'help: `scale` is a template: .*"ns::scale<float>"'):
        prlx.Kernel(TEMPLATES, "ns::scale")
    with pytest.raises(prlx.ModuleError, match=r'has no kernel.*\nhelp: .*"scale<float>"'):
        prlx.Kernel(TEMPLATES)
    with pytest.raises(prlx.ModuleError, match=r"(?s)`scal<float>`: identifier \"scal\".*: `scale`, `step`"):
        prlx.Kernel(TEMPLATES, "scal<float>")
    with_kernel = TEMPLATES + "__global__ void plain(int *x) {}"
    with pytest.raises(prlx.ModuleError, match=r'there is no kernel `step`.*\nhelp: .*"step<float>"'):
        prlx.Kernel(with_kernel, "step")


def test_shared_memory_of_a_launch():
    source = """extern "C" __global__ void turn(int *x) {
    extern __shared__ int part[];
    part[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = part[blockDim.x - 1 - threadIdx.x];
}"""
    turn, x = prlx.Kernel(source), np.arange(4, dtype=np.int32)
    turn[1, 4, 16](x)
    assert x.tolist() == [3, 2, 1, 0]
    with pytest.raises(prlx.KernelFault, match=r"of shared memory .*\nhelp: launch it as turn\[grid, block, shared_bytes\]"):
        turn[1, 4](x)


def test_without_nvrtc_a_template_needs_an_instance():
    from prlx import _kernel

    # As after a compilation by nvcc, which has no names to instantiate.
    module = prlx.Kernel("__global__ void plain(int *x) {}")._module
    with pytest.raises(prlx.ModuleError, match="does not instantiate the template `step`: install NVRTC"):
        _kernel._find(module, "step<true>", TEMPLATES)


OTHER_ONCE = prlx.Kernel('extern "C" __global__ void other(int *x) { x[threadIdx.x] = 3 + 4; }')
