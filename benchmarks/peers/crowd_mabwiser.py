"""MABWiser: predict and partial_fit of many policies."""

from crowd import report
from mabwiser.mab import MAB, LearningPolicy


def make(arms, seed):
    mab = MAB(arms, LearningPolicy.UCB1(alpha=1), seed=seed)
    mab.fit(arms, [0.5] * len(arms))  # it predicts only after a first fit
    return mab


report(
    "mabwiser",
    make,
    lambda mab: mab.predict(),
    lambda mab, arm, reward: mab.partial_fit([arm], [reward]),
)
