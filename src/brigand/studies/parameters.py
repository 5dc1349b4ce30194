"""Policies by name, with some of their parameters changed."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from brigand.errors import InvalidValueError, UnknownNameError
from brigand.policies.base import Policy
from brigand.policies.catalogue import CATALOGUE
from brigand.spec import Spec, import_name


@dataclass(frozen=True)
class Unfinished:
    """A policy class that needs more parameters than those given so far."""

    cls: type[Policy]
    given: dict[str, Any]

    @property
    def needed(self) -> list[str]:
        """The parameters that have no default and were not given."""
        return [
            field.name
            for field in dataclasses.fields(self.cls)
            if field.default is dataclasses.MISSING
            and field.default_factory is dataclasses.MISSING
            and field.name not in self.given
        ]

    @property
    def missing(self) -> str:
        """A sentence that names what it needs."""
        return f"{self.cls.__name__} needs parameters: {', '.join(self.needed)}."


def base_policy(name: str) -> Policy | Unfinished:
    """Return a policy of the catalogue, one of a class of ours, or a user's, ``module:Class``.

    Raises
    ------
    UnknownNameError, InvalidValueError
        There is none of that name.
    """
    if name in CATALOGUE:
        return CATALOGUE[name]
    classes = {type(policy).__name__: type(policy) for policy in CATALOGUE.values()}
    found = import_name(name) if ":" in name else classes.get(name)
    if found is None:
        raise UnknownNameError("policy", name, {*CATALOGUE, *classes})
    if isinstance(found, Policy):
        return found
    if not (isinstance(found, type) and issubclass(found, Policy)):
        raise InvalidValueError(f"{name!r} is no policy: give a subclass of brigand.Policy.")
    return _made(found, {})


def changed(spec: Spec | Unfinished, key: str, value: Any) -> Any:
    """Return a spec with one parameter changed.

    Parameters
    ----------
    spec : Spec or Unfinished
    key : str
        The parameter; one of a part is written ``sequence.base``.
    value
        As a study file has it: a mapping with a ``type`` is a part.

    Raises
    ------
    UnknownNameError, InvalidValueError
        There is no such parameter, or the value is not allowed.
    """
    name, _, rest = key.partition(".")
    cls = spec.cls if isinstance(spec, Unfinished) else type(spec)
    fields = [field.name for field in dataclasses.fields(cls)]  # type: ignore[arg-type]
    if name not in fields:
        raise UnknownNameError(f"parameter of {cls.__name__}", name, fields)
    if rest:
        part = spec.given.get(name) if isinstance(spec, Unfinished) else getattr(spec, name)
        if not isinstance(part, Spec):
            raise InvalidValueError(f"{name} of {cls.__name__} has no parameters, so {key!r} is none.")
        value = changed(part, rest, value)
    else:
        value = _decoded(value)
    if isinstance(spec, Unfinished):
        return _made(spec.cls, spec.given | {name: value})
    return dataclasses.replace(spec, **{name: value})  # type: ignore[type-var]


def _made(cls: type[Policy], given: dict[str, Any]) -> Policy | Unfinished:
    unfinished = Unfinished(cls, given)
    return unfinished if unfinished.needed else cls(**given)


def _decoded(value: Any) -> Any:
    """Return what a value of the file means: a mapping with a type is a part, "inf" infinity."""
    if isinstance(value, dict) and isinstance(value.get("type"), str):
        return Spec.from_json(value)
    if isinstance(value, list):
        return tuple(_decoded(item) for item in value)
    return float(value) if value in ("inf", "-inf") else value
