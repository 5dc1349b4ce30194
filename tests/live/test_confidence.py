"""Confidence sequences: values worked by hand, exact miss probabilities, simulations that peek at every n."""

import itertools
import math

import numpy as np
import pytest
from scipy import special, stats

from brigand import InvalidValueError
from brigand.live.confidence import MINIMUM, TIGHTEST, asymptotic, bounded

FALSE_ALARM = 1e-6
"""The probability with which an exact binomial test fails code that is right."""


def evidence(n, s, m):
    """Return log M_n(m) with no care for rounding."""
    mixture = special.betaln(0.5 + s, 0.5 + n - s) - special.betaln(0.5, 0.5)
    return mixture - special.xlogy(s, m) - special.xlog1py(n - s, -m)


def within(misses, runs, allowed):
    """Return whether so many misses are no evidence that their probability is above what is allowed."""
    return stats.binomtest(int(misses), runs, allowed, alternative="greater").pvalue > FALSE_ALARM


def of_zero_one(interval, p, first, last):
    """Return the probability that 0/1 rewards of mean p are missed at any n from first to last, exactly.

    By recursion over the law of the sum of the runs not yet missed; of sums of probability < 1e-15, together
    less than 1e-9, misses are not counted.
    """
    law, missed = np.array([1.0]), 0.0
    for n in range(1, last + 1):
        law = np.append(law * (1 - p), 0.0) + np.insert(law * p, 0, 0.0)
        if n < first:
            continue
        s = np.flatnonzero(law > 1e-15)
        lower, upper = interval(np.full(len(s), n), s / n, s * (n - s) / n)
        out = s[(lower > p) | (upper < p)]
        missed += law[out].sum()
        law[out] = 0
    return missed


def of_range(n, mean, squares, level=0.95):
    return bounded(n, mean, 0, 1, level)


# What is known of the range.


def test_no_reward_leaves_the_whole_range():
    for mean in (0, math.nan, 7):
        assert [float(end) for end in bounded(0, mean, -2, 5)] == [-2, 5]


def test_one_reward_by_hand():
    # M_1(m) is 1 / (2 m) after a reward of 1, and 1 / (pi sqrt(m (1 - m))) after one of 1/2.
    assert bounded(1, 1, 0, 1) == (pytest.approx(0.025, rel=1e-13), 1)
    assert bounded(1, 0, 0, 1) == (0, pytest.approx(0.975, rel=1e-13))
    root = (1 - math.sqrt(1 - 4 / (20 * math.pi) ** 2)) / 2
    assert bounded(1, 0.5, 0, 1) == (pytest.approx(root, rel=1e-11), pytest.approx(1 - root, rel=1e-13))


@pytest.mark.parametrize("n", [2, 150, 10**6, 10**12])
def test_equal_rewards_at_the_end_by_hand(n):
    # M_n(m) is Gamma(n + 1/2) / Gamma(n + 1) / sqrt(pi) (1 - m)^-n, the quotient about 1 / sqrt(n + 1/4).
    quotient = math.gamma(n + 0.5) / math.gamma(n + 1) if n < 170 else (n + 0.25 - 1 / (32 * n)) ** -0.5
    end = -math.expm1(math.log(0.05 * quotient / math.sqrt(math.pi)) / n)
    assert bounded(n, 0, 0, 1) == (0, pytest.approx(end, rel=1e-12))
    assert bounded(n, 1, 0, 1) == (pytest.approx(1 - end, rel=1e-12), 1)


def test_agrees_with_a_grid_over_the_mean():
    grid = np.linspace(0, 1, 20001)[1:-1]
    for n, s in [(1, 0.3), (2, 1), (5, 0), (7, 6.99), (40, 11.2), (150, 75), (400, 3), (3000, 2999)]:
        for level in (0.5, 0.95, 0.999):
            inside = grid[evidence(n, s, grid) < -math.log(1 - level)]
            lower, upper = bounded(n, s / n, 0, 1, level)
            assert inside[0] - 5.1e-5 <= lower <= inside[0]
            assert inside[-1] <= upper <= inside[-1] + 5.1e-5


def test_its_ends_have_the_evidence_of_the_level():
    rng = np.random.default_rng(1)
    n = rng.integers(1, 3000, 500)
    s = n * (0.1 + 0.8 * rng.random(500))
    s[n > 100] *= 0.1
    for end in bounded(n, s / n, 0, 1, 0.9):
        assert evidence(n, s, end) == pytest.approx(math.log(10), rel=1e-9)


