import numpy as np

rng = np.random.default_rng(55)


def distance(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1), int)
    table[:, 0], table[0] = np.arange(len(a) + 1), np.arange(len(b) + 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1, j + 1] = min(table[i, j] + (x != y), table[i, j + 1] + 1, table[i + 1, j] + 1)
    return table[-1, -1]


first, second = np.zeros((48, 24), np.int8), np.zeros((48, 24), np.int8)
want = []
for i in range(48):
    a, b = (rng.integers(97, 101, rng.integers(0, 25)) for _ in range(2))
    first[i, : len(a)], second[i, : len(b)] = a, b
    want.append(distance(a, b))
np.save("first.npy", first.reshape(-1))
np.save("second.npy", second.reshape(-1))
np.save("expect.npy", np.array(want, np.int32))
