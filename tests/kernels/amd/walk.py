"""Makes walk.gfx942.co: a Triton kernel, whose arguments are in SGPRs when it begins (Triton 3.6, no GPU needed).

Then `llvm-objcopy --strip-debug walk.gfx942.co` takes out the paths of the machine.
"""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def walk(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.zeros((BLOCK,), tl.float32)
    k = 0
    while k < n:
        v = tl.load(x + (i + k) % 1024)
        if tl.sum(v, 0) > 30.0:
            s += v
        k += 1
    tl.store(y + i, s)


source = ASTSource(walk, {"x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 64})
module = triton.compile(source, target=GPUTarget("hip", "gfx942", 64), options={"num_warps": 4})
with open("walk.gfx942.co", "wb") as file:
    file.write(module.asm["hsaco"])
