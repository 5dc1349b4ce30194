"""What tests of live bandits share."""

import os

import pytest

from live.warm import Warm
from stores import a_store


@pytest.fixture(scope="session")
def warm():
    """A process that runs functions of test files in children."""
    if not hasattr(os, "fork"):
        pytest.skip("POSIX only")
    process = Warm()
    yield process
    process.close()


# Not `some`: pytest may read this file before it is known whether tests are at full strength.
@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.full)])
def url(request):
    """Of a store that holds nothing."""
    with a_store(request.param, request) as made:
        yield made


@pytest.fixture
def file_url(request):
    """Of a file that is not there yet."""
    with a_store("sqlite", request) as made:
        yield made
