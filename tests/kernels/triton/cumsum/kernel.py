# corpus: keep sm_90a
"""Running sums and a first-order recurrence by associative scan along rows."""

import triton
import triton.language as tl


@triton.jit
def recurrence(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def cumsum(x, sums, states, decay, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at)
    tl.store(sums + at, tl.cumsum(v, 0))
    weights = tl.full([BLOCK], 1.0, tl.float32) * decay
    _, state = tl.associative_scan((weights, v), 0, recurrence)
    tl.store(states + at, state)


BUILD = dict(
    kernel=cumsum,
    signature={"x": "*fp32", "sums": "*fp32", "states": "*fp32", "decay": "fp32"},
    constexprs={"BLOCK": 512},
)
