"""What many tests share, and how strong they are: see docs/testing.md."""

import os
from pathlib import Path

import numpy as np
import pytest

import brigand as br
import strength

DATA = Path(__file__).parent / "data"
POLICIES = DATA.parent / "policies"


def pytest_addoption(parser):
    parser.addoption("--full", action="store_true", help="all tests, at full strength: half an hour")


def pytest_configure(config):
    config.addinivalue_line("markers", "full: only with --full")
    strength.full = config.getoption("full")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    if not strength.full:
        left_out = [item for item in items if item.get_closest_marker("full")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("full")]
    for item in items:
        module = policy_module(item)
        if module is not None and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(module))


def policy_module(item):
    """Return the module of the policy that a test is about, or None.

    With ``--dist loadgroup`` its tests are run by one worker: no two compile the same, and each holds the
    compiler's leavings, some 10 MB a loop, for its own policies only.
    """
    for given in (getattr(item, "callspec", None) and item.callspec.params.values()) or ():
        policy = br.CATALOGUE.get(given.split(",")[0]) if isinstance(given, str) else given
        if isinstance(policy, br.Policy):
            return type(policy).__module__
    if item.path.is_relative_to(POLICIES) and item.path.parent != POLICIES:
        family, name = item.path.parent.name, item.path.stem.removeprefix("test_")
        return f"brigand.policies.{family}.{name}"
    return None


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    """Simulate on one thread unless a test says otherwise: pytest has a worker for each core."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "sched_getaffinity", lambda pid: {0}, raising=False)
        yield


@pytest.fixture(scope="session")
def traces() -> dict[str, np.ndarray]:
    """The authors' arm sequences on one fixed table of rewards."""
    with np.load(DATA / "traces.npz") as file:
        return dict(file)


@pytest.fixture(scope="session")
def rewards01() -> np.ndarray:
    """0/1 rewards with many ties, shape (400, 4)."""
    rng = np.random.default_rng(7)
    return (rng.random((400, 4)) < [0.3, 0.5, 0.5, 0.7]).astype(float)
