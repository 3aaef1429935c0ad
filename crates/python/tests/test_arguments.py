"""Arguments of launches: what is taken with its value, and what is refused by name."""

import array
import pathlib
import subprocess
import sys

import kernels_triton as kernels
import numpy as np
import prlx
import pytest
from prlx._declarations import declared

TYPES = """
extern "C" __global__ void k(int *o, int n, long long m, double d) {
    o[0] = n; o[1] = (int)m; o[2] = (int)d;
}
"""


@pytest.fixture(scope="module")
def kernel():
    return prlx.Kernel(TYPES, "k")


@pytest.mark.parametrize(
    "arguments, want",
    [
        ((7, 8, 3), [7, 8, 3]),
        ((np.int64(7), np.int8(8), np.int64(3)), [7, 8, 3]),
        ((np.uint8(7), True, np.float32(3)), [7, 1, 3]),
        ((-1, -2, -3.0), [-1, -2, -3]),
        ((2**32 - 1, 2**64 - 2, np.float16(3)), [-1, -2, 3]),
    ],
)
def test_numbers_are_converted_by_value(kernel, arguments, want):
    out = np.zeros(3, np.int32)
    kernel[1, 1](out, *arguments)
    assert out.tolist() == want


@pytest.mark.parametrize(
    "arguments, what",
    [
        ((10.0, 0, 0.0), "argument `n` is 10.0 .float., and its parameter an integer"),
        ((np.float32(10), 0, 0.0), "argument `n` is 10.0"),
        ((1, 10.0, 0.0), "argument `m` is 10.0"),
        ((2**32, 0, 0.0), "argument `n`: 4294967296 does not fit into 4 bytes"),
        ((np.int64(-(2**31) - 1), 0, 0.0), "argument `n`: -2147483649 does not fit"),
        ((1, 1, np.zeros(4)), "argument `d` is an array, and its parameter a number"),
        ((1, 1, "x"), "argument `d`: 'x' is no number"),
        ((None, 1, 1.0), "argument `n` is None"),
    ],
)
def test_wrong_numbers_are_refused(kernel, arguments, what):
    with pytest.raises(prlx.LaunchError, match=what):
        kernel[1, 1](np.zeros(3, np.int32), *arguments)


@pytest.mark.parametrize(
    "arguments, what",
    [
        ((1, np.zeros(4), 1.0), r"argument `m` is an array, and its parameter a number \(long long\)"),
        ((1, array.array("q", [1]), 1.0), "argument `m` is an array, and its parameter a number"),
    ],
)
def test_an_array_for_an_integer_of_8_bytes_is_refused(kernel, arguments, what):
    """PTX declares `long long` and pointers alike; the source does not."""
    with pytest.raises(prlx.LaunchError, match=what):
        kernel[1, 1](np.zeros(3, np.int32), *arguments)


# What a compiler makes of `long long`: one that bounds a loop, one that is a stride, one that becomes a float.
NUMBERS = """
.version 8.0
.target sm_70
.address_size 64
.visible .entry k(.param .u64 k_0, .param .u64 k_1, .param .u64 k_2, .param .u64 k_3)
{
    .reg .pred %p<3>; .reg .b32 %r<4>; .reg .f64 %d<2>; .reg .b64 %x<12>;
    ld.param.u64 %x1, [k_0]; ld.param.u64 %x2, [k_1]; ld.param.u64 %x3, [k_2]; ld.param.u64 %x4, [k_3];
    cvta.to.global.u64 %x5, %x1;
    mov.u32 %r1, %tid.x; cvt.u64.u32 %x6, %r1;
    setp.ge.s64 %p1, %x6, %x2;
    @%p1 ret;
    mul.lo.s64 %x7, %x6, %x3; shl.b64 %x8, %x7, 3; add.s64 %x9, %x5, %x8;
    cvt.rn.f64.s64 %d1, %x4;
    st.global.f64 [%x9], %d1;
    ret;
}
"""


def test_an_array_for_an_integer_of_8_bytes_of_ptx_is_refused():
    kernel, out = prlx.Kernel(NUMBERS), np.zeros(6)
    kernel[1, 4](out, 3, 2, 5)
    assert out.tolist() == [5, 0, 5, 0, 5, 0]
    for wrong in (1, 2, 3):
        arguments = [out, 3, 2, 5]
        arguments[wrong] = np.zeros(4)
        what = f"argument `{wrong}` is an array, and the kernel uses its parameter as a number"
        with pytest.raises(prlx.LaunchError, match=what):
            kernel[1, 4](*arguments)


