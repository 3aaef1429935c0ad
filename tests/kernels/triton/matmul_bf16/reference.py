import numpy as np


def bf16(x):
    """Values with all but the first 16 bits zero, and those bits."""
    high = x.astype(np.float32).view(np.uint32) >> np.uint32(16)
    return (high << np.uint32(16)).view(np.float32), high.astype(np.uint16)


rng = np.random.default_rng(105)
a, a_bits = bf16(rng.uniform(-1, 1, (128, 160)))
b, b_bits = bf16(rng.uniform(-1, 1, (160, 64)))
np.save("a.npy", a_bits.reshape(-1))
np.save("b.npy", b_bits.reshape(-1))
np.save("expect.npy", (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32).reshape(-1))
