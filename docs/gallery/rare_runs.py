"""The mean and the median are far apart.

Most runs of FE-Exp end with little regret; a few stick to a wrong arm for long, and carry the mean. That is
why `summary()` shows quantiles, and how much the worst runs carry.
"""

import matplotlib.pyplot as plt
import numpy as np

import brigand as br

environment = br.random_environment("gaussian", n_arms=10, horizon=20_000, seed=1)
results = br.simulate(environment, {"FE-Exp": br.ForcedExploration()}, horizon=20_000, replications=2_000)
regret = results.dataset["regret"].sel(policy="FE-Exp").isel(step=-1)

figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
axes.hist(regret, bins=np.geomspace(regret.min(), regret.max(), 60), color="#0072B2")
for name, value, style in (("median", regret.median(), "-"), ("mean", regret.mean(), "--")):
    axes.axvline(value, color="#D55E00", linestyle=style, label=f"{name} {float(value):,.0f}")
axes.set(xscale="log", yscale="log", xlabel="pseudo-regret at T = 20,000", ylabel="runs of 2,000")
axes.legend(frameon=False)
figure.savefig("rare_runs.png", dpi=150)