# Pointers that are only compared or measured, and parameters that are not used, may be arrays.
POINTERS = """
.version 8.0
.target sm_70
.address_size 64
.visible .entry k(.param .u64 k_0, .param .u64 k_1, .param .u64 k_2, .param .u64 k_3, .param .u64 k_4)
{
    .reg .pred %p<4>; .reg .b32 %r<4>; .reg .b64 %x<12>;
    ld.param.u64 %x1, [k_0]; ld.param.u64 %x2, [k_1]; ld.param.u64 %x3, [k_2]; ld.param.u64 %x4, [k_3];
    setp.eq.s64 %p1, %x3, 0;
    setp.ge.u64 %p2, %x1, %x2;
    @%p2 ret;
    sub.s64 %x5, %x2, %x1; shr.s64 %x6, %x5, 2; mul.lo.s64 %x7, %x6, 3;
    and.b64 %x8, %x4, 15; setp.ne.s64 %p3, %x8, 0;
    cvta.to.global.u64 %x9, %x1;
    st.global.u64 [%x9], %x7;
    ret;
}
"""


def test_arrays_for_pointers_of_ptx_are_not_refused():
    kernel, x = prlx.Kernel(POINTERS), np.zeros(8, np.float32)
    kernel[1, 1](x, x[6:], x, x, x)
    assert x[:2].view(np.int64)[0] == 18


def test_no_buffer_of_the_corpus_is_taken_for_a_number():
    tomllib = pytest.importorskip("tomllib")
    root, kernels = pathlib.Path(__file__).parents[3], 0
    for file in [*root.glob("tests/kernels/**/*.toml"), *root.glob("examples/**/*.toml")]:
        launch = tomllib.loads(file.read_text())
        code = file.parent / launch.get("module", "")
        if code.suffix != ".ptx" or not code.exists():
            continue
        module = prlx._native.Module(code.read_bytes(), code.name)
        name = next((k for k in module.kernels() if launch.get("kernel", k) in k), None)
        if name is None:
            continue
        kernels += 1
        buffers = ["len" in arg or "npy" in arg for arg in launch.get("arg", [])]
        wrong = [i for i, (b, n) in enumerate(zip(buffers, module.numbers(name))) if b and n]
        assert not wrong, (file, wrong)
    assert kernels > 100


def test_a_number_for_a_pointer_is_refused(kernel):
    with pytest.raises(prlx.LaunchError, match=r"argument `o` is 5, and its parameter a pointer \(int \*\)"):
        kernel[1, 1](5, 1, 1, 1.0)


def test_kinds_of_parameters_without_a_name_or_from_a_file(tmp_path):
    source = tmp_path / "k.cu"
    source.write_text(TYPES + "__global__ void other(long long m /* , int *x */, int *y) { y[0] = (int)m; }")
    for code, name in ((source, "k"), (TYPES, None), (source, "other")):
        kernel = prlx.Kernel(code, name)
        out, wrong = np.zeros(3, np.int32), np.zeros(1)
        with pytest.raises(prlx.LaunchError, match="argument `m` is an array"):
            kernel[1, 1](*((wrong, out) if name == "other" else (out, 1, wrong, 1.0)))


@pytest.mark.parametrize(
    "parameters, kinds",
    [
        ("const float *__restrict__ x, T* const y, int z[4]", "ppp"),
        ("unsigned long long n /* count, of x */, std::size_t m, const uint64_t k = 3", "iii"),
        ("thrust::tuple<int, int> t, CUdeviceptr p, double d", "???"),
        ("void", ""),
    ],
)
def test_declarations(parameters, kinds):
    source = f"template <class T> __global__ __launch_bounds__(128, 2) void f({parameters}) {{}}"
    for name in ("f", "_Z1fIiEvPT_"):
        found = declared(source, name, len(kinds))
        shown = "".join("p" if p.is_pointer else "i" if p.is_integer else "?" for p in found or ())
        assert shown == kinds


@pytest.mark.parametrize(
    "source",
    [
        "__global__ void f(long long, int *) {}",
        "__global__ void f(PARAMETERS) {}",
        "__global__ void f(int *x, int *y) {} __global__ void f(int *x, long long y) {}",
    ],
)
def test_declarations_that_are_not_understood(source):
    assert declared(source, "f", 2) is None


def test_plain_arrays_of_python_are_arrays(kernel):
    out = array.array("i", [0, 0, 0, 9])
    with prlx.cpu(check="all", collect=True) as device:
        kernel[1, 1](out, 7, 8, 3.0)
    assert out.tolist() == [7, 8, 3, 9] and device.findings == []
    out.append(1)  # The launch keeps no view.
    double = prlx.Kernel('extern "C" __global__ void d(double *x) { x[threadIdx.x] *= 2; }')
    x = array.array("d", [1.5, 2.5])

    def run():
        double[1, 2](x)
        return x

    assert prlx.compare(run, prlx.against([3.0, 5.0])).verdict == "same"
    assert x.tolist() == [1.5, 2.5], "comparisons put the memory back"
    with pytest.raises(prlx.KernelFault, match="right past the end of `x`"):
        double[1, 3](x)
    with pytest.raises(prlx.LaunchError, match="`x` has elements of type 'u': kernels cannot work on texts"):
        double[1, 1](array.array("u", "a"))


