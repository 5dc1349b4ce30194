"""Where nothing else brings an arm back: one lost reward does not end it, and one that never pays waits."""

import math

import numpy as np
import pytest

import brigand as br
from strength import runs

POLICIES = [
    br.BESA(),
    br.BESA(4),
    br.SSMC(),
    br.SSTC(),
    br.WRSDA(),
    br.RBSDA(),
    br.LBSDA(),
    br.LBSDALM(forced="none"),
    br.DiscountedUCB(0.999),
    br.DiscountedThompson(0.999),
    br.CUSUMUCB(0.0, math.inf),
    br.PHTUCB(0.0, math.inf),
    br.MUCB(50, math.inf, 0.0),
    br.GLRKLUCB(delta=0.0, omega=0.0),
]


def pulls_of(policy, means, told, seed):
    """Run 1500 steps, rewards within 0.2 of the mean; ``told(arm, n)``: whether the arm's n-th arrives."""
    parameters, state = policy.parameters(len(means), 1500), policy.start(len(means), 1500, seed)
    rng, pulls = np.random.default_rng(seed), np.zeros(len(means), int)
    for step in range(1, 1501):
        arm = policy.kernels.select(parameters, *state, np.arange(len(means)), rng)
        policy.kernels.pull(parameters, *state, arm)
        pulls[arm] += 1
        reward = means[arm] + 0.4 * (rng.random() - 0.5)
        if told(arm, pulls[arm]):
            policy.kernels.learn(parameters, *state, arm, reward, step)
    return pulls


@pytest.mark.every(4)
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@pytest.mark.parametrize("lost", [1, 2])
def test_the_best_arm_survives_the_loss_of_its_first_rewards(policy, lost):
    """Without the rule most give it one pull."""
    for seed in range(runs(1, 3)):
        pulls = pulls_of(policy, [0.3, 0.7], lambda arm, n: arm == 0 or n > lost, seed)
        assert pulls[1] > 1000


@pytest.mark.every(4)
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_an_arm_that_never_pays_is_pulled_a_logarithm_of_times(policy):
    """2 n0 + log(n + 1), rounded up, after n pulls; n0: the rewards without which it is not compared."""
    pulls = pulls_of(policy, [0.3, 0.7, 0.7], lambda arm, n: arm != 2, 0)
    least = 2 if isinstance(policy, br.SSTC) else getattr(policy, "n0", 1)
    assert pulls[2] <= math.ceil(2 * least + math.log(1501))
    assert pulls[1] > 1000
