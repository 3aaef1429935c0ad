import numpy as np

rng = np.random.default_rng(52)
groups, ctas, tile = 2, 4, 16
a = rng.integers(-3, 4, (groups, ctas * tile, ctas * tile)).astype(np.float32)
x = rng.standard_normal((groups, ctas * tile)).astype(np.float32)
np.save("a.npy", a.reshape(-1))
np.save("x.npy", x.reshape(-1))
np.save("expect_y.npy", np.einsum("gij,gj->gi", a.astype(np.float64), x.astype(np.float64)).reshape(-1).astype(np.float32))
places = [[(j % 2 * 2 + i % 2) << 16 | 2 << 12 | 2 << 8 | (i % 2) << 4 | j % 2 for i in range(4)] for j in range(2)]
np.save("expect_places.npy", np.array(places, np.uint32).reshape(-1))