PLAIN = """
import array, sys
sys.modules["numpy"] = None
import prlx
x = array.array("f", [1, 2])
prlx.Kernel('extern "C" __global__ void k(float *x) { x[threadIdx.x] += 1; }')[1, 2](x)
print(x.tolist())
"""


def test_plain_arrays_need_no_numpy():
    done = subprocess.run([sys.executable, "-c", PLAIN], capture_output=True, text=True)
    assert done.stdout == "[2.0, 3.0]\n", done.stderr


@pytest.mark.parametrize("size", [(1, 1, 1, 9), (), 1.9, "2", -1, 2**32])
def test_wrong_sizes_of_a_grid_are_refused(kernel, size):
    with pytest.raises(prlx.LaunchError, match="is no size of a grid or a CTA"):
        kernel[size, 1](np.zeros(3, np.int32), 1, 1, 1.0)


@pytest.mark.parametrize(
    "array, what",
    [
        (np.array([None] * 4, object), "Python objects"),
        (np.zeros(3, ">i4"), "byte order"),
        (np.arange(3).astype("M8[s]"), "dates"),
        (np.zeros(3, "S4"), "texts"),
        (np.zeros(3, [("a", "f4"), ("b", "i4")]), "array of records"),
        (np.zeros(3, [("a", object)]), "array of records"),
        (np.zeros(3, np.longdouble), "GPUs do not have"),
    ],
)
def test_arrays_that_a_gpu_cannot_have_are_refused_by_name(kernel, array, what):
    with pytest.raises(prlx.LaunchError, match=f"`o`.*{what}"):
        kernel[1, 1](array, 1, 1, 1.0)
    with pytest.raises(prlx.LaunchError, match=f"`x`.*{what}"), prlx.cpu():
        kernels.softmax[(1,)](np.zeros(4, np.float32), array, 4, BLOCK=4)
    with pytest.raises(prlx.LaunchError, match=f"`x`.*{what}"), prlx.cpu():
        kernels.softmax[(1,)](np.zeros(4, np.float32), x=array, columns=4, BLOCK=4)


def test_code_of_a_kernel(tmp_path):
    source = tmp_path / "k.cu"
    source.write_text(TYPES)
    assert prlx.Kernel(source).name == "k" and prlx.Kernel(str(source)).name == "k"
    text = 'extern "C" __global__ void k(int *o) { o[0] = N; }'
    out = np.zeros(1, np.int32)
    prlx.Kernel(text, options="-DN=5")[1, 1](out)
    assert out[0] == 5
    for missing in ("nothere.cu", pathlib.Path("nothere.ptx")):
        with pytest.raises(prlx.FileError, match="cannot read nothere"):
            prlx.Kernel(missing)
    with pytest.raises(TypeError, match="Kernel: int is no code"):
        prlx.Kernel(42, "k")


def test_memory_that_arrays_share_is_one_allocation():
    add = prlx.Kernel(
        'extern "C" __global__ void k(const float *x, float *y) { for (int i = 0; i < 8; i++) y[i] = x[i] + 1; }'
    )
    memory = bytearray(40)
    x, y = np.frombuffer(memory, np.float32, 8), np.frombuffer(memory, np.float32, 8, 4)

    def run():
        add[1, 1](x, y)
        return y

    want = np.arange(1, 9, dtype=np.float32)
    views = np.zeros(9, np.float32)
    assert prlx.compare(run, prlx.against(want)).verdict == "same"
    assert prlx.compare(run, lambda: add[1, 1](views[:8], views[1:])).same
    assert bytes(memory) == bytes(40), "comparisons put the memory back"
    add[1, 1](x, y)
    assert y.tolist() == want.tolist()


@pytest.mark.parametrize("options", [{"seed": -1}, {"arch": "sm_999"}, {"check": "foo"}, {"seeds": []}, {"threads": -1}])
def test_wrong_options_of_the_device_are_refused(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        prlx.cpu(**options)


def test_a_check_that_is_no_name():
    with pytest.raises(TypeError, match='check: True names no checks: use "all"'):
        prlx.cpu(check=True)


def test_limits_have_their_names_in_python(capsys):
    text = prlx.Kernel('extern "C" __global__ void k(int *o) { for (int i = 0; i < 9999; i++) printf("%d\\n", i); }')
    with pytest.raises(prlx.KernelStuck, match="`max_steps`"), prlx.cpu(max_steps=1000):
        text[1, 1](np.zeros(1, np.int32))
    capsys.readouterr()
    with prlx.cpu(max_printed=100):
        text[1, 1](np.zeros(1, np.int32))
    out, errors = capsys.readouterr()
    assert len(out) <= 100 and "`max_printed`" in errors
