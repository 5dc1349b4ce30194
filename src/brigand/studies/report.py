"""The report of a study: one HTML file that needs no other, with tables, figures, and how to run it again."""

from __future__ import annotations

import importlib.resources
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup

from brigand.figures import style, text
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

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    source = importlib.resources.files("brigand.studies").joinpath("report.html.j2").read_text("utf-8")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    names = shown.problems
    return environment.from_string(source).render(
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


def inline_svg(figure: Figure, prefix: str, label: str) -> Markup:
    """Return a figure as an ``<svg>`` element for use within HTML.

    Parameters
    ----------
    figure : Figure
    prefix : str
        Goes before every id, so that several figures in one page do not share any.
    label : str
        What is read to those who cannot see it.
    """
    root = ET.fromstring(style.svg(figure))
    for parent in list(root.iter()):
        for child in list(parent):
            # Metadata are links, and a style sheet would hold for the whole page.
            if child.tag.endswith(("}metadata", "}style")):
                parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]  # HTML knows no namespaces
        element.attrib = {
            key.rpartition("}")[2]: _with_prefix(key.rpartition("}")[2], value, prefix)
            for key, value in element.attrib.items()
        }
    root.set("style", "stroke-linejoin: round; stroke-linecap: butt")  # the style sheet that went
    root.set("role", "img")
    root.set("aria-label", label)
    return Markup(ET.tostring(root, encoding="unicode"))


def _with_prefix(key: str, value: str, prefix: str) -> str:
    if key == "id":
        return prefix + value
    if key == "href" and value.startswith("#"):
        return f"#{prefix}{value[1:]}"
    return re.sub(r"url\(#", f"url(#{prefix}", value)


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
