import numpy as np

rng = np.random.default_rng(119)
table = rng.normal(0, 1, (100, 100)).astype(np.float32)
length = rng.integers(0, 9, 12)
indices = rng.integers(-3, 103, length.sum())
offsets = np.concatenate([[0], length.cumsum()]).astype(np.int32)
for name in ("indices", "offsets"):
    np.save(f"{name}.npy", globals()[name])
np.save("table.npy", table.reshape(-1))
out = np.zeros((12, 100))
for bag in range(12):
    for i in indices[offsets[bag] : offsets[bag + 1]]:
        if 0 <= i < 100:
            out[bag] += table[i]
np.save("expect.npy", out.astype(np.float32).reshape(-1))
