"""pymab: a whole experiment in its Rust core, which keeps every step of every run."""

from functools import partial

import numpy as np
from pymab import BanditEnvironment, BernoulliReward, Experiment, ExperimentConfig
from pymab.policies import BernoulliThompsonSamplingPolicy, EpsilonGreedyPolicy, KLUCBPolicy, UCBPolicy
from stepping import report


def play(policy, means, uniforms):
    result = Experiment(
        environment=BanditEnvironment(means=np.array(means), reward_model=BernoulliReward()),
        policies={"policy": policy(n_arms=len(means))},
        config=ExperimentConfig(horizon=len(uniforms), n_replicates=1, seed=1, backend="rust"),
    ).run()
    return result.rewards.mean()


report(
    "pymab",
    {
        "UCB1": partial(play, UCBPolicy),
        "TS-Beta": partial(play, BernoulliThompsonSamplingPolicy),
        "eps-greedy": partial(play, partial(EpsilonGreedyPolicy, epsilon=0.1)),
        "KL-UCB": partial(play, KLUCBPolicy),
    },
)
