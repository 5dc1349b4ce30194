"""Pages of HTML that need no other file: tables that can be sorted, and figures, in one look."""

from __future__ import annotations

import importlib.resources
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from typing import Any, NamedTuple

import jinja2
from markupsafe import Markup
from matplotlib.figure import Figure

from brigand.figures import style


class Cell(NamedTuple):
    """A cell: its text, and the number by which it is sorted, if it is one."""

    text: str
    value: float | None = None


@dataclass(frozen=True)
class Table:
    """A table with a row for each policy.

    Attributes
    ----------
    title : str
    columns : tuple of str
    rows : list of tuple of Cell
    notes : list of str
        What must be known to read it.
    """

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]]
    notes: list[str]


def render(template: str, **content: Any) -> str:
    """Return a page as HTML.

    Parameters
    ----------
    template : str
        Its place in the package; it extends ``figures/page.html.j2``.
    **content
        What stands in it; all text is escaped.
    """
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_source),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(**content)


def _source(template: str) -> str:
    return importlib.resources.files("brigand").joinpath(template).read_text("utf-8")


def inline_svg(figure: Figure, prefix: str, label: str) -> Markup:
    """Return a figure as an ``<svg>`` element for use within HTML.

    Parameters
    ----------
    figure : Figure
    prefix : str
        Goes before every id, so that several figures in one page do not share any.
    label : str
        What is read to those who cannot see it; after it, as its description, where each line ends
        (`brigand.figures.describe`).
    """
    root = ET.fromstring(style.content(figure, "svg"))
    for parent in list(root.iter()):
        for child in list(parent):
            # Metadata are links, and a style sheet would hold for the whole page.
            # A title would pop up under the pointer.
            if child.tag.endswith(("}metadata", "}style", "}title")):
                parent.remove(child)
            elif child.tag.endswith("}desc"):
                child.set("id", "words")
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]  # HTML knows no namespaces
        element.attrib = {
            key.rpartition("}")[2]: _with_prefix(key.rpartition("}")[2], value, prefix)
            for key, value in element.attrib.items()
        }
    root.set("style", "stroke-linejoin: round; stroke-linecap: butt")  # the style sheet that went
    root.set("role", "img")
    root.set("aria-label", label)
    root.set("aria-describedby", f"{prefix}words")
    return Markup(ET.tostring(root, encoding="unicode"))


def _with_prefix(key: str, value: str, prefix: str) -> str:
    if key == "id":
        return prefix + value
    if key == "href" and value.startswith("#"):
        return f"#{prefix}{value[1:]}"
    return re.sub(r"url\(#", f"url(#{prefix}", value)
