import math

import numpy as np

# A few arguments are beyond 105615, where sin reduces them with a table.
x = np.random.default_rng(52).normal(0, 2, 200).astype(np.float32)
huge = slice(190, 200)
x[huge] *= np.float32(2.0**18)
np.save("x.npy", x)
v = x.astype(np.float64)
p = (np.abs(x) + np.float32(0.5)).astype(np.float64)
erf = np.array([math.erf(t) for t in v])
np.save("expect_sines.npy", (np.sin(v) + np.tanh(v) + np.arctan(v)).astype(np.float32))
np.save("expect_exps.npy", (np.exp(-p) + np.log(p) + p ** np.float64(np.float32(0.3)) + erf + np.log1p(p)).astype(np.float32))
whole = np.floor(v) + np.rint(v) + np.trunc(v)
np.save("expect_roots.npy", (np.sqrt(p) + p**-0.5 + np.cbrt(v) + 1 / p + np.fmod(v, 3.0) + whole).astype(np.float32))
q = np.minimum(p, 9)
np.save("expect_fast.npy", (np.sin(q) + np.exp(-q) + np.log(q) + 1 / q).astype(np.float32))
