import numpy as np

rng = np.random.default_rng(62)


def cut(x, bits):
    """Floats with their last bits zero, so that they are bf16 (16) or tf32 (13) exactly."""
    return (x.astype(np.float32).view(np.uint32) >> np.uint32(bits) << np.uint32(bits)).view(np.float32)


def core(b):
    """[8 columns][32 bytes] as two core matrices of [8][16 bytes]."""
    return b.reshape(8, 2, 16).transpose(1, 0, 2).reshape(-1)


def bf16(x):
    return (x.view(np.uint32) >> 16).astype(np.uint16)


a16, b16 = cut(rng.uniform(-1, 1, (64, 16)), 16), cut(rng.uniform(-1, 1, (8, 16)), 16)
a8, b8 = rng.integers(-128, 128, (64, 32), dtype=np.int8), rng.integers(-128, 128, (8, 32), dtype=np.int8)
a32, b32 = cut(rng.uniform(-1, 1, (64, 8)), 13), cut(rng.uniform(-1, 1, (8, 8)), 13)
a = [bf16(a16), a8, a32]
b = [bf16(b16), b8, b32]
np.save("a.npy", np.concatenate([m.view(np.uint8).reshape(-1) for m in a]).view(np.uint32))
np.save("b.npy", np.concatenate([core(np.ascontiguousarray(m).view(np.uint8).reshape(8, 32)) for m in b]).view(np.uint32))
for name, x, y in (("d16", a16, b16), ("d8", a8, b8), ("d32", a32, b32)):
    out = np.int32 if name == "d8" else np.float32
    np.save(f"expect_{name}.npy", (x.astype(np.float64) @ y.astype(np.float64).T).astype(out).reshape(-1))
