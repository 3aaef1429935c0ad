# corpus: keep sm_90a
"""Rotary embedding in place on half-precision heads: both halves of a head read, then written."""

import triton
import triton.language as tl


@triton.jit
def rope(x, cosine, sine, heads, width, HALF: tl.constexpr):
    token = tl.program_id(0)
    pair = tl.arange(0, HALF)
    mask = pair < width // 2
    c = tl.load(cosine + token * (width // 2) + pair, mask, 0.0)
    s = tl.load(sine + token * (width // 2) + pair, mask, 0.0)
    for head in range(heads):
        base = x + (token * heads + head) * width
        a = tl.load(base + pair, mask, 0.0).to(tl.float32)
        b = tl.load(base + width // 2 + pair, mask, 0.0).to(tl.float32)
        tl.store(base + pair, (a * c - b * s).to(tl.float16), mask)
        tl.store(base + width // 2 + pair, (b * c + a * s).to(tl.float16), mask)


BUILD = dict(
    kernel=rope,
    signature={"x": "*fp16", "cosine": "*fp32", "sine": "*fp32", "heads": "i32", "width": "i32"},
    constexprs={"HALF": 64},
    num_warps=1,
)
