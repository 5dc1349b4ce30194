"""river: bandit.evaluate_offline, by rejection."""

from replaying import report
from river import bandit, stats


def play(arm, reward):
    arms = list(range(int(arm.max()) + 1))
    history = ((arms, None, int(a), float(r)) for a, r in zip(arm, reward, strict=True))
    policy = bandit.EpsilonGreedy(epsilon=0.1, seed=1)
    found, used = bandit.evaluate_offline(policy, history, stats.Mean())
    return found.get(), used


report("river", play)
