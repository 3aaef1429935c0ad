import numpy as np

x = np.random.default_rng(112).integers(-(2**31), 2**31, (4, 256), dtype=np.int32)
np.save("x.npy", x.reshape(-1))
np.save("expect.npy", np.sort(x, axis=1).reshape(-1))
