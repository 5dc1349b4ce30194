"""Open Bandit Pipeline 0.5.7: values and bootstrap intervals of a rule on the log in a file.

    .peers/obp/bin/python benchmarks/peers/time_obp.py log.npz 2000 3

It is of 2022, and asks for Python below 3.11 and for torch, which only its neural networks use: so it is
installed without what it asks for, and names of torch and of its other absent packages are made up.
"""

import json
import sys
import time
from importlib.metadata import version
from types import ModuleType
from unittest import mock

import numpy as np
import sklearn.ensemble
import sklearn.linear_model  # noqa: F401  they ask whether torch is there, before it is made up


class Absent(ModuleType):
    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        parts = {"data": type("data", (), {"DataLoader": object, "Dataset": object})}
        return type(name, (), {"__class_getitem__": classmethod(lambda cls, _: cls), **parts})


ABSENT = (
    "torch",
    "torch.nn",
    "torch.nn.functional",
    "torch.optim",
    "torch.utils.data",
    "pyieoe",
    "pyieoe.evaluator",
    "matplotlib",
    "matplotlib.pyplot",
    "seaborn",
)
with mock.patch.dict(sys.modules, {name: Absent(name) for name in ABSENT}):
    from obp import ope

path, resamples, repetitions = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with np.load(path) as file:
    arm, reward, propensity, rule, means = (
        file[name] for name in ("arm", "reward", "propensity", "rule", "means")
    )
n = len(arm)
common = {"reward": reward, "action": arm, "pscore": propensity, "position": np.zeros(n, int)}
common["action_dist"] = np.tile(rule, (n, 1))[:, :, None]
q = {"estimated_rewards_by_reg_model": np.tile(means, (n, 1))[:, :, None]}
ESTIMATORS = {
    "IPS": (ope.InverseProbabilityWeighting(), {}),
    "SNIPS": (ope.SelfNormalizedInverseProbabilityWeighting(), {}),
    "DM": (ope.DirectMethod(), q),
    "DR": (ope.DoublyRobust(), q),
}
values, seconds = {}, {"values": [], "intervals": []}
for _ in range(repetitions):
    for what, times in seconds.items():
        start = time.process_time()
        for name, (estimator, more) in ESTIMATORS.items():
            if what == "values":
                values[name] = float(estimator.estimate_policy_value(**common, **more))
            else:
                estimator.estimate_interval(**common, **more, n_bootstrap_samples=resamples, random_state=1)
        times.append(time.process_time() - start)
print(json.dumps({"version": version("obp"), "values": values, "seconds": seconds}))
