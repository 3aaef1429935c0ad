import numpy as np

cells = (np.random.default_rng(41).random((32, 32)) < 0.35).astype(np.uint8)
np.save("cells.npy", cells.reshape(-1))
for _ in range(12):
    count = sum(np.roll(cells, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - cells
    cells = ((count == 3) | ((cells == 1) & (count == 2))).astype(np.uint8)
np.save("expect.npy", cells.reshape(-1))
