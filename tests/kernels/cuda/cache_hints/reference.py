import numpy as np

rng = np.random.default_rng(58)
x = rng.integers(-64, 64, (128, 4)).astype(np.float32)
pairs = rng.integers(-64, 64, (128, 2)).astype(np.float32)
np.save("x.npy", x.reshape(-1))
np.save("pairs.npy", pairs.reshape(-1))
np.save("expect_out.npy", np.repeat(x, 2, axis=0).reshape(-1))
np.save("expect_sums.npy", np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1))
