"""Writes samples.npy and floors.npy: 16 channels, two of them noisy, and below which magnitude each counts as silent."""

from pathlib import Path

import numpy as np

HERE = Path(__file__).parent

CHANNELS, SAMPLES = 16, 48
NOISY = [6, 13]

noise = np.random.default_rng(7).integers(-100, 101, (CHANNELS, SAMPLES)) / 1024
noise[NOISY] *= 4
samples = noise.copy()
samples[:, ::9] += 0.75
floors = np.full(CHANNELS, 0.125)
floors[NOISY] = 0.5
np.save(HERE / "samples.npy", samples.astype(np.float32).ravel())
np.save(HERE / "floors.npy", floors.astype(np.float32))
