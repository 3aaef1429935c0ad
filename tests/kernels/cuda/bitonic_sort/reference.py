import numpy as np

keys = np.random.default_rng(9).integers(0, 2**32, 1024, dtype=np.uint32)
np.save("keys.npy", keys)
rows = np.sort(keys.reshape(4, 256), axis=1)
rows[1::2] = rows[1::2, ::-1]
np.save("expect.npy", rows.reshape(-1))
