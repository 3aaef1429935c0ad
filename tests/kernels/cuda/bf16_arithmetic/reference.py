import numpy as np


def bits(x):
    """The bfloat16 bits nearest to finite doubles, ties to even, in one rounding."""
    x = np.asarray(x, np.float64)
    mantissa, exponent = np.frexp(x)
    near = np.rint(mantissa * 256) / 256 * 2.0**exponent
    return (near.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def value(u):
    return (u.astype(np.uint32) << 16).view(np.float32)


a, b = bits(np.random.default_rng(45).normal(0, 2, (2, 200)))
np.save("a.npy", a)
np.save("b.npy", b)
x, y = value(a).astype(np.float64), value(b).astype(np.float64)
np.save("expect_fused.npy", bits(x * y + x))
np.save("expect_wide.npy", (x * 1.5).astype(np.float32))
factor = np.tile(np.array([1.01, 0.99], np.float32), 100)
np.save("expect_scaled.npy", bits((value(a) * factor).astype(np.float32)))
