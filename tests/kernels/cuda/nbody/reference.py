import numpy as np

body = np.random.default_rng(24).uniform(0, 1, (128, 4)).astype(np.float32)
np.save("body.npy", body.reshape(-1))
p, mass = body[:, :3].astype(np.float64), body[:, 3]
d = p[None] - p[:, None]
f = mass / ((d**2).sum(axis=2) + np.float64(np.float32(0.01))) ** 1.5
np.save("expect.npy", (d * f[:, :, None]).sum(axis=1).astype(np.float32).reshape(-1))
