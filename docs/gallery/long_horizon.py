"""A million million steps.

With `method="skip"`, FE is simulated in whole rounds, and a run of T = 10^12 takes less than a millisecond.
"""

import matplotlib.pyplot as plt
import numpy as np

import brigand as br

environment = br.Environment.stationary([br.Gaussian(0.5, 0.5), br.Gaussian(0.3, 0.5), br.Gaussian(0.0, 0.5)])
horizon, checkpoints = 10**12, np.geomspace(1e2, 1e12, 41).astype(np.int64)
policies = {
    "FE with f(r) = r": br.ForcedExploration(br.Linear()),
    "FE with f(r) = r$^2$": br.ForcedExploration(br.Power(2)),
}
results = br.simulate(environment, policies, horizon, 2_000, method="skip", checkpoints=checkpoints)
table = results.statistics()

figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for policy, style in zip(policies, ("-", "--"), strict=True):
    part = table.xs(policy, level="policy")
    axes.loglog(part.index, part["median"], style, label=policy)
    axes.fill_between(part.index, part["q10"], part["q90"], alpha=0.2, linewidth=0)
axes.set(xlabel="step", ylabel="pseudo-regret, median and 10 % to 90 %")
axes.legend(frameon=False)
figure.savefig("long_horizon.png", dpi=150)
