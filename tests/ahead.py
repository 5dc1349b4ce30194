"""Compile what many tests run, before any of them does.

A process that compiles all loops of a policy compiles its kernels once; two workers of pytest that meet the
same policy in different tests would both compile them. So processes like this one share the policies: each
reads a name, compiles, answers with a line, and is given the next.
"""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import brigand as br
from strength import COMPILED, LIVE

RARE = "rare"
"""In the place of a policy: runs that are weighted, of `FE`."""
FE = br.ForcedExploration()
ENVIRONMENT = br.Environment.stationary([br.Bernoulli(0.3), br.Bernoulli(0.7)])


def compile_ahead(processes):
    """Start processes that leave all loops of the quick tests in the disk cache, and wait for them."""
    left = [RARE, *(name for name in COMPILED if name != "SW-FE-Exp")][::-1]  # its kernels are those of FE

    def feed(_):
        command = [sys.executable, __file__]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            answer = "\n"
            while left and answer:  # nothing is read from a process that has ended
                process.stdin.write(left.pop() + "\n")
                process.stdin.flush()
                answer = process.stdout.readline()

    with ThreadPoolExecutor(processes) as pool:
        list(pool.map(feed, range(processes)))


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
