"""Measure every policy of the catalogue on five standard problems, for the pages on policies.

    .venv/bin/python benchmarks/standard.py  # writes docs/policies/measured.csv: 15 minutes

Settings are those of the catalogue. A policy that does not accept a problem's rewards has no row for it. The
time of a step is CPU time on one thread, the drawing of rewards included, the least of five calls, or of two
where a policy is slow and makes fewer runs.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import brigand as br

TARGET = Path(__file__).parents[1] / "docs" / "policies" / "measured.csv"
HORIZON = 10_000
RUNS = 1_000
SLOW = 10.0
"""Seconds that a policy may take on a problem; slower ones make fewer runs, 20 at least."""
TIMED = 50
MEANS = [0.7, 0.6, 0.55, 0.5, 0.5, 0.45, 0.4, 0.4, 0.35, 0.3]
DEVIATIONS = [0.5, 1.0, 0.2, 0.1, 0.8, 0.3, 1.0, 0.1, 0.5, 0.2]
CHANGES = [
    [0.7, 0.5, 0.5, 0.4, 0.3],
    [0.3, 0.5, 0.7, 0.4, 0.3],
    [0.3, 0.5, 0.4, 0.4, 0.8],
    [0.6, 0.2, 0.4, 0.4, 0.3],
]
STARTS = [1, 2_501, 5_001, 7_501]


def problems() -> dict[str, br.Environment]:
    """Return the five problems: ten arms with the same means, and five arms whose means change."""
    return {
        "Bernoulli": br.Environment.stationary(map(br.Bernoulli, MEANS)),
        "Gaussian": br.Environment.stationary(br.Gaussian(mean, 0.5) for mean in MEANS),
        "unequal Gaussian": br.Environment.stationary(map(br.Gaussian, MEANS, DEVIATIONS)),
        "heavy tails": br.Environment.stationary(br.StudentT(3, mean, 0.3) for mean in MEANS),
        "changes": br.Environment.piecewise([map(br.Bernoulli, means) for means in CHANGES], STARTS),
    }


def measure(policy: br.Policy, environment: br.Environment) -> dict[str, float]:
    """Return the statistics of the regret at T, and the nanoseconds of a step."""

    def call(runs: int) -> tuple[br.Results, float]:
        before = time.process_time()
        results = br.simulate(environment, {"it": policy}, HORIZON, runs, workers=1)
        return results, (time.process_time() - before) / (runs * HORIZON)

    call(1)  # compiles
    steps = [call(2)[1]]
    runs = min(RUNS, max(20, int(SLOW / (steps[0] * HORIZON))))
    results, step = call(runs)
    steps += [step, *(call(TIMED)[1] for _ in range(3) if runs == RUNS)]
    row = results.summary().loc["it"]
    return {
        "runs": runs,
        **{name: f"{row[name]:.1f}" for name in ("mean", "low", "high", "median")},
        "nanoseconds": f"{1e9 * min(steps):.3g}",
    }


def main() -> None:
    """Write the table, row by row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--policy", action="append", help="only this one, printed and not written")
    only = parser.parse_args().policy
    rows = []
    for name, policy in br.CATALOGUE.items():
        if only and name not in only:
            continue
        for problem, environment in problems().items():
            measured = None
            try:
                made = br.oracle() if isinstance(policy, br.Oracle) else policy
                measured = measure(made, environment)
            except (br.UnsupportedRewardError, br.InvalidValueError) as error:
                print(name, problem, error, sep=": ", flush=True)
            if measured:
                rows.append({"policy": name, "problem": problem, **measured})
                print(*rows[-1].values(), sep=", ", flush=True)
    if not only:
        with TARGET.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
