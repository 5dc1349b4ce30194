"""Results of the scripts of the authors of "Forced Exploration in Bandit Problems", run unchanged.

github.com/qh1874/Force_Explor, December 2023; T = 100,000; 100 runs where rewards are stationary, 60 where
they change. Many of these means are carried by a few rare runs, so their standard errors may be too small.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from brigand.environments.instances import random_environment
from brigand.papers.forced_exploration import EXPERIMENTS, HORIZON, PROTOCOLS
from brigand.papers.validation import Fixed, Published, Row
from brigand.policies.base import Policy
from brigand.policies.changes.garivier_moulines import SlidingWindowUCB
from brigand.policies.subsampling.lb_sda import LBSDALM
from brigand.policies.ucb.ucb1 import UCB1

NAMES = {
    "FE_exp": "FE-Exp",
    "FE_lin": "FE-Linear",
    "FE_con": "FE-Constant",
    "FE_EXP_SW": "SW-FE-Exp",
    "FE_LIN_SW": "SW-FE-Linear",
    "FE_CON_SW": "SW-FE-Constant",
    "Lattimore": "Lattimore, plug-in",
    "LB_SDA_T": "SW-LB-SDA, window T",
    "LB_SDA": "SW-LB-SDA",
    "SW_TS": "SW-TS",
    "SW_TS_gaussian": "SW-TS",
    "CUSUM": "CUSUM-UCB",
    "M_UCB": "M-UCB",
}
"""The scripts' names of the curves of `brigand.papers.forced_exploration`."""
OTHERS: dict[str, Policy] = {
    "UCB1": UCB1(sigma=math.sqrt(0.5)),  # mean + sqrt(log n / N)
    "LB_SDA_LM": LBSDALM(authors_code=True),
    "SW_UCB": SlidingWindowUCB(window=536, xi=2),  # mean + sqrt(2 log min(n, tau) / N)
}


def published() -> list[dict[str, Any]]:
    """Return what the scripts gave, one dictionary a policy and problem."""
    text = files("brigand.papers").joinpath("data/authors.json").read_text(encoding="utf-8")
    found: list[dict[str, Any]] = json.loads(text)
    return found


def rows() -> Iterator[Row]:
    """Yield all rows."""
    for data in published():
        family = {"B": "bernoulli", "G": "gaussian"}[data["dist"]]
        experiment = EXPERIMENTS[f"{data['label']}-{family}"]
        n_arms, phases = experiment.n_arms, 4 if experiment.piecewise else 1
        environment = random_environment(family, n_arms, HORIZON, phases, experiment.instance_seed)
        name, final, runs = data["policy"], data["final"], data["runs"]
        policies = experiment.policies(PROTOCOLS["authors"], HORIZON)
        policy = OTHERS[name] if name in OTHERS else policies[NAMES[name]]
        theirs = Published(final["mean"], runs, final["se"] * math.sqrt(runs))
        table = f"Scripts of the paper's authors, {data['label']}"
        yield Row(table, Fixed(experiment.title, environment), name, policy, {HORIZON: theirs}, 600)
