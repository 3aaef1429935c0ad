# corpus: keep sm_90a
"""Layer normalisation of half-precision rows longer than a block: two loops over the row."""

import triton
import triton.language as tl


@triton.jit
def layernorm(x, y, gamma, beta, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + columns, columns < n, 0.0).to(tl.float32)
        total += v
        squares += v * v
    mean = tl.sum(total, 0) / n
    rstd = 1 / tl.sqrt(tl.sum(squares, 0) / n - mean * mean + eps)
    for start in range(0, n, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < n
        v = tl.load(x + row * n + columns, mask, 0.0).to(tl.float32)
        g = tl.load(gamma + columns, mask)
        b = tl.load(beta + columns, mask)
        tl.store(y + row * n + columns, ((v - mean) * rstd * g + b).to(tl.float16), mask)


BUILD = dict(
    kernel=layernorm,
    signature={"x": "*fp16", "y": "*fp16", "gamma": "*fp32", "beta": "*fp32", "n": "i32", "eps": "fp32"},
    constexprs={"BLOCK": 256},
)
