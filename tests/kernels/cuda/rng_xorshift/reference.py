import numpy as np

i = np.arange(256, dtype=np.uint32)
x = np.uint32(2463534242) ^ (i * np.uint32(2654435761))
y = np.uint64(88172645463325252) + i.astype(np.uint64)
for _ in range(20):
    x ^= x << np.uint32(13)
    x ^= x >> np.uint32(17)
    x ^= x << np.uint32(5)
    y ^= y >> np.uint64(12)
    y ^= y << np.uint64(25)
    y ^= y >> np.uint64(27)
np.save("expect_narrow.npy", x)
np.save("expect_wide.npy", y * np.uint64(2685821657736338717))
