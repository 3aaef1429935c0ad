import numpy as np

rng = np.random.default_rng(125)
a = rng.uniform(-1, 1, (128, 128)).astype(np.float16)
b = rng.uniform(-1, 1, (128, 96)).astype(np.float16)
np.save("a.npy", a.reshape(-1))
np.save("b.npy", b.reshape(-1))
np.save("expect.npy", (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float16).reshape(-1))
