import numpy as np

rng = np.random.default_rng(71)
a = rng.integers(-100, 100, (48, 80)).astype(np.float32)
total = rng.integers(-100, 100, (48, 80)).astype(np.float32)
np.save("in.npy", a)
np.save("total.npy", total)
np.save("expect_out.npy", a + 1)
np.save("expect_total.npy", total + a + 1)
