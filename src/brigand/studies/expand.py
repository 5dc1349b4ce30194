"""From a study file to named environments and policies: sweeps, names, and what types cannot check."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from pydantic import ValidationError

from brigand.environments.distribution import Distribution
from brigand.environments.environment import Environment, read_world
from brigand.environments.instances import random_environment
from brigand.environments.world import World
from brigand.errors import BrigandError, UnknownNameError
from brigand.policies.base import Policy
from brigand.simulation.conditions import Conditions
from brigand.simulation.plan import default_checkpoints, make_plan
from brigand.simulation.run import choose_methods
from brigand.studies.configuration import Configuration
from brigand.studies.model import EnvironmentEntry, PolicyEntry, RandomInstances, StudyFile
from brigand.studies.read import Place, Source, StudyError, explain

T = TypeVar("T")


@dataclass(frozen=True)
class Problem:
    """One environment, or several random ones, and a horizon.

    Attributes
    ----------
    name : str
    horizon : int
    recipe : dict
        JSON: ``{"environment": ...}``, a world; ``{"world": ...}``, the first of several that differ in their
        seeds; or ``{"random": ...}`` with the arguments of `random_environment`. And ``"conditions"``, if
        they are not plain.
    instances : int
        How many environments.
    swept : dict
        What was swept over to make it: names of parameters and their values.
    label : str
        The name before the swept values were added.
    place : tuple
        Where it stands in the file.
    first : World
        The first instance, or the only one.
    """

    name: str
    horizon: int
    recipe: dict[str, Any]
    instances: int
    swept: dict[str, Any]
    label: str
    place: Place
    first: World


@dataclass(frozen=True)
class NamedPolicy:
    """A policy with its name, what was swept over to make it, and where it plays (None: everywhere)."""

    name: str
    policy: Policy
    swept: dict[str, Any]
    label: str
    place: Place
    only: tuple[str, ...] | None

    def plays(self, problem: Problem) -> bool:
        """Return whether it is to be run on a problem."""
        return self.only is None or problem.label in self.only


@dataclass(frozen=True)
class Study:
    """A study that was found right.

    Attributes
    ----------
    file : StudyFile
    problems : tuple of Problem
    policies : tuple of NamedPolicy
    methods : dict of (str, str) to str
        How a policy is run on a problem where it plays, by their names: ``"step"``, ``"skip"`` or ``"late"``.
    """

    file: StudyFile
    problems: tuple[Problem, ...]
    policies: tuple[NamedPolicy, ...]
    methods: Mapping[tuple[str, str], str]

    def checkpoints(self, horizon: int) -> tuple[int, ...]:
        """Return the steps at which regret is stored; the last is the horizon."""
        given = self.file.checkpoints
        if isinstance(given, list):
            return tuple(sorted({step for step in given if step < horizon} | {horizon}))
        steps = default_checkpoints(horizon)
        if given < len(steps):
            steps = steps[np.unique(np.rint(np.linspace(len(steps) - 1, 0, given)).astype(int))]
        return tuple(steps.tolist())


KEPT_ARMS = 100
_kept = functools.lru_cache(maxsize=1024)(random_environment)
"""Small random environments are kept: every policy meets them, and making one is as slow as a short run."""


def environment_of(recipe: dict[str, Any], horizon: int, instance: int) -> World:
    """Return an instance of a problem's recipe."""
    if "environment" in recipe:
        return World.from_json(recipe["environment"])
    if "world" in recipe:
        return World.from_json(recipe["world"]).instance(instance)
    random = recipe["random"]
    make = _kept if random["arms"] * random["phases"] <= KEPT_ARMS else random_environment
    return make(random["family"], random["arms"], horizon, random["phases"], random["seed"] + instance)


def conditions_of(recipe: dict[str, Any]) -> Conditions:
    """Return the conditions of a problem's recipe."""
    return Conditions.from_json(recipe["conditions"]) if "conditions" in recipe else Conditions()


