"""Compile what many tests run, before any of them does.

A process that compiles all loops of a policy compiles its kernels once; two workers of pytest that meet the
same policy in different tests would both compile them. So processes like this one share the policies: each
reads a name, compiles, answers with a line, and is given the next.
"""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import brigand as br
from brigand import disk_cache
from brigand.live.loop import live_loop
from brigand.simulation.rare import rare_loop
from brigand.simulation.skip_ahead import play_fe, skip_loop
from brigand.simulation.step import loop_in, trace_loop
from strength import COMPILED, LIVE

RARE = "rare"
"""In the place of a policy: runs that are weighted, of `FE`."""
FE = br.ForcedExploration()
ENVIRONMENT = br.Environment.stationary([br.Bernoulli(0.3), br.Bernoulli(0.7)])


def compile_ahead(processes):
    """Start processes that leave all loops of the quick tests in the disk cache, and wait for them."""
    names = [RARE, *(name for name in COMPILED if name != "SW-FE-Exp")]  # its kernels are those of FE
    left = [name for name in names if any(map(disk_cache.misses, loops(name)))][::-1]

    def feed(_):
        command = [sys.executable, __file__]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            answer = "\n"
            while left and answer:  # nothing is read from a process that has ended
                process.stdin.write(left.pop() + "\n")
                process.stdin.flush()
                answer = process.stdout.readline()

    with ThreadPoolExecutor(processes) as pool:
        list(pool.map(feed, range(min(processes, len(left)))))


def loops(name):
    """Return what `compile_loops` compiles."""
    if name == RARE:
        return [rare_loop()]
    policy = br.CATALOGUE[name].informed(ENVIRONMENT)
    found = [trace_loop(policy.kernels), loop_in(ENVIRONMENT, policy.kernels)]
    if name == "FE-Linear":
        found.append(skip_loop(play_fe))
    if name in LIVE:
        found.append(live_loop(policy))
    return found


def compile_loops(name):
    """Play a few steps from a table, by the simulator, skipping, and with a live bandit."""
    if name == RARE:
        br.rare_regret(br.Environment.stationary([br.Gaussian(0, 1), br.Gaussian(1, 1)]), FE, 9, 100)
        return
    policy = br.CATALOGUE[name].informed(ENVIRONMENT)
    br.trace(policy, [[0, 1]] * 3)
    br.simulate(ENVIRONMENT, {name: policy}, 3, 1, workers=1)
    if name == "FE-Linear":
        br.simulate(ENVIRONMENT, {name: policy}, 3, 1, method="skip", workers=1)
    if name in LIVE:
        with br.Bandit(["a", "b"], policy, horizon=3) as bandit:
            bandit.ask()


if __name__ == "__main__":
    for line in sys.stdin:
        compile_loops(line.strip())
        print(flush=True)
