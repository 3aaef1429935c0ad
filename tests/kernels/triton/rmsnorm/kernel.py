# corpus: keep sm_90a
"""Root-mean-square normalisation fused with a residual addition, bfloat16 in and out (files hold its bits)."""

import triton
import triton.language as tl


@triton.jit
def rmsnorm(x, residual, gamma, y, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n
    v = tl.load(x + row * n + columns, mask, 0.0).to(tl.float32)
    v += tl.load(residual + row * n + columns, mask, 0.0).to(tl.float32)
    tl.store(residual + row * n + columns, v.to(tl.bfloat16), mask)
    scale = tl.rsqrt(tl.sum(v * v, 0) / n + eps)
    g = tl.load(gamma + columns, mask, 0.0)
    tl.store(y + row * n + columns, v * scale * g, mask)


BUILD = dict(
    kernel=rmsnorm,
    signature={"x": "*bf16", "residual": "*bf16", "gamma": "*fp32", "y": "*fp32", "n": "i32", "eps": "fp32"},
    constexprs={"BLOCK": 256},
    num_warps=2,
)
