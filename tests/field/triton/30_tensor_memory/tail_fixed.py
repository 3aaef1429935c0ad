# The mask of A ends at K, and its other elements are zero.
import triton
import triton.language as tl


@triton.jit
def product(a, b, c, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.arange(0, BLOCK_M)
    col = tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for first in range(0, K, BLOCK):
        k = first + tl.arange(0, BLOCK)
        x = tl.load(a + row[:, None] * K + k[None, :], mask=k[None, :] < K, other=0.0)
        y = tl.load(b + k[:, None] * N + col[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + row[:, None] * N + col[None, :], total)
