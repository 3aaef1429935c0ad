import numpy as np

z = np.random.default_rng(27).uniform(-1, 1, (100, 2)).astype(np.float32)
np.save("z.npy", z.reshape(-1))
w = (z[:, 0] + 1j * z[:, 1].astype(np.float64)) ** (np.arange(100) % 6)
np.save("expect.npy", np.stack([w.real, w.imag], axis=1).astype(np.float32).reshape(-1))
