# corpus: keep sm_90a
"""Causal flash attention forward: a block of queries a program, running maximum and sum, two loops (full, diagonal)."""

import triton
import triton.language as tl


@triton.jit
def attend(acc, total, most, q, k_ptr, v_ptr, first, last, rows, scale, DIAGONAL: tl.constexpr, D: tl.constexpr, BN: tl.constexpr):
    inner = tl.arange(0, D)
    for start in range(first, last, BN):
        columns = start + tl.arange(0, BN)
        k = tl.load(k_ptr + columns[None, :] * D + inner[:, None])
        score = tl.dot(q, k) * scale
        if DIAGONAL:
            score = tl.where(rows[:, None] >= columns[None, :], score, -1.0e6)
        now = tl.maximum(most, tl.max(score, 1))
        p = tl.exp2(score - now[:, None])
        old = tl.exp2(most - now)
        total = total * old + tl.sum(p, 1)
        v = tl.load(v_ptr + columns[:, None] * D + inner[None, :])
        acc = tl.dot(p.to(tl.float16), v, acc * old[:, None])
        most = now
    return acc, total, most


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, out, length, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    block = tl.program_id(0)
    base = tl.program_id(1) * length * D
    rows = block * BM + tl.arange(0, BM)
    at = base + rows[:, None] * D + tl.arange(0, D)[None, :]
    q = tl.load(q_ptr + at)
    acc = tl.zeros([BM, D], tl.float32)
    total = tl.zeros([BM], tl.float32)
    most = tl.full([BM], -float("inf"), tl.float32)
    scale *= 1.4426950408889634
    acc, total, most = attend(acc, total, most, q, k_ptr + base, v_ptr + base, 0, block * BM, rows, scale, False, D, BN)
    acc, total, most = attend(
        acc, total, most, q, k_ptr + base, v_ptr + base, block * BM, (block + 1) * BM, rows, scale, True, D, BN
    )
    tl.store(out + at, acc / total[:, None])


BUILD = dict(
    kernel=attention,
    signature={"q_ptr": "*fp16", "k_ptr": "*fp16", "v_ptr": "*fp16", "out": "*fp32", "length": "i32", "scale": "fp32"},
    constexprs={"D": 64, "BM": 64, "BN": 32},
    num_stages=2,
    aligned=["length"],
)
