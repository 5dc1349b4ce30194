"""Checks that any policy must pass; ours are tested by the same ones.

`check_policy` runs them all. Each is also a function of its own, which takes a policy, and raises an
AssertionError that names the policy, the check, and what is wrong::

    from brigand.testing import check_policy
    from my_policy import MyPolicy

    def test_my_policy():
        check_policy(MyPolicy())

Checks of laws have fixed seeds, and a false-alarm level of about 1e-5.
"""

from __future__ import annotations

from collections.abc import Iterable

from brigand.errors import InvalidValueError, UnknownNameError
from brigand.policies.base import Policy
from brigand.testing.absent import check_absent_arms
from brigand.testing.base import COMPILED, PLAIN, options_of, play, told
from brigand.testing.compiled import (
    check_cache,
    check_compiled,
    check_compiled_once,
    check_constant_rewards,
    check_refused_rewards,
    check_same_bits,
    check_small_problems,
)
from brigand.testing.contract import (
    check_description,
    check_index,
    check_json,
    check_parameters,
    check_restored_state,
    check_select,
    check_tables,
)
from brigand.testing.late import Unpaid, check_late_rewards, check_without_rewards
from brigand.testing.optional import check_follows_index, check_shift_and_scale
from brigand.testing.statistical import check_learns, check_permutation, check_propensities, check_ties

CHECKS = PLAIN | COMPILED
"""The checks that `check_policy` runs, by name."""

__all__ = [
    "CHECKS",
    "check_absent_arms",
    "check_cache",
    "check_compiled",
    "check_compiled_once",
    "check_constant_rewards",
    "check_description",
    "check_follows_index",
    "check_index",
    "check_json",
    "check_late_rewards",
    "check_learns",
    "check_parameters",
    "check_permutation",
    "check_policy",
    "check_propensities",
    "check_refused_rewards",
    "check_restored_state",
    "check_same_bits",
    "check_select",
    "check_shift_and_scale",
    "check_small_problems",
    "check_tables",
    "check_ties",
    "check_without_rewards",
    "play",
    "told",
]


def check_policy(
    policy: Policy,
    *,
    skip: Iterable[str] = (),
    every_arm: bool = True,
    rewards_needed: float = 1.0,
    unpaid: Unpaid = "due",
    best_pulls: int | None = None,
    slack: float = 0.0,
    regret: float = 250.0,
) -> None:
    """Check all that a policy must do.

    Checks in plain Python come first, and compiled ones only if the policy passes those: compiled code does
    not notice an index that is out of bounds. It takes some ten seconds.

    Parameters
    ----------
    policy : Policy
    skip : iterable of str
        Names of checks to leave out, without ``check_``, see `CHECKS`.
    every_arm : bool
        See `check_select` and `check_constant_rewards`.
    rewards_needed, unpaid, best_pulls
        See `check_late_rewards`, and for `best_pulls` also `check_absent_arms`. None: as there.
    slack : float
        See `check_permutation`. If it is not 0, `check_ties` is left out.
    regret : float
        See `check_learns`.

    Raises
    ------
    AssertionError
        The policy fails; the message has every check that it fails, and why.
    InvalidValueError, UnknownNameError
        It is no policy; there is no check of that name.
    """
    if not isinstance(policy, Policy):
        raise InvalidValueError(f"check_policy takes a policy such as UCB1(0, 1), not {policy!r}.")
    left_out = {skip} if isinstance(skip, str) else set(skip)
    for name in left_out:
        if name not in CHECKS:
            raise UnknownNameError("check", name, CHECKS)
    if slack:
        left_out.add("ties")
    given = {
        "every_arm": every_arm,
        "rewards_needed": rewards_needed,
        "unpaid": unpaid,
        "slack": slack,
        "regret": regret,
    }
    if best_pulls is not None:
        given["best_pulls"] = best_pulls
    for group in (PLAIN, COMPILED):
        failures = []
        for name, function in group.items():
            if name not in left_out:
                options = {key: given[key] for key in options_of(function) & given.keys()}
                try:
                    function(policy, **options)
                except AssertionError as error:
                    failures.append(error)
        if failures:
            raise AssertionError("\n".join(map(str, failures))) from failures[0].__cause__
