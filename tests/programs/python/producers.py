"""Launches kernels of one producer: producers.py NAME. Prints a number that depends on their results.

`xtask/py/gpu_reach.py` runs it with and without the recorder.
"""

import sys


def cupy():
    import cupy as cp

    x = cp.arange(1 << 16, dtype=cp.float32)
    raw = cp.RawKernel('extern "C" __global__ void twice(float *x) { x[blockIdx.x * 256 + threadIdx.x] *= 2; }', "twice")
    raw((256,), (256,), (x,))
    wave = cp.ElementwiseKernel("float32 a", "float32 b", "b = a > 100 ? sinf(a) : a", "wave")
    y = wave(x)
    total = cp.ReductionKernel("float32 a", "float32 b", "a", "a + b", "b = a", "0", "total")
    return float(total(y)) + float((x * y + 1).max())


def jax():
    import jax
    import jax.numpy as jnp

    @jax.jit
    def step(x):
        y = jax.nn.softmax(jnp.where(x > 0, x, x * x), axis=-1)
        return jnp.sum(y * jnp.arange(y.shape[-1]))

    return float(step(jnp.linspace(-1, 1, 64 * 512).reshape(64, 512)))


def pallas():
    import jax
    import jax.numpy as jnp
    from jax.experimental import pallas as pl

    def body(x, out):
        out[...] = jnp.where(x[...] > 0, x[...], -2 * x[...])

    x = jnp.linspace(-1, 1, 1024)
    return float(pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x).sum())


def load_inline():
    import torch
    from torch.utils.cpp_extension import load_inline

    cuda = """
    #include <torch/extension.h>
    __global__ void relu_like(float *x, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n && x[i] < 0) x[i] *= 0.1f;
    }
    torch::Tensor go(torch::Tensor x) {
        relu_like<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), x.numel());
        return x;
    }
    """
    import os
    import tempfile

    os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "9.0")
    with tempfile.TemporaryDirectory() as folder:
        module = load_inline(
            "prlx_reach", "torch::Tensor go(torch::Tensor x);", cuda, functions=["go"], build_directory=folder
        )
        return float(module.go(torch.linspace(-1, 1, 1000, device="cuda")).sum())


def jiterator():
    import torch

    square = torch.cuda.jiterator._create_jit_fn(
        "template <typename T> T f(T x) { return x > 0 ? x * x : x; }"
    )
    return float(square(torch.linspace(-1, 1, 1000, device="cuda")).sum())


def triton():
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def clamp(x, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        value = tl.load(x + at, mask=at < n)
        tl.store(x + at, tl.where(value > 0, value, 0.0), mask=at < n)

    x = torch.linspace(-1, 1, 1000, device="cuda")
    clamp[(4,)](x, 1000, BLOCK=256)
    return float(x.sum())


def inductor():
    import torch

    @torch.compile
    def step(x):
        return torch.where(x > 0, x, x.sin()).softmax(-1).sum()

    return float(step(torch.linspace(-1, 1, 64 * 512, device="cuda").reshape(64, 512)))


def numba():
    import numpy as np
    from numba import cuda

    @cuda.jit
    def add(x, n):
        i = cuda.grid(1)
        if i < n:
            x[i] += i

    x = cuda.to_device(np.zeros(1000))
    add[4, 256](x, 1000)
    return float(x.copy_to_host().sum())


PRODUCERS = [cupy, jax, pallas, load_inline, jiterator, triton, inductor, numba]

if __name__ == "__main__":
    print(next(p for p in PRODUCERS if p.__name__ == sys.argv[1])())
