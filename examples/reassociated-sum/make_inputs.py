"""Writes measured.npy: 180 times four measurements, each between 1/8 and 8, with all bits of a float in use."""

from pathlib import Path

import numpy as np

HERE = Path(__file__).parent

rng = np.random.default_rng(3)
measured = rng.integers(1 << 23, 1 << 24, (180, 4)) / (1 << 23) * 2.0 ** rng.integers(-3, 3, (180, 4))
np.save(HERE / "measured.npy", measured.astype(np.float32).ravel())
