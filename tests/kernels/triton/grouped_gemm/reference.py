import numpy as np

rng = np.random.default_rng(116)
a_all, b_all, c_all = [], [], []
for m, n, k in ((40, 50, 36), (16, 64, 80), (65, 35, 20)):
    a = rng.uniform(-1, 1, (m, k)).astype(np.float16)
    b = rng.uniform(-1, 1, (k, n)).astype(np.float16)
    a_all.append(a.reshape(-1))
    b_all.append(b.reshape(-1))
    c_all.append((a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32).reshape(-1))
np.save("a.npy", np.concatenate(a_all))
np.save("b.npy", np.concatenate(b_all))
np.save("expect.npy", np.concatenate(c_all))
