"""What tests of live bandits share."""

import os

import pytest

from live.warm import Warm
from stores import FULL_KINDS, urls


@pytest.fixture(scope="session")
def warm():
    """A process that runs functions of test files in children."""
    if not hasattr(os, "fork"):
        pytest.skip("POSIX only")
    process = Warm()
    yield process
    process.close()


url = urls(FULL_KINDS)
file_url = urls(["sqlite"])
