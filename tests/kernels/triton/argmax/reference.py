import numpy as np

x = np.random.default_rng(115).integers(-20, 20, (8, 200)).astype(np.float32)
np.save("x.npy", x.reshape(-1))
np.save("expect_largest.npy", x.max(axis=1))
np.save("expect_where_largest.npy", x.argmax(axis=1).astype(np.int32))
np.save("expect_where_least.npy", x.argmin(axis=1).astype(np.int32))
