"""Backward pass of layer norm: a program takes some of the rows, and sums their gradients of the weights."""

import triton
import triton.language as tl


@triton.jit
def layernorm_bwd(
    x_ptr, dy_ptr, weight_ptr, mean_ptr, rstd_ptr, dx_ptr, dweight_ptr, dbias_ptr, rows, columns,
    BLOCK: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    weight = tl.load(weight_ptr + at, inside, 0.0)
    dweight = tl.zeros([BLOCK], tl.float32)
    dbias = tl.zeros([BLOCK], tl.float32)
    for row in range(program, rows, tl.num_programs(0)):
        x = tl.load(x_ptr + row * columns + at, inside, 0.0).to(tl.float32)
        dy = tl.load(dy_ptr + row * columns + at, inside, 0.0).to(tl.float32)
        rstd = tl.load(rstd_ptr + row)
        unit = tl.where(inside, (x - tl.load(mean_ptr + row)) * rstd, 0.0)
        g = dy * weight
        along = tl.sum(g * unit, axis=0) / columns
        level = tl.sum(g, axis=0) / columns
        dx = (g - level - unit * along) * rstd
        tl.store(dx_ptr + row * columns + at, dx.to(tl.float16), inside)
        dweight += dy * unit
        dbias += dy
    # A row for each program; another kernel adds them.
    tl.store(dweight_ptr + program * columns + at, dweight, inside)
    tl.store(dbias_ptr + program * columns + at, dbias, inside)


BUILD = dict(
    kernel=layernorm_bwd,
    signature={
        "x_ptr": "*fp16",
        "dy_ptr": "*fp16",
        "weight_ptr": "*fp32",
        "mean_ptr": "*fp32",
        "rstd_ptr": "*fp32",
        "dx_ptr": "*fp16",
        "dweight_ptr": "*fp32",
        "dbias_ptr": "*fp32",
        "rows": "i32",
        "columns": "i32",
    },
    constexprs={"BLOCK": 1024},
    num_warps=4,
    aligned=["columns"],
)
