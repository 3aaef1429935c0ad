import numpy as np

x = np.random.default_rng(15).uniform(0, 1, (44, 60)).astype(np.float32)
np.save("x.npy", x.reshape(-1))
padded = np.pad(x.astype(np.float64), 1, mode="edge")
weight = np.outer([1, 2, 1], [1, 2, 1]) / 16
want = sum(weight[i, j] * padded[i : i + 44, j : j + 60] for i in range(3) for j in range(3))
np.save("expect.npy", want.astype(np.float32).reshape(-1))
