"""A part of a study: some problems, some policies, some values of what was swept over."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from typing import Any

from brigand.errors import InvalidValueError, UnknownNameError

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
FORM = re.compile(r"\s*([\w.]+)\s*(==|!=|<=|>=|<|>|=)\s*(.+?)\s*")


def condition(text: str, known: Iterable[str]) -> Callable[[dict[str, Any]], bool]:
    """Return whether swept values fulfil ``"NAME OPERATOR VALUE"``; who has not that parameter does.

    Parameters
    ----------
    text : str
        Such as ``"window > 100"``; operators are ``==``, ``!=``, ``<``, ``<=``, ``>`` and ``>=``.
    known : iterable of str
        Names of parameters.

    Raises
    ------
    InvalidValueError
        It is none, or names no parameter that was swept over.

    Examples
    --------
    >>> above = condition("window > 100", ["window"])
    >>> above({"window": 50}), above({"window": 200}), above({})
    (False, True, True)
    """
    found = FORM.fullmatch(text)
    if found is None:
        raise InvalidValueError(f"a condition is such as 'window > 100', not {text!r}.")
    name, sign, value = found.groups()
    if name not in known:
        raise UnknownNameError("swept parameter", name, known)
    compare = OPERATORS["==" if sign == "=" else sign]

    def holds(swept: dict[str, Any]) -> bool:
        if name not in swept:
            return True
        given = swept[name]
        if isinstance(given, (int, float)) and not isinstance(given, bool):
            try:
                return bool(compare(given, float(value)))
            except ValueError:
                raise InvalidValueError(
                    f"{name} is a number, so {value!r} is nothing to compare with."
                ) from None
        return bool(compare(str(given), value.strip("'\"")))

    return holds
