"""Writes programs.npy: 100 programs of 20 commands. Six of them contain FASTER."""

from pathlib import Path

import numpy as np

HERE = Path(__file__).parent

STAY, SLOWER, EAST, WEST, NORTH, SOUTH, HOME, FASTER = range(8)

rng = np.random.default_rng(5)
programs = rng.choice([STAY, SLOWER, EAST, WEST, NORTH, SOUTH, HOME], (100, 20), p=[0.1, 0.05, 0.2, 0.2, 0.2, 0.2, 0.05])
for robot, at in [(3, 11), (14, 4), (15, 17), (47, 9), (70, 2), (98, 13)]:
    programs[robot, at] = FASTER
np.save(HERE / "programs.npy", programs.astype(np.uint8).ravel())
