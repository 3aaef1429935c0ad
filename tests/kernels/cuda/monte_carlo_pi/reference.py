import numpy as np

x = np.arange(512 * 50, dtype=np.uint32)
x ^= x >> np.uint32(16)
x *= np.uint32(0x7FEB352D)
x ^= x >> np.uint32(15)
x *= np.uint32(0x846CA68B)
x ^= x >> np.uint32(16)
a, b = (x & np.uint32(0xFFFF)).astype(np.uint64), (x >> np.uint32(16)).astype(np.uint64)
np.save("expect.npy", np.array([(a * a + b * b < 0xFFFE0001).sum()], np.uint64))
