import numpy as np

rng = np.random.default_rng(207)

# loop
values = rng.uniform(-1, 1, 32).astype(np.float32)
np.save("loop_in.npy", values)
x = np.zeros(32)
for _ in range(40):
    for factor, sign in ((0.5, 1), (0.25, 1), (0.5, -1), (0.25, 1)):
        x = x * factor + sign * values.astype(np.float64)
np.save("loop_expect.npy", np.tile(x, 4).astype(np.float32))

# gemm
a = rng.uniform(-1, 1, (120, 232)).astype(np.float16)
b = rng.uniform(-1, 1, (104, 232)).astype(np.float16)  # B, transposed
np.save("gemm_a.npy", a)
np.save("gemm_b.npy", b)
np.save("gemm_expect.npy", (a.astype(np.float64) @ b.astype(np.float64).T).astype(np.float16).reshape(-1))

# attention
q, k, v = (rng.normal(0, 1, (192, 64)).astype(np.float16) for _ in range(3))
for name in "qkv":
    np.save(f"attention_{name}.npy", globals()[name].reshape(-1))
score = 0.125 * q.astype(np.float64) @ k.astype(np.float64).T
weight = np.exp(score - score.max(axis=1, keepdims=True))
weight /= weight.sum(axis=1, keepdims=True)
np.save("attention_expect.npy", (weight @ v.astype(np.float64)).astype(np.float32).reshape(-1))
