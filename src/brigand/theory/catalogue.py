"""All bounds that are known for a policy in an environment."""

from __future__ import annotations

from brigand import checks
from brigand.environments.environment import Environment
from brigand.errors import InvalidValueError
from brigand.policies.base import Policy
from brigand.policies.forced.forced_exploration import ForcedExploration
from brigand.theory.bound import Bound
from brigand.theory.comparators import comparator_bounds
from brigand.theory.forced_exploration import forced_exploration_bounds
from brigand.theory.lower import lower_bounds
from brigand.theory.sliding_window import sliding_window_bounds


def bounds(environment: Environment, policy: Policy, horizon: int) -> tuple[Bound, ...]:
    """Return all bounds for a policy in an environment: the paper's, as printed and corrected, and others.

    Parameters
    ----------
    environment : Environment
    policy : Policy
    horizon : int
        T: what the policy is told, and the last step that FE's bounds may be asked for.

    Returns
    -------
    tuple of Bound
        With those whose conditions fail: ask ``bound.holds``. Upper bounds first, then lower ones. For FE
        with `AnytimeExponential` only those that hold for every policy: the paper's theorems need f(r) known
        beforehand.

    Raises
    ------
    InvalidValueError
        An argument is not allowed.

    Examples
    --------
    >>> import brigand as br
    >>> env = br.Environment.stationary([br.Gaussian(0, 1), br.Gaussian(1, 1)])
    >>> fe = br.theory.bounds(env, br.ForcedExploration(br.Linear()), 10_000)
    >>> [(b.name, b.version, round(float(b.regret(10_000)), 1)) for b in fe if b.kind == "upper"][1]
    ('Theorem 1', 'corrected', 274.7)
    """
    if not isinstance(environment, Environment):
        raise InvalidValueError(f"environment must be an Environment, not {environment!r}.")
    if not isinstance(policy, Policy):
        raise InvalidValueError(f"policy must be a policy such as UCB1(0, 1), not {policy!r}.")
    horizon = checks.steps("horizon", horizon)
    found: list[Bound] = []
    if isinstance(policy, ForcedExploration) and not policy.sequence.needs_steps:
        of_fe = forced_exploration_bounds if policy.window is None else sliding_window_bounds
        found += of_fe(environment, policy, horizon)
    found += comparator_bounds(environment, policy, horizon)
    found += lower_bounds(environment)
    return tuple(found)
