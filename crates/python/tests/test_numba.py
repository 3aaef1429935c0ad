"""Launches of Numba-CUDA kernels on the CPU device."""

import numpy as np
import prlx
import pytest
from numba import cuda


@cuda.jit
def scale(x, factor, n):
    i = cuda.grid(1)
    if i < n:
        x[i] *= factor


@cuda.jit
def transpose(out, x):
    row, column = cuda.grid(2)
    if row < x.shape[0] and column < x.shape[1]:
        out[column, row] = x[row, column]


@cuda.jit
def block_sum(out, x):
    part = cuda.shared.array(128, np.float32)
    i = cuda.threadIdx.x
    part[i] = x[cuda.grid(1)]
    cuda.syncthreads()
    step = 64
    while step > 0:
        if i < step:
            part[i] += part[i + step]
        cuda.syncthreads()
        step //= 2
    if i == 0:
        out[cuda.blockIdx.x] = part[0]


@cuda.jit
def block_sum_racy(out, x):
    part = cuda.shared.array(128, np.float32)
    i = cuda.threadIdx.x
    part[i] = x[cuda.grid(1)]
    cuda.syncthreads()
    step = 64
    while step > 0:
        if i < step:
            part[i] += part[i + step]
        step //= 2
    if i == 0:
        out[cuda.blockIdx.x] = part[0]


def test_scalars_and_arrays_in_place():
    x = np.arange(100, dtype=np.float64)
    with prlx.cpu(check="all"):
        scale[1, 128](x, 2.5, 100)
    np.testing.assert_array_equal(x, np.arange(100) * 2.5)


def test_two_dimensions_and_strides():
    x = np.arange(6 * 8, dtype=np.int32).reshape(6, 8)
    out = np.zeros((8, 6), np.int32, order="F")
    with prlx.cpu(check="bounds,race"):
        transpose[(1, 1), (8, 8)](out, x)
    np.testing.assert_array_equal(out, x.T)


def test_device_arrays():
    with prlx.cpu(check="all"):
        x = cuda.to_device(np.ones(256, np.float32))
        out = cuda.device_array(2, np.float32)
        block_sum[2, 128](out, x)
        cuda.synchronize()
        assert out.copy_to_host().tolist() == [128, 128]


def test_for_all():
    x = np.ones(1000)
    with prlx.cpu():
        scale.forall(1000)(x, 3.0, 1000)
    assert (x == 3).all()


def test_a_race_is_found_at_its_line():
    x = np.ones(128, np.float32)
    out = np.zeros(1, np.float32)
    findings = prlx.check(lambda: block_sum_racy[1, 128](out, x))
    races = [f for f in findings if f.kind == "race"]
    source = open(__file__).read().splitlines()
    assert races and "part[i] +=" in source[races[0].line - 1]


@cuda.jit(device=True)
def triple(value):
    return value * 3


@cuda.jit
def call_triple(x):
    x[cuda.threadIdx.x] = triple(x[cuda.threadIdx.x])


def test_device_functions_streams_and_events():
    x = np.ones(4, np.float32)
    with prlx.cpu("sm_80", check="all"):
        assert cuda.get_current_device().compute_capability == (8, 0)
        stream, event = cuda.stream(), cuda.event()
        call_triple[1, 4, stream](x)
        event.record(stream)
        event.synchronize()
        stream.synchronize()
        with pytest.raises(prlx.UnsupportedError, match="cannot time"):
            event.elapsed_time(event)
        with pytest.raises(prlx.UnsupportedError, match="cuda.managed_array"):
            cuda.managed_array(4)
    assert x.tolist() == [3] * 4


def test_the_list_of_devices():
    with prlx.cpu("sm_80"):
        assert len(cuda.gpus) == len(cuda.list_devices()) == 1
        assert [gpu.id for gpu in cuda.gpus] == [0] and cuda.gpus.current == cuda.gpus[0] == cuda.select_device(0)
        assert cuda.gpus.current.compute_capability == (8, 0) and str(cuda.gpus) == "<Managed Device 0>"
        assert cuda.gpus.current == cuda.get_current_device() and cuda.gpus[:] == list(cuda.gpus)
        with pytest.raises(IndexError):
            cuda.gpus[1]
        x = np.ones(4)
        with cuda.gpus[0]:
            scale[1, 4](x, 2.0, 4)
        cuda.close()
        with pytest.raises(prlx.UnsupportedError, match="cuda.detect"):
            cuda.detect()
    assert x.tolist() == [2] * 4


def test_errors_have_the_place_of_the_launch():
    x = np.ones(4)
    with pytest.raises(prlx.KernelFault) as error, prlx.cpu():
        scale[1, 64](x, 2.0, 64)
    assert "test_numba.py" in error.value.__notes__[0]


def test_signatures():
    with prlx.cpu():

        @cuda.jit("void(float32[:], float32)")
        def times(x, factor):
            x[cuda.threadIdx.x] *= factor

        x = np.ones(4, np.float32)
        times[1, 4](x, 2)
        assert x.tolist() == [2] * 4
        with pytest.raises(TypeError, match="No matching definition"):
            times[1, 4](np.ones(4), 2)


def test_records_and_wrong_arrays():
    @cuda.jit
    def first(records, out):
        out[0] = records[0].a + records[0].b

    out = np.zeros(1)
    with prlx.cpu(check="all"):
        first[1, 1](np.array([(3, 1.5)], [("a", "i4"), ("b", "f4")]), out)
        assert out[0] == 4.5
        with pytest.raises(prlx.LaunchError, match="`out`.*Python objects"):
            first[1, 1](np.array([(3, 1.5)], [("a", "i4"), ("b", "f4")]), np.array([None]))


def test_a_missing_barrier_is_the_cause():
    """Each of the kernels numbers its shared arrays anew."""
    x, out = np.arange(256, dtype=np.float32), np.zeros(2, np.float32)
    report = prlx.compare(lambda: block_sum[2, 128](out, x), lambda: block_sum_racy[2, 128](out, x))
    assert report.causes[0].class_ == "race", str(report)
    assert "a `cuda.syncthreads()` between the two would order them" in str(report)
    assert "[abi:" not in str(report) and "block_sum_racy" in str(report)
