"""Shortcuts through the insides of NumPy and Numba: with and without them all numbers are the same bits."""

import functools
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

import brigand as br
from brigand import jit, shortcuts
from brigand.rng import Stream
from live.common import Clock, loaded
from stores import folder
from strength import full, some

SHORTCUTS = ("calls_directly", "packs", "hashes", "winds", "lends")
RUNS = 30
"""Enough for `shortcuts.FEW`."""


def stepped():
    """Two phases, and policies that use their generators and their keys."""
    environment = br.Environment.piecewise(
        [[br.Bernoulli(0.3), br.Beta(2, 2)], [br.Bernoulli(0.7), br.Beta(2, 1)]], starts=[1, 151]
    )
    policies = {"FE": br.ForcedExploration(), "TS": br.ThompsonBeta(), "D-TS": br.DiscountedThompson(0.9)}
    many = br.simulate(environment, policies, 300, RUNS, seed=3, workers=2).dataset
    few = br.simulate(environment, policies, 300, [4, 2**32 + 1], seed=3, workers=1).dataset
    return [array["pulls"].values.tolist() for array in (many, few)]


def skipped():
    environment = br.Environment.stationary([br.Gaussian(0.5, 0.2), br.Bernoulli(0.4)])
    policies = {"FE": br.ForcedExploration(br.Linear()), "ETC": br.ExploreThenCommit(20)}
    found = br.simulate(environment, policies, 10**5, RUNS, seed=2**70, method="skip", workers=1)
    return found.dataset["pulls"].values.tolist()


def live():
    """A bandit that learns late, fails, and is loaded again in every way; one in memory that turns back."""
    chosen = []
    with folder() as path:
        url, clock = f"sqlite:///{path}/bandits.db", Clock()
        bandit = br.Bandit(
            ["a", "b", "c"], br.ThompsonBeta(), seed=4, reward_timeout=50, default_reward=0.5, clock=clock
        )
        for how in (None, "json", "store", "open", "replay"):
            if how is not None:
                bandit = loaded(bandit, how, url, clock)
            for step in range(8):
                clock.now += 1.0
                decisions = bandit.ask(3)
                chosen += [(decision.arm, decision.reason) for decision in decisions]
                bandit.tell(decisions[step % 3].id, float(step % 2))
            if how is None:
                bandit.add_arm("d")
            clock.now += 100.0
            with pytest.raises(br.UnknownNameError):
                bandit.ask(among=["nobody"])
        found = bandit.snapshot()
        chosen += [found["events"], found["state"]]
        bandit.close()
    return chosen


PARTS = {"stepped": stepped, "skipped": skipped, "live": live}
TRIED = PARTS if full else {"live": live}


@pytest.fixture(scope="module")
def expected():
    """What comes of all parts with all shortcuts."""
    assert all(shortcuts.in_use().values())
    return {name: part() for name, part in TRIED.items()}


@pytest.fixture
def anew(monkeypatch):
    """The shortcuts are tested again, before the test and after it."""

    def forget():
        monkeypatch.setattr(shortcuts, "_OF_THREAD", threading.local())
        for name in SHORTCUTS:
            getattr(shortcuts, name).cache_clear()
        shortcuts._layout.cache_clear()
        shortcuts._pool.cache_clear()

    forget()
    yield
    monkeypatch.undo()
    forget()


def test_all_shortcuts_are_in_use():
    """With these versions of NumPy and Numba; otherwise nothing is wrong, but slow."""
    assert shortcuts.in_use() == dict.fromkeys(SHORTCUTS, True)


@pytest.mark.parametrize("part", TRIED)
@pytest.mark.parametrize("missing", some([*SHORTCUTS[:-1], "all"], ["all"]))
def test_numbers_are_the_same_bits_without_a_shortcut(missing, part, expected, anew, monkeypatch):
    for name in SHORTCUTS if missing == "all" else [missing]:
        monkeypatch.setattr(shortcuts, name, lambda: False)
    assert PARTS[part]() == expected[part]


