import math
from fractions import Fraction

import numpy as np

rng = np.random.default_rng(53)
a, b = (rng.normal(0, 1, (2, 64)) * 2.0 ** rng.integers(-10, 10, (2, 64))).astype(np.float32)
a[:4] = [2.5, -2.5, 3.5, 0.5]
np.save("a.npy", a)
np.save("b.npy", b)


def rounded(exact, mode):
    """The float32 next to an exact fraction: n(earest), z(ero), d(own), u(p)."""
    near = np.float32(float(exact))
    near = min((np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.float32(np.inf))), key=lambda f: abs(Fraction(float(f)) - exact))
    if mode == "n":
        return np.float32(near)
    if mode == "z":
        mode = "d" if exact > 0 else "u"
    if mode == "d" and Fraction(float(near)) > exact:
        return np.nextafter(near, np.float32(-np.inf))
    if mode == "u" and Fraction(float(near)) < exact:
        return np.nextafter(near, np.float32(np.inf))
    return near


def root_down(x):
    """The largest float32 whose square is not above x."""
    r = np.float32(math.sqrt(x))
    while Fraction(float(r)) ** 2 > x:
        r = np.nextafter(r, np.float32(0))
    up = np.nextafter(r, np.float32(np.inf))
    return up if Fraction(float(up)) ** 2 <= x else r


def clip(v, low, high):
    return int(min(max(v, low), high))


sums, products, ints, odd = [], [], [], []
for i, (x, y) in enumerate(zip(a, b)):
    p, q = Fraction(float(x)), Fraction(float(y))
    sums += [np.float32(np.float64(x) + np.float64(y))] + [rounded(p + q, m) for m in "zdu"]
    products += [rounded(p * q, "z"), rounded(p * q + p, "d"), rounded(p / q, "u"), root_down(abs(p))]
    ints += [round(p), math.floor(q), np.uint32(clip(math.ceil(p), 0, 2**32 - 1)).view(np.int32)]
    ints += [clip(math.trunc(float(x) * 1e9), -(2**31), 2**31 - 1)]
    small = Fraction(float(x * np.float32(1e-19))) * Fraction(float(y * np.float32(1e-19)))
    unit = Fraction(1, 2**149)
    subnormal = np.float32(round(small / unit) * 2.0**-149) if abs(small) < Fraction(1, 2**126) else rounded(small, "n")
    flushed = np.float32(0) if abs(small) < Fraction(1, 2**126) else subnormal
    sign = np.float32(math.copysign(1, float(small)))
    odd += [np.clip(x, 0, 1), x if i % 8 == 0 else min(x, y), subnormal, sign * abs(flushed)]
for name in ("sums", "products", "odd"):
    np.save(f"expect_{name}.npy", np.array(globals()[name], np.float32))
np.save("expect_ints.npy", np.array([int(v) for v in ints], np.int32))
