import numpy as np

rng = np.random.default_rng(124)
x = rng.normal(0, 1, 1500).astype(np.float32)
x[::40] = np.nan
flags = rng.integers(-20, 20, 1500, dtype=np.int32)
np.save("x.npy", x)
np.save("flags.npy", flags)
clamped = np.clip(x, -1, 1)
result = np.where(
    flags & 1 == 1,
    np.where(x > 0.5, clamped * 2, -clamped),
    np.where(flags > 10, x * x, (flags ^ 3).astype(np.float32)),
)
np.save("expect.npy", np.where(np.isnan(x), -7, result).astype(np.float32))
