"""What a study file may say: its keys, their types and what they mean.

``brigand schema`` prints the JSON Schema of `StudyFile`, by which editors complete and check such files. What
goes beyond types (does this policy exist, has it such a parameter) is checked by `brigand.studies.expand`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator

from brigand.checks import MAX_STEPS

FIGURES = ("regret", "sweep", "final", "pulls", "forced", "profiles", "ranks")

Steps = Annotated[int, Field(ge=1, le=MAX_STEPS)]
TAGS = ("one", "several", "entry")


def _tag(value: Any) -> str:
    """Say which alternative a value means, so that an error speaks of that one alone."""
    return "several" if isinstance(value, list) else "one"


Count = Annotated[int, Field(ge=1, le=10**9)]
SWEEP = (
    "Variants: a mapping of parameters to lists of values gives every combination; a list of mappings gives "
    "just those. A parameter of a part is written sequence.base."
)


Sweep = Annotated[
    Annotated[dict[str, Annotated[list[Any], Field(min_length=1)]], Tag("one")]
    | Annotated[list[dict[str, Any]], Field(min_length=1), Tag("several")],
    Discriminator(_tag),
]


def _arm(value: Any) -> Any:
    """Refuse what is no distribution, and say how the one that may be meant is written."""
    if isinstance(value, dict):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        raise ValueError(
            f"an arm is a distribution, not {value!r}: write {{type: Bernoulli, p: {value!r}}} for rewards "
            f"of 0 and 1 with this mean, or {{type: Gaussian, mu: {value!r}, sigma: 1}}"
        )
    raise ValueError(f"an arm is a distribution such as {{type: Bernoulli, p: 0.4}}, not {value!r}")


Arm = Annotated[dict[str, Any], BeforeValidator(_arm)]


class Part(BaseModel):
    """Refuses keys that it does not know."""

    model_config = ConfigDict(extra="forbid")


class RandomInstances(Part):
    """Random instances, as `brigand.random_environment` draws them; instance i has the seed ``seed + i``."""

    family: Literal["bernoulli", "gaussian", "exponential", "poisson"] = Field(description="Kind of rewards.")
    arms: Count = Field(description="K, the number of arms.")
    phases: Count = Field(1, description="Phases of equal length, each with new means.")
    instances: Annotated[int, Field(ge=1, le=10**6)] = Field(1, description="How many environments.")
    seed: Annotated[int, Field(ge=0, lt=2**32)] = Field(0, description="Seed of the first one.")


class EnvironmentEntry(Part):
    """An environment, or a set of them: one of `random`, `arms`, `phases` with `starts`, `world`, `file`."""

    name: str | None = Field(None, min_length=1, description="Its name in tables and figures.")
    random: RandomInstances | None = Field(None, description="Random instances.")
    arms: list[Arm] | None = Field(
        None, min_length=1, description="Reward distributions of the arms: {type: Gaussian, mu: 0, sigma: 1}."
    )
    phases: list[list[Arm]] | None = Field(
        None, min_length=1, description="The arms of each phase, for rewards that change."
    )
    starts: list[Steps] | None = Field(None, description="First steps of the phases; the first is 1.")
    world: dict[str, Any] | None = Field(
        None,
        description="Any world, as docs/worlds.md writes them: {type: Restless, means: {type: LinearMeans, "
        "first: [0.2, 0.8], slope: 0.001}}.",
    )
    instances: Annotated[int, Field(ge=1, le=10**6)] | None = Field(
        None, description="How many worlds, of which the means are drawn: seeds are counted up."
    )
    file: str | None = Field(None, description="A JSON file of one environment, beside the study file.")
    conditions: dict[str, Any] | None = Field(
        None,
        description="When rewards come, and which arms are there: delay (steps, or a distribution such as "
        "{type: Geometric, mean: 500}), lost (a probability), batch, pending (ignored or imputed), arms "
        "({type: Arrivals, starts: [...], ends: [...]}).",
    )
    sweep: Sweep | None = Field(None, description=SWEEP + " Of random instances only.")

    @model_validator(mode="after")
    def _one_kind(self) -> EnvironmentEntry:
        kinds = [
            key for key in ("random", "arms", "phases", "world", "file") if getattr(self, key) is not None
        ]
        if len(kinds) != 1:
            given = " and ".join(kinds) or "none of them"
            raise ValueError(
                f"an environment is one of random, arms, phases (with starts), world or file, not {given}"
            )
        if (self.phases is None) != (self.starts is None):
            raise ValueError("phases and starts belong together")
        if self.instances is not None and self.world is None:
            raise ValueError("instances are of a world (those of random instances stand below random)")
        if self.sweep is not None and self.random is None:
            raise ValueError("only random instances can be swept over")
        return self


class PolicyEntry(Part):
    """A policy, or several that differ in some parameters."""

    policy: str = Field(
        min_length=1,
        description="A name that `brigand policies` lists, a class such as ForcedExploration, or your own, "
        "module:Class.",
    )
    name: str | None = Field(None, min_length=1, description="Its name in tables and figures.")
    parameters: dict[str, Any] = Field({}, description="Parameters that differ from the policy's own.")
    sweep: Sweep | None = Field(None, description=SWEEP)
    only: Annotated[list[str], Field(min_length=1)] | None = Field(
        None, description="Names of the environments in which it plays; by default all."
    )


class StudyFile(Part):
    """A study: every policy in every environment, for every horizon."""

    name: str = Field(min_length=1, description="Title of figures and of the report.")
    description: str = Field("", description="What the study asks; stands at the head of the report.")
    environments: list[EnvironmentEntry] = Field(min_length=1)
    policies: list[
        Annotated[
            Annotated[str, Tag("one")] | Annotated[PolicyEntry, Tag("entry")],
            Discriminator(lambda value: "one" if isinstance(value, str) else "entry"),
        ]
    ] = Field(min_length=1)
    horizon: Annotated[
        Annotated[Steps, Tag("one")] | Annotated[list[Steps], Field(min_length=1), Tag("several")],
        Discriminator(_tag),
    ] = Field(description="T, the steps of a run; or several.")
    replications: Count = Field(description="Runs of each policy in each environment.")
    checkpoints: Annotated[
        Annotated[int, Field(ge=1, le=10_000), Tag("one")]
        | Annotated[list[Steps], Field(min_length=1), Tag("several")],
        Discriminator(_tag),
    ] = Field(40, description="How many steps, log-spaced, or which, have their regret stored; T always has.")
    seed: Annotated[int, Field(ge=0)] = Field(0, description="Seed of all runs.")
    method: Literal["step", "skip", "auto"] = Field(
        "step",
        description="step: all policies meet the same rewards. skip: FE and ETC alone, in a time that does "
        "not grow with T. auto: skip where it is possible.",
    )
    metrics: list[Literal["pulls"]] = Field(
        ["pulls"],
        description="Stored besides regret and forced pulls: pulls of every arm at every checkpoint, which "
        "take K times as much room.",
    )
    baseline: str | None = Field(None, description="The policy that others are compared with.")
    figures: list[Literal["regret", "sweep", "final", "pulls", "forced", "profiles", "ranks"]] | None = Field(
        None, description="Figures of the report; by default all that make sense."
    )


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a study file."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | StudyFile.model_json_schema()
