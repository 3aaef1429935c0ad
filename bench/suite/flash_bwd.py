"""Causal attention, gradients of K and V: a program owns a block of keys and walks over the queries."""

import triton
import triton.language as tl


@triton.jit
def flash_bwd(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, tokens, scale,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    block = tl.program_id(0)
    head = tl.program_id(1)
    base = head * tokens * D
    column = block * BN + tl.arange(0, BN)
    inner = tl.arange(0, D)
    k = tl.load(k_ptr + base + column[:, None] * D + inner[None, :])
    v = tl.load(v_ptr + base + column[:, None] * D + inner[None, :])
    dk = tl.zeros([BN, D], tl.float32)
    dv = tl.zeros([BN, D], tl.float32)
    # Queries before the block see none of its keys. BN is a multiple of BM.
    for first in range(block * BN, tokens, BM):
        row = first + tl.arange(0, BM)
        q = tl.load(q_ptr + base + row[:, None] * D + inner[None, :])
        do = tl.load(do_ptr + base + row[:, None] * D + inner[None, :])
        lse = tl.load(lse_ptr + head * tokens + row)
        delta = tl.load(delta_ptr + head * tokens + row)
        # All transposed: keys are rows.
        s = tl.dot(k, tl.trans(q)) * scale
        p = tl.where(column[:, None] <= row[None, :], tl.exp(s - lse[None, :]), 0.0)
        dv += tl.dot(p.to(tl.float16), do)
        dp = tl.dot(v, tl.trans(do))
        ds = p * (dp - delta[None, :]) * scale
        dk += tl.dot(ds.to(tl.float16), q)
    tl.store(dk_ptr + base + column[:, None] * D + inner[None, :], dk)
    tl.store(dv_ptr + base + column[:, None] * D + inner[None, :], dv)


BUILD = dict(
    kernel=flash_bwd,
    signature={
        "q_ptr": "*fp16",
        "k_ptr": "*fp16",
        "v_ptr": "*fp16",
        "do_ptr": "*fp16",
        "lse_ptr": "*fp32",
        "delta_ptr": "*fp32",
        "dk_ptr": "*fp32",
        "dv_ptr": "*fp32",
        "tokens": "i32",
        "scale": "fp32",
    },
    constexprs={"D": 64, "BM": 32, "BN": 64},
    num_warps=4,
    num_stages=2,
    aligned=["tokens"],
)
