"""Compile the loops of several policies at once, each on a processor of its own.

Numba compiles one function at a time in a process. So other processes compile a part of them, and leave what
they have made where this one finds it (`brigand.disk_cache`): ``python -m brigand.simulation.ahead`` reads
pairs of an environment and a policy, as JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence

from brigand import disk_cache
from brigand.environments.world import World
from brigand.policies.base import Policy
from brigand.simulation.run import simulate
from brigand.simulation.step import loop_in

Pair = tuple[World, Policy]


def compile_ahead(pairs: Iterable[Pair], processes: int) -> None:
    """Compile what no process has compiled yet, if it is worth it: what fails here is compiled when it runs.

    Parameters
    ----------
    pairs : iterable of (World, Policy)
        Policies that are to be stepped, each with an environment in which it plays.
    processes : int
        How many, this one included.
    """
    loops = {loop_in(environment, policy.kernels): (environment, policy) for environment, policy in pairs}
    missing = [pair for loop, pair in loops.items() if disk_cache.misses(loop)]
    parts = [missing[first::processes] for first in range(min(processes, len(missing)))]
    if len(parts) < 2 or not sys.executable:
        return
    helpers = [_start(part) for part in parts[1:]]
    try:
        _compile(parts[0])
        for helper in helpers:
            helper.wait()
    finally:
        for helper in helpers:
            helper.kill()
            helper.wait()


def _start(pairs: Sequence[Pair]) -> subprocess.Popen[str]:
    """Start a process that compiles; it is silent, and nothing depends on its success."""
    helper = subprocess.Popen(
        [sys.executable, "-m", "brigand.simulation.ahead"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    text = json.dumps([(environment.to_json(), policy.to_json()) for environment, policy in pairs])
    if helper.stdin is not None:
        with contextlib.suppress(OSError), helper.stdin as file:  # it may have ended already
            file.write(text)
    return helper


def _compile(pairs: Iterable[Pair]) -> None:
    for environment, policy in pairs:
        simulate(environment, {"it": policy}, 1, 1, workers=1)


if __name__ == "__main__":
    _compile(
        (World.from_json(environment), Policy.from_json(policy))
        for environment, policy in json.load(sys.stdin)
    )
