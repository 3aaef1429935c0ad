import numpy as np

count = 0
for _ in range(128):
    count = 0 if count >= 9 else count + 1
cta = sum(range(64)) + 63 * 3
words = [256, (1 << 24) - 1, count, 0, cta, cta, 1, 1, 2, 2]
np.save("expect_words.npy", np.array(words, np.uint32))
np.save("expect_wide.npy", np.array([5000 - 63, 128 << 33], np.uint64))
np.save("expect_sums.npy", np.array([33.0], np.float32))
np.save("expect_halves.npy", np.array([64.0, 128.0], np.float16))
