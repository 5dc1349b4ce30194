"""FE's bound with late rewards, and what no policy can avoid: by exhaustion in small cases, and by runs."""

import itertools

import numpy as np
import pytest

import brigand as br
from brigand.theory import Schedule, delayed_bounds
from strength import runs, some

SEQUENCES = [br.Linear(), br.Constant(3), br.Exponential(1.5), br.Power(0.5)]


def played(policy, n_arms, rewards, delay):
    """Return FE's state after these rewards of its pulls, its pulls after each step, and the arms."""
    horizon = len(rewards)
    rng = np.random.default_rng(0)
    parameters, state = policy.parameters(n_arms, horizon), policy.start(n_arms, horizon)
    pulls = np.zeros((horizon, n_arms), np.int64)
    arms = []
    for t in range(horizon):
        arm = int(policy.kernels.select(parameters, *state, np.arange(n_arms), rng))
        policy.kernels.pull(parameters, *state, arm)
        arms.append(arm)
        if t >= delay:
            then = arms[t - delay]
            policy.kernels.learn(parameters, *state, then, rewards[t - delay], t - delay + 1)
        pulls[t] = state.arms["pulls"]
    return state, pulls, arms


@pytest.mark.parametrize("sequence", SEQUENCES, ids=repr)
@pytest.mark.parametrize("delay", [0, 1, 3])
def test_pulls_and_forced_pulls_keep_their_bounds_whatever_the_rewards(sequence, delay):
    """All rewards of 0 and 1; and the exact mean number of pulls keeps the theorem's bound."""
    policy, horizon = br.ForcedExploration(sequence), runs(7, 11)
    schedule = Schedule(sequence, 2, horizon)
    steps = np.arange(1, horizon + 1)
    certain, most = schedule.rounds(steps), schedule.most_forced([horizon])[0]
    chances = np.array([0.1, 0.9])
    mean = 0.0
    for rewards in itertools.product((0.0, 1.0), repeat=horizon):
        state, pulls, arms = played(policy, 2, rewards, delay)
        assert (pulls >= certain[:, None]).all()
        assert state.arms["forced"].max() <= most
        paid = np.array(rewards) > 0
        mean += np.prod(np.where(paid, chances[arms], 1 - chances[arms])) * pulls[-1, 0]
    environment = br.Environment.stationary([br.Bernoulli(p) for p in chances])
    upper, _ = delayed_bounds(environment, policy, horizon, delay)
    assert mean <= upper.pulls(horizon)[0]


@pytest.mark.parametrize("sequence", SEQUENCES[:3], ids=repr)
def test_measured_regret_is_below_the_bound(sequence):
    environment = br.Environment.stationary([br.Gaussian(0, 0.1), br.Gaussian(1, 0.1), br.Gaussian(0.5, 0.1)])
    policy = br.ForcedExploration(sequence)
    for delay in (0, 50):
        upper, _ = delayed_bounds(environment, policy, 2000, delay)
        measured = br.simulate(environment, {"it": policy}, 2000, 20, delay=delay).dataset
        for step in (60, 2000):  # both are close: forced pulls are nearly all there is
            at = measured.sel(policy="it").sel(step=step, method="nearest")
            assert float(at["regret"].mean()) <= upper.regret(int(at["step"]))
            assert (
                at["pulls"].mean("replication").to_numpy()[[0, 2]] <= upper.pulls(int(at["step"]))[[0, 2]]
            ).all()


def test_without_a_delay_it_is_theorem_1_corrected():
    environment = br.Environment.stationary([br.Bernoulli(0.2), br.Bernoulli(0.6), br.Bernoulli(0.5)])
    for sequence in SEQUENCES[:3]:
        policy = br.ForcedExploration(sequence)
        (theorem,) = (
            bound
            for bound in br.theory.bounds(environment, policy, 5000)
            if (bound.name, bound.version) == ("Theorem 1", "corrected")
        )
        upper, _ = delayed_bounds(environment, policy, 5000, 0)
        for step in (1, 7, 5000):
            assert upper.regret(step) == pytest.approx(theorem.regret(step), rel=1e-12)
            np.testing.assert_allclose(upper.pulls(step), theorem.pulls(step), rtol=1e-12)
        later = [delayed_bounds(environment, policy, 5000, d)[0].regret(5000) for d in (0, 1, 10, 4999, 9999)]
        assert later == sorted(later)
        assert later[-1] == pytest.approx(5000 * 0.4)


@pytest.mark.parametrize("name", some(["FE-Linear", "UCB1"], ["FE-Linear"]))
def test_in_blind_steps_every_policy_loses_the_mean_gap(name):
    """On average over the orders of the arms, exactly: with late rewards no choice depends on them."""
    policy, delay, arms = br.CATALOGUE[name], 29, [br.Bernoulli(p) for p in (0.1, 0.5, 0.9)]
    regret = [
        br.simulate(br.Environment.stationary(order), {"it": policy}, delay + 1, 5, delay=delay)
        .dataset["regret"]
        .sel(step=delay + 1)
        .to_numpy()
        for order in itertools.permutations(arms)
    ]
    _, least = delayed_bounds(br.Environment.stationary(arms), br.ForcedExploration(), delay + 1, delay)
    np.testing.assert_allclose(np.mean(regret, axis=0), least.regret(delay + 1), rtol=1e-12)


def test_what_it_is_not_for_is_refused():
    environment = br.Environment.stationary([br.Gaussian(0, 1), br.Gaussian(1, 1)])
    with pytest.raises(br.InvalidValueError, match="without a window"):
        delayed_bounds(environment, br.ForcedExploration(window=10), 100, 5)
    with pytest.raises(br.InvalidValueError, match="without a window"):
        delayed_bounds(environment, br.CATALOGUE["UCB1"], 100, 5)
    for delay in (-1, 2**63):
        with pytest.raises(br.InvalidValueError, match="delay"):
            delayed_bounds(environment, br.ForcedExploration(), 100, delay)
    with pytest.raises(br.InvalidValueError, match="environment"):
        delayed_bounds(3, br.ForcedExploration(), 100, 5)
    heavy = br.Environment.stationary([br.StudentT(3), br.StudentT(3, 1)])
    upper, _ = delayed_bounds(heavy, br.ForcedExploration(), 100, 5)
    assert not upper.holds
