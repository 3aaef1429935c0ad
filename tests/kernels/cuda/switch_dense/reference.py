import numpy as np

rng = np.random.default_rng(63)
op = rng.integers(0, 15, 250, dtype=np.uint32)
x = rng.integers(-5000, 5000, 250, dtype=np.int32)
y = rng.integers(-9, 9, 251, dtype=np.int32)
y[250] = 0
for name in ("op", "x", "y"):
    np.save(f"{name}.npy", globals()[name])


def wrap(v):
    return (v + 2**31) % 2**32 - 2**31


def case(o, v, old):
    u = v % 2**32
    if o in (2, 3):
        v = v ^ 0x5A5A if o == 2 else v
        return wrap(v + (v % 2**32).bit_count())
    if o == 4:
        for k in range(v & 7, 0, -1):
            v = wrap(v * 5 + k)
        return v
    if o == 11:
        return int(x[v % 250]) if v > 0 else v
    towards_zero = abs(v) // 7 * (1 if v >= 0 else -1)
    rest = abs(v) % 11 * (1 if v >= 0 else -1)
    plain = {0: wrap(v * 3 + old), 1: -v, 5: towards_zero, 6: rest, 7: v, 8: 32 - u.bit_length(), 9: min(v, 40) << 2}
    return wrap(int(f"{u:032b}"[::-1], 2)) if o == 10 else plain[o]


want = y.copy()
for i in range(250):
    if op[i] < 12:
        want[i] = case(int(op[i]), int(x[i]), int(y[i]))
want[250] = (op == 7).sum()
np.save("expect.npy", want)
