# corpus: keep sm_90a
"""Sums, maxima and a lock built on atomic exchange; every program adds to the same words."""

import triton
import triton.language as tl


@triton.jit
def atomic_reduce(x, total, most, lock, guarded, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + offsets, offsets < n, 0)
    tl.atomic_add(total, tl.sum(values, 0))
    tl.atomic_max(most + offsets % 4, values)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    seen = tl.load(guarded)
    tl.debug_barrier()  # every thread loads it, one stores
    tl.store(guarded, seen + pid + 1)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


BUILD = dict(
    kernel=atomic_reduce,
    signature={"x": "*i32", "total": "*i32", "most": "*i32", "lock": "*i32", "guarded": "*i32", "n": "i32"},
    constexprs={"BLOCK": 256},
)
