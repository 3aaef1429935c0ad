"""Fixtures of the package's own tests."""

import numpy as np
import pytest


@pytest.fixture
def rng():
    """Random numbers, the same in every run."""
    return np.random.default_rng(0)
