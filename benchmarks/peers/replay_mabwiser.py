"""MABWiser: its simulator, in batches of 100, learning from the first half and tested on the second.

Where the policy and the log differ, it takes the mean reward that the arm had in training.
"""

from mabwiser.mab import MAB, LearningPolicy
from mabwiser.simulator import Simulator
from replaying import report


def play(arm, reward):
    policy = MAB(list(range(int(arm.max()) + 1)), LearningPolicy.EpsilonGreedy(epsilon=0.1), seed=1)
    simulator = Simulator(
        [("it", policy)], arm, reward, test_size=0.5, is_ordered=True, batch_size=100, seed=1, is_quick=True
    )
    simulator.run()
    parts = simulator.bandit_to_arm_to_stats_avg["it"]
    parts = parts.get("total", parts)
    count = sum(one["count"] for one in parts.values())
    return sum(one["sum"] for one in parts.values() if one["count"]) / count, count


report("mabwiser", play)
