"""The k largest of each row, largest first: k times the maximum, which is then taken out."""

import triton
import triton.language as tl


@triton.jit
def topk(x_ptr, value_ptr, index_ptr, columns, k, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + at, at < columns, float("-inf"))
    for i in range(k):
        value, where = tl.max(x, axis=0, return_indices=True)
        tl.store(value_ptr + row * k + i, value)
        tl.store(index_ptr + row * k + i, where)
        x = tl.where(at == where, float("-inf"), x)


BUILD = dict(
    kernel=topk,
    signature={"x_ptr": "*fp32", "value_ptr": "*fp32", "index_ptr": "*i32", "columns": "i32", "k": "i32"},
    constexprs={"BLOCK": 1024},
    num_warps=4,
    aligned=["columns"],
)
