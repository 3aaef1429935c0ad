import numpy as np

rng = np.random.default_rng(25)
pool = rng.integers(0, 2**63, 150, dtype=np.uint64)
keys = rng.choice(pool, 500)
np.save("keys.npy", keys)
# Where a key lands depends on who comes first; how many different ones there are does not.
np.save("expect.npy", np.array([len(np.unique(keys))], np.uint32))
