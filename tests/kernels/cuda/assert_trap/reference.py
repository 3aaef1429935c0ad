import numpy as np

x = np.arange(3, 35)
np.save("expect.npy", np.where(np.arange(32) < 30, 2 * (x + (x & 3)), 0).astype(np.int32))
