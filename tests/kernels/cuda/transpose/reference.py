import numpy as np

np.save("expect.npy", np.arange(4000, dtype=np.float32).reshape(50, 80).T.reshape(-1))
