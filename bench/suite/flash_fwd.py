"""Causal attention, forward: a program owns a block of queries of one head and walks over the keys."""

import triton
import triton.language as tl


@triton.jit
def flash_fwd(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, tokens, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr
):
    # Long rows of work first: the last block of queries sees the most keys.
    block = tl.num_programs(0) - 1 - tl.program_id(0)
    head = tl.program_id(1)
    base = head * tokens * D
    row = block * BM + tl.arange(0, BM)
    inner = tl.arange(0, D)
    q = tl.load(q_ptr + base + row[:, None] * D + inner[None, :])
    high = tl.full([BM], float("-inf"), tl.float32)
    norm = tl.zeros([BM], tl.float32)
    out = tl.zeros([BM, D], tl.float32)
    for first in range(0, (block + 1) * BM, BN):
        column = first + tl.arange(0, BN)
        k = tl.load(k_ptr + base + column[:, None] * D + inner[None, :])
        s = tl.dot(q, tl.trans(k)) * scale
        s = tl.where(column[None, :] <= row[:, None], s, float("-inf"))
        new = tl.maximum(high, tl.max(s, axis=1))
        shrink = tl.exp(high - new)
        p = tl.exp(s - new[:, None])
        norm = norm * shrink + tl.sum(p, axis=1)
        v = tl.load(v_ptr + base + column[:, None] * D + inner[None, :])
        out = out * shrink[:, None] + tl.dot(p.to(tl.float16), v)
        high = new
    tl.store(o_ptr + base + row[:, None] * D + inner[None, :], (out / norm[:, None]).to(tl.float16))
    tl.store(lse_ptr + head * tokens + row, high + tl.log(norm))


BUILD = dict(
    kernel=flash_fwd,
    signature={
        "q_ptr": "*fp16",
        "k_ptr": "*fp16",
        "v_ptr": "*fp16",
        "o_ptr": "*fp16",
        "lse_ptr": "*fp32",
        "tokens": "i32",
        "scale": "fp32",
    },
    constexprs={"D": 64, "BM": 64, "BN": 64},
    num_warps=4,
    num_stages=2,
    aligned=["tokens"],
)
