"""A replay in files: table, figure and a report, in one folder."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from brigand.errors import ResultFileError
from brigand.figures import style
from brigand.figures.page import Cell, Table, inline_svg, render
from brigand.figures.replay import PER, replay as draw
from brigand.files import atomic, make_folder
from brigand.logs.replayed import Replay
from brigand.words import counted, number

RECORD = "replay.json"
"""Says how the others were made; where it is, they are ours."""
FILES = ("replay.csv", "replay_curves.csv", "replay.png", "replay.svg", "replay.html")
KIND = "brigand replay"
CAPTION = (
    f"Left: reward per {PER:,} decisions so far, with 95 % bands. Right: how much of the log a run used. "
    "The grey dotted line is what really ran."
)


def prepare(folder: Path) -> Path:
    """Make a folder for a replay's files, and make sure that it has no others of these names.

    Raises
    ------
    ResultFileError
        It cannot be written, or has a file of one of these names that is not a replay's.
    """
    make_folder(folder)
    record = folder / RECORD
    there = [name for name in (*FILES, RECORD) if (folder / name).exists()]
    if there and not _is_ours(record):
        raise ResultFileError(f"{str(folder / there[0])!r} is there and no replay's: choose another folder.")
    return folder


def _is_ours(record: Path) -> bool:
    try:
        return bool(json.loads(record.read_text(encoding="utf-8")).get("kind") == KIND)
    except (OSError, ValueError, AttributeError):
        return False


def write(found: Replay, folder: Path, name: str) -> None:
    """Write all files of a replay of the log `name`, each whole or not at all.

    Raises
    ------
    ResultFileError
        As `prepare`, or one cannot be written.
    """
    prepare(folder)
    with atomic(folder / RECORD) as temporary:
        temporary.write_text(json.dumps({"kind": KIND, "log": name} | found.to_json(), indent=1) + "\n")
    for table, file in ((found.summary(), "replay.csv"), (found.curves(), "replay_curves.csv")):
        with atomic(folder / file) as temporary:
            table.to_csv(temporary)
    figure = draw(found, name)
    style.save(figure, folder, "replay", ("png", "svg"))
    with atomic(folder / "replay.html") as temporary:
        temporary.write_text(report(found, name), encoding="utf-8")


def report(found: Replay, name: str) -> str:
    """Return the report of a replay as HTML."""
    return render(
        "logs/replay.html.j2",
        name=f"Replay of {name}",
        facts=_facts(found),
        table=table(found),
        svg=inline_svg(draw(found), "replay-", f"Replay of {name}. {CAPTION}"),
        caption=CAPTION,
        policies=[(policy, json.dumps(spec)) for policy, spec in found.to_json()["policies"].items()],
    )


def table(found: Replay) -> Table:
    """Return the table that the command prints and the report shows: rewards of 1,000 decisions."""
    summary = found.summary()
    used = [f"{matched / found.rows:.1%}" if matched else "–" for matched in summary["matched"]]
    rows = [_row(policy, row, share) for (policy, row), share in zip(summary.iterrows(), used, strict=True)]
    ran = found.logged
    logged = {"reward": ran.reward[-1], "lower": ran.lower[-1], "upper": ran.upper[-1], "steps": found.rows}
    rows.append(_row("what ran", logged, "–"))
    return Table(
        f"Reward per {PER:,} decisions",
        ("policy", "reward", "95 %", "gain", "95 %", "steps", "log used"),
        rows,
        [*found.notes, "Gain: the reward less that of what ran. Log used: by one run, in the mean."],
    )


def _row(policy: Any, row: Mapping[str, Any], used: str) -> tuple[Cell, ...]:
    def cell(key: str, factor: float = 1.0) -> Cell:
        value = float(row.get(key, math.nan))
        return Cell("–") if math.isnan(value) else Cell(number(factor * value), factor * value)

    def interval(low: str, high: str) -> Cell:
        ends = [cell(key, PER) for key in (low, high)]
        return ends[0] if ends[0].value is None else Cell(f"{ends[0].text} to {ends[1].text}", ends[0].value)

    return (
        Cell(str(policy)),
        cell("reward", PER),
        interval("lower", "upper"),
        cell("gain", PER),
        interval("gain_lower", "gain_upper"),
        Cell(f"{int(row['steps']):,}", float(row["steps"])),
        Cell(used),
    )


def _facts(found: Replay) -> list[tuple[str, str]]:
    return [
        ("Method", found.method + (", a simulation" if found.method == "resample" else "")),
        ("Log", f"{counted(found.rows, 'row')}, {counted(len(found.arms), 'arm')}"),
        ("Replications", f"{found.replications:,}"),
        ("Logs drawn for the intervals", f"{found.resamples:,}"),
        ("Horizon", f"{found.horizon:,}"),
        ("Seed", str(found.seed)),
        ("Brigand", str(found.to_json()["version"])),
    ]
