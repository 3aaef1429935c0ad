import numpy as np

x = np.random.default_rng(4).integers(-1000, 1000, 500, dtype=np.int32)
np.save("x.npy", x)
odd = int((x & 1).sum())
seen = np.zeros(16, np.uint32)
for ticket in range(odd):
    seen[ticket // 32] |= np.uint32(1 << (ticket % 32))
np.save("expect_sum.npy", np.array([x.sum(dtype=np.int64)]).view(np.uint64))
np.save("expect_least.npy", x.min(keepdims=True))
np.save("expect_most.npy", x.max(keepdims=True))
np.save("expect_count.npy", np.array([odd], np.uint32))
np.save("expect_seen.npy", seen)
