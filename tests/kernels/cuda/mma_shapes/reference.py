import numpy as np

rng = np.random.default_rng(34)


def rounded(x, bits):
    """Floats with the last `bits` bits rounded away, to nearest, ties away from zero (rna)."""
    return ((x.astype(np.float32).view(np.uint32) + np.uint32(1 << (bits - 1))) >> np.uint32(bits) << np.uint32(bits)).view(np.float32)


def save(suffix, a, b, out):
    np.save(f"expect_c{suffix}.npy", (a.astype(np.float64) @ b.astype(np.float64).T).astype(out).reshape(-1))


a, b = rng.integers(-128, 128, (16, 32), dtype=np.int8), rng.integers(-128, 128, (8, 32), dtype=np.int8)
np.save("a8.npy", a.reshape(-1))
np.save("b8.npy", b.reshape(-1))
save("8", a, b, np.int32)

a, b = rng.uniform(-1, 1, (16, 8)).astype(np.float32), rng.uniform(-1, 1, (8, 8)).astype(np.float32)
np.save("a32.npy", a.reshape(-1))
np.save("b32.npy", b.reshape(-1))
save("32", rounded(a, 13), rounded(b, 13), np.float32)

a, b = rounded(rng.uniform(-1, 1, (16, 16)), 16), rounded(rng.uniform(-1, 1, (8, 16)), 16)
np.save("a16.npy", (a.view(np.uint32) >> 16).astype(np.uint16).reshape(-1))  # bfloat16, as its bits
np.save("b16.npy", (b.view(np.uint32) >> 16).astype(np.uint16).reshape(-1))
save("16", a, b, np.float32)

a, b = rng.uniform(-1, 1, (8, 4)), rng.uniform(-1, 1, (8, 4))
np.save("a64.npy", a.reshape(-1))
np.save("b64.npy", b.reshape(-1))
save("64", a, b, np.float64)
