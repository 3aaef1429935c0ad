# corpus: keep sm_90a
"""Rows gathered by 64-bit indices with bounds, summed into bags of varying length."""

import triton
import triton.language as tl


@triton.jit
def embedding(table, indices, offsets, out, rows, width, BLOCK: tl.constexpr):
    bag = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = columns < width
    acc = tl.zeros([BLOCK], tl.float32)
    for i in range(tl.load(offsets + bag), tl.load(offsets + bag + 1)):
        row = tl.load(indices + i)
        acc += tl.load(table + row * width + columns, mask & (row >= 0) & (row < rows), 0.0)
    tl.store(out + bag * width + columns, acc, mask)


BUILD = dict(
    kernel=embedding,
    signature={"table": "*fp32", "indices": "*i64", "offsets": "*i32", "out": "*fp32", "rows": "i32", "width": "i32"},
    constexprs={"BLOCK": 64},
    num_warps=1,
)
