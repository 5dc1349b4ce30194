"""Reading a study file; every mistake in it becomes one error that names the line and what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from brigand.errors import InvalidValueError, ResultFileError
from brigand.studies.model import TAGS, EnvironmentEntry, PolicyEntry, RandomInstances, StudyFile

Place = tuple[str | int, ...]
MODELS: dict[str, type[BaseModel]] = {
    "environments": EnvironmentEntry,
    "policies": PolicyEntry,
    "random": RandomInstances,
}


class StudyError(InvalidValueError):
    """A mistake in a study file, with its place.

    Parameters
    ----------
    message : str
        What is wrong, and what is allowed.
    place : tuple of str and int
        Keys and positions that lead to it: ``("policies", 2, "sweep")``.
    """

    def __init__(self, message: str, place: Place = ()) -> None:
        super().__init__(message)
        self.place = place


class Source:
    """The text of a study file with the lines of its keys."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise ResultFileError(f"{str(path)!r} cannot be read: {reason}.") from error
        try:
            self.tree: Any = YAML(typ="rt").load(self.text)
        except MarkedYAMLError as error:
            line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
            raise InvalidValueError(
                f"{path}{line}: {_first_line(error.problem or error.context)}."
            ) from error
        except (YAMLError, ValueError) as error:
            raise InvalidValueError(f"{path} is no YAML: {_first_line(str(error))}.") from error
        if not isinstance(self.tree, CommentedMap):
            raise InvalidValueError(f"{path}: a study is a mapping with keys such as policies and horizon.")

    def line(self, place: Sequence[str | int]) -> int:
        """Return the line, from 1, on which the deepest part of a place stands that is there."""
        node, line = self.tree, 0
        for key in place:
            try:
                if isinstance(node, CommentedMap) and key in node:
                    line = node.lc.key(key)[0]
                elif isinstance(node, CommentedSeq) and isinstance(key, int) and key < len(node):
                    line = node.lc.item(key)[0]
                else:
                    break
                node = node[key]
            except (KeyError, AttributeError, TypeError):
                break
        return int(line) + 1

    def error(self, message: str, place: Sequence[str | int]) -> InvalidValueError:
        """Return the error for a mistake at a place."""
        return InvalidValueError(f"{self.path}, line {self.line(place)}: {message}")


def read_study(path: Path) -> tuple[StudyFile, Source]:
    """Read a study file.

    Raises
    ------
    ResultFileError
        The file cannot be read.
    InvalidValueError
        It is no YAML, or no study; the message has the line, the key, and what is allowed.
    """
    source = Source(path)
    try:
        return StudyFile.model_validate(plain(source.tree)), source
    except ValidationError as error:
        faults = [explain(fault) for fault in error.errors()]
        # Of several, an unknown key: it may be why another is missing. Else that which stands first.
        message, place = min(
            faults, key=lambda fault: (not fault[0].startswith("unknown key"), source.line(fault[1]))
        )
        raise source.error(message, place) from None


def plain(node: Any) -> Any:
    """Return ruamel's nodes as plain dicts, lists, strings and numbers."""
    if isinstance(node, dict):
        return {str(key): plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [plain(item) for item in node]
    if isinstance(node, bool) or node is None:
        return node
    for kind in (int, float, str):
        if isinstance(node, kind):
            return kind(node)
    return str(node)  # a date, say


def explain(fault: Any) -> tuple[str, Place]:
    """Return message and place of one of pydantic's errors (`ValidationError.errors`)."""
    place = tuple(part for part in fault["loc"] if part not in TAGS)
    key = next((part for part in reversed(place) if isinstance(part, str)), "the study")
    if fault["type"] == "extra_forbidden":
        allowed = _keys_at(place[:-1])
        near = difflib.get_close_matches(str(place[-1]), allowed, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        return f"unknown key {place[-1]!r}.{hint} Allowed: {', '.join(allowed)}.", place
    if fault["type"] == "missing":
        return f"{place[-1]!r} is missing.", place[:-1]
    text = fault["msg"].removeprefix("Value error, ")
    given = "" if isinstance(fault["input"], (dict, list)) else f", not {fault['input']!r}"
    if fault["type"] == "value_error":
        return f"{text}.", place
    return f"{key}: {text[0].lower()}{text[1:]}{given}.", place


def _keys_at(place: Place) -> list[str]:
    """Return the keys that are allowed at a place."""
    names = [part for part in place if isinstance(part, str)]
    return sorted((MODELS[names[-1]] if names else StudyFile).model_fields)


def _first_line(text: str | None) -> str:
    return (text or "it cannot be parsed").strip().splitlines()[0].rstrip(".")
