import numpy as np

rng = np.random.default_rng(47)
grid = np.sort(np.sort(rng.integers(0, 300, (16, 16), dtype=np.int32), axis=1), axis=0)
wanted = rng.integers(-20, 300, 100, dtype=np.int32)
np.save("grid.npy", grid.reshape(-1))
np.save("wanted.npy", wanted)
found = np.full(100, -1, np.int32)
for i, want in enumerate(wanted):
    if want < 0:
        found[i] = -2
        continue
    rows = np.nonzero(grid[:, 0] > want)[0]
    last = rows[0] if len(rows) else 16
    hits = np.argwhere(grid[:last] == want)
    if len(hits):
        found[i] = hits[0][0] * 16 + hits[0][1]
np.save("expect.npy", found)
