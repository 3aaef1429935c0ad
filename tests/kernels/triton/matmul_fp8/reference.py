import numpy as np


def widen(byte):
    """e4m3: bias 7, no infinities."""
    e, m = byte >> 3 & 15, byte & 7
    v = m * 2.0**-9 if e == 0 else (1 + m / 8) * 2.0 ** (e - 7)
    return -v if byte & 0x80 else v


table = np.array([widen(i) for i in range(256)])
rng = np.random.default_rng(126)
# Magnitudes up to 2, either sign.
a, b = (rng.integers(0, 0x41, s, dtype=np.uint8) | rng.choice([0, 0x80], s).astype(np.uint8) for s in ((64, 128), (128, 64)))
np.save("a.npy", a.reshape(-1))
np.save("b.npy", b.reshape(-1))
np.save("expect.npy", (table[a] @ table[b]).astype(np.float32).reshape(-1))
