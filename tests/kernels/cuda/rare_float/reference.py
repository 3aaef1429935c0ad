import numpy as np

f32, f64 = np.float32, np.float64
rng = np.random.default_rng(65)
a, b = (rng.normal(0, 1, (2, 64)) * 2.0 ** rng.integers(-4, 10, (2, 64))).astype(f32)
a[:10] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 2.5, -2.5, 0.5, 1.5]
b[4:9] = [1.0, np.nan, -0.0, 0.0, np.nan]
b[[20, 21]] = a[[20, 21]]
np.save("a.npy", a)
np.save("b.npy", b)
x, y = a.astype(f64), b.astype(f64)
NAN = np.uint32(0x7FFFFFFF)  # the NaN that arithmetic makes


def bits(v):
    v = np.asarray(v, f32)
    return np.where(np.isnan(v), NAN, v.view(np.uint32))


def raw(v):
    return np.asarray(v, f32).view(np.uint32)


def half(v):
    v = np.asarray(v)
    return np.where(np.isnan(v), 0x7FFF, v.astype(np.float16).view(np.uint16)).astype(np.uint32)


def bf16(v):
    u = v.view(np.uint32).astype(np.uint64)
    near = (u + 0x7FFF + (u >> 16 & 1)) >> 16
    return np.where(np.isnan(v), 0x7FFF, near).astype(np.uint32)


def saturate(v):
    return np.where(np.isnan(v), 0.0, np.clip(v, 0, 1)).astype(f32) + f32(0)


def relu(v):
    return np.where(np.isnan(v), v, np.where(v > 0, v, f32(0)))


finite, tiny = np.isfinite(a), (np.abs(a) < f32(2.0**-126)) & (a != 0)
kinds = finite + 2 * np.isinf(a) + 4 * ~np.isnan(a) + 8 * np.isnan(a)
kinds = kinds + 16 * (finite & ~tiny) + 32 * tiny  # zeros count as normal
either = np.isnan(a) | np.isnan(b)
least = np.where((a == 0) & (b == 0), np.where(np.signbit(a), a, b), np.minimum(a, b))
most = np.where((a == 0) & (b == 0), np.where(np.signbit(a), b, a), np.fmax(a, b))
whole = np.rint(np.where(np.isnan(a), 0, a))
rows = np.zeros((64, 16), np.uint32)
rows[:, 0] = kinds
rows[:, 1] = raw(b) & np.uint32(0x7FFFFFFF) | raw(a) & np.uint32(0x80000000)
rows[:, 2], rows[:, 3] = bits(least), bits(most)
rows[:, 4], rows[:, 5] = raw(saturate(x + y)), raw(saturate(x * y + x))
rows[:, 6], rows[:, 7] = bits(np.rint(a)), bits(np.ceil(a))
rows[:, 8] = np.clip(whole, 0, 255).astype(np.uint32)
rows[:, 9] = half(relu(a)) << np.uint32(16) | half(relu(b))
limit = 2**63
exact = [-limit if np.isnan(v) else limit - 1 if v == np.inf else -limit if v == -np.inf else int(v) for v in x]
rows[:, 10:12] = np.array(exact, np.int64).view(np.uint32).reshape(64, 2)
rows[:, 12] = bf16(a) << np.uint32(16) | bf16(b)
rows[:, 13] = (either | (a < b)) + 2 * either + 4 * ~either + 8 * ((a != b) & ~either)
rows[:, 14] = raw((a > b).astype(f32))
rows[:, 15] = np.where(np.arange(64) % 2, raw(b), raw(a))
np.save("expect_bits.npy", rows.reshape(-1))
t = np.minimum(np.where(np.isnan(b), np.inf, np.abs(b)), f32(30)).astype(f32) + f32(0.125)
w = t.astype(f64)
h, g = (-t).astype(np.float16).astype(f64), (t - f32(2)).astype(np.float16).astype(f64)
columns = [np.tanh(w - 2), np.sqrt(w), 3 / w, 1 / w, w**-0.5, 2**h, np.tanh(g), np.log2(w)]
np.save("expect_close.npy", np.stack(columns, axis=1).astype(f32).reshape(-1))
