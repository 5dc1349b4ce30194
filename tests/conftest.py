"""What many tests share."""

from pathlib import Path

import numpy as np
import pytest

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def traces() -> dict[str, np.ndarray]:
    """The authors' arm sequences on one fixed table of rewards."""
    with np.load(DATA / "traces.npz") as file:
        return dict(file)


@pytest.fixture(scope="session")
def rewards01() -> np.ndarray:
    """0/1 rewards with many ties, shape (400, 4)."""
    rng = np.random.default_rng(7)
    return (rng.random((400, 4)) < [0.3, 0.5, 0.5, 0.7]).astype(float)
