import numpy as np

x = np.random.default_rng(113).integers(0, 128, 2000, dtype=np.int32)
np.save("x.npy", x)
np.save("expect.npy", np.bincount(x, minlength=128).astype(np.int32))
