import numpy as np

place = np.zeros((4, 6), np.int32)
for y in range(4):
    for x in range(6):
        place[y, x] = 6 | 4 << 4 | (x % 2) << 8 | (y % 2) << 12 | (x % 2 + 2 * (y % 2) + 1) << 16
np.save("expect_place.npy", place.reshape(-1))
np.save("expect_sums.npy", np.full(24, 1 + 2 + 3 + 4, np.int32))
