import numpy as np

data = np.random.default_rng(57).integers(-99, 99, (60, 24), dtype=np.int32)
np.save("data.npy", data.reshape(-1))
np.save("expect.npy", np.sort(data, axis=1).reshape(-1))
