import numpy as np

x = np.random.default_rng(61).integers(0, 2**32, (3, 4, 32, 4), dtype=np.uint32)  # round, warp, lane, matrix
np.save("x.npy", x.reshape(-1))
# stmatrix: of matrix m, row lane / 4, columns 2 * (lane % 4) and the next, are in register m of the lane; row r of
# matrix m goes to the address that lane 8 m + r gives, which here is the (8 m + r)th piece of 16 bytes.
rows = x.reshape(3, 4, 8, 4, 4).transpose(0, 1, 4, 2, 3)  # round, warp, matrix, row, word
np.save("expect.npy", rows.reshape(-1))
