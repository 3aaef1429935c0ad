# corpus: keep sm_90a
"""Causal depthwise convolution of width four with SiLU, as in state-space models; borders masked."""

import triton
import triton.language as tl


@triton.jit
def conv1d(x, weight, bias, y, length, channels, BT: tl.constexpr, BC: tl.constexpr, WIDTH: tl.constexpr):
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    inside = c < channels
    acc = tl.zeros([BT, BC], tl.float32) + tl.load(bias + c, inside, 0.0)[None, :]
    for k in tl.static_range(WIDTH):
        at = t + k - (WIDTH - 1)
        v = tl.load(x + at[:, None] * channels + c[None, :], (at >= 0)[:, None] & (at < length)[:, None] & inside[None, :], 0.0)
        acc += v * tl.load(weight + c * WIDTH + k, inside, 0.0)[None, :]
    acc = acc * tl.sigmoid(acc)
    tl.store(y + t[:, None] * channels + c[None, :], acc, (t < length)[:, None] & inside[None, :])


BUILD = dict(
    kernel=conv1d,
    signature={"x": "*fp32", "weight": "*fp32", "bias": "*fp32", "y": "*fp32", "length": "i32", "channels": "i32"},
    constexprs={"BT": 32, "BC": 32, "WIDTH": 4},
)
