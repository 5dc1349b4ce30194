"""Figures: draw from results, never compute."""

import contextlib
import os
import sys


def _load_matplotlib() -> None:
    """Load Matplotlib, also where ``MPLBACKEND`` names a backend that is not installed here.

    Processes inherit it from notebooks, and to write figures takes none.
    """
    given = os.environ.pop("MPLBACKEND", None)
    try:
        import matplotlib as mpl
    finally:
        if given is not None:
            os.environ["MPLBACKEND"] = given
    if given:
        with contextlib.suppress(ValueError):
            mpl.rcParams["backend"] = given


if "matplotlib" not in sys.modules:
    _load_matplotlib()
