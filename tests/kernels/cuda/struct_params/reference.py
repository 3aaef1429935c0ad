import numpy as np

i = np.arange(64)
v = np.minimum(((i - 50) >> 2) - 7, 30)
table = np.array([0.5, 1.5, -2.0, 4.0])
np.save("expect.npy", -(v * table[i & 3] + 1.25 - 3 + 200).astype(np.float32))
