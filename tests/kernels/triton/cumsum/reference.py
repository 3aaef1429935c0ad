import numpy as np

x = np.random.default_rng(111).uniform(-1, 1, (4, 512)).astype(np.float32)
np.save("x.npy", x.reshape(-1))
v = x.astype(np.float64)
np.save("expect_sums.npy", v.cumsum(axis=1).astype(np.float32).reshape(-1))
state, states = np.zeros(4), np.zeros_like(v)
for i in range(512):
    state = states[:, i] = np.float64(np.float32(0.9)) * state + v[:, i]
np.save("expect_states.npy", states.astype(np.float32).reshape(-1))
