import numpy as np

data = np.random.default_rng(12).integers(-3, 20, 2000, dtype=np.int32)
np.save("data.npy", data)
kept = data[(data >= 0) & (data < 16)]
np.save("expect.npy", np.bincount(kept, minlength=16).astype(np.uint32))
