"""Rewards that change.

Dotted lines mark the steps at which the arms' means change. Without a window, FE goes on with the arm that
was best; with one, it forgets.
"""

import brigand as br

phases = [
    [br.Gaussian(mean, 0.5) for mean in means]
    for means in ([0.8, 0.5, 0.2], [0.2, 0.5, 0.9], [0.3, 0.9, 0.4], [0.9, 0.4, 0.2])
]
environment = br.Environment.piecewise(phases, starts=[1, 5_001, 10_001, 15_001])
policies = {
    "SW-FE-Exp, window 1,000": br.ForcedExploration(br.Exponential(), window=1_000),
    "FE-Exp": br.ForcedExploration(br.Exponential()),
    "SW-TS": br.SlidingWindowThompsonGaussian(1_000, sigma=0.5),
}
results = br.simulate(
    environment, policies, horizon=20_000, replications=200, checkpoints=range(250, 20_001, 250)
)
results.plot("changes.png", title="Three changes in 20,000 steps")
