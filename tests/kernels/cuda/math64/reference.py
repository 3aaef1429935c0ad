import numpy as np

a, b = np.random.default_rng(43).integers(0, 2**64, (2, 100), dtype=np.uint64)
np.save("a.npy", a)
np.save("b.npy", b)
M = 2**64 - 1


def signed(v):
    return v - 2**64 if v >> 63 else v


high, mixed, power = [], [], []
for x, y in zip(a.tolist(), b.tolist()):
    high.append(x * y >> 64)
    m = (x << (y & 63) & M) ^ (y >> (x & 63))
    m += (x - y if signed(x) < signed(y) else ~y) & M
    lowest = (x & -x).bit_length()
    mixed.append((m + x.bit_count() + 64 - (y | 1).bit_length() + lowest) & M)
    power.append(pow(x, y & 0xFF, 1000003))
for name in ("high", "mixed", "power"):
    np.save(f"expect_{name}.npy", np.array(globals()[name], np.uint64))
