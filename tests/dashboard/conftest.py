"""A browser, and services to look at."""

import os
import shutil

import pytest

import brigand as br
import stores
from brigand.service import keys
from dashboard import shop
from dashboard.viewer import Viewer
from service.process import Process
from strength import runs

CHROMIUM = os.environ.get("BRIGAND_TEST_CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"


@pytest.fixture(scope="session")
def chromium():
    """Give a browser; without Chromium, tests that need one are skipped."""
    if not os.access(CHROMIUM, os.X_OK):
        pytest.skip("there is no Chromium: install it, or name one in BRIGAND_TEST_CHROMIUM")
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def opened(chromium):
    """Give a store of a shop behind a service, and a key: other tests of the process change nothing in it."""
    with stores.folder() as folder:
        store = f"{folder}/shop.db"
        server = Process(store, f"{folder}/log")
        shop.make(store, runs(600, 6000))
        shop.many(store, runs(60, 500), runs(2000, 20_000))
        shop.strange(store)
        with server:
            server.key = keys.create(store, "admin")
            server.store = store
            with Viewer(chromium, server.url) as first:
                first.sign_in(server.key)
                server.state = first.context.storage_state()
            yield server


@pytest.fixture
def viewer(chromium, opened):
    """Give somebody who looks at the shop, and is signed in."""
    with Viewer(chromium, opened.url, storage_state=opened.state) as found:
        yield found


@pytest.fixture
def fresh(opened):
    """Give a new bandit of the shop's."""
    name = f"fresh {os.urandom(4).hex()}"
    with br.Bandit(["red", "green"], br.ThompsonBeta(), store=opened.store, name=name, seed=0) as bandit:
        bandit.title = name
        yield bandit
