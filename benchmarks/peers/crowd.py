"""What the scripts of crowds share: many policies of one package, each asked and told in turn.

    .peers/river/bin/python benchmarks/peers/crowd_river.py 200 10

The last line printed is JSON: the package's version, and nanoseconds of CPU time of a decision and of its
reward, medians of rounds in which every policy is asked and told once.
"""

import json
import random
import statistics
import sys
import time
from importlib.metadata import version

ROUNDS = 7


def report(package, make, ask, tell):
    """Time policies: `make(arms, seed)`, `ask(policy)` which returns an arm, `tell(policy, arm, reward)`."""
    n, arms = int(sys.argv[1]), int(sys.argv[2])
    policies = [make(list(range(arms)), seed) for seed in range(n)]
    rng = random.Random(1)
    times = []
    for _ in range(arms + ROUNDS):  # all arms have rewards, when it counts
        rewards = [rng.random() for _ in policies]
        start = time.process_time()
        chosen = [ask(policy) for policy in policies]
        asked = time.process_time()
        for policy, arm, reward in zip(policies, chosen, rewards, strict=True):
            tell(policy, arm, reward)
        times.append((asked - start, time.process_time() - asked))
    ask_ns, tell_ns = (statistics.median(column) / n * 1e9 for column in zip(*times[arms:], strict=True))
    print(json.dumps({"version": version(package), "ask": ask_ns, "tell": tell_ns}))
