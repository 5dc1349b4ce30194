"""How much a sequence explores.

The forced pulls of one arm are known without simulation: they depend on f, on the number of arms and on the
step, not on the rewards.
"""

import matplotlib.pyplot as plt
import numpy as np

import brigand as br

horizon = 10**6
steps = np.unique(np.geomspace(10, horizon, 200).astype(int))
sequences = {
    "Linear()": br.Linear(),
    "Constant()": br.Constant(),
    "Exponential()": br.Exponential(),
    "Power(2)": br.Power(2),
}
figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for (name, sequence), style in zip(sequences.items(), ("-", "--", "-.", ":"), strict=True):
    schedule = br.theory.Schedule(sequence, n_arms=10, horizon=horizon)
    axes.loglog(steps, schedule.forced(steps, leader=0)[:, 1], style, label=name)
axes.set(xlabel="step", ylabel="forced pulls of an arm", title="Ten arms, T = $10^6$")
axes.legend(frameon=False)
figure.savefig("forced_pulls.png", dpi=150)
