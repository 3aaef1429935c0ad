import numpy as np

x = np.random.default_rng(66).integers(-(2**31), 2**31, (4, 64), dtype=np.int32)
np.save("x.npy", x.reshape(-1))
np.save("expect_out.npy", x[[1, 0, 3, 2]].reshape(-1))
np.save("expect_sums.npy", x.sum(axis=0, dtype=np.int32) + np.int32(10))
even, odd = 0 + 2 + 4 + 6, 1 + 3 + 5 + 7
np.save("expect_vectors.npy", np.array([16, 8, 4 * even, -16, 16, 8, 4 * odd, -16], np.float32))
least = np.minimum(x.reshape(-1).view(np.int16).reshape(-1, 2), np.array([3, 5], np.int16))
np.save("expect_packed.npy", least.reshape(-1).view(np.uint32))
