"""Heavy tails.

Student's t rewards with ever fewer degrees of freedom: below 2 the variance is infinite, and every policy
that goes by means has runs that end on a wrong arm.
"""

import matplotlib.pyplot as plt

import brigand as br

policies = {
    "FE-Exp": br.ForcedExploration(),
    "FE-Linear": br.ForcedExploration(br.Linear()),
    "UCB1, sigma = 1": br.UCB1(sigma=1.0),
    "LB-SDA": br.LBSDA(),
}
figure, row = plt.subplots(1, 3, figsize=(9, 3.2), sharey=True, layout="constrained")
for axes, df in zip(row, (30, 3, 1.5), strict=True):
    arms = [br.StudentT(df, location) for location in (0.0, 0.25, 0.5, 0.75, 1.0)]
    results = br.simulate(br.Environment.stationary(arms), policies, horizon=10_000, replications=200)
    regret = results.dataset["regret"].isel(step=-1)
    axes.boxplot(regret.to_numpy().T, whis=(5, 95), showmeans=True, showfliers=False, orientation="vertical")
    axes.set_xticks(range(1, 5), policies, rotation=30, ha="right")
    axes.set(title=f"{df} degrees of freedom", yscale="log")
row[0].set_ylabel("pseudo-regret at T = 10,000")
figure.savefig("heavy_tails.png", dpi=150)
