import numpy as np

rng = np.random.default_rng(49)
points = (rng.integers(-2048, 2048, (500, 2)) / 256).astype(np.float32)  # on a raster, so that sums are exact
centres = (rng.integers(-8, 8, (8, 2)) + 0.37).astype(np.float32)
np.save("points.npy", points.reshape(-1))
np.save("centres.npy", centres.reshape(-1))
d = ((points[:, None].astype(np.float64) - centres.astype(np.float64)) ** 2).sum(axis=2)
two = np.sort(d, axis=1)[:, :2]
assert (two[:, 1] - two[:, 0] > 1e-3).all(), "a tie: change the seed"
label = d.argmin(axis=1)
sums, counts = np.zeros((8, 2), np.int32), np.bincount(label, minlength=8)
np.add.at(sums, label, (points * 256).astype(np.int32))
np.save("expect_label.npy", label.astype(np.int32))
np.save("expect_sums.npy", sums.reshape(-1))
np.save("expect_counts.npy", counts.astype(np.int32))
