"""Regret of several policies.

The mean on linear axes, the median on logarithmic ones, both with the range of most runs. Where the two
tell different stories, rare runs carry the mean, and the legend says so.
"""

import brigand as br

environment = br.Environment.stationary([br.Bernoulli(mean) for mean in (0.7, 0.6, 0.5, 0.5, 0.4, 0.3)])
policies = {
    "FE-Exp": br.ForcedExploration(br.Exponential()),
    "FE-Linear": br.ForcedExploration(br.Linear()),
    "UCB1": br.UCB1(0, 1),
    "KL-UCB": br.KLUCB(),
    "TS-Beta": br.ThompsonBeta(),
}
results = br.simulate(environment, policies, horizon=20_000, replications=300, seed=0)
results.plot("regret.png", title="Six Bernoulli arms")
