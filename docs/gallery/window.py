"""How wide a window?

A window that is too short costs more than one that is too long.
"""

import matplotlib.pyplot as plt

import brigand as br

horizon, windows = 20_000, [50, 100, 200, 400, 800, 1_600, 3_200]
figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for phases, style in ((5, "o-"), (10, "s--"), (40, "^:")):
    environments = [br.random_environment("gaussian", 5, horizon, phases, seed=seed) for seed in range(20)]
    policies = {str(tau): br.ForcedExploration(br.Exponential(), window=tau) for tau in windows}
    runs = [br.simulate(environment, policies, horizon, 5) for environment in environments]
    table = br.Results.over_instances(runs).summary()
    axes.plot(windows, table["mean"], style, label=f"{phases - 1} changes")
axes.set(xscale="log", xlabel="window, in steps", ylabel="mean pseudo-regret at T = 20,000", ylim=(0, None))
axes.set_xticks(windows, windows, minor=False)
axes.minorticks_off()
axes.legend(frameon=False)
figure.savefig("window.png", dpi=150)
