import numpy as np

MASK = 0xFFFFFFFF


def philox(c, key):
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ key[0], p1 & MASK, (p0 >> 32) ^ c[3] ^ key[1], p0 & MASK]
        key = [(key[0] + 0x9E3779B9) & MASK, (key[1] + 0xBB67AE85) & MASK]
    return c


# Known answer of the original (Random123): all zero counter and key.
assert philox([0] * 4, [0] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
words = np.array([philox([i, 0, 7, 0], [12345, 67890]) for i in range(256)], np.uint32)
np.save("expect_words.npy", words.reshape(-1))
np.save("expect_uniform.npy", ((words[:, 0] >> 8) / 2**24).astype(np.float32))
