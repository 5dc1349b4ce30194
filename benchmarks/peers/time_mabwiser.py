"""MABWiser: predict and partial_fit with one reward at a time. It is made for batches of logged decisions."""

from functools import partial

from mabwiser.mab import MAB, LearningPolicy
from stepping import report


def play(policy, means, uniforms):
    mab = MAB(list(range(len(means))), policy, seed=1)
    # It predicts only after a first fit: here one reward of each arm.
    mab.fit(mab.arms, [int(uniforms[arm] < means[arm]) for arm in mab.arms])
    total = 0
    for uniform in uniforms:
        arm = mab.predict()
        reward = int(uniform < means[arm])
        mab.partial_fit([arm], [reward])
        total += reward
    return total / len(uniforms)


report(
    "mabwiser",
    {
        # Its bound is alpha sqrt(2 log n / N): that of UCB1 with alpha = 1.
        "UCB1": partial(play, LearningPolicy.UCB1(alpha=1)),
        "TS-Beta": partial(play, LearningPolicy.ThompsonSampling()),
        "eps-greedy": partial(play, LearningPolicy.EpsilonGreedy(epsilon=0.1)),
    },
)
