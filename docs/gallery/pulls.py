"""How often each arm is pulled.

Results are labelled arrays: the share of each arm's pulls over time takes a line of xarray.
"""

import matplotlib.pyplot as plt

import brigand as br

means = [0.3, 0.4, 0.5, 0.6, 0.7]
environment = br.Environment.stationary([br.Bernoulli(mean) for mean in means])
policies = {
    "FE-Exp": br.ForcedExploration(),
    "FE-Linear": br.ForcedExploration(br.Linear()),
    "UCB1": br.UCB1(0, 1),
}
results = br.simulate(environment, policies, horizon=100_000, replications=100)
pulls = results.dataset["pulls"].mean("replication")
shares = pulls / pulls["step"]

figure, row = plt.subplots(1, 3, figsize=(9, 3), sharey=True, layout="constrained")
for axes, policy in zip(row, policies, strict=True):
    colors = plt.colormaps["cividis"](range(0, 256, 63))
    axes.stackplot(shares["step"], shares.sel(policy=policy).T, labels=means, colors=colors)
    axes.set(title=policy, xscale="log", xlim=(10, 100_000), ylim=(0, 1), xlabel="step")
row[0].set_ylabel("share of all pulls")
figure.legend(
    *row[0].get_legend_handles_labels(), loc="outside right center", title="mean of\nthe arm", reverse=True
)
figure.savefig("pulls.png", dpi=150)
