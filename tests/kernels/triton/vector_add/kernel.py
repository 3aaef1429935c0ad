# corpus: keep sm_90a
"""One block of the sum of two vectors a program, with a masked tail."""

import triton
import triton.language as tl


@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(x + offsets, mask)
    b = tl.load(y + offsets, mask)
    tl.store(out + offsets, a + b, mask)


BUILD = dict(
    kernel=vector_add,
    signature={"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"},
    constexprs={"BLOCK": 512},
)
