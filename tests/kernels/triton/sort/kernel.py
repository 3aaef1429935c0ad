# corpus: keep sm_90a
"""Rows sorted upwards, and their largest values, by Triton's bitonic network."""

import triton
import triton.language as tl


@triton.jit
def sort(x, y, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.sort(tl.load(x + at)))


BUILD = dict(kernel=sort, signature={"x": "*i32", "y": "*i32"}, constexprs={"BLOCK": 256})
