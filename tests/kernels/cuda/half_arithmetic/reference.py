import numpy as np

a, b = np.random.default_rng(44).normal(0, 3, (2, 200)).astype(np.float16)
np.save("a.npy", a)
np.save("b.npy", b)
x, y = a.astype(np.float64), b.astype(np.float64)  # exact products and sums, rounded once
np.save("expect_sum.npy", (x + y).astype(np.float16))
np.save("expect_fused.npy", (x * y + 0.25).astype(np.float16))
np.save("expect_clamped.npy", np.clip(a, np.float16(-1), np.float16(1)))
count = (x[::2] < y[::2]).astype(np.int32) + 2 * (x[1::2] > y[1::2])
below = count + (np.trunc(x[::2]).astype(np.int32) << 4) + (np.rint(y[1::2]).astype(np.int32) << 12)
np.save("expect_below.npy", below.astype(np.int32))
