import numpy as np

rng = np.random.default_rng(35)
a = rng.uniform(-1, 1, (64, 160)).astype(np.float16)
b = rng.uniform(-1, 1, (64, 160)).astype(np.float16)  # B, transposed
for name, x in (("a", a), ("b", b)):
    np.save(f"{name}.npy", x.reshape(64, 20, 8).transpose(1, 0, 2).reshape(-1))
np.save("expect.npy", (a.astype(np.float64) @ b.astype(np.float64).T).astype(np.float32).reshape(-1))
