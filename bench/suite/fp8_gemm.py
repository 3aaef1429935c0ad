"""C = A B^T of fp8 (e4m3), a scale for each row of A and of B. For sm_90a: Triton has no e4m3 on sm_80."""

import triton
import triton.language as tl


@triton.jit
def fp8_gemm(
    a_ptr, b_ptr, a_scale_ptr, b_scale_ptr, c_ptr, m, n, k,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    column = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for first in range(0, k, BK):
        a = tl.load(a_ptr + row[:, None] * k + first + inner[None, :], (row < m)[:, None], 0.0)
        b = tl.load(b_ptr + column[None, :] * k + first + inner[:, None], (column < n)[None, :], 0.0)
        acc = tl.dot(a, b, acc)
    a_scale = tl.load(a_scale_ptr + row, row < m, 0.0)
    b_scale = tl.load(b_scale_ptr + column, column < n, 0.0)
    inside = (row < m)[:, None] & (column < n)[None, :]
    c = acc * a_scale[:, None] * b_scale[None, :]
    tl.store(c_ptr + row[:, None] * n + column[None, :], c.to(tl.bfloat16), inside)


BUILD = dict(
    kernel=fp8_gemm,
    signature={
        "a_ptr": "*fp8e4nv",
        "b_ptr": "*fp8e4nv",
        "a_scale_ptr": "*fp32",
        "b_scale_ptr": "*fp32",
        "c_ptr": "*bf16",
        "m": "i32",
        "n": "i32",
        "k": "i32",
    },
    constexprs={"BM": 128, "BN": 128, "BK": 64},
    num_warps=8,
    num_stages=3,
    aligned=["m", "n", "k"],
)
