import numpy as np

x = np.random.default_rng(40).uniform(0, 10, 50).astype(np.float32)
x[[7, 33]] = np.nan
np.save("x.npy", x)
np.save("expect.npy", np.array([(np.isnan(x) | (x > 9.5)).sum()], np.int32))
