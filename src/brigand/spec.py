"""Things that are described by plain data: policies, sequences, distributions, environments.

A spec is a frozen dataclass. Its JSON form is an object with the key ``type`` and one key for each
field; it is lossless, and it is what streams of random numbers are derived from (`brigand.rng`).
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib
import json
import math
import numbers
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Self

from brigand.errors import InvalidValueError, UnknownNameError

_ALLOWED: ContextVar[tuple[str, ...] | None] = ContextVar("modules that may be imported", default=None)
_LATER = "left out of the JSON form where it has its default"
_ALL = ("CATALOGUE", "Environment", "Bernoulli", "Gaussian")
"""Names whose modules, with what these import, define all types of this package."""


def later(default: Any) -> Any:
    """Return a field that a spec did not always have, by keyword: its default is left out of the JSON form.

    So the form of a spec that does not use it stays what it was, and with it all random streams.
    """
    return dataclasses.field(default=default, kw_only=True, metadata={_LATER: True})


class Spec:
    """A frozen dataclass with a JSON form."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form: plain dicts, lists, strings, numbers, booleans and None.

        Returns
        -------
        dict
            ``{"type": name, field: value, ...}``, but for fields that are `later` and have their defaults.
            The name is the class's own for classes of this
            package, and ``module:Class`` for a user's. Infinities are written as strings.
        """
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return {"type": type_name(type(self))} | {
            field.name: _encode(getattr(self, field.name), "float" in str(field.type))
            for field in fields
            if not (_LATER in field.metadata and getattr(self, field.name) == field.default)
        }

    def _keep(self, **settings: Any) -> None:
        """Store settings as checked and converted; for `__post_init__` of frozen dataclasses."""
        for name, value in settings.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Rebuild a spec from `to_json`.

        A type ``module:Class`` imports that module, and a sequence given as ``module:function`` calls that
        function: read only what you trust, or inside `importing_only`.

        Raises
        ------
        UnknownNameError
            A type of this package that does not exist.
        InvalidValueError
            The data do not describe a spec of this class, or a module cannot be imported.
        """
        spec = _decode(data)
        if not isinstance(spec, cls):
            raise InvalidValueError(f"expected the JSON form of a {cls.__name__}, not {data!r}.")
        return spec


def canonical(spec: Spec) -> str:
    """Return the JSON form as one string, always the same for equal specs."""
    return json.dumps(spec.to_json(), sort_keys=True, separators=(",", ":"))


def type_name(cls: type) -> str:
    """Return the name under which a class stands in JSON."""
    if cls.__module__.split(".")[0] == "brigand":
        return cls.__name__
    return f"{cls.__module__}:{cls.__qualname__}"


@contextmanager
def importing_only(modules: Iterable[str]) -> Iterator[None]:
    """While specs from outside are read, import no modules but these, and what they contain.

    Classes of modules that are imported already are found, which runs nothing.
    """
    token = _ALLOWED.set(tuple(modules))
    try:
        yield
    finally:
        _ALLOWED.reset(token)


def modules_of(data: Any) -> set[str]:
    """Return the modules that a JSON form names."""
    return {name.partition(":")[0] for name in names_in(data)}


def names_in(data: Any) -> Iterator[str]:
    """Yield what a JSON form names as ``module:name``."""
    if isinstance(data, dict):
        data = list(data.values())
    if isinstance(data, list):
        for value in data:
            yield from names_in(value)
    elif isinstance(data, str) and ":" in data:
        yield data


