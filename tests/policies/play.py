"""What the tests of single policies share: ways to run their kernels."""

import numpy as np

from brigand.testing import check_follows_index as assert_follows, play, told

__all__ = ["assert_follows", "of", "play", "told"]


def of(history, arm):
    """Return the arm's rewards in a history."""
    return np.array([x for a, x in history if a == arm])
