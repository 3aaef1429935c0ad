"""Writes the buffers of this folder: words put together from the documented bits, by nothing of PRLX.

    python3 tests/cases/timeline/make.py
"""

from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
MASK = 0xFFFFFFFF


def save(name, words):
    np.save(HERE / f"{name}.npy", np.array([w & (2**64 - 1) for w in words], dtype=np.uint64))


def tvm(blocks, groups, lanes, size, header=True):
    """`lanes`: of each lane its (nanoseconds, event, kind); kind 3 finalizes."""
    words = [0] * size
    words[0] = groups << 32 | blocks if header else 0
    for lane, events in enumerate(lanes):
        cursor = 1 + lane
        for nanos, event, kind in events:
            if cursor < size:
                words[cursor] = (nanos & MASK) << 32 | lane << 12 | event << 2 | kind
            cursor += blocks * groups
    return words


def spans(*all):
    return [e for event, a, b in all for e in ((a, event, 0), (b, event, 1))]


# The seed's first example: load, compute, store in four CTAs.
T = 7_000_000_000
seed = []
for lane in range(4):
    t = T + 32 * lane
    seed.append(spans((0, t, t + 96), (1, t + 96, t + 8800), (2, t + 8800, t + 8864)) + [(t + 8864, 0, 3)])
save("seed", tvm(4, 1, seed, 64))
save("no-header", tvm(4, 1, seed, 64, header=False))

# Two groups; the timer's low half begins anew in the middle, an end has no begin, and the buffer ends too early.
W = 2**32 - 4000
wrap = []
for lane in range(4):
    t = W + 32 * lane
    wrap.append([(t, 2, 1)] + spans((0, t, t + 96), (1, t + 96, t + 4096 * (1 + lane % 2)), (2, t + 8800, t + 8864)))
save("broken", tvm(2, 2, wrap, 26))

# FlashInfer at fb28d724: the tag has the multiprocessor and the CTA, and no group.
words = [0] * 32
words[0] = 2 << 32 | 2
for block in range(2):
    for group in range(2):
        for n, (nanos, kind) in enumerate([(1000 + 10 * group, 0), (1100 + 59 * group, 1)]):
            words[1 + block * 2 + group + n * 4] = nanos << 32 | (17 + block) << 24 | block << 12 | 1 << 2 | kind
save("flashinfer", words)

# A lane that there is not.
bad = tvm(4, 1, seed, 64)
bad[6] |= 9 << 12
save("lane", bad)
