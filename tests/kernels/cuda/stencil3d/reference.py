import numpy as np

x = np.random.default_rng(16).uniform(-1, 1, (10, 12, 20))
np.save("x.npy", x.reshape(-1))
want = np.zeros_like(x)
c = slice(1, -1)
want[c, c, c] = (
    x[c, c, :-2] + x[c, c, 2:] + x[c, :-2, c] + x[c, 2:, c] + x[:-2, c, c] + x[2:, c, c] - 6 * x[c, c, c]
)
np.save("expect.npy", want.reshape(-1))
