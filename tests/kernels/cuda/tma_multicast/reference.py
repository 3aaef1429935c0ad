import numpy as np

rng = np.random.default_rng(74)
table = rng.integers(-100, 100, (32, 32)).astype(np.float32)
rows = rng.integers(0, 32, 256, dtype=np.uint32)
np.save("table.npy", table)
np.save("rows.npy", rows)
np.save("expect.npy", table.sum(axis=1)[rows])
