# corpus: keep sm_90a
"""Matrix product with a leaky ReLU on its accumulators, stored as half."""

import triton
import triton.language as tl


@triton.jit
def matmul_leaky_relu(a_ptr, b_ptr, c_ptr, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    across = tl.cdiv(n, BN)
    rows = pid // across * BM + tl.arange(0, BM)
    columns = pid % across * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for start in range(0, k, BK):
        a = tl.load(a_ptr + rows[:, None] * k + (start + inner)[None, :], (rows < m)[:, None], 0.0)
        b = tl.load(b_ptr + (start + inner)[:, None] * n + columns[None, :], (columns < n)[None, :], 0.0)
        acc = tl.dot(a, b, acc)
    acc = tl.where(acc >= 0, acc, 0.01 * acc)
    mask = (rows < m)[:, None] & (columns < n)[None, :]
    tl.store(c_ptr + rows[:, None] * n + columns[None, :], acc.to(c_ptr.dtype.element_ty), mask)


BUILD = dict(
    kernel=matmul_leaky_relu,
    signature={"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp16", "m": "i32", "n": "i32", "k": "i32"},
    constexprs={"BM": 32, "BN": 64, "BK": 32},
    num_warps=4,
    num_stages=3,
    aligned=["m", "n", "k"],
)
