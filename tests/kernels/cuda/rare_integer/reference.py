import numpy as np

a, b = np.random.default_rng(64).integers(0, 2**32, (2, 128), dtype=np.uint32)
a[::9] >>= np.uint32(20)
a[:3], b[3:6] = [0, 7, 0xFFFFFFFF], [0, 1, 0x80000000]
np.save("a.npy", a)
np.save("b.npy", b)
M = 2**32 - 1


def s(v, bits=32):
    v &= (1 << bits) - 1
    return v - (1 << bits) if v >> (bits - 1) else v


def bytes_of(v, n=4, bits=8, signed=False):
    parts = [v >> bits * i & ((1 << bits) - 1) for i in range(n)]
    return [s(p, bits) for p in parts] if signed else parts


def mask(base, width, wrap):
    if wrap:
        base, width = base & 31, width & 31
    return sum(1 << i for i in range(base, min(base + width, 32)))


def extend(v, n, wrap, signed):
    """The low n bits, with their sign or with zeros."""
    n = n & 31 if wrap else n
    if n >= 32:
        return v
    low = v & ((1 << n) - 1)
    return s(low, n) & M if signed and n else low


def nth_set(v, base, offset):
    """PTX's fns: the offset-th set bit, up or down from base; with 0, base itself if it is set."""
    if offset == 0:
        return base if v >> base & 1 else M
    step, count, at = (1, offset, base) if offset > 0 else (-1, -offset, base)
    while 0 <= at < 32:
        count -= v >> at & 1
        if count == 0:
            return at
        at += step
    return M


def permute(x, y, selectors):
    eight = bytes_of(x) + bytes_of(y)
    pick = [(eight[k & 7] >> 7) * 255 if k & 8 else eight[k & 7] for k in selectors]
    return sum(v << 8 * i for i, v in enumerate(pick))


def clamp(v, low, high):
    return min(max(v, low), high)


def row(x, y):
    w = (s(x) * s(y) + (1 << 40)) % 2**64
    borrow = x < y
    low = x * y + x
    top = max(x.bit_length(), 0) - 1 if s(x) >= 0 else (x ^ M).bit_length() - 1
    highest = y.bit_length() - 1
    wide = y << 32 | x
    ls, rs = min(y & 63, 32), min(x & 63, 32)
    e = x & 3
    f4e = permute(x, y, [e, e + 1, e + 2, e + 3])
    rc16 = permute(x, y, [2, 3, 2, 3] if y & 1 else [0, 1, 0, 1])
    ecl = permute(x, y, [max(i, y & 3) for i in range(4)])
    dp4 = sum(p * q for p, q in zip(bytes_of(x), bytes_of(y, signed=True))) + x
    dp2 = sum(p * q for p, q in zip(bytes_of(x, 2, 16, True), bytes_of(y)[2:])) + x
    less = s(x) < s(y)
    pack = (clamp(s(x) >> 23, -128, 127) & 255) << 8 | (clamp(s(y) >> 24, -128, 127) & 255) | (x & 0xFFFF) << 16
    return [
        (x & 0xFFFFFF) * (y & 0xFFFFFF),
        s(x, 24) * s(y, 24) >> 16,
        s(x, 24) * s(y, 24) + x,
        s(x) * s(y) >> 32,
        (x * y >> 32) + x,
        w ^ w >> 32,
        (x - y) % 2**32 ^ (y - x - borrow) % 2**32 << 1,
        low % 2**32 ^ ((x * y >> 32) + y + ((x * y & M) + x >> 32)) % 2**32 << 1,
        x if s(x ^ y) >= 0 else y,
        not x & 1,
        mask(x & 63, y & 63, False),
        mask(x & 63, y & 63, True),
        extend(x, y & 63, True, True),
        extend(x, y & 63, False, False),
        nth_set(x, y & 31, (y >> 8 & 7) - 4),
        top * 64 + (M if y == 0 else 31 - highest),
        (wide << ls >> 32) ^ wide >> rs,
        f4e ^ rc16,
        ecl ^ permute(x, y, [0xF, 0x2, 0xD, 0x8]),
        dp4 ^ dp2,
        (less and x < 2**31) + 2 * (not less and x < 2**31),
        M if s(x) <= s(y) or x == 7 else 0,
        pack ^ clamp(s(x) >> 22, 0, 255) << 8,
        1 + 2 + 4 + 3,
    ]


np.save("expect.npy", np.array([[int(v) & M for v in row(x, y)] for x, y in zip(a.tolist(), b.tolist())], np.uint32).reshape(-1))
