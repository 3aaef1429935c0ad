"""Writes gradient.npy: 300 gradients, among them five that are not a number and two that are infinite."""

from pathlib import Path

import numpy as np

HERE = Path(__file__).parent

gradient = (np.random.default_rng(1).integers(-4000, 4001, 300) / 64).astype(np.float32)
gradient[[17, 64, 150]] = [20000, -np.inf, np.inf]
gradient[[38, 39, 131, 200, 277]] = np.nan
np.save(HERE / "gradient.npy", gradient)
