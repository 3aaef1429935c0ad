"""Rotary embedding of queries: a program owns a token, loads its position, and rotates all its heads."""

import triton
import triton.language as tl


@triton.jit
def rope(x_ptr, position_ptr, cos_ptr, sin_ptr, heads, HALF: tl.constexpr, GROUP: tl.constexpr):
    token = tl.program_id(0)
    position = tl.load(position_ptr + token)
    inner = tl.arange(0, HALF)
    cos = tl.load(cos_ptr + position * HALF + inner)[None, :]
    sin = tl.load(sin_ptr + position * HALF + inner)[None, :]
    for first in range(0, heads, GROUP):
        head = first + tl.arange(0, GROUP)
        at = x_ptr + (token * heads + head)[:, None] * (2 * HALF) + inner[None, :]
        inside = (head < heads)[:, None]
        left = tl.load(at, inside, 0.0).to(tl.float32)
        right = tl.load(at + HALF, inside, 0.0).to(tl.float32)
        tl.store(at, (left * cos - right * sin).to(tl.float16), inside)
        tl.store(at + HALF, (right * cos + left * sin).to(tl.float16), inside)


BUILD = dict(
    kernel=rope,
    signature={
        "x_ptr": "*fp16",
        "position_ptr": "*i32",
        "cos_ptr": "*fp32",
        "sin_ptr": "*fp32",
        "heads": "i32",
    },
    constexprs={"HALF": 64, "GROUP": 8},
    num_warps=4,
)