def test_huge_counts_have_the_width_of_the_normal_approximation():
    # n KL(p, m) is about n (p - m)^2 / (2 p q), and log(1 / M(p)) about log(pi n / 2) / 2.
    for n in (1e8, 1e10, 1e12):
        lower, upper = bounded(n, 0.3, 0, 1)
        half = math.sqrt(2 * 0.21 / n * (math.log(20) + math.log(math.pi * n / 2) / 2))
        assert [0.3 - lower, upper - 0.3] == pytest.approx([half, half], rel=1e-3 if n < 1e9 else 3e-5)
    ends = [bounded(n, 1e-11, 0, 1) for n in (10**12, 10**12 + 1)]
    assert ends[0] == (pytest.approx(ends[1][0], rel=1e-9), pytest.approx(ends[1][1], rel=1e-9))


def test_the_series_of_large_sums_takes_over_without_a_step():
    for n, s in [(1000, 100), (200, 100)]:
        ends = np.array([bounded(n, (s + shift) / n, 0, 1) for shift in (-1e-9, 1e-9)])
        assert ends[0] == pytest.approx(ends[1], rel=1e-10)
    for n in (99, 100, 101):
        assert evidence(n, 3, bounded(n, 3 / n, 0, 1)[0]) == pytest.approx(math.log(20), rel=1e-11)


def test_bounded_is_symmetric_and_moves_with_the_range():
    n, mean = np.array([1, 4, 30, 1000]), np.array([0.125, 0.75, 0.375, 0.0625])
    lower, upper = bounded(n, mean, 0, 1)
    mirrored = bounded(n, 1 - mean, 0, 1)
    assert np.allclose(mirrored[0], 1 - upper, rtol=1e-13, atol=0)
    moved = bounded(n, 8 * mean - 3, -3, 5)
    assert np.allclose(moved[0], 8 * lower - 3, rtol=0, atol=1e-13)
    assert np.allclose(moved[1], 8 * upper - 3, rtol=0, atol=1e-13)
    for scale in (1e-300, 1e300):
        assert np.allclose(bounded(n, scale * mean, 0, scale)[1], scale * upper, rtol=1e-12, atol=0)


def test_rounding_beyond_the_ends_is_forgiven_and_more_is_not():
    assert bounded(10, 1 + 1e-12, 0, 1) == bounded(10, 1, 0, 1)
    assert bounded(10, -1e-12, 0, 1) == bounded(10, 0, 0, 1)
    assert bounded(10, 5e-324, 0, 1) == (0, pytest.approx(float(bounded(10, 0, 0, 1)[1])))
    with pytest.raises(InvalidValueError, match=r"mean must be in \[0, 1\], not "):
        bounded([10, 10], [0.5, 1.001], 0, 1)


@pytest.mark.parametrize("interval", [of_range, asymptotic])
def test_a_higher_level_is_wider_and_more_rewards_are_narrower(interval):
    levels = [5e-324, 1e-17, 1e-3, 0.2, 0.5, 0.9, 0.95, 0.999, 1 - 1e-9, 1 - 1e-16]
    ends = np.array([interval(200, 0.3, 42, level) for level in levels])
    outwards = np.diff(ends, axis=0) * [-1, 1]
    assert (outwards >= -1e-12).all()
    assert (outwards[2:] > 0).all()
    assert ((ends - 0.3) * [-1, 1] > 0).all()
    n = np.unique(np.geomspace(MINIMUM, 1e12, 300).astype(int))
    lower, upper = interval(n, 0.3, 0.21 * (n - 1))
    assert (np.diff(lower) > 0).all()
    assert (np.diff(upper) < 0).all()


@pytest.mark.parametrize("values", [(0, 0.5, 1), (0, 0.1, 1), (0.2, 0.6, 0.7)])
def test_the_evidence_against_the_truth_is_a_supermartingale(values):
    rng = np.random.default_rng(2)
    for chances in [*rng.dirichlet([1, 1, 1], 3), np.array([0.7, 0, 0.3])]:
        m = chances @ values
        expected = [1.0]
        for n in range(1, 7):
            paths = np.array(list(itertools.product(range(3), repeat=n)))
            weights = chances[paths].prod(axis=1)
            expected.append(weights @ np.exp(evidence(n, np.asarray(values)[paths].sum(axis=1), m)))
        assert (np.diff(expected) <= 1e-12).all()
        if values[0] == 0 and chances[1] == 0:
            assert expected == pytest.approx([1.0] * 7, rel=1e-12)


