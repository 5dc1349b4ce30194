"""What policies would have earned on a log.

Above, the reward so far; below, how much of the log each policy used.
"""

import numpy as np

import brigand as br

rng = np.random.default_rng(1)
rates = np.array([0.10, 0.12, 0.20])
arms = rng.integers(3, size=6_000, dtype=np.int32)
rewards = (rng.random(6_000) < rates[arms]).astype(float)
log = br.Log(("red", "green", "blue"), arms, rewards, np.full(6_000, 1 / 3))
found = br.replay(log, ["FE-Linear", "UCB1", "TS-Beta", "Random"], horizon=1_500)
found.plot("replay.png", title="6,000 decisions that were drawn evenly")
