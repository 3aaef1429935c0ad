import numpy as np

x = np.random.default_rng(110).normal(0, 1, 1000).astype(np.float32)
np.save("x.npy", x)


def philox(c, key):
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ key[0], p1 & 0xFFFFFFFF, (p0 >> 32) ^ c[3] ^ key[1], p0 & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


word = np.array([philox([i, 0, 0, 0], [42, 0])[0] for i in range(1000)], np.uint32).view(np.int32)
uniform = np.where(word < 0, -word.astype(np.int64) - 1, word).astype(np.float32) * np.float32(4.6566127342e-10)
np.save("expect.npy", np.where(uniform > 0.25, x / np.float32(0.75), 0).astype(np.float32))
