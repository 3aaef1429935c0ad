import numpy as np

rng = np.random.default_rng(27)
number = rng.integers(1, 1 << 45, 160).astype(np.uint64)
number[::5] = rng.integers(1, 9, 32)
text = rng.integers(1, 256, (160, 64)).astype(np.uint8)
ends = np.sort(rng.permuted(np.tile(np.arange(64), (160, 1)), axis=1)[:, :3], axis=1)
np.put_along_axis(text, ends, 0, axis=1)
np.save("number.npy", number)
np.save("text.npy", text)

steps = np.zeros(160, np.uint32)
for i, v in enumerate(number.tolist()):
    while v != 1:
        v = 3 * v + 1 if v % 2 else v // 2
        steps[i] += 1
np.save("expect_steps.npy", steps)
words = np.diff(ends, axis=1, prepend=-1) - 1
factors = np.where(np.arange(160)[:, None] % 3 == 0, [27, 3, 0], [27, 9, 3])
np.save("expect_lengths.npy", (words * factors).sum(axis=1).astype(np.uint32))