@pytest.mark.full
def test_loops_that_do_not_lend_give_the_same_bits(expected, tmp_path):
    """Whether a loop lends is settled where it is compiled: so by a process that finds nothing compiled."""
    code = """
import json
from brigand import shortcuts
shortcuts.lends = lambda: False
import test_shortcuts
print(json.dumps([test_shortcuts.stepped(), test_shortcuts.skipped()]))
"""
    paths = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": paths}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    assert json.loads(done.stdout) == [expected["stepped"], expected["skipped"]]


def fail(*arguments, **named):
    raise AttributeError("this release has no such thing")


def moved(**changes):
    """Return NumPy's table of addresses, with other entries: functions of the true ones."""
    names = ("state_address", "state", "next_uint64", "next_uint32", "next_double", "bit_generator")

    def interface(bits):
        found = {name: getattr(bits.ctypes, name) for name in names}
        return SimpleNamespace(**found | {name: change(found) for name, change in changes.items()})

    return interface


def another_field(monkeypatch):
    compile_anew(monkeypatch)
    monkeypatch.setattr(shortcuts, "FIELDS", (*shortcuts.FIELDS[:-1], "novelty"))


def no_intrinsic(monkeypatch):
    compile_anew(monkeypatch)
    monkeypatch.setattr(shortcuts, "_generator_at", fail)


def compile_anew(monkeypatch):
    """Do without what was compiled before, on the disk and by Numba."""

    def unpack(packed):
        return packed

    numba.extending.overload(unpack, strict=False)(shortcuts._unpack)
    monkeypatch.setattr(shortcuts, "unpack", unpack)
    monkeypatch.setattr(shortcuts, "_probe", functools.cache(shortcuts._probe.__wrapped__))
    monkeypatch.setattr(jit, "compile_loop", lambda loop, *kernels: numba.njit(loop))


def patch(owner, name, value):
    return lambda monkeypatch: monkeypatch.setattr(owner, name, value)


def interface(**changes):
    return patch(shortcuts, "_interface", moved(**changes))


CHANGES = {
    "Numba has no entry points": (patch(Dispatcher, "get_overload", fail), {"calls_directly"}),
    "Numba's entry points are something else": (
        patch(Dispatcher, "get_overload", lambda *_: 7),
        {"calls_directly"},
    ),
    "Numba's entry points return a future": (
        patch(Dispatcher, "get_overload", lambda *_: lambda *_: None),
        {"calls_directly"},
    ),
    "Numba's entry points do nothing": (
        patch(Dispatcher, "get_overload", lambda *_: lambda *_: 3),
        {"calls_directly"},
    ),
    "Numba's generators have another field": (another_field, {"packs"}),
    "Numba makes no generators": (no_intrinsic, {"packs"}),
    "NumPy has no addresses": (patch(shortcuts, "_interface", fail), {"packs", "winds"}),
    "NumPy's state has no address": (
        interface(state_address=lambda _: 0, state=lambda _: shortcuts.ctypes.c_void_p(0)),
        {"packs", "winds"},
    ),
    "NumPy's state is not inside the object": (
        interface(state_address=lambda found: found["state_address"] + 2**20),
        {"packs", "winds"},
    ),
    "NumPy's state is elsewhere in the object": (
        interface(state_address=lambda found: found["state_address"] + 8),
        {"packs", "winds"},
    ),
    "NumPy's state does not begin with a pointer": (
        interface(state_address=lambda found: found["state_address"] + 24),
        {"packs", "winds"},
    ),
    "NumPy's bit generator has no address": (interface(bit_generator=lambda _: None), {"packs"}),
    "NumPy draws with another function": (interface(next_double=lambda _: lambda _: 0.5), {"packs"}),
    "NumPy has no function": (
        interface(next_uint32=lambda found: type(found["next_uint32"])()),
        {"packs"},
    ),
    "Numba's arrays have another field": (
        patch(shortcuts, "OF_ARRAYS", {*shortcuts.OF_ARRAYS, "novelty"}),
        {"lends"},
    ),
    "NumPy hashes with another constant": (patch(shortcuts, "MULT_A", 0x931E8877), {"hashes"}),
    "NumPy cannot hash": (patch(shortcuts, "_hashmix", fail), {"hashes"}),
    "NumPy steps with another constant": (patch(shortcuts, "MULTIPLIER", 5), {"hashes"}),
    "NumPy keeps other words": (patch(shortcuts, "_start", lambda _: (1, 2)), {"hashes", "winds"}),
}


