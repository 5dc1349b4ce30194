"""How policies show themselves in notebooks."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from brigand import display, words
from brigand.policies.forced.sequences import ExplorationSequence, value

HORIZON, ROUNDS = 10_000, 100
"""T where a figure of f(r) needs one, and how many rounds it shows."""


@display.html_repr
def html(policy: Any) -> str:
    """Return tables of a policy's settings and of what it needs; and f(r), if there is a sequence."""
    settings = {one.name: getattr(policy, one.name) for one in fields(policy)}
    about = [
        ("assumes of the rewards", policy.assumption),
        ("you must know", policy.must_know),
        ("rule known from", policy.known_from or "not said"),
        ("source", policy.reference or "not said"),
    ]
    sequences = [one for one in settings.values() if isinstance(one, ExplorationSequence)]
    window = settings.get("window")
    return display.block(
        type(policy).__name__,
        display.table(("setting", ""), [(name, repr(given)) for name, given in settings.items()], 2),
        display.table(("", ""), about, 2),
        *(_figure(sequence, window) for sequence in sequences if not sequence.needs_steps),
    )


def _figure(sequence: ExplorationSequence, window: int | None) -> str:
    span = window or HORIZON
    form, table = sequence.form(span), sequence.table(span, ROUNDS)
    memory = np.array([(f,) for f in table], [("f", float)])
    rounds = range(1, ROUNDS + 1)
    values = [float(value(*form, memory, len(table), r, 0)) for r in rounds]
    after = "" if window or not sequence.needs_span else f" for T = {HORIZON:,}"
    ends = f"from {words.number(values[0])} to {words.number(values[-1])}"
    about = f"f(r), the steps that an arm may wait, in rounds 1 to {ROUNDS}{after}: {ends}"
    return display.lines([("f(r)", rounds, values)], about) + display.paragraph(about)
