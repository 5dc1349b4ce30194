"""What the paper prints: values computed elsewhere, sums term by term, and beside the corrected bounds."""

import math

import numpy as np
import pytest

import brigand as br
from brigand.theory import Schedule, bounds, printed
from strength import runs


def two_levels(m, n_arms, gap=1.0):
    """Return an environment of one best arm and others that are all worse by the gap, with their m."""
    sigma = gap * math.sqrt(m / 8)
    arms = [br.Gaussian(0.0, sigma)] * (n_arms - 1) + [br.Gaussian(gap, sigma)]
    return br.Environment.stationary(arms)


def pulls(environment, policy, horizon, step=None):
    """Return name and version to the bound on the pulls of arm 0 after `step` steps."""
    found = bounds(environment, policy, horizon)
    return {
        (b.name, b.version): float(b.pulls(step or horizon)[0])
        for b in found
        if b.holds and b.speaks_of_pulls
    }


@pytest.mark.parametrize(("n_arms", "m", "value"), [(2, 2.0, 419), (10, 8.0, 4770)])
def test_corollary_2_has_the_values_of_the_page(n_arms, m, value):
    found = pulls(two_levels(m, n_arms), br.ForcedExploration(br.Linear()), 20_000)
    assert round(found["Corollary 2", "as printed"]) == value


@pytest.mark.parametrize(("sequence", "value"), [(br.Constant(), 4613.3), (br.Linear(), 1878.6)])
@pytest.mark.parametrize("breakpoints", [0, 1])
def test_theorem_2_has_the_values_of_the_page(sequence, value, breakpoints):
    """K = 2, m = 2, tau = 1000; and B tau."""
    sigma = 0.5
    rows = [
        [br.Gaussian(0, sigma), br.Gaussian(1, sigma)],
        [br.Gaussian(0.0, sigma), br.Gaussian(1.5, sigma)],
    ]
    environment = br.Environment.piecewise(rows[: breakpoints + 1], [1, 9001][: breakpoints + 1])
    found = pulls(environment, br.ForcedExploration(sequence, 1000), 20_000)
    assert found["Theorem 2", "as printed"] == pytest.approx(value + 1000 * breakpoints, abs=0.05)


def test_corollaries_1_and_4_to_6_are_their_formulas():
    horizon, tau, n_arms, m = 40_000, 2500, 3, 2.0
    environment = two_levels(m, n_arms)
    found = pulls(environment, br.ForcedExploration(br.Constant()), horizon)
    assert found["Corollary 1", "as printed"] == pytest.approx(200 * (1 + 8 * math.e) + 1)
    b = horizon / tau * (1 + 4 * math.log(tau))
    of_constant = b + 16 * (50 * 4 * math.e + 51)
    of_linear = b + 16 * (3 * 8 * math.exp(1.5) + 9 + math.sqrt(5000))
    a = math.exp(1 / math.log(tau))
    tail = sum((1 + (a - 1) * t / 4) ** (-math.log(tau) / m) for t in range(1, tau + 1))
    of_exponential = b + 16 * (m * math.exp(0.5) * tail + 5 * math.log(tau + 1) * math.log(tau))
    for name, sequence, value in (
        ("Corollary 4", br.Constant(), of_constant),
        ("Corollary 5", br.Linear(), of_linear),
        ("Corollary 6", br.Exponential(), of_exponential),
    ):
        found = pulls(environment, br.ForcedExploration(sequence, tau), horizon)
        assert found[name, "as printed"] == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("a", [1.01, 1.5, 3.0])
@pytest.mark.parametrize("m", [0.05, 1.0, 40.0, 1 / math.log(1.5)])
def test_the_sum_of_corollary_3_is_its_sum(a, m):
    steps = np.array([1, 2, 999, 1000, 1001, 5000, 300_000])
    terms = (1 + (a - 1) / 6 * np.arange(1, steps[-1] + 1)) ** (-1 / (m * math.log(a)))
    assert printed.power_sum(a, 5, m, steps) == pytest.approx(np.cumsum(terms)[steps - 1], rel=1e-9)


