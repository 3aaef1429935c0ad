import numpy as np

v = np.random.default_rng(31).integers(0, 2**32, (128, 4), dtype=np.uint32)
np.save("in.npy", v.reshape(-1))
lane = np.arange(128) % 32
np.save("expect_lanes.npy", ((1 << lane) - 1 + lane).astype(np.uint32))
wide = v.astype(object)
total = (wide[:, 0] + (wide[:, 1] << 32) + wide[:, 2] + (wide[:, 3] << 32)) % 2**64
np.save("expect_sums.npy", np.stack([total & 0xFFFFFFFF, total >> 32], axis=1).astype(np.uint32).reshape(-1))
clipped = v[:, 0].copy()
while (clipped > 1000).any():
    clipped = np.where(clipped > 1000, clipped >> 1, clipped)
np.save("expect_clipped.npy", clipped)
