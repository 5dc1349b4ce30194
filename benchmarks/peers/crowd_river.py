"""river: pull and update of many policies."""

import sys

from crowd import report
from river import bandit

ARMS = range(int(sys.argv[2]))


def make(arms, seed):
    return bandit.UCB(delta=1, seed=seed)


report(
    "river", make, lambda policy: policy.pull(ARMS), lambda policy, arm, reward: policy.update(arm, reward)
)
