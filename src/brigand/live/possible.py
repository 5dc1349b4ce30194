"""Whether a state that was read can be one: numbers within their ranges, and counts that fit each other.

A state's checksum tells damage. But whoever can write into a store can also make a checksum, and compiled
code looks at no bounds. So every whole number of a state must lie in a range; a state with another one is not
used, and made anew from the log. Most fields count pulls, rewards or steps, or are a step: they are at most
the number of decisions, and at least -1. `RANGES` has the others. Which of them compiled code takes for the
place of something was found by trying: a test changes the states of all policies. A policy of a user's that
keeps other whole numbers loses only time: it is replayed whenever it is opened.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from brigand.policies.base import Table

ARM, COUNT, ROW, LEVEL, LATER = "arm", "count", "row", "level", "later"
"""An arm, or -1; how many arms; a row of the memory, or how many; the exponent of a length; a later step."""
RANGES = {
    ("header", "leader"): ARM,
    ("header", "favourite"): ARM,
    ("header", "committed"): ARM,
    ("header", "first"): ARM,
    ("header", "previous"): ARM,
    ("header", "next"): ARM,
    ("arms", "rival"): ARM,
    ("memory", "arm"): ARM,
    ("header", "left"): COUNT,
    ("header", "left_out"): COUNT,
    ("header", "listed"): COUNT,
    ("header", "missing"): COUNT,
    ("header", "slot"): ROW,
    ("header", "place"): ROW,
    ("header", "phase"): ROW,
    ("header", "row"): ROW,
    ("header", "origin"): ROW,
    ("header", "used"): ROW,
    ("header", "blocks"): ROW,
    ("header", "capacity"): ROW,
    ("arms", "slot"): ROW,
    ("arms", "kept"): ROW,
    ("arms", "length"): ROW,
    ("arms", "blocks"): ROW,
    ("memory", "segment"): ROW,
    ("arms", "level"): LEVEL,
    ("arms", "levels"): LEVEL,
    ("header", "next_reset"): LATER,
    ("header", "next_check"): LATER,
    ("header", "next_end"): LATER,
}
ANYTHING = ("key", "unused")
"""Fields of which any number may be."""


def is_possible(tables: Mapping[str, Table]) -> bool:
    """Return whether the tables of an engine that was read may be: header, arms, memory and ledger."""
    header, arms, memory = (tables[name] for name in ("header", "arms", "memory"))
    return _ledger_fits(tables["ledger"], int(header["step"][0])) and all_possible(
        header, arms[None], memory[None]
    )


def all_possible(headers: Table, arms: Table, memory: Table) -> bool:
    """Return whether states may be, of which each has a row: shapes (n,), (n, K) and (n, rows of memory)."""
    n_arms, n_rows = arms.shape[1], memory.shape[1]
    most = {ARM: n_arms - 1, COUNT: n_arms, ROW: n_rows, LEVEL: 63, LATER: 2**62}
    for name, table in {"header": headers[:, None], "arms": arms, "memory": memory}.items():
        for field in table.dtype.names or ():
            if table.dtype[field].kind != "i" or field in ANYTHING or not table.size:
                continue
            kind = RANGES.get((name, field))
            greatest = np.maximum(headers["step"] + 1, n_arms)[:, None] if kind is None else most[kind]
            if table[field].min() < -1 or (table[field] > greatest).any():
                return False
    return True


def _ledger_fits(ledger: Table, steps: int) -> bool:
    asked, told = ledger["asked"], ledger["told"]
    counts = [ledger[name] for name in ("asked", "explored", "told", "defaulted", "unlearned")]
    return bool(
        all((count >= 0).all() and (count <= steps).all() for count in counts)
        and asked.sum() == steps
        and (ledger["explored"] <= asked).all()
        and (told + ledger["unlearned"] <= asked).all()
        and (ledger["defaulted"] <= told).all()
        and np.isfinite(ledger["sum"]).all()
    )
