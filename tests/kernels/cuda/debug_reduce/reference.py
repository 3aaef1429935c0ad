import numpy as np

x = np.random.default_rng(39).integers(-(10**6), 10**6, 256, dtype=np.int32)
np.save("x.npy", x)
np.save("expect.npy", np.array([x.min(), x.max()], np.int32))
