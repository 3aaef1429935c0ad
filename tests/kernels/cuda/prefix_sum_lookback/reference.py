import numpy as np

x = np.random.default_rng(50).integers(0, 1000, 1536, dtype=np.uint32)
np.save("x.npy", x)
total = x.cumsum(dtype=np.uint32)
np.save("expect.npy", total)
np.save("expect_state.npy", total[127::128].astype(np.uint64) + np.uint64(2 << 32))
