import numpy as np

rng = np.random.default_rng(107)
a = rng.integers(-128, 128, (64, 128), dtype=np.int8)
b = rng.integers(-128, 128, (128, 64), dtype=np.int8)
np.save("a.npy", a.reshape(-1))
np.save("b.npy", b.reshape(-1))
np.save("expect.npy", (a.astype(np.int32) @ b.astype(np.int32)).reshape(-1))
