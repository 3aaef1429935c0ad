# A block-scaled product of 4-bit elements (mxfp4).
import triton
import triton.language as tl


@triton.jit
def scaled(a, sa, b, sb, c, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.arange(0, BLOCK_M)
    col = tl.arange(0, BLOCK_N)
    pair = tl.arange(0, BLOCK // 2)
    scale = tl.arange(0, BLOCK // 32)
    x = tl.load(a + row[:, None] * (BLOCK // 2) + pair[None, :])
    y = tl.load(b + pair[:, None] + col[None, :] * (BLOCK // 2))
    sx = tl.load(sa + row[:, None] * (BLOCK // 32) + scale[None, :])
    sy = tl.load(sb + col[:, None] * (BLOCK // 32) + scale[None, :])
    total = tl.dot_scaled(x, sx, "e2m1", y, sy, "e2m1")
    tl.store(c + row[:, None] * BLOCK_N + col[None, :], total)
