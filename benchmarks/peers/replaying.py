"""What the scripts of replays share. Each replays epsilon-greedy on one log, with a Python of its own:

    .peers/river/bin/python benchmarks/peers/replay_river.py log.npz

The last line printed is JSON: the package's version, seconds of CPU time, the mean reward that it reports,
and the number of decisions that it is the mean of.
"""

import json
import sys
import time
from importlib.metadata import version

import numpy as np


def report(package, play):
    """Time a replay: a function of arms and rewards, arrays with one entry a row."""
    with np.load(sys.argv[1]) as log:
        arm, reward = log["arm"], log["reward"]
    start = time.process_time()
    value, steps = play(arm, reward)
    seconds = time.process_time() - start
    found = {"version": version(package), "seconds": seconds, "value": float(value), "steps": int(steps)}
    print(json.dumps(found))
