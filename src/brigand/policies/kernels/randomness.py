"""Random numbers that depend on the run's key and a counter alone."""

from __future__ import annotations

import numpy as np

from brigand.jit import kernel


@kernel
def uniform_at(key: int, step: int) -> float:
    """Return a number uniform in [0, 1) that depends on (key, step) alone, both at least 0.

    For policies that randomise what they learn: the result does not depend on the order in which rewards
    arrive. The generator is Philox 4x32-10, the key its key and the step its counter. Source: Salmon,
    Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
    """
    word, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    c0, c1 = np.uint64(step) & mask, np.uint64(step) >> word
    c2, c3 = np.uint64(0), np.uint64(0)
    k0, k1 = np.uint64(key) & mask, np.uint64(key) >> word
    for _ in range(10):
        p0, p1 = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        c0, c1 = (p1 >> word) ^ c1 ^ k0, p1 & mask
        c2, c3 = (p0 >> word) ^ c3 ^ k1, p0 & mask
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & mask, (k1 + np.uint64(0xBB67AE85)) & mask
    return np.float64((c0 << np.uint64(21)) | (c1 >> np.uint64(11))) * 2.0**-53
