"""What a release says of itself; `make release` also tries what it built (`tests/release.py`)."""

import json
import re
import tomllib
from pathlib import Path

import jsonschema_rs
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[1]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
CITATION = YAML(typ="safe", pure=True).load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def test_the_changelog_begins_with_the_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## (\S+) \((unreleased|\d{4}-\d\d-\d\d)\)$", text, re.MULTILINE)
    assert versions[0][0] == VERSION
    assert [state for _, state in versions[1:] if state == "unreleased"] == []


def test_the_citation_file_keeps_the_schema_of_its_format():
    schema = json.loads((ROOT / "tests" / "data" / "cff-1.2.0.schema.json").read_text(encoding="utf-8"))
    check = jsonschema_rs.validator_for(schema, validate_formats=True)
    assert [error.message for error in check.iter_errors(CITATION)] == []
    assert not check.is_valid(CITATION | {"authors": []})


def test_the_citation_file_has_the_version_and_the_licence_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (CITATION["version"], CITATION["license"]) == (VERSION, project["license"])


def test_the_guide_says_how_to_add_a_policy_in_ten_lines():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    part = text.partition("## A policy in ten lines")[2].partition("\n## ")[0]
    assert re.findall(r"^(\d+)\. ", part, re.MULTILINE) == [str(i) for i in range(1, 11)]
