"""Policies by name, with some of their parameters changed."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Self

from brigand.errors import InvalidValueError, UnknownNameError
from brigand.policies.base import Policy
from brigand.policies.catalogue import CATALOGUE
from brigand.spec import Spec, import_name


@dataclass(frozen=True)
class Configuration:
    """A policy that is not made yet, since its parameters may only be right all together.

    Attributes
    ----------
    cls : type
    given : dict
        Parameters that differ from the class's defaults.
    """

    cls: type[Policy]
    given: dict[str, Any]

    @classmethod
    def of(cls, name: str) -> Self:
        """Return that of a policy of the catalogue, of a class of ours, or a user's ``module:Class``.

        Raises
        ------
        UnknownNameError, InvalidValueError
            There is none of that name.
        """
        classes = {type(policy).__name__: type(policy) for policy in CATALOGUE.values()}
        if name in CATALOGUE:
            found: Any = CATALOGUE[name]
        elif ":" in name:
            found = import_name(name)
        elif name in classes:
            found = classes[name]
        else:
            try:
                found = CATALOGUE[name]
            except UnknownNameError:
                raise UnknownNameError("policy", name, {*CATALOGUE, *classes}) from None
        if isinstance(found, Policy):
            fields = dataclasses.fields(found)
            return cls(type(found), {field.name: getattr(found, field.name) for field in fields})
        if isinstance(found, type) and issubclass(found, Policy):
            return cls(found, {})
        raise InvalidValueError(f"{name!r} is no policy: give a subclass of brigand.Policy.")

    def changed(self, key: str, value: Any) -> Configuration:
        """Return the configuration with one parameter changed.

        Parameters
        ----------
        key : str
            The parameter; one of a part is written ``sequence.base``.
        value
            As a study file has it: a mapping with a ``type`` is a part.

        Raises
        ------
        UnknownNameError, InvalidValueError
            There is no such parameter, or a part cannot have that value.
        """
        name, _, rest = key.partition(".")
        fields = {field.name: field for field in dataclasses.fields(self.cls)}
        if name not in fields:
            raise UnknownNameError(f"parameter of {self.cls.__name__}", name, fields)
        part = self.given.get(name, fields[name].default)
        return Configuration(self.cls, self.given | {name: _changed(part, name, rest, value)})

    def make(self) -> Policy:
        """Return the policy.

        Raises
        ------
        InvalidValueError
            Its parameters are not allowed, or one is missing.
        """
        needed = [
            field.name
            for field in dataclasses.fields(self.cls)
            if field.default is dataclasses.MISSING
            and field.default_factory is dataclasses.MISSING
            and field.name not in self.given
        ]
        if needed:
            raise InvalidValueError(f"{self.cls.__name__} needs parameters: {', '.join(needed)}.")
        return self.cls(**self.given)


def _changed(part: Any, name: str, rest: str, value: Any) -> Any:
    """Return the new value of a parameter `name`; `rest` leads to what is to change inside of it."""
    if not rest:
        return _decoded(value)
    if not isinstance(part, Spec):
        raise InvalidValueError(f"{name} has no parameters, so {name}.{rest} is none.")
    inner, _, deeper = rest.partition(".")
    fields = [field.name for field in dataclasses.fields(part)]  # type: ignore[arg-type]
    if inner not in fields:
        raise UnknownNameError(f"parameter of {type(part).__name__}", inner, fields)
    changed = _changed(getattr(part, inner), inner, deeper, value)
    return dataclasses.replace(part, **{inner: changed})  # type: ignore[type-var]


def _decoded(value: Any) -> Any:
    """Return what a value of the file means: a mapping with a type is a part, "inf" infinity."""
    if isinstance(value, dict) and isinstance(value.get("type"), str):
        return Spec.from_json(value)
    if isinstance(value, list):
        return tuple(_decoded(item) for item in value)
    return float(value) if value in ("inf", "-inf") else value
