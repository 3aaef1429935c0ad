# corpus: keep sm_90a
"""Several products of different sizes in one launch: programs walk over all tiles, sizes and pointers are loaded."""

import triton
import triton.language as tl


@triton.jit
def grouped_gemm(a_all, b_all, c_all, sizes, starts, groups, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tile = tl.program_id(0)
    done = 0
    for g in range(groups):
        m = tl.load(sizes + g * 3)
        n = tl.load(sizes + g * 3 + 1)
        k = tl.load(sizes + g * 3 + 2)
        across = tl.cdiv(n, BN)
        tiles = tl.cdiv(m, BM) * across
        while tile >= done and tile < done + tiles:
            a_ptr = a_all + tl.load(starts + g * 3)
            b_ptr = b_all + tl.load(starts + g * 3 + 1)
            c_ptr = c_all + tl.load(starts + g * 3 + 2)
            rows = (tile - done) // across * BM + tl.arange(0, BM)
            columns = (tile - done) % across * BN + tl.arange(0, BN)
            acc = tl.zeros([BM, BN], tl.float32)
            for start in range(0, k, BK):
                inner = start + tl.arange(0, BK)
                a = tl.load(a_ptr + rows[:, None] * k + inner[None, :], (rows < m)[:, None] & (inner < k)[None, :], 0.0)
                b = tl.load(b_ptr + inner[:, None] * n + columns[None, :], (inner < k)[:, None] & (columns < n)[None, :], 0.0)
                acc = tl.dot(a, b, acc)
            mask = (rows < m)[:, None] & (columns < n)[None, :]
            tl.store(c_ptr + rows[:, None] * n + columns[None, :], acc, mask)
            tile += tl.num_programs(0)
        done += tiles


BUILD = dict(
    kernel=grouped_gemm,
    signature={"a_all": "*fp16", "b_all": "*fp16", "c_all": "*fp32", "sizes": "*i32", "starts": "*i32", "groups": "i32"},
    constexprs={"BM": 32, "BN": 32, "BK": 32},
)
