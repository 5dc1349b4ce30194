"""Confidence sequences for running averages: they hold at all times, for moving means, and are not wide."""

import numpy as np
import pytest
from scipy import optimize

import brigand as br
from brigand.logs import sequences
from strength import runs


def coins(rng, steps):
    mu = np.full(steps, 0.5)
    return (rng.random(steps) < mu) * 1.0, mu


def rare(rng, steps):
    mu = np.full(steps, 0.02)
    return (rng.random(steps) < mu) * 1.0, mu


def waves(rng, steps):
    mu = 0.5 + 0.4 * np.sin(np.arange(steps) / 50)
    return (rng.random(steps) < mu) * 1.0, mu


def spiteful(rng, steps):
    """Means that move by what was seen: up after a success, to the other end after five of one kind."""
    x, mu, now = np.empty(steps), np.empty(steps), 0.5
    for i, u in enumerate(rng.random(steps)):
        mu[i] = now
        x[i] = u < now
        last = x[max(i - 4, 0) : i + 1]
        now = 0.9 if last.sum() == 0 else 0.1 if last.sum() == len(last) else 0.3 + 0.4 * x[i]
    return x, mu


def misses(made, steps=1500, samples=None):
    rng, count = np.random.default_rng(1), 0
    samples = samples or runs(100, 4000)
    for _ in range(samples):
        x, mu = made(rng, steps)
        lower, upper = sequences.running_mean(x, 0, 1)
        truth = mu.cumsum() / np.arange(1, steps + 1)
        count += ((truth < lower) | (truth > upper)).any()
    return count, samples


@pytest.mark.parametrize("made", [coins, rare, waves, spiteful])
def test_looked_at_after_every_variable_it_misses_in_5_percent_of_the_runs_at_most(made):
    """Level 3e-5: more than 4 standard errors above 5 %."""
    count, samples = misses(made)
    assert count <= 0.05 * samples + 4 * np.sqrt(0.05 * 0.95 * samples)


def test_it_is_at_most_2_2_times_as_wide_as_an_interval_that_may_be_looked_at_once():
    rng = np.random.default_rng(2)
    for steps in (300, 3000, 100_000):
        x, _ = coins(rng, steps)
        lower, upper = sequences.running_mean(x, 0, 1)
        assert upper[-1] - lower[-1] < 2.2 * 2 * 1.96 * 0.5 / np.sqrt(steps)


def test_a_lower_bound_needs_no_upper_bound_of_the_variables():
    """Weights of infinite variance, means that wave, 5 % of the runs at most: level 3e-5."""
    rng, samples, count = np.random.default_rng(3), runs(300, 4000), 0
    for _ in range(samples):
        x, mu = waves(rng, 1000)
        weight = 1 / 3 * (1 + rng.pareto(1.5, 1000))  # mean 1
        lower = sequences.lower_running_mean(x * weight)
        count += (lower > mu.cumsum() / np.arange(1, 1001)).any()
    assert count <= 0.05 * samples + 4 * np.sqrt(0.05 * 0.95 * samples)


def test_the_boundary_is_where_the_mixture_is_one_over_alpha_and_never_below():
    for v in (0.0, 0.3, 7.0, 123.4, 5e4, 3e7):
        for alpha in (0.2, 0.05, 1e-6):

            def mixture(s, v=v, alpha=alpha):
                terms = sequences.LAMBDAS * s - sequences.PSI * v
                return np.logaddexp.reduce(terms) - np.log(len(terms) / alpha)

            exact = optimize.brentq(mixture, 0, 1e6)
            found = sequences.boundary(np.array([v, 3e8]), alpha)[0]
            assert exact * (1 - 1e-9) <= found <= exact * 1.002


def test_each_factor_is_a_supermartingale():
    """On two points, the worst law of a mean: exp(l (x - mu) - psi(l) (x - guess)^2) has mean 1 at most."""
    mu, guess = np.meshgrid(np.linspace(0, 1, 41), np.linspace(0, 1, 41))
    for size, psi in zip(sequences.LAMBDAS, sequences.PSI, strict=True):
        for top in (1.0, 2.0, 50.0):
            chance = mu / top

            def factor(x, size=size, psi=psi):
                return np.exp(size * (x - mu) - psi * (x - guess) ** 2)

            assert (chance * factor(top) + (1 - chance) * factor(0) <= 1 + 1e-12).all()


def test_other_ranges_are_this_one_moved_and_stretched():
    x, _ = waves(np.random.default_rng(4), 200)
    a, b = sequences.running_mean(x, 0, 1, 0.9)
    c, d = sequences.running_mean(10 * x - 3, -3, 7, 0.9)
    np.testing.assert_allclose(np.array([c, d]), 10 * np.array([a, b]) - 3)
    assert [len(end) for end in sequences.running_mean([], 0, 1)] == [0, 0]


@pytest.mark.parametrize(
    ("x", "low", "high", "level", "words"),
    [
        ([0.0, 2.0], 0, 1, 0.95, r"x\[1\] must be in \[0, 1\], not 2"),
        ([0.0, np.nan], 0, 1, 0.95, r"x\[1\] must be finite"),
        ([[0.0]], 0, 1, 0.95, "one dimension"),
        ([0.0], 1, 1, 0.95, "low < high"),
        ([0.0], 0, 1, 1.0, "level"),
        ([0.0], 0, 1, 95, "level"),
    ],
)
def test_what_is_no_variable_is_refused(x, low, high, level, words):
    with pytest.raises(br.InvalidValueError, match=words):
        sequences.running_mean(x, low, high, level)
    with pytest.raises(br.InvalidValueError, match=r"x\[0\] must be >= 0"):
        sequences.lower_running_mean([-1.0])
