# corpus: keep sm_90a
"""Dropout with Triton's Philox: a seed, an offset an element, nothing stored but the result."""

import triton
import triton.language as tl


@triton.jit
def dropout(x, y, n, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    values = tl.load(x + offsets, mask)
    keep = tl.rand(seed, offsets) > p
    tl.store(y + offsets, tl.where(keep, values / (1 - p), 0.0), mask)


BUILD = dict(
    kernel=dropout,
    signature={"x": "*fp32", "y": "*fp32", "n": "i32", "p": "fp32", "seed": "i32"},
    constexprs={"BLOCK": 512},
)
