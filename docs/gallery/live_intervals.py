"""The arms of a live bandit, with intervals for every day.

`summary()` of a bandit has intervals that stay valid however often one looks and whatever the policy
chooses. An arm that is rarely chosen has a wide one.
"""

import matplotlib.pyplot as plt
import numpy as np

import brigand as br

rates = {"red": 0.04, "green": 0.06, "blue": 0.12, "grey": 0.05}
rng = np.random.default_rng(0)
bandit = br.Bandit(list(rates), br.ForcedExploration(br.Linear()), seed=0)
for _ in range(3_000):
    decision = bandit.ask()
    bandit.tell(decision.id, float(rng.random() < rates[decision.arm]))
table = bandit.summary(support=(0, 1)).sort_values("mean")

figure, axes = plt.subplots(figsize=(6.4, 2.4), layout="constrained")
ends = [table["mean"] - table["lower"], table["upper"] - table["mean"]]
axes.errorbar(table["mean"], table.index, xerr=ends, fmt="o", capsize=3, color="#0072B2")
for arm, row in table.iterrows():
    axes.annotate(
        f"{row['told']:,} rewards",
        (row["upper"], arm),
        (6, 0),
        textcoords="offset points",
        va="center",
        fontsize=8,
    )
axes.set(xlabel="clicks per decision, 95 % at all times", xlim=(0, 0.32))
figure.savefig("live_intervals.png", dpi=150)
