# corpus: keep sm_90a
"""A histogram a program with tl.histogram, added up by atomics."""

import triton
import triton.language as tl


@triton.jit
def histogram(x, bins, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    values = tl.load(x + offsets, mask, 0)
    counts = tl.histogram(values, BINS, mask)
    tl.atomic_add(bins + tl.arange(0, BINS), counts)


BUILD = dict(
    kernel=histogram, signature={"x": "*i32", "bins": "*i32", "n": "i32"}, constexprs={"BLOCK": 1024, "BINS": 128}
)
