"""Pages of HTML, files of SVG, and the report: templates filled with what `view` knows."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import importlib.resources
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import jinja2
from markupsafe import Markup

from brigand.dashboard import charts
from brigand.dashboard.tables import Chart, Table
from brigand.dashboard.view import View
from brigand.words import counted, visible

FILES = {
    "chart.css": "text/css; charset=utf-8",
    "page.css": "text/css; charset=utf-8",
    "dashboard.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
"""What is served as it is, and its type."""


class Links:
    """Where the pages of a bandit are. Its name is in the query: it may be any text, also ``..``.

    Parameters
    ----------
    name : str
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def _to(self, place: str = "", **more: str) -> str:
        return f"/bandit{place}?{urlencode({'name': self._name, **more}, errors='replace')}"

    def page(self, **more: str) -> str:
        """Return the link to the bandit's page."""
        return self._to(**more)

    def live(self) -> str:
        """Return the link to what changes in it."""
        return self._to("/live")

    def why(self, **more: str) -> str:
        """Return the link to the last decisions."""
        return self._to("/why", **more)

    def report(self) -> str:
        """Return the link to the report."""
        return self._to("/report")

    def chart(self, chart: str) -> str:
        """Return the link to a chart as SVG."""
        return self._to("/chart.svg", chart=chart)

    def table(self, table: str, **more: str) -> str:
        """Return the link to a table as CSV."""
        return self._to("/table.csv", table=table, **more)


def to_list(text: str, order: str, page: int) -> str:
    """Return the link to a page of the list."""
    given = {"q": text, "sort": order if order != "name" else "", "page": str(page) if page > 1 else ""}
    found = urlencode({key: value for key, value in given.items() if value})
    return f"/?{found}" if found else "/"


def packed(text: str) -> str:
    """Return a name in ASCII, which forms send unchanged whatever is in it."""
    return json.dumps(text)


def unpacked(text: str) -> str:
    """Return what `packed` got; anything else as it is.

    Examples
    --------
    >>> unpacked(packed("a")), unpacked("a"), unpacked("[1]")
    ('a', 'a', '[1]')
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return found if isinstance(found, str) else text


def ago(at: float | None) -> str:
    """Return how long ago a time was, coarse enough not to change all the time."""
    if at is None:
        return "none yet"
    seconds = max(0.0, datetime.now(UTC).timestamp() - at)
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"{counted(int(seconds // size), unit)} ago"
    return "just now"


def _stamp(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _sized(drawn: Markup, size: str) -> Markup:
    return Markup(str(drawn).replace('class="chart"', f'class="chart {size}"', 1))


@functools.cache
def content_of(file: str) -> bytes:
    """Return one of the `FILES`."""
    return importlib.resources.files("brigand").joinpath("dashboard/static", file).read_bytes()


@functools.cache
def link_to(file: str) -> str:
    """Return the link to one of the `FILES`, another one for another content."""
    return f"/static/{file}?{hashlib.blake2b(content_of(file), digest_size=6).hexdigest()}"


@functools.cache
def _environment() -> jinja2.Environment:
    def source(template: str) -> str:
        place = importlib.resources.files("brigand").joinpath("dashboard/templates", template)
        return place.read_text("utf-8")

    found = jinja2.Environment(
        loader=jinja2.FunctionLoader(source),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {
        "ago": ago,
        "counted": counted,
        "name": lambda text: visible(text) or "''",
        "packed": packed,
        "sized": _sized,
        "stamp": _stamp,
    }
    found.globals["file"] = link_to
    return found


def render(template: str, **content: Any) -> Markup:
    """Return a page, or a part of one; all text is escaped."""
    return Markup(_environment().get_template(f"{template}.html.j2").render(**content))


def svg_file(chart: Chart) -> str:
    """Return a chart as a file of its own."""
    drawn = str(chart.draw(charts.WIDE, chart.name))
    style = f"<style>{content_of('chart.css').decode().partition('@media')[0]}{_after_media()}</style>"
    ground = '<rect width="100%" height="100%" fill="#ffffff"/>'
    head, _, rest = drawn.partition(">")
    head = head.replace('class="chart"', 'class="chart alone"')
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{head}>{style}{ground}{rest}\n'


def _after_media() -> str:
    """Return the style sheet of charts after its colours for dark pages."""
    return content_of("chart.css").decode().partition("@media")[2].partition("\n}\n")[2]


def report(view: View, more: list[Table]) -> str:
    """Return a page on a bandit that needs no other file."""
    unlinked = [replace(chart, table=replace(chart.table, links=None)) for chart in view.charts]
    return render(
        "report",
        view=replace(view, charts=unlinked),
        tables=[*more, *view.tables],
        css=Markup(content_of("chart.css").decode() + content_of("page.css").decode()),
        now=f"{datetime.now(UTC):%Y-%m-%d %H:%M}",
        version=importlib.metadata.version("brigand"),
    )
