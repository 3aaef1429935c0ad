import numpy as np

keys = np.random.default_rng(13).integers(0, 2**32, 768, dtype=np.uint32)
np.save("keys.npy", keys)
values = np.arange(768, dtype=np.uint32)
for cta in range(3):
    part = slice(cta * 256, cta * 256 + 256)
    order = np.argsort(keys[part] & 255, kind="stable")
    keys[part], values[part] = keys[part][order], values[part][order]
np.save("expect_keys.npy", keys)
np.save("expect_values.npy", values)
