import functools
import operator

import numpy as np

np.save("expect_lock.npy", np.array([0], np.int32))
once = functools.reduce(operator.xor, range(1, 129))
np.save("expect_data.npy", np.array([3 * 128, once], np.int32))  # three times the same xor is once
