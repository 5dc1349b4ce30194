"""Other packages on the same problem, each in the environment that `make peers` makes for it."""

import json
import statistics

from measure import job, measure, of_peer, problem
from speed import yardstick

import brigand as br

STEPS = 10_000
REPETITIONS = 3
POLICIES = ("UCB1", "TS-Beta", "eps-greedy", "KL-UCB")
PEERS = ("pymab", "river", "mabwiser", "smpybandits")


def peer(name, means):
    """Return the version, and ns a step by policy, of a package; or None if it is not installed."""
    found = of_peer("time", name, json.dumps(means), str(STEPS), str(REPETITIONS))
    if found is None:
        return None
    ns = {policy: statistics.median(times) / STEPS * 1e9 for policy, times in found["seconds"].items()}
    return found["version"], ns


def report(out, repetitions):
    """Print ns a step of each package and its ratio to Brigand's simulator."""
    environment = problem(10, STEPS)
    ours = {name: job(br.CATALOGUE[name], environment, STEPS, 10) for name in POLICIES}
    times = measure(ours, yardstick(), repetitions)
    rows = [["Brigand", br.__version__, *(f"{times[policy].median:.0f}" for policy in POLICIES)]]
    for name in PEERS:
        found = peer(name, environment.means[0].tolist())
        if found is None:
            rows.append([name, "absent: make peers", *["-"] * len(POLICIES)])
            continue
        version, ns = found
        cells = [
            f"{ns[policy]:,.0f} ({ns[policy] / times[policy].median:,.0f}x)" if policy in ns else "-"
            for policy in POLICIES
        ]
        rows.append([name, version, *cells])
    out.table(
        f"ns a step (and times Brigand's); K = 10, {STEPS:,} steps, Bernoulli rewards",
        ["", "version", *POLICIES],
        rows,
    )
