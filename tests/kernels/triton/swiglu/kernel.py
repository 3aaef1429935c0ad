# corpus: keep sm_90a
"""SwiGLU: the gate through SiLU times the other half, wide loads, a grid-stride loop."""

import triton
import triton.language as tl


@triton.jit
def swiglu(x, y, rows, n, BLOCK: tl.constexpr):
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        for start in range(0, n, BLOCK):
            columns = start + tl.arange(0, BLOCK)
            mask = columns < n
            gate = tl.load(x + row * 2 * n + columns, mask, 0.0).to(tl.float32)
            up = tl.load(x + row * 2 * n + n + columns, mask, 0.0).to(tl.float32)
            tl.store(y + row * n + columns, (gate * tl.sigmoid(gate) * up).to(tl.float16), mask)


BUILD = dict(
    kernel=swiglu,
    signature={"x": "*fp16", "y": "*fp16", "rows": "i32", "n": "i32"},
    constexprs={"BLOCK": 512},
    aligned=["n"],
)
