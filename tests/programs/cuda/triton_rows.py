"""Triton kernels over rows of 1000 elements in blocks of 1024: triton_rows.py KERNEL good|bad

No branch depends on what the bad ones do wrong. Those of softmax and layernorm treat the 24 elements behind a
row as elements of the row. That of relu takes the minimum, that of shift reads the column beside, and that of
clip leaves out the last column.
"""

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def softmax(x, y, columns, stride, OTHER: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + i, mask=i < columns, other=OTHER)
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * stride + i, powers / tl.sum(powers, axis=0), mask=i < columns)


@triton.jit
def layernorm(x, y, columns, stride, MASKED: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + i, mask=i < columns, other=0.0)
    apart = values - tl.sum(values, axis=0) / columns
    if MASKED:
        apart = tl.where(i < columns, apart, 0.0)
    variance = tl.sum(apart * apart, axis=0) / columns
    tl.store(y + row * stride + i, apart * tl.rsqrt(variance + 1e-5), mask=i < columns)


@triton.jit
def relu(x, y, columns, stride, GOOD: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + i, mask=i < columns, other=0.0)
    kept = tl.maximum(values, -4.5) if GOOD else tl.minimum(values, -4.5)
    tl.store(y + row * stride + i, kept, mask=i < columns)


@triton.jit
def shift(x, y, columns, stride, SHIFT: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    source = (i + SHIFT) % columns
    values = tl.load(x + row * stride + source, mask=i < columns, other=0.0)
    tl.store(y + row * stride + i, values * 2.0, mask=i < columns)


@triton.jit
def clip(x, y, columns, stride, CUT: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    inside = i < columns - CUT
    values = tl.load(x + row * stride + i, mask=inside, other=0.0)
    tl.store(y + row * stride + i, values + 1.0, mask=i < columns)


kernel, good = sys.argv[1], sys.argv[2] == "good"
torch.manual_seed(0)
x = torch.randn(64, 1000, device="cuda") - 5
y, z = torch.empty_like(x), torch.empty_like(x)
for _ in range(2):
    if kernel == "softmax":
        softmax[(64,)](x, y, 1000, x.stride(0), float("-inf") if good else 0.0, 1024)
    elif kernel == "layernorm":
        layernorm[(64,)](x, y, 1000, x.stride(0), good, 1024)
    elif kernel == "relu":
        relu[(64,)](x, y, 1000, x.stride(0), good, 1024)
    elif kernel == "shift":
        shift[(64,)](x, y, 1000, x.stride(0), 0 if good else 1, 1024)
    else:
        clip[(64,)](x, y, 1000, x.stride(0), 0 if good else 1, 1024)
    torch.add(y, 1.0, out=z)
torch.cuda.synchronize()
print(f"{z.double().sum().item():.6f}")
