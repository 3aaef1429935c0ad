import math

import numpy as np

x, y = np.random.default_rng(42).normal(0, 1, (2, 3000))
np.save("x.npy", x)
np.save("y.npy", y)
np.save("expect.npy", np.array([math.fsum(x * y)]))
