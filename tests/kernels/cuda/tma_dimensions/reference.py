import numpy as np

rng = np.random.default_rng(73)
line = rng.integers(0, 1 << 32, 100, dtype=np.uint32)
cube = rng.uniform(-1, 1, (5, 6, 8)).astype(np.float16)
five = rng.integers(0, 256, 3 * 512, dtype=np.uint8)
least = rng.integers(0, 1 << 32, 60, dtype=np.uint32)
bits = rng.integers(0, 1 << 32, 80, dtype=np.uint32)
for name, x in (("line", line), ("cube", cube), ("five", five), ("least", least), ("bits", bits)):
    np.save(f"{name}.npy", x)

one = np.zeros(64, np.uint32)
one[:28] = line[72:]
three = np.full((3, 4, 16), np.nan, np.float16)
for i, z in enumerate((-1, 1, 3)):
    for y in range(4):
        for x in range(16):
            if z >= 0 and x >= 8:
                three[i, y, x] = cube[z, 2 + y, x - 8]
strided = np.lib.stride_tricks.as_strided(five, (3, 2, 4, 2, 16), (512, 256, 64, 32, 1))
last = np.zeros((2, 2, 3, 2, 16), np.uint8)
last[0] = strided[2, :, 1:4]
np.save("expect_1.npy", one)
np.save("expect_3.npy", three.reshape(-1))
np.save("expect_5.npy", last.reshape(-1))
np.save("expect_least.npy", np.concatenate([least[:8], np.minimum(least[8:], one[:52])]))
bits[16:] ^= one
np.save("expect_bits.npy", bits)
