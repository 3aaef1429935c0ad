import numpy as np

rng = np.random.default_rng(28)
which = rng.integers(0, 4, 100, dtype=np.int32)
a, b = rng.integers(-1000, 1000, (2, 100), dtype=np.int32)
for name in ("which", "a", "b"):
    np.save(f"{name}.npy", globals()[name])
np.save("expect.npy", np.choose(which, [a + b, a - b, a * b, np.maximum(a, b)]).astype(np.int32))
