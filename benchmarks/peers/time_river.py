"""river: pull and update, one step at a time, as its documentation does."""

from functools import partial

from river import bandit, proba
from stepping import report


def play(make, means, uniforms):
    policy = make()
    arms = range(len(means))
    total = 0
    for uniform in uniforms:
        arm = policy.pull(arms)
        reward = int(uniform < means[arm])
        policy.update(arm, reward)
        total += reward
    return total / len(uniforms)


report(
    "river",
    {
        "UCB1": partial(play, lambda: bandit.UCB(delta=1, seed=1)),
        "TS-Beta": partial(play, lambda: bandit.ThompsonSampling(reward_obj=proba.Beta(), seed=1)),
        "eps-greedy": partial(play, lambda: bandit.EpsilonGreedy(epsilon=0.1, seed=1)),
    },
)
