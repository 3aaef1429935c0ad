import numpy as np

x, y = np.random.default_rng(101).normal(0, 1, (2, 2048)).astype(np.float32)
np.save("x.npy", x)
np.save("y.npy", y)
np.save("expect.npy", np.where(np.arange(2048) < 2000, x + y, 0).astype(np.float32))
