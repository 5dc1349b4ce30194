"""Open Bandit Pipeline: run_bandit_replay, and the replay method.

Its estimators and simulator are used, not its networks: so the names of torch and of other absent packages
are made up.
"""

import sys
from types import ModuleType
from unittest import mock

import numpy as np
import sklearn.ensemble
import sklearn.linear_model  # noqa: F401  they ask whether torch is there, before it is made up
from replaying import report


class Absent(ModuleType):
    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        parts = {"data": type("data", (), {"DataLoader": object, "Dataset": object})}
        return type(name, (), {"__class_getitem__": classmethod(lambda cls, _: cls), **parts})


ABSENT = (
    *("torch", "torch.nn", "torch.nn.functional", "torch.optim", "torch.utils.data"),
    *("pyieoe", "pyieoe.evaluator", "matplotlib", "matplotlib.pyplot", "seaborn"),
)
with mock.patch.dict(sys.modules, {name: Absent(name) for name in ABSENT}):
    from obp.ope import ReplayMethod
    from obp.policy import EpsilonGreedy
    from obp.simulator import replay

replay.tqdm = lambda rows, total: rows  # it calls the module tqdm, which cannot be called


def play(arm, reward):
    k = int(arm.max()) + 1
    feedback = {
        "n_rounds": len(arm),
        "n_actions": k,
        "action": arm,
        "reward": reward,
        "position": None,
        "context": np.zeros((len(arm), 1)),
        "pscore": np.full(len(arm), 1 / k),
    }
    chosen = replay.run_bandit_replay(feedback, EpsilonGreedy(n_actions=k, epsilon=0.1, random_state=1))
    value = ReplayMethod().estimate_policy_value(reward=reward, action=arm, action_dist=chosen)
    return value, (chosen[np.arange(len(arm)), arm, 0] == 1).sum()


report("obp", play)
