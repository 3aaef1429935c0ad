"""Writes balances.npy: 6 rows of 640 amounts, large ones that cancel exactly and small ones that remain."""

from pathlib import Path

import numpy as np

HERE = Path(__file__).parent

rng = np.random.default_rng(7)
rows = []
for _ in range(6):
    large = rng.uniform(1e7, 1e8, 160)
    rows.append(rng.permutation(np.concatenate([large, -large.astype(np.float32), rng.uniform(0, 1, 320)])))
np.save(HERE / "balances.npy", np.concatenate(rows).astype(np.float32))
