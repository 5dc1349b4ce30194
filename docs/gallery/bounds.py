"""Measured regret and what is proved.

A thin line in a policy's colour is the smallest upper bound on its mean regret that is proved and whose
conditions hold here.
"""

import brigand as br

environment = br.Environment.stationary([br.Gaussian(0.0, 1.0), br.Gaussian(1.0, 1.0)])
policies = {
    "FE-Linear": br.ForcedExploration(br.Linear()),
    "FE-Exp": br.ForcedExploration(br.Exponential()),
    "UCB1": br.UCB1(sigma=1.0),
}
results = br.simulate(environment, policies, horizon=100_000, replications=200)
results.plot("bounds.png", bounds=True, title="Two Gaussian arms, a gap of 1")
