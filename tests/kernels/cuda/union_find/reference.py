import numpy as np

edges = np.random.default_rng(60).integers(0, 256, (220, 2), dtype=np.int32)
np.save("edges.npy", edges.reshape(-1))
label = np.arange(256, dtype=np.int32)
changed = True
while changed:
    changed = False
    for a, b in edges:
        least = min(label[a], label[b])
        changed |= label[a] != least or label[b] != least
        label[a] = label[b] = least
np.save("expect.npy", label)
