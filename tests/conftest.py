"""What many tests share, and how strong they are: see docs/testing.md."""

import collections
import functools
import os
import re
import signal
import sys
from pathlib import Path

import hypothesis
import numpy as np
import pytest
import typer.main

import ahead
import brigand as br
import stores
import strength
from brigand import jit
from brigand.simulation import skip_ahead

ROOT = Path(__file__).parents[1]
DATA = ROOT / "tests" / "data"

# Making a failing example smaller takes up to five minutes a test.
hypothesis.settings.register_profile(
    "fixed", derandomize=True, phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate]
)
hypothesis.settings.load_profile("fixed")  # --hypothesis-profile=default looks for new examples


def pytest_addoption(parser):
    parser.addoption("--full", action="store_true", help="all tests, at full strength: half an hour")


def pytest_configure(config):
    config.addinivalue_line("markers", "full: only with --full")
    config.addinivalue_line("markers", "long: takes minutes, and begins before the others")
    config.addinivalue_line("markers", "every(n): without --full, only every n-th of its cases")
    strength.full = config.getoption("full")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in what a shell runs in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config, items):
    out = [item for item in items if strength.full and memory_again(item)]
    seen = collections.Counter()

    def left_out(item):
        if item.get_closest_marker("full"):
            return True
        every = item.get_closest_marker("every")
        if every is None:
            return False
        seen[item.function] += 1
        return (seen[item.function] - 1) % every.args[0] > 0

    if not strength.full:
        out = [item for item in items if memory_again(item) or left_out(item)]
    config.hook.pytest_deselected(items=out)
    dropped = set(out)
    left = [item for item in items if item not in dropped]
    items[:] = sorted(left, key=lambda item: item.get_closest_marker("long") is None)


def memory_again(item):
    """Return whether a test of a bandit in memory is there again for another kind of store."""
    given = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return {"postgresql", "memory"} <= {value for value in given if isinstance(value, str)}


def pytest_sessionstart(session):
    """Compile on all processors before there are workers."""
    workers = getattr(session.config.option, "numprocesses", None)
    if workers:
        ahead.compile_ahead(workers)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Let one worker run all tests of a policy: no two compile the same, or hold what was compiled.

    The groups of xdist 3.8 do nothing with pytest 9.2, where a node's id cannot be changed.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByPolicy(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return group(nodeid)

    return ByPolicy(config, log)


NAMES = {name: type(policy) for name, policy in br.CATALOGUE.items()}
NAMES |= {cls.__name__: cls for cls in NAMES.values()}
NAMED = re.compile("|".join(map(re.escape, sorted(NAMES, key=len, reverse=True))))


def group(nodeid):
    """Return what a test belongs to: a policy's module, a file that makes something once, or itself."""
    path, _, name = nodeid.partition("::")
    of_a_policy = re.fullmatch(r"tests/policies/(\w+)/test_(\w+)\.py", path)
    if of_a_policy:
        return "brigand.policies.{}.{}".format(*of_a_policy.groups())
    found = NAMED.search(name.partition("[")[2])
    if found:
        return NAMES[found[0]].__module__
    return path if makes_once(path) else nodeid


@functools.cache
def makes_once(path):
    text = (ROOT / path).read_text(encoding="utf-8")
    return 'scope="module"' in text or "@functools.cache" in text


@pytest.fixture(autouse=True)
def _same_path():
    """Let no later test, nor its processes, import from the folder of a study, which a run puts first."""
    before = sys.path[:]
    yield
    sys.path[:] = before


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    """Simulate on one thread unless a test says otherwise: pytest has a worker for each core."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "sched_getaffinity", lambda pid: {0}, raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def _few_policies_compiled():
    """Run the kernels of most policies as plain Python: compiling one takes as long as 200 tests."""
    compiled = {kernel for name in strength.COMPILED for kernel in br.CATALOGUE[name].kernels}
    compiled.add(skip_ahead.play_fe)
    compile_loop = jit.compile_loop

    def only_some(loop, *kernels):
        if (
            strength.full
            or loop.__module__ == "brigand.live.loop"
            or kernels[0] in compiled
            or not kernels[0].__module__.startswith(("brigand.policies.", "brigand.simulation.skip_ahead"))
        ):
            return compile_loop(loop, *kernels)
        loop.py_func = loop
        return loop

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jit, "compile_loop", only_some)
        yield


@pytest.fixture(scope="session", autouse=True)
def _commands_built_once():
    """Build the commands once: Typer builds all of them at every call, which takes longer than most do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", functools.cache(typer.main.get_command))
        yield


@pytest.fixture(scope="session")
def postgres(request):
    """A PostgreSQL server."""
    workers = getattr(request.config, "workerinput", {})
    server = stores.Server(workers.get("testrunuid", f"{os.getpid()}"))
    yield server
    server.close()


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
