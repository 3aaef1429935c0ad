"""Writes amounts.npy: 6 rows of 640 amounts between 0.1 and 10, with all bits of a float in use."""

from pathlib import Path

import numpy as np

HERE = Path(__file__).parent

rng = np.random.default_rng(5)
np.save(HERE / "amounts.npy", rng.uniform(0.1, 10, 6 * 640).astype(np.float32))
