"""The simulator: same bits whatever the circumstances, exact regret, edges, errors, stopping."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import brigand as br
from brigand.simulation import run
from strength import runs

POLICIES = {
    "FE": br.ForcedExploration(),
    "SW": br.ForcedExploration(br.Linear(), window=50),
    "UCB1": br.UCB1(0, 1),
    "TS": br.ThompsonBeta(),
    **runs({}, {"eps": br.EpsilonGreedy()}),
}
MIXED = br.Environment.piecewise(
    [
        [br.Bernoulli(0.4), br.Beta(2, 5), br.Uniform(0, 1), br.ClippedGaussian(0.5, 0.3)],
        [br.FiniteSupport([0, 0.5, 1]), br.Bernoulli(0.6), br.Empirical([0.1, 0.9, 0.4]), br.Beta(0.5, 0.5)],
    ],
    starts=[1, 400],
)


def bits(results, policy="FE"):
    part = results.dataset.sel(policy=policy)
    return part["regret"].to_numpy().tobytes() + part["pulls"].to_numpy().tobytes()


@pytest.fixture(scope="module")
def whole():
    return br.simulate(MIXED, POLICIES, 1000, 20, seed=5, workers=1)


def test_the_number_of_workers_changes_nothing(whole):
    other = br.simulate(MIXED, POLICIES, 1000, 20, seed=5, workers=2)
    assert all(bits(whole, name) == bits(other, name) for name in POLICIES)


def test_other_policies_and_their_order_change_nothing(whole):
    turned = dict(reversed(POLICIES.items()))
    other = br.simulate(MIXED, turned, 1000, 20, seed=5)
    assert all(bits(whole, name) == bits(other, name) for name in POLICIES)
    alone = br.simulate(MIXED, {"x": POLICIES["TS"]}, 1000, 20, seed=5)
    assert bits(alone, "x") == bits(whole, "TS")


def test_a_subset_of_replications_is_a_slice(whole):
    part = br.simulate(MIXED, POLICIES, 1000, range(10, 20), seed=5)
    assert part.dataset["replication"].to_numpy().tolist() == list(range(10, 20))
    whole_part = br.Results(whole.dataset.sel(replication=slice(10, 19)))
    assert all(bits(part, name) == bits(whole_part, name) for name in POLICIES)


def test_checkpoints_and_horizon_do_not_change_the_path(whole):
    """FE's base depends on T, so a sequence without T is used for the second half."""
    few = br.simulate(MIXED, POLICIES, 1000, 20, seed=5, checkpoints=[7, 399, 400, 1000])
    for step in (7, 1000):
        assert np.array_equal(few.dataset["pulls"].sel(step=step), whole.dataset["pulls"].sel(step=step))
    linear = {"x": br.ForcedExploration(br.Linear())}
    long = br.simulate(MIXED, linear, 1000, 5, checkpoints=[300])
    short = br.simulate(MIXED, linear, 300, 5)
    assert np.array_equal(long.dataset["pulls"].sel(step=300), short.dataset["pulls"].sel(step=300))


def test_numpys_global_state_is_neither_used_nor_touched(whole):
    np.random.seed(99)  # noqa: NPY002 - the point of the test
    before = np.random.get_state()[1].tobytes()  # noqa: NPY002
    other = br.simulate(MIXED, POLICIES, 1000, 20, seed=5)
    assert np.random.get_state()[1].tobytes() == before  # noqa: NPY002
    assert all(bits(whole, name) == bits(other, name) for name in POLICIES)


def test_seeds_matter_and_0_is_one():
    zero = br.simulate(MIXED, POLICIES, 200, 3, seed=0)
    assert zero.seed == 0
    assert bits(zero) == bits(br.simulate(MIXED, POLICIES, 200, 3, seed=0))
    assert bits(zero) != bits(br.simulate(MIXED, POLICIES, 200, 3, seed=1))


def test_a_drawn_seed_is_recorded():
    drawn = br.simulate(MIXED, POLICIES, 200, 3, seed=None)
    again = br.simulate(MIXED, POLICIES, 200, 3, seed=drawn.seed)
    assert bits(drawn) == bits(again)
    assert drawn.seed != br.simulate(MIXED, POLICIES, 200, 3, seed=None).seed


