"""Checks of what a policy is: its tables and parameters, its JSON form, its choices, its state."""

from __future__ import annotations

import contextlib
import inspect
import json
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from brigand.citations import entries
from brigand.errors import BrigandError, InvalidValueError
from brigand.policies.base import KNOWN_FROM, Policy, State
from brigand.policies.catalogue import CATALOGUE
from brigand.spec import type_name
from brigand.testing.base import MEANS, PLAIN, check, fit, generator, go_on, knowing, require, rewards01

INDEX_REWARDS = ((0, 0), (0.3, 0.3), (1, 1), (1, 0), (1e150, 1e150), (1e150, 0), (-1e150, 1e150))
"""Pairs of rewards that `check_index` pays in turn."""
INDEX_ARGUMENTS = {"parameters", *State._fields, "arm", "rng"}


@check(PLAIN)
def check_description(policy: Policy) -> None:
    """Check that the class says what it assumes and what must be known.

    `reference` must be a string; for a policy of this package, a key of ``references.bib``.
    `known_from` must be a key of `brigand.policies.base.KNOWN_FROM`, or "".
    """
    for name in ("assumption", "must_know"):
        value = getattr(policy, name, None)
        require(isinstance(value, str) and value, f"{name} must be a text, not {value!r}")
    require(type(policy).__doc__, "the class has no docstring")
    require(isinstance(policy.reference, str), f"reference must be a text, not {policy.reference!r}")
    if ":" not in type_name(type(policy)):
        require(policy.reference in ("", *entries()), f"reference {policy.reference!r} is no known paper")
    known_from = policy.known_from
    require(known_from in ("", *KNOWN_FROM), f"known_from must be one of {[*KNOWN_FROM]}, not {known_from!r}")
    low, high = policy.reward_support
    require(low < high, f"reward_support must be (low, high) with low < high, not ({low}, {high})")


@check(PLAIN)
def check_tables(policy: Policy) -> None:
    """Check that tables hold 64-bit integers and floats only, and that runs do not share them."""
    policy = knowing(policy)
    state = policy.start(4, 400)
    require("step" in state.header.dtype.names, "the header has no field 'step'")
    require(state.arms.shape == (4,), f"the table of 4 arms has the shape {state.arms.shape}")
    for title, table in state._asdict().items():
        for name in table.dtype.names:
            kind = table.dtype[name].str
            require(kind in ("<i8", "<f8"), f"{title}[{name!r}] is {kind}, neither int64 nor float64")
    before = contents(policy.start(4, 400))
    go_on(policy, fit(policy, rewards01()), state, generator(0), range(1, 101))
    require(contents(policy.start(4, 400)) == before, "a run changes the state that the next one starts from")


@check(PLAIN)
def check_parameters(policy: Policy, others: Iterable[Policy] | None = None) -> None:
    """Check that parameters are a NamedTuple of plain numbers, whose class has a name of its own.

    ``derived`` may also be None: see `Policy.derived`.

    Numba tells NamedTuple classes apart by name and fields alone: two of one name may run each other's
    code. Without a horizon, `parameters` may raise an InvalidValueError and nothing else.

    Parameters
    ----------
    policy : Policy
    others : iterable of Policy, optional
        Whose parameters must have other names, or the same class; by default the catalogue.
    """
    parameters = knowing(policy).parameters(4, 400)
    require(hasattr(parameters, "_fields"), f"parameters must be a NamedTuple, not {parameters!r}")
    for name, number in parameters._asdict().items():
        plain = type(number) in (int, float) or (name == "derived" and number is None)
        require(plain, f"parameter {name!r} must be an int or a float, not {number!r}")
    cls = type(parameters)
    for other in CATALOGUE.values() if others is None else others:
        theirs = type(knowing(other).parameters(4, 400))
        alone = theirs is cls or theirs.__name__ != cls.__name__
        require(
            alone, f"the parameters of {type(other).__name__} are called {cls.__name__}, too: rename yours"
        )
    with contextlib.suppress(InvalidValueError):
        knowing(policy).parameters(4, None)


@check(PLAIN)
def check_json(policy: Policy) -> None:
    """Check that the JSON form is lossless: equal settings, parameters and fresh tables come back."""
    try:
        again = Policy.from_json(json.loads(json.dumps(policy.to_json())))
    except BrigandError as error:
        raise AssertionError(f"its JSON form cannot be read back: {error}") from error
    require(type(again) is type(policy), f"it came back as a {type(again).__name__}")
    require(again == policy, f"it came back as {again!r}")
    require(again.kernels == policy.kernels, "it came back with other kernels")
    hint = "is every setting a field of the dataclass?"
    for means, horizon in (((0.3, 0.5, 0.5, 0.7), 400), ((0.5, 0.6), 10_000)):
        ours, theirs, n_arms = knowing(policy, means), knowing(again, means), len(means)
        same = repr(theirs.parameters(n_arms, horizon)) == repr(ours.parameters(n_arms, horizon))
        require(same, f"it came back with other parameters; {hint}")
        same = contents(theirs.start(n_arms, horizon)) == contents(ours.start(n_arms, horizon))
        require(same, f"it came back with another fresh state; {hint}")


def unchanged(kernel: str, step: int, state: State, before: Sequence[bytes]) -> None:
    """Require that a kernel has changed no table."""
    for title, now, then in zip(State._fields, contents(state), before, strict=True):
        require(now == then, f"{kernel} changed the table {title!r} at step {step}; pull and learn may")


