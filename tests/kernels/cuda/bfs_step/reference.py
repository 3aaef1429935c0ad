import numpy as np

rng = np.random.default_rng(23)
degree = rng.integers(0, 9, 600)
start = np.concatenate([[0], np.cumsum(degree)]).astype(np.int32)
edges = rng.integers(0, 600, start[-1], dtype=np.int32)
level = np.full(600, -1, np.int32)
frontier = rng.permutation(600)[:100].astype(np.int32)
level[frontier] = 2
for name in ("start", "edges", "level", "frontier"):
    np.save(f"{name}.npy", globals()[name])
found = {int(t) for v in frontier for t in edges[start[v] : start[v + 1]] if level[t] == -1}
level[list(found)] = 3
np.save("expect_level.npy", level)
np.save("expect_size.npy", np.array([len(found)], np.int32))  # the order of `next` is free
