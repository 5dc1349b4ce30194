"""What the numbers of a run depend on besides its settings: the code behind it, as a hash."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

from brigand import stamps
from brigand.policies.base import Policy

_ENVIRONMENTS = tuple(f"brigand.environments.{name}" for name in ("continuous", "discrete", "instances"))
_SIMULATORS = {
    "step": "brigand.simulation.step",
    "skip": "brigand.simulation.skip_ahead",
    "late": "brigand.simulation.late",
}


def code_stamp(
    policy: Policy,
    method: str,
    *functions: Callable[..., Any],
    called: tuple[Callable[..., Any], ...] = (),
) -> str:
    """Return a hash of the code behind a policy's runs: its own, the simulator's, the environments'.

    It is not touched by comments and docstrings, nor by an edit of another policy. It changes with the
    version of a package that the policy imports, and with globals that were read from elsewhere.

    Parameters
    ----------
    policy : Policy
        Of this package, or a user's; with it go the settings that are classes or functions of the user's.
    method : {"step", "skip", "late"}
    *functions : callable
        Others whose source counts.
    called : tuple of callable
        The functions of the user's that the environment calls.
    """
    classes = tuple(dict.fromkeys(_classes_of(policy)))
    every = tuple(dict.fromkeys([*_functions_of(policy), *called]))
    return _stamp(classes, every, method, functions)


@functools.cache
def _stamp(
    classes: tuple[type, ...],
    called: tuple[Callable[..., Any], ...],
    method: str,
    functions: tuple[Callable[..., Any], ...],
) -> str:
    """Return the hash; the same for a whole process, so that what a user's module remembers is no change."""
    bases = dict.fromkeys(base for cls in classes for base in cls.__mro__ if base.__module__ != "builtins")
    members = [member for base in bases for member in vars(base).values()]
    kernels = [kernel for cls in classes if issubclass(cls, Policy) for kernel in cls.kernels]
    modules = [thing.__module__ for thing in (*bases, *called, *kernels)]
    return stamps.joined(
        stamps.of_modules(*dict.fromkeys(modules), _SIMULATORS[method], *_ENVIRONMENTS),
        stamps.of_values(*kernels, *members, *called),
        stamps.of_source(*functions),
    )


def _classes_of(value: Any) -> Iterator[type]:
    """Yield the classes of a spec and of the specs in its fields."""
    if dataclasses.is_dataclass(value):
        yield type(value)
        for field in dataclasses.fields(value):
            yield from _classes_of(getattr(value, field.name))
    elif isinstance(value, tuple):
        for item in value:
            yield from _classes_of(item)


def _functions_of(value: Any) -> Iterator[Callable[..., Any]]:
    """Yield the Python functions among the settings of a spec."""
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from _functions_of(getattr(value, field.name))
    elif callable(value) and hasattr(value, "__module__") and not isinstance(value, type):
        yield value
