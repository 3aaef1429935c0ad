"""Devices in threads and asyncio tasks."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import prlx
import pytest

ADD = 'extern "C" __global__ void k(float *x) { x[threadIdx.x] += 1; }'


@pytest.fixture(scope="module")
def kernel():
    return prlx.Kernel(ADD)


def test_threads_have_devices_of_their_own(kernel):
    def check(i):
        x = np.zeros(64 if i % 2 else 50, np.float32)
        return bool(prlx.check(lambda: [kernel[1, 64](x) for _ in range(20)]).errors)

    def compare(i):
        x = np.zeros(64, np.float32)
        return prlx.compare(lambda: kernel[1, 64](x), lambda: kernel[1, 64 if i % 2 else 63](x)).verdict

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(check, range(8))) == [True, False] * 4
        assert list(pool.map(compare, range(8))) == ["differs", "same"] * 4


def test_threads_without_a_device_use_that_of_the_main_thread(kernel):
    arrays = [np.zeros(32, np.float32) for _ in range(4)]
    with prlx.cpu() as device, ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda x: kernel[1, 32](x), arrays))
    assert device.launches == 4 and all((x == 1).all() for x in arrays)


def test_tasks_have_devices_of_their_own(kernel):
    async def one(launches):
        with prlx.cpu() as device:
            for _ in range(launches):
                await asyncio.sleep(0.001)
                kernel[1, 32](np.zeros(32, np.float32))
        return device.launches

    async def both():
        return await asyncio.gather(one(3), one(5))

    assert asyncio.run(both()) == [3, 5]


def test_contexts_may_end_in_any_order(kernel):
    from prlx._device import current

    def generator():
        with prlx.cpu() as device:
            yield device

    first, second = generator(), generator()
    next(first)
    inner = next(second)
    first.close()
    assert current() is inner
    second.close()
    assert current() is None
