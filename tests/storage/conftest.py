"""What tests of stores share."""

import pytest

from stores import KINDS, a_store


@pytest.fixture(params=KINDS)
def url(request):
    """Of a store that holds nothing."""
    with a_store(request.param, request) as made:
        yield made


@pytest.fixture
def file_url(request):
    """Of a file that is not there yet."""
    with a_store("sqlite", request) as made:
        yield made