def test_all_policies_meet_the_same_numbers():
    """Common random numbers: where two policies pull the same arm at the same step, it pays the same."""
    environment = br.Environment.stationary([br.Gaussian(0, 1)])
    same = br.simulate(environment, {"a": br.UCB1(0, 1), "b": br.ThompsonGaussian(1.0)}, 50, 2)
    assert (same.dataset["pulls"].sel(policy="a") == same.dataset["pulls"].sel(policy="b")).all()
    two = br.Environment.stationary([br.Bernoulli(0.5), br.Bernoulli(0.5)])
    table = br.simulate(two, {"a": br.ForcedExploration(), "b": br.ForcedExploration()}, 500, 5)
    assert (table.dataset["pulls"][0] == table.dataset["pulls"][1]).all()


def test_regret_is_the_sum_of_gaps_over_pulls(whole):
    """Exactly, from integer counts per phase: the two phases are run as environments of their own."""
    first = br.simulate(MIXED, POLICIES, 1000, 20, seed=5, checkpoints=[399])
    pulls = first.dataset["pulls"].to_numpy()
    before, after = pulls[:, :, 0], pulls[:, :, 1] - pulls[:, :, 0]
    gaps = MIXED.gaps
    expected = (before * gaps[0] + after * gaps[1]).sum(axis=-1)
    assert first.dataset["regret"].to_numpy()[:, :, -1] == pytest.approx(expected, rel=1e-13)
    assert (pulls.sum(axis=-1) == [399, 1000]).all()


def test_a_breakpoint_changes_reward_and_regret_at_its_step():
    environment = br.Environment.piecewise(
        [
            [br.FiniteSupport([0.0]), br.FiniteSupport([1.0])],
            [br.FiniteSupport([9.0]), br.FiniteSupport([1.0])],
        ],
        starts=[1, 11],
    )
    greedy = {"x": br.ForcedExploration(br.Constant(np.inf))}
    results = br.simulate(environment, greedy, 20, 1, checkpoints=list(range(1, 21)))
    assert results.dataset["regret"].to_numpy().ravel().tolist() == [1.0] * 10 + [
        1.0 + 8 * k for k in range(1, 11)
    ]


def test_the_oracle_has_no_regret_and_random_choice_the_mean_gap():
    """2000 x 1000 independent pulls: the regret within 4.5 standard errors, level 7e-6."""
    results = br.simulate(MIXED, {"o": br.oracle(), "r": br.UniformRandom()}, 1000, 2000)
    final = results.dataset["regret"].sel(step=1000)
    assert (final.sel(policy="o") == 0).all()
    random = final.sel(policy="r").to_numpy()
    expected = 399 * MIXED.gaps[0].mean() + 601 * MIXED.gaps[1].mean()
    assert abs(random.mean() - expected) < 4.5 * random.std() / np.sqrt(2000)


def test_replications_are_independent():
    """Counts of a fair arm over 4000 replications are binomial: chi-square of quartiles, level 1e-5."""
    environment = br.Environment.stationary([br.Bernoulli(0.5), br.Bernoulli(0.5)])
    pulls = br.simulate(environment, {"r": br.UniformRandom()}, 101, 4000).dataset["pulls"].to_numpy()
    cdf = stats.binom(101, 0.5).cdf(pulls[0, :, -1, 0])
    counts = np.histogram(cdf, bins=[0, 0.24, 0.46, 0.77, 1.01])[0]
    edges = stats.binom(101, 0.5).cdf(np.arange(102))
    chances = np.histogram(
        edges, bins=[0, 0.24, 0.46, 0.77, 1.01], weights=stats.binom(101, 0.5).pmf(np.arange(102))
    )[0]
    assert stats.chisquare(counts, 4000 * chances / chances.sum()).pvalue > 1e-5


@pytest.mark.parametrize("horizon", [1, 2, 3])
def test_fewer_steps_than_arms(horizon):
    results = br.simulate(MIXED, POLICIES, horizon, 4)
    assert (results.dataset["pulls"].sum("arm").sel(step=horizon) == horizon).all()
    assert (results.dataset["pulls"] == 0).any()
    assert results.summary()["mean"].notna().all()


