"""C = A W with 4 bits for an element of W: an int32 holds eight of a column; groups of rows share scales."""

import triton
import triton.language as tl


@triton.jit
def int4_gemm(
    a_ptr, w_ptr, scale_ptr, c_ptr, m, n, k,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    column = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    here = (row < m)[:, None]
    acc = tl.zeros([BM, BN], tl.float32)
    # Columns come in whole blocks, and a group has at least BK rows.
    for first in range(0, k, BK):
        a = tl.load(a_ptr + row[:, None] * k + first + inner[None, :], here, 0.0)
        packed = tl.load(w_ptr + ((first + inner) // 8)[:, None] * n + column[None, :])
        w = (packed >> ((inner % 8) * 4)[:, None]) & 15
        scale = tl.load(scale_ptr + first // GROUP * n + column)
        acc = tl.dot(a, ((w - 8).to(tl.float16) * scale[None, :]).to(tl.float16), acc)
    tl.store(c_ptr + row[:, None] * n + column[None, :], acc.to(tl.float16), here)


BUILD = dict(
    kernel=int4_gemm,
    signature={
        "a_ptr": "*fp16",
        "w_ptr": "*i32",
        "scale_ptr": "*fp16",
        "c_ptr": "*fp16",
        "m": "i32",
        "n": "i32",
        "k": "i32",
    },
    constexprs={"BM": 64, "BN": 64, "BK": 32, "GROUP": 64},
    num_warps=4,
    num_stages=3,
    aligned=["n", "k"],
)
