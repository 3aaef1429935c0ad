# corpus: keep sm_90a
"""Nested tl.where, integer and float masks, clamping, bit operations, a two-dimensional tail."""

import triton
import triton.language as tl


@triton.jit
def where_masks(x, flags, y, rows, columns, BR: tl.constexpr, BC: tl.constexpr):
    r = tl.program_id(0) * BR + tl.arange(0, BR)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    at = r[:, None] * columns + c[None, :]
    mask = (r < rows)[:, None] & (c < columns)[None, :]
    v = tl.load(x + at, mask, 0.0)
    f = tl.load(flags + at, mask, 0)
    clamped = tl.minimum(tl.maximum(v, -1.0), 1.0)
    odd = (f & 1) == 1
    result = tl.where(odd, tl.where(v > 0.5, clamped * 2.0, -clamped), tl.where(f > 10, v * v, (f ^ 3).to(tl.float32)))
    tl.store(y + at, tl.where(v == v, result, -7.0), mask)


BUILD = dict(
    kernel=where_masks,
    signature={"x": "*fp32", "flags": "*i32", "y": "*fp32", "rows": "i32", "columns": "i32"},
    constexprs={"BR": 16, "BC": 32},
)
