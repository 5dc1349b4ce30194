"""Means that move: their paths against plain Python, what regret is measured against by enumeration."""

import itertools
import json
import math
import pickle

import numpy as np
import pytest

import brigand as br
from brigand.environments.paths import BLOCK, MeanPath
from brigand.spec import Spec, canonical
from strength import runs

PATHS = {
    "table": br.MeanTable([[0.1, 0.9], [0.2, 0.3], [1.0, 0.0]] * 20),
    "linear": br.LinearMeans([0.2, 0.9], [0.01, -0.02], 0.0, 1.0),
    "one slope": br.LinearMeans([0.2, 0.3], 0.001),
    "seasonal": br.SeasonalMeans([0.5, 0.4], [0.3, 0.2], 25, [0, 0.25]),
    "walk": br.RandomWalkMeans([0.5, 0.9], [0.05, 0.3], seed=3),
    "switching": br.SwitchingMeans([[0.1, 0.9], [0.8, 0.3]], [[0.9, 0.1], [0.3, 0.7]], seed=5),
    "power": br.PowerMeans([1.0, 0.5], [0.5, 0.1], [0.0, 0.2]),
    "saturating": br.SaturatingMeans([1.0, 0.7], [0.01, 0.5]),
}
BY_HAND = {
    "table": lambda t, k: [(0.1, 0.9), (0.2, 0.3), (1.0, 0.0)][t % 3][k],
    "linear": lambda t, k: max(0.9 - 0.02 * t, 0.0) if k else min(0.2 + 0.01 * t, 1.0),
    "one slope": lambda t, k: (0.2, 0.3)[k] + 0.001 * t,
    "seasonal": lambda t, k: (0.5, 0.4)[k] + (0.3, 0.2)[k] * math.sin(2 * math.pi * (t / 25 + (0, 0.25)[k])),
    "power": lambda t, k: (t + 1) ** -0.1 * 0.5 + 0.2 if k else (t + 1) ** -0.5,
    "saturating": lambda t, k: (1.0, 0.7)[k] * (1 - math.exp(-(0.01, 0.5)[k] * (t + 1))),
}


def paths():
    return {cls.__name__ for cls in MeanPath.__subclasses__() if cls.__module__.startswith("brigand.")}


def test_every_path_is_among_those_tested_here():
    assert {type(path).__name__ for path in PATHS.values()} == paths() - {"MeanFunction"}


