"""The list of errata: its examples run, its numbers are in order, and the code that refers to it is right."""

import doctest
import re
from pathlib import Path

from typer.testing import CliRunner

import brigand as br
from brigand.theory import errata

WITHOUT_EXAMPLES = {19, 20, 23, 24, 26, 27}
"""A citation, an order, and what only the authors' scripts show."""

PAGE = Path(__file__).parents[2] / "docs" / "errata.md"


def test_every_example_runs():
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert failed == 0
    assert tried > 30


def test_entries_are_numbered_and_complete():
    entries = errata.errata()
    assert [entry.number for entry in entries] == list(range(1, len(entries) + 1))
    for entry in entries:
        assert entry.title
        assert "*Statement.*" in entry.text or "*Why it matters.*" in entry.text
        assert ">>> " in entry.text or entry.number in WITHOUT_EXAMPLES
        assert "## " not in entry.text
    assert errata.page() == PAGE.read_text(encoding="utf-8")


def test_numbers_of_errata_in_the_code_exist():
    last = len(errata.errata())
    for path in Path(errata.__file__).parent.glob("*.py"):
        for number in re.findall(r"errat(?:um|a) (\d+)", path.read_text(encoding="utf-8")):
            assert 1 <= int(number) <= last


def test_the_page_on_the_paper_has_every_equation_and_what_it_names_exists():
    page = (PAGE.parent / "paper.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\|(.+)\|$", page.partition("## Statement by statement")[2], re.MULTILINE)[2:]
    cells = [[cell.strip() for cell in row.split(" | ")] for row in rows]
    assert {len(row) for row in cells} == {4}
    numbered = {int(n) for place, *_ in cells for n in re.findall(r"\((\d+)\)", place)}
    assert numbered | {21} == set(range(1, 24))  # (20) to (22) are one row
    entries = len(errata.errata())
    corrected = {
        int(n) for *_, found in cells for n in re.findall(r"\d+", "".join(re.findall("errat.*", found)))
    }
    # Of the authors' scripts only: 27.
    assert corrected | {27} == set(range(1, entries + 1))
    for name in re.findall(r"`br\.([\w.]+)`", " ".join(where for _, _, where, _ in cells)):
        found = br
        for part in name.split("."):
            found = getattr(found, part)


def test_the_command_lists_and_shows_them():
    import typer

    from brigand.cli.errata import errata as command

    app = typer.Typer()
    app.command()(command)
    listed = CliRunner().invoke(app, [])
    assert listed.exit_code == 0
    assert "Explore-then-commit is no special case" in listed.output
    shown = CliRunner().invoke(app, ["7"])
    assert "Lemma A" in shown.output
    assert "Corollary 2" not in shown.output
    assert "Lemma A" in CliRunner().invoke(app, ["--all"]).output
    wrong = CliRunner().invoke(app, ["99"])
    assert isinstance(wrong.exception, br.UnknownNameError)
