"""What a corrected policy knows is what it would know if the right reward had been told at first."""

import numpy as np
import pytest

import brigand as br

BOUNDS = {"Bayes-UCB": ("quantile", "level", "length")}
"""Fields that hold bounds of when the arm was last told: older ones are as true, and less sharp."""
CORRECTED = [name for name, policy in br.CATALOGUE.items() if policy.corrects]


@pytest.mark.parametrize("name", CORRECTED)
def test_a_corrected_reward_is_as_if_it_had_been_told_at_first(name):
    policy, n_arms, horizon = br.CATALOGUE[name], 3, 60
    kernels, parameters = policy.kernels, policy.parameters(n_arms, horizon)
    corrected, right = (policy.start(n_arms, horizon, 5) for _ in range(2))
    rng = np.random.default_rng(0)
    late = []
    for step in range(1, horizon + 1):
        arm, (was, reward) = int(rng.integers(n_arms)), rng.random(2)
        for state in (corrected, right):
            kernels.pull(parameters, *state, arm)
        kernels.learn(parameters, *corrected, arm, was, step)
        kernels.learn(parameters, *right, arm, reward, step)
        late.append((arm, was, reward, step))
        while late and rng.random() < 0.5:
            kernels.correct(parameters, *corrected, *late.pop(0))
    for one in late:
        kernels.correct(parameters, *corrected, *one)
    for field in set(corrected.arms.dtype.names) - set(BOUNDS.get(name, ())):
        np.testing.assert_allclose(corrected.arms[field], right.arms[field], rtol=1e-12, atol=1e-12)
    assert corrected.header == right.header
    for seed in range(20):
        chosen = {
            int(kernels.select(parameters, *state, np.arange(n_arms), np.random.default_rng(seed)))
            for state in (corrected, right)
        }
        assert len(chosen) == 1


def test_means_at_the_ends_of_the_range_stay_there():
    policy = br.CATALOGUE["KL-UCB"]
    parameters, state = policy.parameters(2, 100), policy.start(2, 100)
    for step in range(1, 51):
        policy.kernels.pull(parameters, *state, 0)
        policy.kernels.learn(parameters, *state, 0, 1 / 3, step)
        policy.kernels.correct(parameters, *state, 0, 1 / 3, float(step > 50), step)
        assert state.arms[0]["mean"] == 0.0
        assert np.isfinite(state.arms[0]["phi"])
