"""Writes signal.npy: two parts of 12 tiles of 64 samples, a level that jumps now and then."""

from pathlib import Path

import numpy as np

HERE = Path(__file__).parent

rng = np.random.default_rng(14)
jumps = np.where(rng.random(2 * 12 * 64) < 0.02, rng.choice([-1, 1], 2 * 12 * 64), 0)
ripple = rng.integers(-8, 9, 2 * 12 * 64) / 64
np.save(HERE / "signal.npy", (np.cumsum(jumps) + ripple).astype(np.float32))
