# corpus: only sm_90a
"""Persistent matrix product through tensor descriptors made on the device: TMA loads and stores, wgmma."""

import triton
import triton.language as tl


@triton.jit
def matmul_persistent(a_ptr, b_ptr, c_ptr, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    a_desc = tl.make_tensor_descriptor(a_ptr, [m, k], [k, 1], [BM, BK])
    b_desc = tl.make_tensor_descriptor(b_ptr, [k, n], [n, 1], [BK, BN])
    c_desc = tl.make_tensor_descriptor(c_ptr, [m, n], [n, 1], [BM, BN])
    across = tl.cdiv(n, BN)
    for tile in range(tl.program_id(0), tl.cdiv(m, BM) * across, tl.num_programs(0)):
        row = tile // across * BM
        column = tile % across * BN
        acc = tl.zeros([BM, BN], tl.float32)
        for start in range(0, k, BK):
            acc = tl.dot(a_desc.load([row, start]), b_desc.load([start, column]), acc)
        c_desc.store([row, column], acc.to(tl.float16))


BUILD = dict(
    kernel=matmul_persistent,
    signature={"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp16", "m": "i32", "n": "i32", "k": "i32"},
    constexprs={"BM": 64, "BN": 64, "BK": 32},
    num_stages=3,
    aligned=["m", "n", "k"],
)
