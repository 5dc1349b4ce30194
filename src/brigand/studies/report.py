"""The report of a study: one HTML file that needs no other, with tables, figures, and how to run it again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from brigand.figures import text
from brigand.figures.page import inline_svg, render
from brigand.files import atomic
from brigand.studies.draw import Drawing, drawings
from brigand.studies.folder import STUDY
from brigand.studies.pooled import pool, told_apart
from brigand.studies.regret_tables import (
    comparison_table,
    draws,
    pooled_table,
    problems_table,
    said_once,
    summary_table,
    title,
)
from brigand.studies.results import StudyResults

LONGEST = 20_000
"""Characters that a description in JSON may have in the report."""


def write_report(results: StudyResults, path: Path, *, every: bool = False) -> Path:
    """Write the report of a study; the file is whole or not there at all.

    Parameters
    ----------
    results : StudyResults
    path : Path
        Of the HTML file.
    every : bool
        Show every problem by itself, however many there are; else of many those that are least like all
        together (`brigand.studies.pooled`).

    Raises
    ------
    ResultFileError
        Pieces are missing or damaged, or the file cannot be written.
    """
    content = report(results, every=every)
    with atomic(path) as temporary:
        temporary.write_text(content, encoding="utf-8")
    return path


def report(results: StudyResults, *, every: bool = False) -> str:
    """Return the report of a study as HTML; see `write_report`."""
    pooled = pool(results)
    shown = results if every else told_apart(results, pooled)
    compared = shown.compare()
    summary = shown.summary()
    together = [] if pooled is None else [pooled_table(results, pooled), problems_table(results, pooled)]
    names = shown.problems
    return render(
        "studies/report.html.j2",
        name=results.name,
        description=results.manifest.get("description", ""),
        facts=_facts(results, compared.baseline),
        together=together,
        some=f"{len(names)} of {len(results.problems):,}" if len(names) < len(results.problems) else "",
        problems=[_problem(results, name) for name in results.problems],
        policies=[{"name": name, "json": _json(results.policy(name)["policy"])} for name in results.policies],
        summaries=list(said_once(summary_table(shown, summary, name) for name in names)),
        comparisons=list(said_once(comparison_table(shown, compared, name) for name in names)),
        figures=[
            _figure(place, drawing) for place, drawing in enumerate(drawings(results, None, names), start=1)
        ],
        study=_study_file(results),
        folder=results.folder.name,
        left_out=results.left_out,
    )


def _figure(place: int, drawing: Drawing) -> dict[str, Any]:
    figure = drawing.figure
    heading = text.as_given(figure.get_suptitle()).replace("\n", ", ")
    svg = inline_svg(figure, f"f{place}-", f"{heading}. {drawing.caption}")
    return {"svg": svg, "caption": drawing.caption, "heading": heading, "kind": drawing.kind}


def _problem(results: StudyResults, name: str) -> dict[str, Any]:
    entry = results.problem(name)
    return {
        "name": name,
        "title": title(results, name),
        "horizon": entry["horizon"],
        "arms": entry["arms"],
        "draws": draws(results, name),
        "json": _json(entry["recipe"]),
    }


def _facts(results: StudyResults, baseline: str) -> list[tuple[str, str]]:
    """Return what stands in the head of the report: names and values."""
    manifest = results.manifest
    versions = {"Brigand": manifest["version"], **manifest.get("versions", {})}
    return [
        ("Seed", str(manifest["seed"])),
        ("Replications", f"{manifest['replications']:,}"),
        ("Problems", f"{len(results.problems):,}"),
        ("Policies", f"{len(results.policies):,}"),
        ("Baseline", baseline),
        ("Run", results.written.strftime("%Y-%m-%d %H:%M UTC")),
        ("Versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
    ]


def _json(data: Any) -> str:
    text = json.dumps(data, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} … (whole in manifest.json)"


def _study_file(results: StudyResults) -> str:
    path = results.folder / STUDY
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
