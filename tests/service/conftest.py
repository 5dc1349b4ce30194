"""A store, and a service on it."""

import pytest

import stores
from service.common import served

url = stores.urls(stores.FULL_KINDS, scope="module")


@pytest.fixture(scope="module")
def service(url):
    with served(url) as found:
        yield found
