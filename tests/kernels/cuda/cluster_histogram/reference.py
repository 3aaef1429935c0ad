import numpy as np

x = np.random.default_rng(51).integers(0, 1 << 20, 3000, dtype=np.uint32)
np.save("x.npy", x)
np.save("expect.npy", np.bincount(x % 96, minlength=96).astype(np.uint32))
