import numpy as np


def widen(byte, exponent, mantissa, bias, infinite):
    sign = -1.0 if byte & 0x80 else 1.0
    e, m = (byte & 0x7F) >> mantissa, byte & ((1 << mantissa) - 1)
    if infinite and e == (1 << exponent) - 1:
        return sign * np.inf if m == 0 else np.nan
    if not infinite and byte & 0x7F == 0x7F:
        return np.nan
    if e == 0:
        return sign * m * 2.0 ** (1 - bias - mantissa)
    return sign * (1 + m / (1 << mantissa)) * 2.0 ** (e - bias)


def narrow(x, table, most):
    """To nearest, ties to even; what is too large becomes the largest."""
    x = float(np.clip(x, -table[most], table[most]))
    d = [abs(table[i] - abs(x)) for i in range(most + 1)]
    near = min(d)
    i = [i for i in range(most + 1) if d[i] == near]
    byte = i[0] if len(i) == 1 or i[0] % 2 == 0 else i[1]
    return byte | (0x80 if np.signbit(x) else 0)


four = np.array([widen(i, 4, 3, 7, False) for i in range(256)])
five = np.array([widen(i, 5, 2, 15, True) for i in range(256)])
x = (np.random.default_rng(38).normal(0, 1, 256) * 2.0 ** np.linspace(-18, 18, 256)).astype(np.float32)
np.save("x.npy", x)
np.save("expect_e4m3.npy", four.astype(np.float32))
np.save("expect_e5m2.npy", five.astype(np.float32))
np.save("expect_narrow4.npy", np.array([narrow(v, four, 0x7E) for v in x], np.uint8))
np.save("expect_narrow5.npy", np.array([narrow(v, five, 0x7B) for v in x], np.uint8))
