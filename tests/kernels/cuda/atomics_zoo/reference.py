import functools
import operator

import numpy as np

n = range(128)


def fold(join, values, start):
    return functools.reduce(join, values, start)


u = [
    7 + sum(n),
    2**32 - 128,
    fold(lambda c, _: 0 if c >= 99 else c + 1, n, 0),
    fold(lambda c, _: 40 if c == 0 or c > 40 else c - 1, n, 0),
    fold(operator.and_, (~(1 << (i & 31)) | 0x55555555 for i in n), 0xFFFFFFFF),
    (1 << 20) - 1,
    fold(operator.xor, (i * 0x01010101 for i in n), 0),
    1000 - 127,
    27,
    192,
    192,
    256,
    777,
]
wide = [127 << 33, 128 << 32, fold(operator.xor, ((0x0123456789ABCDEF << (i & 7)) % 2**64 for i in n), 0)]
np.save("expect_u.npy", np.array(u, np.uint32))
np.save("expect_wide.npy", np.array(wide, np.uint64))
np.save("expect_f.npy", np.array([32.0, 76.0], np.float32))
np.save("expect_h.npy", np.array([128.0, 64.0], np.float16))
np.save("expect_narrow.npy", np.array([10 + 3 * 128, 20], np.uint16))
