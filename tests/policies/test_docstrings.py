"""Every module of a policy says the same things in the same order, and how its rule is known."""

import importlib
import inspect
import re

import pytest

import brigand as br

HEADINGS = ["Rule", "Source", "Deviations", "Late rewards", "Cost"]
KNOWN_FROM = {"published", "authors' code", "reconstruction", "ours"}

CLASSES = sorted({type(policy) for policy in br.CATALOGUE.values()}, key=lambda cls: cls.__name__)
MODULES = sorted({cls.__module__ for cls in CLASSES})


def sections(module: str) -> dict[str, str]:
    """Return the text below each underlined heading of a module's docstring; "" is what comes first."""
    text = inspect.getdoc(importlib.import_module(module))
    first, *rest = re.split(r"^(.+)\n-+$", text, flags=re.MULTILINE)
    return {"": first} | dict(zip(rest[::2], rest[1::2], strict=True))


@pytest.mark.parametrize("module", MODULES)
def test_the_docstring_has_one_sentence_and_then_the_five_headings_in_order(module):
    found = sections(module)
    assert list(found) == ["", *HEADINGS]
    assert found.pop("").count("\n\n") == 1
    assert all(text.strip() for text in found.values())


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_policy_says_how_its_rule_is_known(cls):
    assert cls.known_from in KNOWN_FROM


@pytest.mark.parametrize("module", MODULES)
def test_a_rule_of_our_own_is_called_so_at_the_beginning_of_its_source_and_no_other_is(module):
    known = {cls.known_from for cls in CLASSES if cls.__module__ == module}
    assert sections(module)["Source"].strip().startswith("Ours.") == ("ours" in known)


@pytest.mark.parametrize("module", MODULES)
def test_a_reconstruction_is_called_one_in_its_source_and_nothing_else_is(module):
    known = {cls.known_from for cls in CLASSES if cls.__module__ == module}
    assert ("reconstruction" in sections(module)["Source"]) == ("reconstruction" in known)
