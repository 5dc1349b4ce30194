"""How strong the tests are: quick, or with ``--full`` all the power there is. See docs/testing.md."""

import pytest

full = False
"""Whether pytest was called with ``--full``; `conftest` sets it before it reads any test."""
REPRESENTATIVE = ("FE-Linear", "SW-FE-Exp", "TS-Beta", "UCB1", "LB-SDA", "KL-UCB", "CUSUM-UCB", "EXP3.S")
"""Those that stand for all others where a test of many policies is quick."""
COMPILED = (*REPRESENTATIVE, "FE-Trimmed", "SW-UCB", "ETC", "Random", "Oracle")
"""The policies whose loops are compiled in quick tests; the kernels of others run as plain Python."""
LIVE = REPRESENTATIVE[:4]
"""Those of which live bandits are tried."""


def runs(quick, everything):
    """Return how often something is tried: enough to catch a wrong formula, or with all power."""
    return everything if full else quick


def some(names, quick=REPRESENTATIVE):
    """Return parameters for a test: those named in `quick`; with ``--full`` also the others, marked."""
    if not full:
        return [name for name in names if name in quick]
    return [name if name in quick else pytest.param(name, marks=pytest.mark.full) for name in names]
