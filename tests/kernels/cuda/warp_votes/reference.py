import numpy as np

x = np.random.default_rng(46).integers(-100, 100, 128, dtype=np.int32)
np.save("x.npy", x)
lanes = np.uint32(1) << np.arange(32, dtype=np.uint32)


def mask(p):
    return np.uint32(lanes[p].sum())


ballots, same, agree, odd = [], [], [], []
for cta, w in enumerate(x.reshape(4, 32)):
    b = mask(w > 0) + int((w > 95).any()) + 2 * int((w > -90).all())
    ballots += [b] * 32
    same += [mask((w & 7) == (v & 7)) for v in w]
    uniform = cta == 0 or (w == w[0]).all()
    agree += [(0xFFFFFFFF + 1) % 2**32 if uniform else 0] * 32
    odd += [mask((w > 10) & (w & 1 == 1)) if v & 1 else 0 for v in w]
for name in ("ballots", "same", "agree", "odd"):
    np.save(f"expect_{name}.npy", np.array(globals()[name], np.uint32))
