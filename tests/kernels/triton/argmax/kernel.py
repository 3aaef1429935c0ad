# corpus: keep sm_90a
"""Row maximum with its index, first of equals, and argmin; ties are frequent."""

import triton
import triton.language as tl


@triton.jit
def argmax(x, largest, where_largest, where_least, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + columns, columns < n, -float("inf"))
    best, at = tl.max(v, 0, return_indices=True)
    tl.store(largest + row, best)
    tl.store(where_largest + row, at)
    v = tl.where(columns < n, v, float("inf"))
    tl.store(where_least + row, tl.argmin(v, 0))


BUILD = dict(
    kernel=argmax,
    signature={"x": "*fp32", "largest": "*fp32", "where_largest": "*i32", "where_least": "*i32", "n": "i32"},
    constexprs={"BLOCK": 256},
)
