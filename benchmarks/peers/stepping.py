"""What the scripts of this folder share. Each times one package, with the Python that it is installed for:

    .peers/river/bin/python benchmarks/peers/time_river.py '[0.1, 0.9]' 20000 3

The last line printed is JSON: the package's version, and for each policy the seconds (of CPU time) of
each repetition.
"""

import json
import random
import sys
import time
from importlib.metadata import version


def report(package, plays):
    """Time each play: a function of the arms' means and a list of uniform numbers, one a step.

    It returns the mean reward of a fresh policy's run, which must be better than chance.
    """
    means, steps, repetitions = json.loads(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    rng = random.Random(1)
    uniforms = [rng.random() for _ in range(steps)]
    seconds = {name: [] for name in plays}
    for _ in range(repetitions):
        for name, play in plays.items():
            start = time.process_time()
            reward = play(means, uniforms)
            seconds[name].append(time.process_time() - start)
            if not reward > sum(means) / len(means):
                raise AssertionError(f"{package}'s {name} is no better than chance: {reward}")
    print(json.dumps({"version": version(package), "seconds": seconds}))
