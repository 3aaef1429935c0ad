# Compiled by Triton 3.6.0 for sm_80: w4.ptx as it stands, w8.ptx with num_warps=8, b1024.ptx with BLOCK 1024.
"""Row softmax, a row a program."""

import triton
import triton.language as tl


@triton.jit
def softmax(x, y, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n
    values = tl.load(x + row * stride + columns, mask, -float("inf"))
    values = tl.exp(values - tl.max(values, 0))
    tl.store(y + row * stride + columns, values / tl.sum(values, 0), mask)


BUILD = dict(
    kernel=softmax,
    signature={"x": "*fp32", "y": "*fp32", "stride": "i32", "n": "i32"},
    constexprs={"BLOCK": 512},
    aligned=["stride"],
)