def test_one_arm_has_no_regret():
    results = br.simulate(br.Environment.stationary([br.Bernoulli(0.3)]), POLICIES, 100, 3)
    assert (results.dataset["regret"] == 0).all()


@pytest.mark.parametrize("value", [1e290, 1e-300, -1e290, -7.0])
def test_rewards_of_any_size_work(value):
    arms = [br.FiniteSupport([value]), br.FiniteSupport([value / 2])]
    policies = {"FE": br.ForcedExploration(), "TS": br.ThompsonGaussian(), "UCB": br.UCB1(0, 1)}
    results = br.simulate(br.Environment.stationary(arms), policies, 1000, 2)
    assert np.isfinite(results.dataset["regret"]).all()
    best = 0 if value > 0 else 1
    assert (results.dataset["pulls"].sel(policy="FE", step=1000, arm=best) > 800).all()


def test_sums_that_would_overflow_are_refused():
    greedy = {"x": br.ForcedExploration()}
    for arm in (
        br.FiniteSupport([1e295]),
        br.FiniteSupport([1e305]),
        br.FiniteSupport([1.7e308, -1.7e308]),
        br.Gaussian(0, 1e304),
        br.Pareto(1.2, 1e299),
    ):
        with pytest.raises(br.InvalidValueError, match="more than policies can compute with"):
            br.simulate(br.Environment.stationary([arm]), greedy, 10_000, 1)
    with pytest.raises(br.InvalidValueError, match=r"the table may pay rewards of 1e\+308"):
        br.trace(br.ForcedExploration(), [[1e308]] * 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"environment": 3}, "environment must be an Environment"),
        ({"policies": {}}, "policies must be a dict"),
        ({"policies": [br.UCB1()]}, "policies must be a dict"),
        ({"policies": {"x": 3}}, "'x' must be a policy"),
        ({"policies": {3: br.UCB1()}}, "name must be a non-empty string, not 3"),
        ({"policies": {"a\0": br.UCB1()}}, r"cannot have lone surrogates or U\+0000, as 'a\\x00' has"),
        ({"policies": {"\ud800": br.UCB1()}}, "cannot have lone surrogates"),
        ({"horizon": 0}, "horizon must be >= 1, not 0"),
        ({"horizon": 10.5}, "horizon must be an integer, not 10.5"),
        ({"replications": 0}, r"replications must be in \[1, 10000000\], not 0"),
        ({"replications": 10**30}, r"replications must be in \[1, 10000000\]"),
        ({"replications": range(10**30)}, "there may be 10,000,000 replications, not all of range"),
        (
            {"replications": 10**7, "horizon": 10**9, "checkpoints": range(1, 10**6)},
            "do not fit into the memory",
        ),
        ({"replications": []}, "at least one replication"),
        ({"replications": [1, 1]}, "replications must be distinct"),
        ({"replications": [-1]}, "must be >= 0, not -1"),
        ({"seed": 1.5}, "seed must be an integer, not 1.5"),
        ({"seed": "0"}, "seed must be an integer, not '0'"),
        ({"seed": True}, "seed must be an integer, not True"),
        ({"seed": -1}, "seed must be >= 0, not -1"),
        ({"workers": 0}, "workers must be >= 1, not 0"),
        ({"checkpoints": 5}, "checkpoints must be a list of steps, not 5"),
        ({"checkpoints": [0]}, r"a checkpoint must be in \[1, 10\], not 0"),
        ({"checkpoints": [11]}, r"a checkpoint must be in \[1, 10\], not 11"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    good = {"environment": MIXED, "policies": POLICIES, "horizon": 10, "replications": 1}
    with pytest.raises(br.InvalidValueError, match=message):
        br.simulate(**good | arguments)


def test_replications_may_be_any_iterable_or_numpy_number():
    for replications in (np.array(3), np.int64(3), [0, 1, 2], np.arange(3), iter(range(3))):
        results = br.simulate(MIXED, {"x": br.UCB1()}, 20, replications)
        assert results.dataset["replication"].to_numpy().tolist() == [0, 1, 2]


def test_settings_of_any_number_type_work():
    sequence = br.Linear(Fraction(1, 2), shift=np.uint64(1))
    policies = {
        "SW": br.ForcedExploration(sequence, window=np.uint64(50), reset_round=np.uint64(1)),
        "eps": br.EpsilonGreedy(c=Fraction(5), d=Fraction(1, 10)),
        "ETC": br.ExploreThenCommit(np.int8(3)),
    }
    arms = [br.Beta(Fraction(1, 2), 1), br.Gaussian(np.float32(0.5), np.int64(1))]
    br.simulate(br.Environment.stationary(arms), policies, 200, 2)


def test_a_policy_refuses_rewards_it_cannot_work_with():
    environment = br.Environment.stationary([br.Bernoulli(0.4), br.Gaussian(0.5, 0.2)])
    with pytest.raises(br.UnsupportedRewardError, match=r"ThompsonBeta needs rewards in \[0, 1\], but arm 1"):
        br.simulate(environment, {"TS": br.ThompsonBeta()}, 10, 1)
    br.simulate(environment, {"UCB1": br.UCB1(0, 1)}, 10, 1)


def test_progress_counts_runs_up_to_all():
    seen = []
    br.simulate(MIXED, POLICIES, 100, 7, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (7 * len(POLICIES), 7 * len(POLICIES))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_an_error_in_one_run_ends_the_others_and_is_raised():
    def fail(done, total):
        raise ZeroDivisionError

    before = threading.active_count()
    with pytest.raises(ZeroDivisionError):
        br.simulate(MIXED, POLICIES, 100_000, 500, progress=fail)
    assert threading.active_count() == before


def test_ctrl_c_stops_soon_and_leaves_no_file(tmp_path):
    code = textwrap.dedent("""
        import signal
        import brigand as br
        # A runner in the background may have had Ctrl-C ignored, which processes inherit.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        environment = br.random_environment("bernoulli", 10, 10**6, seed=1)
        br.simulate(environment, {"x": br.ForcedExploration()}, 100, 1)
        print("ready", flush=True)
        br.simulate(environment, {"x": br.ForcedExploration()}, 10**6, 100_000).save("x.nc")
    """)
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("policy", "reward", "match"),
    [
        (br.ThompsonBeta(), 1.5, r"ThompsonBeta needs rewards in \[0, 1\], but arm 2 at step 4 pays 1.5\.$"),
        (br.ThompsonBeta(), -0.25, r"but arm 2 at step 4 pays -0.25\.$"),
        (br.UCB1(0, 1), np.nan, "arm 2 pays nan at step 4"),
    ],
)
def test_an_error_of_a_table_names_the_arm_and_the_step(policy, reward, match):
    rewards = np.full((5, 3), 0.5)
    rewards[3, 2] = reward
    with pytest.raises(br.InvalidValueError, match=match):
        br.trace(policy, rewards)


def test_a_run_that_takes_hours_says_so_and_what_would_not(monkeypatch):
    monkeypatch.setattr(run, "run_all", lambda *_: None)
    env = br.Environment.stationary([br.Bernoulli(0.4), br.Bernoulli(0.6)])
    policies = {"FE": br.ForcedExploration(br.Linear()), "U": br.UCB1(0, 1)}
    with pytest.warns(UserWarning, match=r"2e\+12 steps.* take about 8 hours.*method='skip' .* for 'FE'\.$"):
        br.simulate(env, policies, 10**12, 1, workers=2)
    br.simulate(env, policies, 10**9, 2, workers=2)
    br.simulate(env, {"FE": policies["FE"]}, 10**12, 1, method="skip")


def test_results_know_their_configuration():
    env = br.Environment.stationary([br.Bernoulli(0.4), br.Bernoulli(0.6)])
    policies = {"R": br.UniformRandom()}
    first, same, *others = (
        br.simulate(env, policies, 20, 2, seed, method=method).configuration
        for seed, method in ((0, "step"), (0, "auto"), (1, "step"))
    )
    assert first == same
    assert len(first) == 64
    assert first not in others