def expand(file: StudyFile, source: Source) -> Study:
    """Return the study that a file describes.

    Raises
    ------
    InvalidValueError
        Something is not allowed; the message has the line.
    """
    try:
        policies = tuple(_policies(file))
        problems = tuple(_problems(file, source))
        _check_names(policies, "policies")
        _check_names(problems, "environments")
        labels = [problem.label for problem in problems]
        for named in policies:
            for name in named.only or ():
                if name not in labels:
                    raise StudyError(
                        str(UnknownNameError("environment", name, set(labels))), (*named.place, "only")
                    )
        methods = _methods(file, problems, policies)
        names = [named.name for named in policies]
        if file.baseline is not None and file.baseline not in names:
            raise StudyError(str(UnknownNameError("baseline", file.baseline, names)), ("baseline",))
    except StudyError as error:
        raise source.error(str(error), error.place) from None
    return Study(file, problems, policies, methods)


def variants(sweep: Any, place: Place) -> Iterator[tuple[dict[str, Any], Place]]:
    """Yield the settings of each variant of a sweep, with its place; without a sweep one that has none."""
    if sweep is None:
        yield {}, place
    elif isinstance(sweep, dict):
        for values in itertools.product(*sweep.values()):
            yield dict(zip(sweep, values, strict=True)), (*place, "sweep")
    else:
        for i, settings in enumerate(sweep):
            yield settings, (*place, "sweep", i)


def _policies(file: StudyFile) -> Iterator[NamedPolicy]:
    for i, entry in enumerate(file.policies):
        place: Place = ("policies", i)
        given = PolicyEntry.model_validate({"policy": entry}) if isinstance(entry, str) else entry
        base = _at((*place, "policy"), partial(Configuration.of, given.policy))
        label = given.name or given.policy
        only = None if given.only is None else tuple(given.only)
        for settings, where in variants(given.sweep, place):
            configuration = base
            # A swept parameter takes the place of a fixed one.
            fixed = {key: value for key, value in given.parameters.items() if key not in settings}
            places = {key: (*place, "parameters", key) for key in fixed} | {
                key: (*where, key) for key in settings
            }
            for key, value in (fixed | settings).items():
                configuration = _at(places[key], partial(configuration.changed, key, value))
            try:
                policy = configuration.make()
            except (BrigandError, TypeError) as error:
                # The line of the parameter that the message speaks of, if it speaks of one.
                named = [key for key in places if key.rpartition(".")[2] in str(error)]
                raise StudyError(str(error), places[named[-1]] if named else place) from error
            yield NamedPolicy(_named(label, settings), policy, settings, label, place, only)


def _problems(file: StudyFile, source: Source) -> Iterator[Problem]:
    horizons = file.horizon if isinstance(file.horizon, list) else [file.horizon]
    for i, entry in enumerate(file.environments):
        place: Place = ("environments", i)
        conditions = _conditions(entry, place)
        for settings, where in variants(entry.sweep, place):
            label = entry.name or _default_name(entry, settings, i)
            if entry.random is None:
                fixed = _fixed(entry, place, source)
                recipe, instances = {"environment": fixed.to_json()}, 1
                if entry.instances is not None:
                    recipe, instances = {"world": fixed.to_json()}, entry.instances
                    if instances > 1 and fixed.instance(1) == fixed:
                        raise StudyError(
                            "instances differ in the seed of their means, and these means have none.",
                            (*place, "instances"),
                        )
            else:
                fixed = None
                recipe, instances = _random(entry.random, settings, where)
            if not conditions.is_plain:
                recipe["conditions"] = conditions.to_json()
            for horizon in horizons:
                named = settings | ({"T": horizon} if len(horizons) > 1 else {})
                first = fixed or _at(place, partial(environment_of, recipe, horizon, 0))
                _at((*place, "conditions"), partial(conditions.check, first, horizon))
                if entry.world is not None or entry.file is not None:
                    given = "file" if entry.world is None else "world"
                    _at((*place, given), partial(first.arm_supports, horizon))
                if instances > 1:  # the last one, whose seed is the largest, must be possible, too
                    _at(place, partial(environment_of, recipe, horizon, instances - 1))
                yield Problem(_named(label, named), horizon, recipe, instances, named, label, place, first)


