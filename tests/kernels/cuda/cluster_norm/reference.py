import numpy as np

x = np.random.default_rng(53).standard_normal((2, 2400)).astype(np.float32)
np.save("x.npy", x.reshape(-1))
wide = x.astype(np.float64)
scale = 1 / np.sqrt((wide * wide).mean(axis=1, keepdims=True) + np.float32(1e-5))
np.save("expect.npy", (wide * scale).astype(np.float32).reshape(-1))
