import numpy as np

x = np.random.default_rng(59).integers(-100, 100, (6, 64), dtype=np.int32)
np.save("x.npy", x.reshape(-1))
head = x.reshape(-1)[:128]
last = (head < 0).sum() * 4 + 2 * int((head == 99).any()) + int((head > -1000).all())
np.save("expect.npy", np.append((2 * x[:, ::-1]).reshape(-1), last).astype(np.int32))
