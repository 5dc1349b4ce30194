"""What requests and answers look like."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from brigand.checks import MAX_STEPS
from brigand.live.settings import LONGEST_KEY
from brigand.service.limits import MAX_ARMS, MAX_AT_ONCE, MAX_NAME

Name = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME)]
Key = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_KEY)]
Note = Annotated[str, StringConstraints(max_length=10_000)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Reward = Number | bool


class Body(BaseModel):
    """A request: values have the types that are said, and nothing else is in it."""

    model_config = ConfigDict(extra="forbid", strict=True)


class NewBandit(Body):
    """A bandit to be made: see `brigand.Bandit`."""

    name: Name
    arms: Annotated[list[Name], Field(min_length=1, max_length=MAX_ARMS)]
    policy: Annotated[
        str | dict[str, Any],
        Field(description="A name of the catalogue, or the JSON form of a class of it."),
    ] = "FE-Linear"
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    horizon: Annotated[int, Field(ge=1, le=MAX_STEPS)] | None = None
    reward_timeout: Annotated[Number, Field(ge=0)] | None = None
    default_reward: Number | None = None
    holdout: Annotated[Number, Field(ge=0, lt=1)] = 0.0
    floor: Annotated[Number, Field(ge=0, le=1)] = 0.0
    accumulate: Annotated[Number, Field(ge=0)] | None = None
    units: Literal["hashed", "plain"] = "hashed"
    metric: Key = "reward"


class Ask(Body):
    """A request for a decision, or for n of them."""

    n: Annotated[int, Field(ge=1, le=MAX_AT_ONCE)] | None = None
    among: Annotated[list[Name], Field(min_length=1, max_length=MAX_ARMS)] | None = None
    unit: Key | None = None
    request: Key | None = None


class Told(Body):
    """A reward of a decision."""

    id: Annotated[str, StringConstraints(max_length=100)]
    reward: Reward


class Tell(Body):
    """A reward of a decision, or `rewards` of several."""

    id: Annotated[str, StringConstraints(max_length=100)] | None = None
    reward: Reward | None = None
    metric: Key | None = None
    replace: bool = False
    request: Key | None = None
    rewards: Annotated[list[Told], Field(min_length=1, max_length=MAX_AT_ONCE)] | None = None


class Arm(Body):
    """An arm to be put into service."""

    arm: Name


class Noted(Body):
    """Why."""

    note: Note = ""


class TheNote(Body):
    """A note."""

    note: Note


class End(Body):
    """The arm that every ask gets from now on, and why."""

    arm: Name
    note: Note = ""


class Decision(BaseModel):
    """An arm that was chosen: see `brigand.Decision`."""

    id: str
    step: int
    arm: str
    explored: bool
    propensity: float | None
    holdout: bool
    again: bool
    reason: str
    data: dict[str, Any]


class Decisions(BaseModel):
    """Arms that were chosen, in order."""

    decisions: list[Decision]


class Became(BaseModel):
    """What became of a reward, or of several: learned, repeated, history, added, replaced."""

    told: str | list[str]


class Status(BaseModel):
    """Whether a bandit serves."""

    status: Literal["serving", "paused", "ended"]


class Listed(BaseModel):
    """A bandit in a list; a damaged one has neither policy nor arms."""

    name: str
    policy: dict[str, Any]
    arms: list[str]
    decisions: int
    status: Literal["serving", "paused", "ended", "damaged"]


class Page(BaseModel):
    """Bandits by name; `next` is the `after` of the next page."""

    bandits: list[Listed]
    next: str | None


class Shown(BaseModel):
    """A bandit: rows of `brigand.Bandit.summary` and `brigand.Bandit.metrics`."""

    name: str
    policy: dict[str, Any]
    status: Literal["serving", "paused", "ended"]
    arms: list[dict[str, Any]]
    metrics: list[dict[str, Any]]


class History(BaseModel):
    """Rows of `brigand.Bandit.history`; `next` is the `after` of the next page."""

    decisions: list[dict[str, Any]]
    next: int | None


class Metrics(BaseModel):
    """Rows of `brigand.Bandit.metrics`."""

    metrics: list[dict[str, Any]]


class Audit(BaseModel):
    """Rows of `brigand.Bandit.audit`."""

    audit: list[dict[str, Any]]


class Gain(BaseModel):
    """See `brigand.live.gain`."""

    gain: float | None
    lower: float | None
    upper: float | None
    earned: float | None
    even: float | None
    decisions: int
    holdout: int
    level: float
    interval: Literal["exact", "asymptotic"]


class Health(BaseModel):
    """Whether the service is there."""

    status: Literal["ok"]