@check(PLAIN)
def check_select(policy: Policy, every_arm: bool = True) -> None:
    """Check that `select` chooses one of the candidates, and that it and `estimate` change no table.

    Parameters
    ----------
    policy : Policy
    every_arm : bool
        Whether each of 4 arms must be chosen within 400 steps.
    """
    policy, rng = knowing(policy), generator(1)
    state, parameters = policy.start(4, 400), policy.parameters(4, 400)
    allowed = [np.array(c) for c in ([0, 1, 2, 3], [1], [0, 2], [1, 2, 3])]
    seen = set()
    for step in range(1, 401):
        before, candidates = contents(state), allowed[step % 4].copy()
        known = [policy.kernels.estimate(parameters, *state, arm) for arm in range(4)]
        for found in known:
            pair = isinstance(found, tuple) and all(isinstance(number, float) for number in found)
            require(pair and len(found) == 2, f"estimate returned {found!r}, which is no pair of floats")
        unchanged("estimate", step, state, before)
        arm = policy.kernels.select(parameters, *state, candidates, rng)
        unchanged("select", step, state, before)
        require((candidates == allowed[step % 4]).all(), f"select changed the candidates at step {step}")
        require(isinstance(arm, (int, np.integer)), f"select returned {arm!r}, which is no integer")
        among = allowed[step % 4].tolist()
        require(arm in among, f"select chose arm {arm} at step {step}, where only {among} may be chosen")
        policy.kernels.pull(parameters, *state, int(arm))
        reward = float(fit(policy, rng.random()))
        policy.kernels.learn(parameters, *state, int(arm), reward, step)
        seen.add(int(arm))
    require(len(seen) == 4 or not every_arm, f"of 4 arms only {sorted(seen)} were chosen in 400 steps")


@check(PLAIN)
def check_restored_state(policy: Policy) -> None:
    """Check that a run goes on as if nothing had happened from a state that was saved as bytes.

    A policy that keeps anything elsewhere than in its three tables fails.
    """
    policy = knowing(policy)
    rng, rewards = generator(5), fit(policy, rewards01())
    state = policy.start(4, 400)
    go_on(policy, rewards, state, rng, range(1, 151))
    header, arms, memory = (np.frombuffer(table.tobytes(), table.dtype).copy() for table in state)
    restored, twin = State(header[0], arms, memory), generator(0)
    twin.bit_generator.state = rng.bit_generator.state
    first = go_on(policy, rewards, state, rng, range(151, 301))
    second = go_on(policy, rewards, restored, twin, range(151, 301))
    require(
        first == second, "a restored state goes on otherwise: something is kept elsewhere than in the tables"
    )


@check(PLAIN)
def check_index(policy: Policy, rewards: Sequence[tuple[float, float]] = INDEX_REWARDS) -> None:
    """Check that no index is NaN when all rewards have come, from the first step on.

    NaN stands for an arm whose rewards are all still to come, which is chosen last. Nothing is checked unless
    `select`, or a kernel that it calls, uses a function whose name ends in ``index`` and which takes what
    `brigand.policies.kernels.choices.argmax` gives it.

    Parameters
    ----------
    policy : Policy
    rewards : sequence of pairs of float
        Rewards paid in turn; those that the policy does not take are left out.
    """
    policy = knowing(policy, MEANS[:3])
    index = index_of(policy)
    low, high = policy.reward_support
    for pair in rewards:
        if index is None or not low <= min(pair) <= max(pair) <= high:
            continue
        parameters, state, rng = policy.parameters(3, 60), policy.start(3, 60), generator(0)
        for step in range(1, 61):
            for arm in range(3):
                value = index(parameters, state, arm, rng)
                require(not math.isnan(value), f"the index of arm {arm} is NaN at step {step} of {pair}")
            arm = int(policy.kernels.select(parameters, *state, np.arange(3), rng))
            policy.kernels.pull(parameters, *state, arm)
            policy.kernels.learn(parameters, *state, arm, float(pair[step // 3 % 2]), step)


def index_of(policy: Policy) -> Callable[[Any, State, int, np.random.Generator], float] | None:
    """Return the policy's index as a function of parameters, state, arm and generator, if it has one."""
    found = _used_index(policy.kernels.select, set())
    if found is None:
        return None
    taken = list(inspect.signature(found).parameters)

    def index(parameters: Any, state: State, arm: int, rng: np.random.Generator) -> float:
        known = {"parameters": parameters, **state._asdict(), "arm": arm, "rng": rng}
        return float(found(*(known[name] for name in taken)))

    return index


def _used_index(kernel: Any, seen: set[Any]) -> Callable[..., Any] | None:
    """Return the first index that a kernel, or one that it calls, uses."""
    seen.add(kernel)
    names = inspect.getclosurevars(kernel)
    for function in filter(inspect.isfunction, [*names.nonlocals.values(), *names.globals.values()]):
        taken = set(inspect.signature(function).parameters)
        if function.__name__.endswith("index") and {"arms", "arm"} <= taken <= INDEX_ARGUMENTS:
            return function
        found = None if function in seen else _used_index(function, seen)
        if found is not None:
            return found
    return None


def contents(state: State) -> list[bytes]:
    """Return what the tables of a state hold."""
    return [table.tobytes() for table in state]
