import numpy as np

rng = np.random.default_rng(109)
q, k, v = (rng.normal(0, 1, (2, 128, 64)).astype(np.float16) for _ in range(3))
for name in "qkv":
    np.save(f"{name}.npy", globals()[name].reshape(-1))
score = 0.125 * q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1)
score[:, ~np.tri(128, dtype=bool)] = -np.inf
weight = np.exp(score - score.max(axis=2, keepdims=True))
weight /= weight.sum(axis=2, keepdims=True)
np.save("expect.npy", (weight @ v.astype(np.float64)).astype(np.float32).reshape(-1))