def import_name(name: str, *, known: bool = False) -> Any:
    """Return what ``module:qualname`` names.

    Parameters
    ----------
    name : str
    known : bool
        Whether a module that is imported already is allowed: not if what is found is called.

    Raises
    ------
    InvalidValueError
        There is no such module, nothing of that name in it, or it is not allowed (`importing_only`).
    """
    module, _, qualname = name.partition(":")
    allowed = _ALLOWED.get()
    free = allowed is None or (known and module in sys.modules)
    if not (free or _is_allowed(module, allowed)):
        raise InvalidValueError(
            f"{name!r} is not imported: that would run code, and this comes from outside. If you trust the "
            f"module, allow it by name: allow=[{module!r}], or brigand bandit --allow {module}."
        )
    try:
        found = importlib.import_module(module)
    except (ValueError, TypeError):
        raise InvalidValueError(f"{name!r} cannot be imported: give 'module:name'.") from None
    except ModuleNotFoundError as error:
        if error.name is not None and (module == error.name or module.startswith(f"{error.name}.")):
            raise InvalidValueError(
                f"{name!r} cannot be imported: there is no module {error.name!r}."
            ) from None
        raise InvalidValueError(f"importing {module!r} failed: {error}.") from error
    except Exception as error:  # whatever the user's module does wrong
        raise InvalidValueError(f"importing {module!r} failed: {type(error).__name__}: {error}.") from error
    try:
        found = functools.reduce(getattr, qualname.split("."), found)
    except AttributeError:
        raise InvalidValueError(f"{name!r} cannot be imported: {module!r} has no {qualname!r}.") from None
    home = getattr(found, "__module__", None)  # an allowed module may itself have imported another
    if not (free or _is_allowed(home, allowed)):
        raise InvalidValueError(
            f"{name!r} is not used: it comes from the module {home!r}, not from {module!r}."
        )
    return found


def function_name(function: Any, values: Callable[[], object]) -> str:
    """Return ``module:function``; with a hash of its first values if that cannot be imported.

    Parameters
    ----------
    function : callable
    values : callable
        Returns the first values of the function, which tell it apart from others.
    """
    name = (
        f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', type(function).__name__)}"
    )
    try:
        found = import_name(name)
    except InvalidValueError:
        found = None
    if function in (found, getattr(found, "py_func", None)):
        return name
    return f"{name} (not importable, {hashlib.sha256(repr(values()).encode()).hexdigest()[:16]})"


def _is_allowed(module: object, allowed: tuple[str, ...] | None) -> bool:
    return any(f"{module}.".startswith(f"{given}.") for given in allowed or ())


def _encode(value: Any, as_float: bool) -> Any:
    """Encode a field; one that is declared a float is written as a float, also if an int was given."""
    if isinstance(value, Spec):
        return value.to_json()
    if isinstance(value, (tuple, list)):
        return [_encode(item, as_float) for item in value]
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, numbers.Integral) and not as_float:
        return int(value)
    return float(value) + 0.0 if math.isfinite(value) else str(float(value))  # -0.0 equals 0.0


def _decode(value: Any) -> Any:
    if isinstance(value, dict) and isinstance(value.get("type"), str):
        fields = {key: _decode(item) for key, item in value.items() if key != "type"}
        cls = _find(value["type"])
        known = [field.name for field in dataclasses.fields(cls)]  # type: ignore[arg-type]
        for name in fields:
            if name not in known:
                raise InvalidValueError(str(UnknownNameError(f"parameter of {value['type']}", name, known)))
        try:
            return cls(**fields)
        except TypeError as error:
            raise InvalidValueError(f"no {value['type']} can be made of {fields!r}: {error}.") from None
    if isinstance(value, list):
        return tuple(_decode(item) for item in value)
    if value in ("inf", "-inf"):
        return float(value)
    return value


def _find(name: str) -> type[Spec]:
    if ":" in name:
        found = import_name(name, known=True)
        if not (isinstance(found, type) and issubclass(found, Spec)):
            raise InvalidValueError(f"{name!r} is no policy, sequence or distribution.")
        return found
    import brigand  # whose names are loaded when they are asked for

    for public in (name, *_ALL):  # in turn: to load all takes half a second
        found = getattr(brigand, public, None)
        if isinstance(found, type) and issubclass(found, Spec) and type_name(found) == name:
            return found
        own = _own_types()
        if name in own:
            return own[name]
    raise UnknownNameError("type", name, own)


def _own_types() -> dict[str, type[Spec]]:
    return {cls.__name__: cls for cls in _subclasses(Spec) if ":" not in type_name(cls)}


def _subclasses(cls: type[Spec]) -> Iterator[type[Spec]]:
    for child in cls.__subclasses__():
        yield child
        yield from _subclasses(child)
