"""The settings of a bandit, which never change."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from typing import Any

from brigand import checks
from brigand.errors import InvalidValueError
from brigand.policies.base import Policy
from brigand.policies.given import policy_of
from brigand.rng import check_seed

HASHED, PLAIN = UNITS = ("hashed", "plain")
"""How the names of units are kept: by a hash with the bandit's key, or as they are."""
LONGEST_KEY = 200
"""Characters that the name of a metric, a unit or a request may have."""
MAX_REWARD = 1e100
"""Rewards beyond this are refused: sums and squares stay finite."""


def check_key(name: str, value: object) -> str:
    """Return the name of a metric, a unit or a request: a text that every store can keep, and not too long.

    Raises
    ------
    InvalidValueError
        It is something else.
    """
    text = checks.text(name, value)
    if not 0 < len(text) <= LONGEST_KEY:
        raise InvalidValueError(f"{name} must have 1 to {LONGEST_KEY} characters, not {len(text):,}.")
    if not text.isprintable():
        raise InvalidValueError(f"{name} must be printable, not {text!r}.")
    return text


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
    holdout, floor : float
        The share of asks that is answered by chance; the least probability of each arm.
    accumulate : float or None
        Seconds in which rewards of a decision are summed up, before the sum is learned.
    units : str
        How the names of units are kept: `HASHED` or `PLAIN`.
    metric : str
        The name of the reward, by which it is told apart from other metrics.
    """

    policy: Policy
    seed: int
    horizon: int | None
    reward_timeout: float | None
    default_reward: float | None
    holdout: float = 0.0
    floor: float = 0.0
    accumulate: float | None = None
    units: str = HASHED
    metric: str = "reward"

    @classmethod
    def of(
        cls,
        policy: Policy | str,
        seed: int | None,
        horizon: int | None,
        reward_timeout: float | None,
        default_reward: float | None,
        holdout: float = 0.0,
        floor: float = 0.0,
        accumulate: float | None = None,
        units: str = HASHED,
        metric: str = "reward",
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
        holdout, floor = checks.number("holdout", holdout, 0.0), checks.number("floor", floor, 0.0, 1.0)
        if not holdout < 1.0:
            raise InvalidValueError(f"holdout must be in [0, 1), not {holdout:g}: a share of the asks.")
        if accumulate is not None:
            if reward_timeout is not None:
                raise InvalidValueError(
                    "accumulate and reward_timeout are not given together: when the time to accumulate is "
                    "over, what was told is learned, or 0 if nothing was."
                )
            accumulate = checks.number("accumulate", accumulate, 0.0)
            policy.check_rewards(0.0, 0.0, "a decision without any reward")
        if units not in UNITS:
            raise InvalidValueError(f"units must be {' or '.join(map(repr, UNITS))}, not {units!r}.")
        late = (reward_timeout, default_reward, holdout, floor, accumulate)
        return cls(policy, check_seed(seed), horizon, *late, units, check_key("metric", metric))

    @property
    def settles_after(self) -> float | None:
        """After how many seconds a decision has its reward, whatever was told; None: when it is told."""
        return self.reward_timeout if self.accumulate is None else self.accumulate

    def check_floor(self, n_arms: int) -> None:
        """Refuse more arms than the floor has room for.

        Raises
        ------
        InvalidValueError
            Their probabilities would sum to more than 1.
        """
        if n_arms * self.floor > 1.0:
            raise InvalidValueError(
                f"floor must be at most {1.0 / n_arms:g} for {n_arms} arms, not {self.floor:g}: it is the "
                "least probability of each."
            )

    def to_json(self) -> dict[str, Any]:
        """Return the settings as plain data, without those of later versions that are as they were before."""
        found = {**vars(self), "policy": self.policy.to_json()}
        usual = {field.name: field.default for field in fields(self) if field.default is not MISSING}
        return {name: value for name, value in found.items() if name not in usual or value != usual[name]}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Settings:
        """Read what `to_json` wrote, and check it; see `Spec.from_json` on modules of users' policies."""
        try:
            return cls.of(**{**data, "policy": Policy.from_json(data["policy"])})
        except (TypeError, KeyError) as error:
            raise InvalidValueError(f"these are no settings of a bandit: {error}.") from None