@pytest.mark.full
@pytest.mark.parametrize(("p", "rate"), [(0.02, 0.03155), (0.5, 0.03738)])
def test_the_exact_probability_of_ever_missing_is_below_the_level(p, rate):
    assert of_zero_one(of_range, p, 1, 2000) == pytest.approx(rate, abs=1e-5)


def test_peeking_at_every_n_misses_no_more_than_allowed():
    rng = np.random.default_rng(3)
    n = np.arange(1, 2001)
    for draw, mean, runs in [
        (lambda size: rng.random(size), 0.5, 40),
        (lambda size: rng.beta(0.1, 0.9, size), 0.1, 80),
    ]:
        means = draw((runs, 2000)).cumsum(axis=1) / n
        lower, upper = bounded(n, means, 0, 1)
        misses = ((lower > mean) | (upper < mean)).any(axis=1).sum()
        assert within(misses, runs, 0.05)


def test_at_1000_rewards_it_is_less_than_twice_as_wide_as_at_one_fixed_number():
    s = np.arange(0, 1001, 5)
    lower, upper = bounded(1000, s / 1000, 0, 1)
    fixed = [stats.binomtest(int(k), 1000).proportion_ci() for k in s]
    ratio = (upper - lower) / [interval.high - interval.low for interval in fixed]
    assert ratio[4] == pytest.approx(1.7775, abs=1e-4)
    assert 1.7 < ratio.min() < ratio.max() < 1.91


def play(means, level, steps, runs, rng):
    """Return which runs of an epsilon-greedy policy claim that a worse, or an equal, arm is better; and any.

    A run stops at its first claim: a lower end above the upper end of another arm.
    """
    n, s = np.tril_indices(steps + 1)
    tables = [np.full((steps + 1, steps + 1), np.nan) for _ in range(2)]
    for table, end in zip(tables, bounded(n, s / np.maximum(n, 1), 0, 1, level), strict=True):
        table[n, s] = end
    means, every = np.asarray(means), np.arange(runs)
    counts, sums = np.zeros((2, runs, len(means)), dtype=int)
    wrong, claimed = np.zeros((2, runs), dtype=bool)
    for _ in range(steps):
        greedy = (sums / np.maximum(counts, 1) + 1e-6 * rng.random(counts.shape)).argmax(axis=1)
        arms = np.where(rng.random(runs) < 0.2, rng.integers(len(means), size=runs), greedy)
        counts[every, arms] += 1
        sums[every, arms] += rng.random(runs) < means[arms]
        lower, upper = (table[counts, sums] for table in tables)
        claims = (lower[:, :, None] > upper[:, None, :]) & ~claimed[:, None, None]
        wrong |= (claims & (means[:, None] <= means)).any(axis=(1, 2))
        claimed |= claims.any(axis=(1, 2))
    return wrong, claimed


@pytest.mark.every(3)
@pytest.mark.parametrize("means", [(0.5, 0.5, 0.5), (0.05, 0.05), (0.3, 0.2, 0.3)])
def test_under_adaptive_allocation_false_claims_are_no_more_than_allowed(means):
    rng = np.random.default_rng(4)
    wrong, _ = play(means, 1 - 0.1 / len(means), 500, 2000, rng)
    assert within(wrong.sum(), 2000, 0.1)


def test_under_adaptive_allocation_a_large_gap_is_claimed_soon():
    wrong, claimed = play((0.2, 0.8), 0.975, 300, 1000, np.random.default_rng(5))
    assert claimed.mean() > 0.95
    assert wrong.sum() <= 1


# With nothing known.


def test_too_few_rewards_or_no_spread_say_nothing():
    lower, upper = asymptotic(
        [0, 1, MINIMUM - 1, MINIMUM, 500, 500], [math.nan, 3, 3, 3, 3, 3], [0, 0, 9, 9, 0, 1e-29]
    )
    assert np.isneginf(lower).tolist() == np.isposinf(upper).tolist() == [True, True, True, False, True, True]


def test_the_half_width_is_robbins_formula():
    for level in (0.8, 0.95, 0.999):
        for n in (30, 1000, 10**6):
            alpha = 1 - level
            r2 = (2 * math.log(1 / alpha) + math.log(1 + 2 * math.log(1 / alpha))) / TIGHTEST
            half = 2 * math.sqrt(2 * (n * r2 + 1) / (n * n * r2) * math.log(math.sqrt(n * r2 + 1) / alpha))
            ends = asymptotic(n, 5, 4 * (n - 1), level)
            assert ends == (pytest.approx(5 - half, rel=1e-12), pytest.approx(5 + half, rel=1e-12))