@pytest.mark.parametrize(
    "sequence",
    [br.Constant(), br.Constant(12.3), br.Constant(2.5), br.Linear(), br.Linear(0.7), br.Exponential(1.2)],
)
@pytest.mark.parametrize("n_arms", [1, 2, 5])
def test_lemma_3_counts_rounds(sequence, n_arms):
    horizon = 5000
    schedule, form = Schedule(sequence, n_arms, horizon), sequence.form(horizon)
    f = {br.Constant: lambda r: form.number, br.Linear: lambda r: form.number * r}.get(
        type(sequence), lambda r: form.number**r
    )
    t0, r = n_arms, 1
    while f(r) <= n_arms and r < 10_000:
        t0 += max(n_arms, math.ceil(f(r)) + 1)
        r += 1
    steps = np.array([1, 10, 100, 1000, 5000])
    found = printed.lemma_3(form, schedule, steps)
    for level, values in ((n_arms + 1, found.least), (n_arms, found.most)):
        first = next((r for r in range(1, 10_000) if f(r) >= level), None)
        for step, value in zip(steps, values, strict=True):
            if first is None:
                assert value == 0
                continue
            n, total = first - 1, 0.0
            while step > t0 and total + f(n + 1) <= step - t0:
                n += 1
                total += f(n)
            assert value == (n if step > t0 else 0)


def test_remark_1_is_above_the_corrected_corollary_where_m_is_below_log_t():
    """Also for m <= 1, where the paper says "obviously"."""
    for horizon in (1000, 100_000, 10**9):
        for n_arms in (2, 5, 20):
            for m in np.geomspace(0.01, math.log(horizon) - 1, 12):
                gap = math.sqrt(8 / m)
                arms = [br.Gaussian(0, 1)] * (n_arms - 1) + [br.Gaussian(gap, 1)]
                found = bounds(br.Environment.stationary(arms), br.ForcedExploration(), horizon)
                named = {(b.name, b.version): b for b in found}
                remark = named["Equation 13", "as printed"]
                assert remark.pulls(horizon)[0] >= named["Corollary 3", "corrected"].pulls(horizon)[0]


def random_setting(rng):
    """Return an environment and policy, with a window in every second case and changes in some, and T."""
    n_arms = int(rng.integers(2, 13 if rng.random() < 0.7 else 30))
    m = math.exp(rng.uniform(math.log(0.02), math.log(60)))
    a = 1 + math.exp(rng.uniform(-5, 0))
    sequence = [br.Constant(), br.Linear(), br.Exponential(), br.Exponential(a)][rng.integers(4)]
    if rng.random() < 0.5:
        horizon = int(math.exp(rng.uniform(math.log(30), math.log(1e7))))
        return two_levels(m, n_arms), br.ForcedExploration(sequence), horizon
    window = max(n_arms, int(math.exp(rng.uniform(math.log(5), math.log(5e4)))))
    horizon = window * int(rng.integers(1, 30))
    environment = two_levels(m, n_arms)
    if rng.random() < 0.3:
        (arms,) = environment.phases
        phases = [np.roll(np.array(arms, object), p).tolist() for p in range(3)]
        starts = sorted({1, *rng.integers(2, horizon + 2, 2).tolist()})
        environment = br.Environment.piecewise(phases[: len(starts)], starts)
    return environment, br.ForcedExploration(sequence, window), horizon


@pytest.mark.parametrize("part", range(5))
def test_no_corrected_bound_is_weaker_than_the_printed_one(part):
    """At T, and with a window at a multiple of it, and a <= 2."""
    rng = np.random.default_rng(part)
    for _ in range(runs(12, 400)):
        environment, policy, horizon = random_setting(rng)
        found = pulls(environment, policy, horizon)
        for (name, version), value in found.items():
            corrected = found.get((name, "corrected"))
            if version == "as printed" and corrected is not None and "Equation" not in name:
                assert corrected <= value * (1 + 1e-9), (name, environment, policy, horizon)


def test_theorem_2_as_printed_fails_within_a_window_and_the_corrected_one_does_not():
    environment = br.Environment.stationary([br.Gaussian(0, 1), br.Gaussian(math.sqrt(8), 1)])  # m = 1
    policy = br.ForcedExploration(br.Exponential(), window=1000)
    found = pulls(environment, policy, 100)
    measured = br.simulate(environment, {"x": policy}, 100, 400).dataset["pulls"].sel(step=100, arm=0)
    assert round(found["Theorem 2", "as printed"], 1) == 5.6
    assert (
        found["Theorem 2", "as printed"] < measured.min() <= measured.mean() < found["Theorem 2", "corrected"]
    )


def test_the_lower_bound_on_forced_pulls_fails_and_the_corrected_one_does_not():
    environment = two_levels(0.001, 2)
    policy = br.ForcedExploration(br.Constant(3))
    found = pulls(environment, policy, 12_000)
    measured = br.simulate(environment, {"x": policy}, 12_000, 1).dataset["pulls"].sel(step=12_000, arm=0)
    assert found["Equation 10", "as printed"] == 3999
    assert found["Equation 10", "corrected"] == 3000 == int(measured.squeeze())