def _random(random: RandomInstances, settings: dict[str, Any], where: Place) -> tuple[dict[str, Any], int]:
    """Return the recipe of random instances, and how many they are."""
    values = random.model_dump()
    for key in settings:
        if key not in values:
            raise StudyError(
                str(UnknownNameError("parameter of random instances", key, values)), (*where, key)
            )
    checked = _at(where, partial(RandomInstances.model_validate, values | settings))
    arguments = checked.model_dump()
    return {"random": arguments}, arguments.pop("instances")


def _fixed(entry: EnvironmentEntry, place: Place, source: Source) -> World:
    """Return the environment that the study file describes, or that it names the file of."""
    if entry.file is not None:
        return _at((*place, "file"), partial(read_world, source.path.parent / entry.file))
    if entry.world is not None:
        return _at((*place, "world"), partial(World.from_json, entry.world))
    phases, starts = (entry.phases, entry.starts) if entry.phases else ([entry.arms or []], [1])
    data = {"type": "Environment", "phases": phases, "starts": starts}
    for p, arms in enumerate(phases):
        for k, arm in enumerate(arms):
            at = (*place, "phases", p, k) if entry.phases else (*place, "arms", k)
            _at(at, partial(Distribution.from_json, arm))
    return _at((*place, "starts" if entry.phases else "arms"), partial(Environment.from_json, data))


def _conditions(entry: EnvironmentEntry, place: Place) -> Conditions:
    """Return when rewards come, and which arms are there."""
    given = entry.conditions or {}
    at = (*place, "conditions")
    return _at(at, partial(Conditions.from_json, {**given, "type": "Conditions"}))


def _default_name(entry: EnvironmentEntry, settings: dict[str, Any], i: int) -> str:
    if entry.random is not None:
        parts: list[str] = [entry.random.family]
        parts += [f"K = {entry.random.arms}"] if "arms" not in settings else []
        parts += (
            [f"{entry.random.phases} phases"] if entry.random.phases > 1 and "phases" not in settings else []
        )
        return ", ".join(parts)
    return entry.file or f"environment {i + 1}"


def _named(label: str, settings: dict[str, Any]) -> str:
    """Return a name with the swept values: "SW-FE (window = 200)"."""
    if not settings:
        return label
    return f"{label} ({', '.join(f'{key} = {_short(value)}' for key, value in settings.items())})"


def _short(value: Any) -> str:
    if isinstance(value, dict):
        rest = ", ".join(f"{key}={item}" for key, item in value.items() if key != "type")
        return f"{value.get('type', '')}({rest})"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _check_names(things: Sequence[Problem | NamedPolicy], key: str) -> None:
    names: set[str] = set()
    for thing in things:
        if thing.name in names:
            raise StudyError(
                f"two of the {key} are called {thing.name!r}; give them different names.", thing.place
            )
        names.add(thing.name)


def _methods(
    file: StudyFile, problems: Sequence[Problem], policies: Sequence[NamedPolicy]
) -> dict[tuple[str, str], str]:
    """Have the simulator check every policy against one instance of every problem, and choose the method."""
    methods = {}
    for problem in problems:
        environment = problem.first
        for named in policies:
            if not named.plays(problem):
                continue
            where = f"{named.name!r} in {problem.name!r}: "
            try:
                conditions = conditions_of(problem.recipe)
                plan = make_plan(
                    environment, {named.name: named.policy}, problem.horizon, 1, 0, None, conditions
                )
                (methods[problem.name, named.name],) = choose_methods(plan, file.method)
                named.policy.informed(environment).parameters(environment.n_arms, problem.horizon)
            except BrigandError as error:
                raise StudyError(where + str(error), named.place) from error
    return methods


def _at(place: Place, make: Callable[[], T]) -> T:
    """Return what `make` makes; its error gets the place."""
    try:
        return make()
    except StudyError:
        raise
    except BrigandError as error:
        raise StudyError(str(error), place) from error
    except ValidationError as error:
        message, deeper = explain(error.errors()[0])
        raise StudyError(message, (*place, *deeper)) from error
    except (TypeError, ValueError) as error:
        raise StudyError(f"not allowed: {error}.", place) from error
