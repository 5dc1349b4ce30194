"""Run policies and say what was compiled: ``python -m brigand.testing.process``, for `check_cache`.

Reads a list of policies as JSON. Writes an object: ``hits`` and ``misses`` of the disk cache, and the regret
as ``bits``.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

from brigand.policies.base import Policy
from brigand.simulation.run import simulate
from brigand.simulation.step import simulation_loop, trace_loop
from brigand.simulation.trace import trace
from brigand.testing.base import environment_for, fit, knowing


def outcome(policies: list[Policy]) -> dict[str, Any]:
    """Run each policy and return what ``hits``, ``misses`` and ``bits`` are."""
    loops: set[Any] = set()
    bits = []
    for policy in policies:
        results = simulate(environment_for(policy), {"it": policy}, 50, 2)
        bits.append(results.dataset["regret"].to_numpy().tobytes().hex())
        trace(knowing(policy), fit(policy, np.full((50, 4), 0.5)))
        loops |= {simulation_loop(policy.kernels), trace_loop(policy.kernels)}
    found = [loop.stats for loop in loops]
    return {
        "hits": sum(sum(stats.cache_hits.values()) for stats in found),
        "misses": sum(sum(stats.cache_misses.values()) for stats in found),
        "bits": bits,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(outcome([Policy.from_json(data) for data in json.load(sys.stdin)])))
