"""Triton kernels in a model, right and wrong ones."""

import torch
import triton
import triton.language as tl


@triton.jit
def gelu_rows(out, x, columns, last, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < last
    start = tl.program_id(0) * columns
    v = tl.load(x + start + at, mask=inside, other=0.0)
    tl.store(out + start + at, 0.5 * v * (1 + tl.erf(v * 0.7071067811865476)), mask=inside)


@triton.jit
def double_rows(out, x, columns, last, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    start = tl.program_id(0) * columns
    v = tl.load(x + start + at, mask=at < last, other=0.0)
    tl.store(out + start + at, v * 2, mask=at < last)


@triton.jit
def double_shifted_rows(out, x, columns, last, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    start = tl.program_id(0) * columns
    v = tl.load(x + start + at, mask=at < last, other=0.0)
    v += 0.125
    tl.store(out + start + at, v * 2, mask=at < last)


def rows(kernel, x, missing=0):
    """Calls a kernel for each row, without the last elements."""
    out, columns = torch.zeros_like(x), x.shape[-1]
    grid = (x.numel() // columns,)
    kernel[grid](out, x.contiguous(), columns, columns - missing, BLOCK=triton.next_power_of_2(columns))
    return out


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, kernel):
        ctx.kernel = kernel
        return rows(double_rows, x)

    @staticmethod
    def backward(ctx, gradient):
        return rows(ctx.kernel, gradient), None


class Activation(torch.nn.Module):
    missing, backward, eager = 0, double_rows, False

    def forward(self, x):
        if self.eager:
            return 2 * torch.nn.functional.gelu(x.detach()) + x
        return Double.apply(rows(gelu_rows, x.detach(), self.missing) + 0.5 * x, self.backward)


def model():
    torch.manual_seed(0)
    layers = [torch.nn.Linear(8, 40), Activation(), torch.nn.Linear(40, 8), Activation(), torch.nn.Linear(8, 3)]
    return torch.nn.Sequential(*layers)


def setup(name, **changes):
    """A set-up in which the first activation has other attributes."""

    def call(model, *inputs):
        vars(model[1]).update(changes)
        try:
            return model(*inputs)
        finally:
            for attribute in changes:
                del vars(model[1])[attribute]

    return name, call
