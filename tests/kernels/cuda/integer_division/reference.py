import math

import numpy as np

rng = np.random.default_rng(10)
a = rng.integers(-(2**31), 2**31, 512, dtype=np.int32)
b = rng.integers(-300, 300, 512, dtype=np.int32)
b[::50] = 0
np.save("a.npy", a)
np.save("b.npy", b)


def divide(x, y):
    """As C does: towards zero, exactly."""
    q = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    return q, x - q * y


quotient, remainder = np.zeros(512, np.int32), np.zeros(512, np.int32)
by_seven, wide = np.zeros(512, np.uint32), np.zeros(512, np.int64)
for i in range(500):
    x, y = int(a[i]), int(b[i])
    if y == 0:
        continue
    quotient[i], remainder[i] = divide(x, y)
    u = x % 2**32
    by_seven[i] = u // 7 + u % 10
    big = x * 1000003 + y
    wide[i] = divide(big, y)[0] + int(math.fmod(big, 1000))
for name in ("quotient", "remainder", "by_seven", "wide"):
    np.save(f"expect_{name}.npy", globals()[name])
