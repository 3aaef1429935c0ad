import numpy as np

rng = np.random.default_rng(71)
a = rng.integers(0, 1 << 32, 128, dtype=np.uint64).astype(np.uint32)
b = rng.integers(0, 1 << 32, 128, dtype=np.uint64).astype(np.uint32)
b[::5] = a[::5]
a[:8] = [0, 0xFFFFFFFF, 0x80808080, 0x7F7F7F7F, 0x80008000, 0x7FFF7FFF, 1, 0x01000000]


def parts(v, bits, signed):
    """The parts of a word, lowest first."""
    each = [int(v) >> at & ((1 << bits) - 1) for at in range(0, 32, bits)]
    return [p - (1 << bits) if signed and p >> (bits - 1) else p for p in each]


def word(each, bits):
    return sum((p & ((1 << bits) - 1)) << (i * bits) for i, p in enumerate(each))


def s32(v):
    return parts(v, 32, True)[0]


def clamp(v, bits):
    return max(-(1 << (bits - 1)), min((1 << (bits - 1)) - 1, v))


out = np.zeros((128, 16), np.uint32)
for i, (x, y) in enumerate(zip(map(int, a), map(int, b))):
    b4 = list(zip(parts(x, 8, False), parts(y, 8, False)))
    s4 = list(zip(parts(x, 8, True), parts(y, 8, True)))
    h2 = list(zip(parts(x, 16, False), parts(y, 16, False)))
    s2 = list(zip(parts(x, 16, True), parts(y, 16, True)))
    o = [0] * 16
    o[0] = word([abs(p - q) for p, q in b4], 8)
    o[1] = sum(abs(p - q) for p, q in b4)
    o[2] = word([abs(p - q) for p, q in s2], 16)
    o[3] = sum(abs(p - q) for p, q in s2)
    o[4] = word([clamp(p + q, 8) for p, q in s4], 8)
    o[5] = word([(p + q + 1) >> 1 for p, q in h2], 16)
    less = parts(word([q - p for p, q in b4], 8), 8, True)
    o[6] = word([max(p, d) for (p, _), d in zip(s4, less)], 8)
    o[7] = word([255 if p > q else 0 for p, q in b4], 8)
    o[8] = clamp(s4[3][0] + h2[0][1], 32)
    o[9] = max(h2[1][0] - h2[0][1], 5)
    o[10] = (s2[0][0] * s2[1][1] + s32(x)) >> 7
    # From b:a, bytes 7 5 3 1 of the first and 0 1 2 3 of the second; bytes 2 and 0 are written, the others are those of y.
    both = parts(x, 8, False) + parts(y, 8, False)
    mean = [(both[p] + both[q] + 1) >> 1 for p, q in zip([1, 3, 5, 7], [3, 2, 1, 0])]
    old = parts(y, 8, False)
    o[11] = word([mean[0], old[1], mean[2], old[3]], 8)
    masked = x & y & 0xFF00FF00
    o[12] = masked ^ int(masked != 0 and x < y)
    o[13] = (x << 8) | (clamp(s32(x) >> 27, 4) & 15) << 4 | (clamp(s32(y) >> 27, 4) & 15)
    n = i % 7 + 1
    for k in range(n):
        o[14] = o[14] * 3 + x + (k + i) % n * y
    sums = parts(word([p + q for p, q in h2], 16), 16, True)
    o[15] = word([max(t, p, 0) for t, (p, _) in zip(sums, s2)], 16)
    out[i] = [v & 0xFFFFFFFF for v in o]

np.save("a.npy", a)
np.save("b.npy", b)
np.save("expect.npy", out.reshape(-1))
