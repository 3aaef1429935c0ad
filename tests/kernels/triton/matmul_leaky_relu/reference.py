import numpy as np

rng = np.random.default_rng(108)
a = rng.uniform(-1, 1, (48, 96)).astype(np.float16)
b = rng.uniform(-1, 1, (96, 64)).astype(np.float16)
np.save("a.npy", a.reshape(-1))
np.save("b.npy", b.reshape(-1))
c = a.astype(np.float64) @ b.astype(np.float64)
np.save("expect.npy", np.where(c >= 0, c, 0.01 * c).astype(np.float16).reshape(-1))