@pytest.mark.every(3)
@pytest.mark.parametrize("change", CHANGES)
def test_a_shortcut_that_does_not_lead_there_is_not_taken(change, expected, anew, monkeypatch):
    apply, lost = CHANGES[change]
    apply(monkeypatch)
    assert {name for name, taken in shortcuts.in_use().items() if not taken} == lost
    if change != "NumPy keeps other words":
        for name, part in TRIED.items():
            assert part() == expected[name]


@pytest.mark.parametrize("missing", [None, "lends"])
def test_a_table_that_is_lent_is_the_same(missing, anew, monkeypatch):
    if missing is not None:
        monkeypatch.setattr(shortcuts, missing, lambda: False)

    @numba.njit
    def double(tables):
        for i in range(len(tables)):
            table = shortcuts.lend(tables[i])
            for j in range(len(table)):
                table[j]["x"] *= 2
        return len(tables)

    tables = np.zeros((3, 4), [("n", int), ("x", float)])
    tables["x"] = np.arange(12.0).reshape(3, 4)
    assert double(tables) == 3
    assert np.array_equal(tables["x"].ravel(), 2.0 * np.arange(12))
    assert shortcuts.lend(tables) is tables


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1, 2**32, 2**64 + 5, 2**130 + 7])
def test_states_of_many_generators_at_once_are_those_of_numpy(seed):
    stream = Stream(seed, br.UCB1())
    for numbers in ([*range(30), 99, 2**32 - 1], [5], [2**32, 7], []):
        starts, (keys, later) = stream.starts(numbers), stream.keyed_starts(numbers)
        for i, number in enumerate(numbers):
            rng = stream.generator(number)
            assert shortcuts._start(rng) == starts[i]
            assert keys[i] == rng.integers(2**63)
            assert shortcuts._start(rng) == later[i]


@pytest.mark.parametrize("missing", [None, "winds"])
def test_a_loop_that_writes_the_states_gets_the_generators_of_the_replications(missing, anew, monkeypatch):
    if missing is not None:
        monkeypatch.setattr(shortcuts, missing, lambda: False)
    first, second, numbers = Stream(7, br.UCB1()), Stream(8, br.UCB1()), [2, 3, 5]
    seen = []
    for part, (*states, one, one_state, one_half, other, other_state, other_half) in shortcuts.wind(
        first.starts(numbers), second.starts(numbers)
    ):
        for i in range(part.stop - part.start):
            one_state[:], other_state[:] = states[0][i], states[1][i]
            one_half[:] = other_half[:] = 0
            seen.append((one.bit_generator.state, other.bit_generator.state))
            one.integers(5, dtype=np.int32)  # half of a word is left over
    assert seen == [
        tuple(s.generator(number).bit_generator.state for s in (first, second)) for number in numbers
    ]


@pytest.mark.parametrize("missing", [None, "winds"])
def test_a_tape_goes_back_to_its_mark(missing, anew, monkeypatch):
    if missing is not None:
        monkeypatch.setattr(shortcuts, missing, lambda: False)
    tape = shortcuts.Tape.of(np.random.Generator(np.random.PCG64(3)))
    tape.generator.integers(5, dtype=np.int32)
    mark, before = tape.mark(), tape.generator.bit_generator.state
    tape.generator.random(7)
    tape.rewind(mark)
    assert tape.generator.bit_generator.state == before
