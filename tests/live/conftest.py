"""What tests of live bandits share."""

import os

import pytest

from live.warm import Warm
from stores import KINDS, a_store
from strength import some


@pytest.fixture(scope="session")
def warm():
    """A process that runs functions of test files in children."""
    if not hasattr(os, "fork"):
        pytest.skip("POSIX only")
    process = Warm()
    yield process
    process.close()


@pytest.fixture(params=some(KINDS, ["sqlite"]))
def url(request):
    """Of a store that holds nothing."""
    with a_store(request.param, request) as made:
        yield made


@pytest.fixture
def file_url(request):
    """Of a file that is not there yet."""
    with a_store("sqlite", request) as made:
        yield made
