import numpy as np

rng = np.random.default_rng(72)
x = rng.integers(0, 1 << 32, 128, dtype=np.uint64).astype(np.uint32)
np.save("x.npy", x)
np.save("total.npy", np.array([128, 100 + int(x.astype(np.uint64).sum())], np.uint64))
np.save("last.npy", np.array([x[3], 2**64 - 1], np.uint64))
f2, f4 = np.zeros((4, 2), np.float32), np.zeros((2, 4), np.float32)
h = np.full(12, -1, np.float16)
for v in map(int, x):
    f2[v % 4] += [v & 63, 1]
    f4[v % 2] += [1, v & 31, 0.5, -1]
    h[v % 2 * 4 : v % 2 * 4 + 4] += 1
    each = np.array([v & 0x7BFF, 0x8000 | (v & 0x3FF)], np.uint16).view(np.float16)
    h[8:] = np.maximum(h[8:], [each[0], each[1], each[0], each[1]])
np.save("f2.npy", f2.reshape(-1))
np.save("f4.npy", f4.reshape(-1))
np.save("h.npy", h)