@pytest.mark.parametrize(("level", "loss"), [(0.9, 1e-4), (0.95, 1e-4), (0.99, 1e-4), (1 - 1e-6, 1e-6)])
def test_no_other_mixture_is_tighter_at_1000(level, loss):
    best = -special.lambertw(-((1 - level) ** 2) / math.e, -1).real
    half = asymptotic(TIGHTEST, 0, TIGHTEST - 1, level)[1]
    assert 0 <= half / math.sqrt(best / TIGHTEST) - 1 < loss


def test_asymptotic_moves_with_the_unit():
    n, mean, squares = np.array([30, 100, 7000]), np.array([0.25, -3, 8]), np.array([2.0, 100, 7])
    lower, upper = asymptotic(n, mean, squares)
    moved = asymptotic(n, -4 * mean + 2, 16 * squares)
    assert np.allclose(moved[0], -4 * upper + 2, rtol=1e-13)
    assert np.allclose(moved[1], -4 * lower + 2, rtol=1e-13)


@pytest.mark.parametrize(("p", "rate"), [(0.3, 0.0312), (0.02, 0.1170)])
def test_zero_one_rewards_are_missed_as_often_as_stated(p, rate):
    assert of_zero_one(asymptotic, p, MINIMUM, 2000) == pytest.approx(rate, abs=1e-4)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("draw", "mean", "stated"),
    [("normal", 0, 0.036), ("exponential", 1, 0.054), ("lognormal", math.exp(0.5), 0.098)],
)
def test_peeking_from_30_on_misses_as_often_as_stated(draw, mean, stated):
    runs, last = 500, 4000
    n = np.arange(1, last + 1)
    rewards = getattr(np.random.default_rng(6), draw)(size=(runs, last)) - mean
    means = rewards.cumsum(axis=1) / n
    squares = np.maximum((rewards * rewards).cumsum(axis=1) - n * means * means, 0)
    lower, upper = asymptotic(n, means, squares)
    misses = ((lower > 0) | (upper < 0)).any(axis=1).sum()
    assert within(misses, runs, stated)
    assert draw != "lognormal" or misses > 0.05 * runs


# Both.


@pytest.mark.parametrize("interval", [of_range, asymptotic])
def test_arrays_give_what_scalars_give(interval):
    n, mean, squares = (
        np.array([[0, 31], [40, 900]]),
        np.array([[0.0, 0.5], [0.3, 1.0]]),
        np.full((2, 2), 3.0),
    )
    together = interval(n, mean, squares)
    for where in np.ndindex(2, 2):
        alone = interval(int(n[where]), float(mean[where]), 3.0)
        assert [end[where] for end in together] == list(alone)
        assert alone[0].shape == ()
    assert interval([50, 60], 0.5, 3.0)[0].shape == (2,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((10, 0.5, 0, 1, 0), r"level must be in \(0, 1\), not 0"),
        ((10, 0.5, 0, 1, 1.0), r"level must be in \(0, 1\), not 1.0"),
        ((10, 0.5, 0, 1, "95"), "level must be a number"),
        ((10, 0.5, 1, 1), "high must be > 1"),
        ((10, 0.5, 0, math.inf), "high must be finite"),
        ((10, 0.5, -1.7e308, 1.7e308), "high - low must be finite"),
        ((-1, 0.5, 0, 1), "count must be whole numbers >= 0"),
        ((2.5, 0.5, 0, 1), "count must be whole numbers >= 0"),
        ((True, 0.5, 0, 1), "count must be a list of numbers"),
        ((10, math.nan, 0, 1), "mean.* must be finite"),
        ((10, "half", 0, 1), "mean must be a list of numbers"),
        (([10, 10], [0.5] * 3, 0, 1), "count, mean must have one shape"),
    ],
)
def test_bounded_refuses_bad_arguments(arguments, message):
    with pytest.raises(InvalidValueError, match=message):
        bounded(*arguments)


def test_asymptotic_refuses_bad_arguments():
    with pytest.raises(InvalidValueError, match=r"squares must be >= 0, not \[-1.0\]"):
        asymptotic([50], [0.5], [-1])
    with pytest.raises(InvalidValueError, match="level must be in"):
        asymptotic(50, 0.5, 3, 1.5)
    with pytest.raises(InvalidValueError, match=r"squares.* must be finite"):
        asymptotic(50, 0.5, math.inf)