@pytest.mark.parametrize("name", BY_HAND)
def test_means_are_those_of_the_formula(name):
    expected = [[BY_HAND[name](t, k) for k in range(2)] for t in range(60)]
    np.testing.assert_allclose(PATHS[name].table(60), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", PATHS)
def test_a_longer_table_begins_with_a_shorter_one(name):
    path = PATHS[name]
    for short in (1, 7, 59):
        np.testing.assert_array_equal(path.table(short), path.table(60)[:short])


def test_drawn_paths_go_on_as_they_began_over_blocks_of_random_numbers():
    path = br.SwitchingMeans([[0.0], [1.0]], [[0.5, 0.5], [0.5, 0.5]])
    np.testing.assert_array_equal(path.table(BLOCK + 9)[: BLOCK - 3], path.table(BLOCK - 3))
    np.testing.assert_array_equal(path.table(2 * BLOCK)[: BLOCK + 9], path.table(BLOCK + 9))


@pytest.mark.parametrize("name", PATHS)
def test_worlds_come_back_from_json_and_pickles_unchanged(name):
    for noise in ("bernoulli", br.Gaussian(0, 0.1), ("exponential", None)):
        world = br.Restless(PATHS[name], noise)
        for read in (br.World, br.Restless, Spec):
            again = read.from_json(json.loads(json.dumps(world.to_json(), allow_nan=False)))
            assert again == world
            assert canonical(again) == canonical(world)
        world.table(40)
        assert "shared" not in world.to_json()
        assert pickle.loads(pickle.dumps(world)) == world


def test_worlds_differ_by_their_seed_and_instances_have_the_next_ones():
    world = br.Restless(br.RandomWalkMeans([0.5], 0.1, seed=4))
    other = world.instance(3)
    assert other.means.seed == 7
    assert canonical(other) != canonical(world)
    assert not np.array_equal(other.table(50), world.table(50))
    assert br.Restless(PATHS["linear"]).instance(3) == br.Restless(PATHS["linear"])
    stationary = br.Environment.stationary([br.Bernoulli(0.5)])
    assert stationary.instance(2) == stationary


def test_a_random_walk_has_the_law_of_one_that_is_reflected_at_each_step():
    """Kolmogorov-Smirnov tests at the last step. False alarm: 1e-6 in all."""
    from scipy import stats

    n, steps = runs(1000, 20_000), 40
    rng = np.random.default_rng(1)
    for low, high, first in [(0.0, 1.0, 0.3), (-math.inf, 1.0, 0.9), (0.0, math.inf, 0.1)]:
        found = br.RandomWalkMeans([first] * n, 0.2, low, high, seed=8).table(steps)
        assert (found >= low).all()
        assert (found <= high).all()
        walk = np.full(n, first)
        for _ in range(steps - 1):
            walk = walk + 0.2 * rng.standard_normal(n)
            while (walk < low).any() or (walk > high).any():  # a step may be longer than the interval
                walk = np.where(walk < low, 2 * low - walk, walk)
                walk = np.where(walk > high, 2 * high - walk, walk)
        assert stats.ks_2samp(found[-1], walk).pvalue > 1e-6 / 3


def test_a_free_random_walk_has_gaussian_steps():
    from scipy import stats

    path = br.RandomWalkMeans([0.0, 5.0], [1.0, 2.0], -math.inf, math.inf, seed=2)
    steps = np.diff(path.table(runs(2000, 50_000)), axis=0) / [1.0, 2.0]
    assert stats.kstest(steps.ravel(), "norm").pvalue > 1e-6  # the false alarm
    np.testing.assert_array_equal(path.table(1), [[0.0, 5.0]])


def test_states_follow_each_other_with_the_given_probabilities():
    """A chi-squared test of all transitions. False alarm: 1e-6."""
    from scipy import stats

    chances = np.array([[0.5, 0.25, 0.25], [0.0, 0.9, 0.1], [1.0, 0.0, 0.0]])
    path = br.SwitchingMeans([[0.0], [1.0], [2.0]], chances.tolist(), seed=1)
    chain = path.table(runs(3000, 100_000))[:, 0].astype(int)
    assert chain[0] == 0
    found = np.zeros((3, 3))
    np.add.at(found, (chain[:-1], chain[1:]), 1)
    assert (found[chances == 0] == 0).all()
    expected = found.sum(axis=1, keepdims=True) * chances
    with np.errstate(invalid="ignore"):
        distance = np.nansum(np.where(chances > 0, (found - expected) ** 2 / expected, 0))
    assert stats.chi2(3).sf(distance) > 1e-6


def test_dynamic_and_static_regret_are_measured_against_what_they_say():
    rng = np.random.default_rng(3)
    table = rng.random((50, 4))
    steps = np.array([1, 2, 17, 50])
    dynamic, static = (br.Restless(br.MeanTable(table), None, kind) for kind in ("dynamic", "static"))
    assert (dynamic.regret_kind, static.regret_kind) == ("dynamic", "static")
    best = [sum(max(row) for row in table[:t]) for t in steps]
    one = [max(table[:t].sum(axis=0)) for t in steps]
    worst = [sum(min(row) for row in table[:t]) for t in steps]
    np.testing.assert_allclose(dynamic.best_total(steps), best, rtol=1e-14)
    np.testing.assert_allclose(static.best_total(steps), one, rtol=1e-14)
    np.testing.assert_allclose(dynamic.worst_regret(steps), np.subtract(best, worst), rtol=1e-13)
    np.testing.assert_allclose(static.worst_regret(steps), np.subtract(one, worst), rtol=1e-13)
    np.testing.assert_allclose(dynamic.mean_gaps(17), best[2] / 17 - table[:17].mean(axis=0), rtol=1e-12)
    assert np.ndim(dynamic.best_total(7)) == 0


@pytest.mark.parametrize("step", [-1, 1], ids=["rotting", "rising"])
def test_policy_regret_is_measured_against_the_best_of_all_sequences_of_pulls(step):
    rng = np.random.default_rng(4)
    for n_arms, steps in [(1, 5), (2, 7), (3, 5)]:
        for _ in range(5):
            table = np.sort(rng.integers(-3, 8, (steps, n_arms)) / 4, axis=0)[::step]
            world = br.Rested(br.MeanTable(table), None)
            for t in range(1, steps + 1):
                totals = []
                for pulled in itertools.product(range(n_arms), repeat=t):
                    counts, total = [0] * n_arms, 0.0
                    for arm in pulled:
                        total += table[counts[arm], arm]
                        counts[arm] += 1
                    totals.append(total)
                assert world.best_total(t) == pytest.approx(max(totals), abs=1e-12)
                assert world.worst_regret(t) == pytest.approx(max(totals) - min(totals), abs=1e-12)


def test_arms_of_which_some_rise_and_some_fall_are_refused():
    world = br.Rested(br.MeanTable([[0.1, 0.9], [0.2, 0.8], [0.2, 0.7]]))
    with pytest.raises(br.InvalidValueError, match="after pull 1 arm 0 rises, and after pull 1 arm 1 falls"):
        world.best_total(3)
    assert world.best_total(1) == 0.9


BAD = {
    "NaN": (lambda: br.MeanTable([[0.1, math.nan]]), r"values\[0\]\[1\] must be finite, not nan"),
    "infinite": (lambda: br.MeanTable([[math.inf]]), r"values\[0\]\[0\] must be finite, not inf"),
    "empty": (lambda: br.MeanTable([]), "two-dimensional"),
    "no arms": (lambda: br.MeanTable([[], []]), "non-empty"),
    "ragged": (lambda: br.MeanTable([[1, 2], [3]]), "rows of equal length"),
    "words": (lambda: br.MeanTable([["a"]]), "a table of numbers"),
    "one row": (lambda: br.MeanTable([1, 2]), r"shape \(2,\)"),
    "slopes": (lambda: br.LinearMeans([0.1, 0.2], [1, 2, 3]), "or 2 as there are arms, not 3"),
    "range": (lambda: br.LinearMeans([0.1], 0, 1, 1), "low < high"),
    "period": (lambda: br.SeasonalMeans([0.1], 1, 0), "period must be > 0"),
    "sigma": (lambda: br.RandomWalkMeans([0.1], -1), ">= 0"),
    "outside": (lambda: br.RandomWalkMeans([1.5], 1), r"in \[0, 1\], not 1.5"),
    "seed": (lambda: br.RandomWalkMeans([0.5], 1, seed=-1), "seed must be >= 0"),
    "square": (lambda: br.SwitchingMeans([[0.1], [0.2]], [[0.5, 0.5]]), r"of shape \(2, 2\), not \(1, 2\)"),
    "sum": (lambda: br.SwitchingMeans([[0.1], [0.2]], [[0.5, 0.5], [1, 0.1]]), "sum to 1 in each row"),
    "negative": (lambda: br.SwitchingMeans([[0.1], [0.2]], [[0.5, 0.5], [1.5, -0.5]]), "sum to 1"),
    "rate": (lambda: br.SaturatingMeans([0.1], -1), "rate must be >= 0"),
    "means": (lambda: br.Restless([[0.5]]), "a path such as MeanTable"),
    "noise": (lambda: br.Restless(PATHS["walk"], "gauss"), "'bernoulli', 'exponential'"),
    "noise number": (lambda: br.Restless(PATHS["walk"], 0.1), r"Gaussian\(0, 0.1\)"),
    "noises": (lambda: br.Restless(PATHS["walk"], (None,)), "2 as there are arms, not 1"),
    "loads": (
        lambda: br.Restless(PATHS["walk"], shared=br.SharedNoise([1, 2, 3])),
        "2 as there are arms, not 3",
    ),
    "persistence": (lambda: br.SharedNoise(1, 1.0), "below 1"),
    "shared": (lambda: br.Restless(PATHS["walk"], shared=0.5), "a SharedNoise, not 0.5"),
    "regret": (lambda: br.Restless(PATHS["walk"], regret="weak"), "'dynamic' or 'static'"),
    "short": (lambda: br.Restless(PATHS["table"]).table(61), "60 rows, too few for a horizon of 61"),
    "long": (lambda: br.Restless(PATHS["walk"]).table(10**12), "more means than fit"),
    "above 1": (lambda: br.Restless(PATHS["one slope"]).table(1000), r"in \[0, 1\], but that of arm 0"),
    "below 0": (
        lambda: br.Restless(br.MeanTable([[1], [-1]]), "exponential").table(2),
        "arm 0 is -1 in row 2",
    ),
    "overflow": (lambda: br.LinearMeans([1e308], 1e308).table(3), "arm 0 is inf in row 2"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_not_a_world_is_refused_by_an_error_that_names_it(name):
    make, message = BAD[name]
    with pytest.raises(br.InvalidValueError, match=message):
        make()


def test_supports_are_those_of_the_noise_moved_to_the_means():
    path = br.MeanTable([[0.2, 0.5], [0.6, 0.1]])
    supports = {
        "bernoulli": [(0, 1), (0, 1)],
        "exponential": [(0, math.inf)] * 2,
        None: [(0.2, 0.6), (0.1, 0.5)],
        br.Uniform(-1, 3): [(-1.8, 2.6), (-1.9, 2.5)],
        br.Gaussian(0): [(-math.inf, math.inf)] * 2,
    }
    for noise, expected in supports.items():
        found = [(low, high) for _, low, high in br.Restless(path, noise).arm_supports(2)]
        np.testing.assert_allclose(found, expected, atol=1e-15)
    shared = br.Restless(path, None, shared=br.SharedNoise([0, 1])).arm_supports(2)
    assert [(low, high) for _, low, high in shared] == [(0.2, 0.6), (-math.inf, math.inf)]
    first = br.Restless(path, None).arm_supports(1)
    assert [(low, high) for _, low, high in first] == [(0.2, 0.2), (0.5, 0.5)]
