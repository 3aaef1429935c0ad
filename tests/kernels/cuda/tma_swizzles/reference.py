import numpy as np

ROWS = 16
a = np.random.default_rng(72).integers(0, 1 << 32, (19, 64), dtype=np.uint32)
np.save("in.npy", a)
seen = np.zeros((2, 4, ROWS * 32), np.uint32)
for i, (name, width, mask) in enumerate([("out", 128, 0), ("out32", 32, 1), ("out64", 64, 3), ("out128", 128, 7)]):
    n = width // 4
    out = np.zeros((ROWS, 64), np.uint32)
    for cta in range(2):
        x = 32 * cta // n * n
        tile = a[3 : 3 + ROWS, x : x + n]
        out[:, x : x + n] = tile
        # 16-byte pieces trade places by the number of their 128 bytes.
        piece = np.arange(ROWS * width // 16)
        seen[cta, i].reshape(-1, 4)[piece ^ (piece // 8 & mask)] = tile.reshape(-1, 4)
    np.save(f"expect_{name}.npy", out)
np.save("expect_seen.npy", seen)
