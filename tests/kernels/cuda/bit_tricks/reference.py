import numpy as np

a, b = np.random.default_rng(51).integers(0, 2**32, (2, 128), dtype=np.uint32)
a[0], b[1] = 0, 0
np.save("a.npy", a)
np.save("b.npy", b)
M = 2**32 - 1


def signed(v, bits):
    return v - (1 << bits) if v >> (bits - 1) else v


def parts(v, bits, n):
    return [signed(v >> (bits * i) & ((1 << bits) - 1), bits) for i in range(n)]


rows = {n: [] for n in ("count", "reversed", "field", "permuted", "shifted", "dots", "logic")}
for x, y in zip(a.tolist(), b.tolist()):
    rows["count"].append(x.bit_count() | (32 - x.bit_length()) << 8 | (y & -y).bit_length() << 16)
    rows["reversed"].append(int(f"{x:032b}"[::-1], 2))
    r = x >> (y & 31) & 0x7F
    rows["field"].append(r & ~(0x3F << 20) | (y & 0x3F) << 20)
    eight = [x >> 8 * i & 255 for i in range(4)] + [y >> 8 * i & 255 for i in range(4)]
    rows["permuted"].append(sum(eight[n] << 8 * i for i, n in enumerate((0, 4, 1, 5))))
    wide = y << 32 | x
    rows["shifted"].append(((wide << (y & 31)) >> 32 & M) ^ (wide >> 13 & M))
    dot = sum(p * q for p, q in zip(parts(x, 8, 4), parts(y, 8, 4))) + 100
    rows["dots"].append(dot + sum(p * q for p, q in zip(parts(x, 16, 2), parts(y, 8, 2))))
    z = x >> 3
    majority = x & y | x & z | y & z
    rows["logic"].append((majority + abs(signed(x, 32) - signed(y, 32)) + 1 + (x + y >> 1)) & M)
for name, row in rows.items():
    np.save(f"expect_{name}.npy", np.array(row, np.int32 if name == "dots" else np.uint32))
