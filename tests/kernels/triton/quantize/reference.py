import numpy as np

x = np.random.default_rng(120).normal(0, 1, (8, 200)).astype(np.float32)
np.save("x.npy", x.reshape(-1))
scale = np.abs(x).max(axis=1).astype(np.float64) / 127
exact = x / scale[:, None]
assert (np.abs(exact - np.floor(exact) - 0.5) > 1e-4).all(), "near a tie: change the seed"
q = np.rint(exact)
np.save("expect_q.npy", q.astype(np.int8).reshape(-1))
np.save("expect_scale.npy", scale.astype(np.float32))
np.save("expect_back.npy", (q * scale[:, None]).astype(np.float32).reshape(-1))
