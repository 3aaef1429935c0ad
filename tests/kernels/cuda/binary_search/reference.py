import numpy as np

rng = np.random.default_rng(7)
table = np.sort(rng.integers(-5000, 5000, 1500, dtype=np.int32))
queries = rng.integers(-6000, 6000, 500, dtype=np.int32)
np.save("sorted.npy", table)
np.save("queries.npy", queries)
want = np.full(512, -1, np.int32)
want[:500] = np.searchsorted(table, queries, side="left")
np.save("expect.npy", want)
