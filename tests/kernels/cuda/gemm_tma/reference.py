import numpy as np

rng = np.random.default_rng(75)
a = rng.uniform(-1, 1, (120, 232)).astype(np.float16)
b = rng.uniform(-1, 1, (104, 232)).astype(np.float16)  # B, transposed
np.save("a.npy", a)
np.save("b.npy", b)
np.save("expect.npy", (a.astype(np.float64) @ b.astype(np.float64).T).astype(np.float16).reshape(-1))
