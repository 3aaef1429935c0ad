import numpy as np

x = np.random.default_rng(2).uniform(-1, 1, 2000).astype(np.float32)
np.save("x.npy", x)
padded = np.zeros(2048)
padded[:2000] = x
np.save("expect.npy", padded.reshape(8, 256).sum(axis=1).astype(np.float32))
