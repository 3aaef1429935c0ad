import numpy as np

x = np.random.default_rng(122).normal(0, 1, (12, 3, 96)).astype(np.float16)
angle = np.arange(12)[:, None] * 10000.0 ** (-np.arange(48) / 48)
cosine, sine = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
for name in ("x", "cosine", "sine"):
    np.save(f"{name}.npy", globals()[name].reshape(-1))
a, b = x[..., :48].astype(np.float64), x[..., 48:].astype(np.float64)
c, s = cosine[:, None].astype(np.float64), sine[:, None].astype(np.float64)
np.save("expect.npy", np.concatenate([a * c - b * s, b * c + a * s], axis=2).astype(np.float16).reshape(-1))
