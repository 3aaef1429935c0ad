import numpy as np


def bf16(x):
    """The bits of the nearest bfloat16s, ties to even."""
    u = x.astype(np.float32).view(np.uint32)
    return ((u + np.uint32(0x7FFF) + (u >> np.uint32(16) & np.uint32(1))) >> np.uint32(16)).astype(np.uint16)


def value(bits):
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


rng = np.random.default_rng(117)
x, residual = bf16(rng.normal(0, 1, (2, 8, 200)))
gamma = rng.normal(1, 0.2, 200).astype(np.float32)
np.save("x.npy", x.reshape(-1))
np.save("residual.npy", residual.reshape(-1))
np.save("gamma.npy", gamma)
v = value(x) + value(residual)
np.save("expect_residual.npy", bf16(v).reshape(-1))
w = v.astype(np.float64)
y = w / np.sqrt((w**2).mean(axis=1, keepdims=True) + 1e-6) * gamma
np.save("expect_y.npy", y.astype(np.float32).reshape(-1))
