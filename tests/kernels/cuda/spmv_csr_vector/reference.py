import numpy as np

rng = np.random.default_rng(14)
dense = rng.uniform(-1, 1, (300, 200)).astype(np.float32)
dense[rng.random((300, 200)) < 0.8] = 0
dense[::17] = 0  # some empty rows
row, col = np.nonzero(dense)
np.save("start.npy", np.concatenate([[0], np.cumsum(np.bincount(row, minlength=300))]).astype(np.int32))
np.save("column.npy", col.astype(np.int32))
np.save("value.npy", dense[row, col])
x = rng.uniform(-1, 1, 200).astype(np.float32)
np.save("x.npy", x)
np.save("expect.npy", (dense.astype(np.float64) @ x).astype(np.float32))
