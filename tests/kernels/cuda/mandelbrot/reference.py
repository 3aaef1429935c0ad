import numpy as np

f = np.float32
cy, cx = np.meshgrid(f(np.arange(32)) * f(2 / 32) - f(1), f(np.arange(64)) * f(3 / 64) - f(2.25), indexing="ij")
x, y = np.zeros_like(cx), np.zeros_like(cx)
k = np.full(cx.shape, 200, np.int32)
alive = np.ones(cx.shape, bool)
for i in range(200):
    xx, yy = x * x, y * y
    left = alive & (xx + yy > 4)
    k[left] = i
    alive &= ~left
    y = np.where(alive, f(2) * x * y + cy, y)
    x = np.where(alive, xx - yy + cx, x)
assert x.dtype == np.float32
np.save("expect.npy", k.reshape(-1))
