import numpy as np

x = np.random.default_rng(54).integers(-(2**31), 2**31, (4, 32), dtype=np.int32)
np.save("x.npy", x.reshape(-1))
out = np.zeros((4, 32, 6), np.int32)
for w, o in zip(x, out):
    u = w.view(np.uint32)
    o[:, 0] = w.sum(dtype=np.int32)
    o[:, 1] = w.min()
    o[:, 2] = u.max().view(np.int32)
    o[:, 3] = np.bitwise_and.reduce(u | np.uint32(255)).view(np.int32)
    o[:, 4] = np.bitwise_xor.reduce(w)
    o[:10, 5] = np.bitwise_or.reduce(w[:10])
    o[10:, 5] = w[10:].max()
np.save("expect.npy", out.reshape(-1))
