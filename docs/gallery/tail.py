"""Probabilities below 10^-7.

`rare_regret` makes weighted runs, many of them stuck on a wrong arm, and so sees events that plain runs
never show.
"""

import matplotlib.pyplot as plt
import numpy as np

import brigand as br

environment = br.Environment.stationary([br.Gaussian(0.5, 1.0), br.Gaussian(0.0, 1.0)])
policy = br.ForcedExploration(br.Exponential())
horizon = 10**5
plain = br.simulate(environment, {"it": policy}, horizon, 10_000, method="skip").dataset["regret"]
plain = np.sort(plain.to_numpy()[0, :, -1])
limits = np.geomspace(100, 40_000, 25)
found = [br.rare_regret(environment, policy, horizon, 4_000, threshold=x).exceeds(x) for x in limits]

figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
axes.errorbar(
    limits, [p.value for p in found], [2 * p.error for p in found], fmt="o", ms=3, label="rare_regret"
)
axes.step(plain, 1 - np.arange(len(plain)) / len(plain), label="10,000 plain runs", where="post")
axes.set(xscale="log", yscale="log", xlabel="regret at T = 100,000", ylabel="probability to exceed it")
axes.legend(frameon=False)
figure.savefig("tail.png", dpi=150)
