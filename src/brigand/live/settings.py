"""The settings of a bandit, which never change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from brigand import checks
from brigand.errors import InvalidValueError
from brigand.policies.base import Policy
from brigand.policies.given import policy_of
from brigand.rng import check_seed

MAX_REWARD = 1e100
"""Rewards beyond this are refused: sums and squares stay finite."""


@dataclass(frozen=True)
class Settings:
    """The settings of a bandit, which never change.

    Parameters
    ----------
    policy : Policy
    seed : int
        Of the policy's own choices: as `brigand.trace` with the same seed.
    horizon : int or None
        The most asks that there will be.
    reward_timeout : float or None
        Seconds after which a reward that has not come is taken to be `default_reward`.
    default_reward : float or None
    """

    policy: Policy
    seed: int
    horizon: int | None
    reward_timeout: float | None
    default_reward: float | None

    @classmethod
    def of(
        cls,
        policy: Policy | str,
        seed: int | None,
        horizon: int | None,
        reward_timeout: float | None,
        default_reward: float | None,
    ) -> Settings:
        """Return checked settings.

        Raises
        ------
        InvalidValueError
            One is not allowed.
        """
        policy = policy_of("policy", policy)
        if horizon is not None:
            horizon = checks.steps("horizon", horizon)
        if (reward_timeout is None) != (default_reward is None):
            raise InvalidValueError("reward_timeout and default_reward are given together, or not at all.")
        if reward_timeout is not None and default_reward is not None:
            reward_timeout = checks.number("reward_timeout", reward_timeout, 0.0)
            default_reward = checks.number("default_reward", default_reward, -MAX_REWARD, MAX_REWARD)
            policy.check_rewards(default_reward, default_reward, "default_reward")
        return cls(policy, check_seed(seed), horizon, reward_timeout, default_reward)

    def to_json(self) -> dict[str, Any]:
        """Return the settings as plain data."""
        return {**vars(self), "policy": self.policy.to_json()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Settings:
        """Read what `to_json` wrote, and check it; see `Spec.from_json` on modules of users' policies."""
        try:
            return cls.of(**{**data, "policy": Policy.from_json(data["policy"])})
        except (TypeError, KeyError) as error:
            raise InvalidValueError(f"these are no settings of a bandit: {error}.") from None
