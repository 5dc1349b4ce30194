"""What tests of one bandit share: policies, a clock, and ways to load a bandit again."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

import brigand as br
from brigand.testing.base import fit, knowing
from policies.expectations import expected
from stores import run

FE = br.ForcedExploration(br.Linear())
SW_FE = br.ForcedExploration(br.Linear(), window=7)
RANDOM = br.UniformRandom()
MEANS = (0.3, 0.5, 0.7, 0.4, 0.6)
POLICIES = {name: policy for name, policy in br.CATALOGUE.items() if not expected(name).knows_the_arms}
LOADS = ("json", "store", "open", "replay")
"""Ways to load a bandit again, see `loaded`."""

_number = itertools.count()


class Clock:
    """A clock that is set by hand."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def arms(k: int) -> list[str]:
    """Return names of `k` arms, which are not in alphabetical order."""
    return [f"arm {9 - i}" for i in range(k)]


def policy_for(name: str, k: int) -> br.Policy:
    """Return a policy of the catalogue, which knows what it must if it is the oracle of `k` arms."""
    return knowing(br.CATALOGUE[name], MEANS[:k])


def rewards_for(policy: br.Policy, shape: tuple[int, int], seed: int) -> NDArray[np.float64]:
    """Return a table of rewards within the policy's range, half of them its ends, so that means are tied."""
    rng = np.random.default_rng(seed)
    mixed = np.where(rng.random(shape) < 0.5, rng.random(shape), rng.random(shape) < MEANS[: shape[1]])
    return fit(policy, mixed)


def play(
    bandit: br.Bandit, rewards: NDArray[np.float64], first: int = 0, last: int | None = None
) -> list[int]:
    """Ask and tell at once, in steps first + 1, ..., last; return the rows of the arms."""
    names = bandit.arms()
    chosen = []
    for row in rewards[first:last]:
        decision = bandit.ask()
        chosen.append(names.index(decision.arm))
        assert bandit.tell(decision.id, float(row[chosen[-1]])) is br.Told.LEARNED
    return chosen


def state(bandit: br.Bandit) -> str:
    """Return everything that decides what the bandit does next, as text."""
    return json.dumps(bandit.snapshot()["state"])


def contents(bandit: br.Bandit) -> str:
    """Return the state, and the log: what a call that is refused must not change, and a copy has."""
    snapshot = bandit.snapshot()
    return json.dumps({key: value for key, value in snapshot.items() if key not in ("uid", "sha256")})


def loaded(bandit: br.Bandit, how: str, url: str, clock: Any = None) -> br.Bandit:
    """Return the bandit as another process would find it.

    Parameters
    ----------
    bandit : Bandit
        Not to be used any more.
    how : str
        ``"json"``: in memory, from a snapshot. ``"store"``: the same in a store. ``"open"``: opened from its
        store. ``"replay"``: the same, where the store has lost its snapshot. (Not if no decision was made
        since it came from the memory, where the log does not have the state of the generator.)
    url : str
        Of the store.
    clock : callable, optional
    """
    clocked = {} if clock is None else {"clock": clock}
    home, entered = getattr(bandit, "home", (None, 0))
    snapshot = bandit.snapshot()
    data = snapshot["events"][-1]
    bandit.close()
    if how in ("open", "replay") and home is not None:
        if how == "replay" and any('"rng"' in given for given in data[entered:]):
            forget_snapshots(url)
        found = br.Bandit.open(url, home, **clocked)
    else:
        home, entered = (None if how == "json" else f"bandit {next(_number)}"), len(data)
        where = {} if home is None else {"store": url, "name": home}
        found = br.Bandit.restore(json.loads(json.dumps(snapshot)), **where, **clocked)
    found.home = home, entered
    return found


def forget_snapshots(url: str) -> None:
    """Delete what a store remembers of states, so that bandits are made from their logs."""
    run(url, "DELETE FROM brigand_snapshots")


def table(bandit: br.Bandit, name: str) -> dict[str, list[Any]]:
    """Return a table of the state, by field; NaN is a float."""
    columns = bandit.snapshot()["state"]["tables"][name]["columns"]
    return {
        field: [float(value) for value in values] if kind.endswith("f8") else values
        for field, kind, values in columns
    }
