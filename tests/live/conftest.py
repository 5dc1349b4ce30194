"""What tests of live bandits share."""

import os
import tempfile
from pathlib import Path

import pytest

from live.warm import Warm


@pytest.fixture(scope="session")
def warm():
    """A process that runs functions of test files in children."""
    if not hasattr(os, "fork"):
        pytest.skip("POSIX only")
    process = Warm()
    yield process
    process.close()


@pytest.fixture
def url(tmp_path):
    """Of a file that is not there yet, in memory if there is such a place: each call waits for the disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else tmp_path) as folder:
        yield f"sqlite:///{folder}/bandits.db"
