"""In law: our regrets against published tables and the authors' own code, as `brigand validate --quick`.

Each comparison is a z test of two means, |z| < 4, with both standard errors: level 6e-5 a comparison, 1 % for
all of this file. Without ``--full`` it is a tenth of the steps, but at least 30 runs, on a few rows.
"""

import numpy as np
import pytest

import brigand as br
from brigand.papers import authors, published
from brigand.papers.validation import check
from strength import runs

STEPS = runs(600_000, published.QUICK)
"""Of all runs of a row together."""
QUICK = (br.ForcedExploration, br.UCB1, br.ThompsonBeta, br.KLUCB, br.CUSUMUCB, br.EXP3S)
"""Policies of the rows that are compared without ``--full``, where 30 runs are no more than `STEPS`."""


def parameter(row):
    quick = type(row.policy) in QUICK and 30 * max(row.published) <= 600_000
    name = f"{row.table}-{row.problem.name}-{row.name}"
    return pytest.param(row, id=name, marks=() if quick else pytest.mark.full)


@pytest.mark.every(2)
@pytest.mark.parametrize("row", [parameter(row) for row in published.rows(quick=True)])
def test_the_published_regret_is_ours(row):
    for found in check(row, min(row.runs, STEPS // max(row.published))):
        assert found.verdict != "differs", (found.step, found.z)


FE = [
    row
    for row in published.rows()
    if row.table.startswith("Scripts of the paper's authors") and row.name.startswith("FE")
]


@pytest.mark.full
@pytest.mark.parametrize("row", FE, ids=lambda row: f"{row.problem.name}-{row.name}")
def test_the_authors_own_code_gives_the_same_regret(row):
    """On their instances: means where their standard error is below 2 % of the mean; medians within 1 %.

    A median of theirs that is itself uncertain by more than that is compared within 4 standard errors of it,
    found by drawing their number of runs again and again from ours: with a few dozen heavy-tailed runs, it
    moves by 5 %.
    """
    ((step, theirs),) = row.published.items()
    regret = row.problem.regret(row.policy, [step], 600, None)[:, 0]
    final = next(
        data["final"]
        for data in authors.published()
        if data["policy"] == row.name and data["final"]["mean"] == theirs.mean
    )
    if final["se"] < 0.02 * final["mean"]:
        z = (regret.mean() - final["mean"]) / np.hypot(regret.std(ddof=1) / np.sqrt(600), final["se"])
        assert abs(z) < 3, z
    rng = np.random.default_rng(0)
    medians = np.median(rng.choice(regret, (2000, theirs.runs)), axis=1)
    allowed = max(0.01 * final["median"], 4 * medians.std())
    assert abs(np.median(regret) - final["median"]) < allowed
