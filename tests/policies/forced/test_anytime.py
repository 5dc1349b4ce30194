"""`AnytimeExponential`: the definition, when it forces, what refuses it, and what docs/anytime.md says."""

import contextlib
import io
import math
import re
from pathlib import Path

import numpy as np
import pytest

import brigand as br
from brigand.policies.forced.sequences import value
from brigand.theory.forced_exploration import forced_exploration_bounds
from brigand.theory.sliding_window import sliding_window_bounds
from brigand.tuning.search import python_line, tabulate
from strength import runs

ANYTIME = br.AnytimeExponential()
POLICY = br.ForcedExploration(ANYTIME)
PAGE = Path(__file__).parents[3] / "docs" / "anytime.md"


def f(r, step):
    return value(*ANYTIME.form(None), np.zeros(0, [("f", float)]), 0, r, step)


def test_values_by_hand():
    """exp(r / log t), at most t, also where it overflows, and with less than 2 steps."""
    assert f(2, 55) == pytest.approx(math.exp(2 / math.log(55)), rel=1e-14)
    assert f(10, 22026) == pytest.approx(math.e, rel=1e-5)
    assert f(1, 3) == pytest.approx(2.4849169, rel=1e-7)
    assert [f(1, step) for step in (0, 1, 2)] == [0, 1, 2]
    assert f(5000, 100) == f(50, 100) == 100
    assert f(100, 22026) == pytest.approx(22026, rel=1e-4)
    assert f(100, 22025) == 22025
    assert f(100, 22028) < 22027


def defined(rewards, window=None):
    """Return the arms that FE pulls, by its definition, and the threshold after every step."""
    horizon, n_arms = rewards.shape
    last, seen, round_, threshold = [0] * n_arms, set(), 0, 0.0
    pulled, paid, thresholds = [], [], []
    for t in range(1, horizon + 1):
        oldest = min(range(n_arms), key=last.__getitem__)
        if last[oldest] == 0 or t - 1 - last[oldest] >= threshold:
            arm = oldest
        else:
            recent = list(zip(pulled, paid, strict=True))[-window if window else 0 :]
            means = [np.mean([x for a, x in recent if a == k]) for k in range(n_arms)]
            arm = int(np.argmax(means))
        pulled.append(arm)
        paid.append(rewards[t - 1, arm])
        last[arm] = t
        seen.add(arm)
        most = math.inf if window is None else window
        if len(seen) == n_arms:
            seen = set()
            round_ += 1
            threshold = max(threshold, min(math.exp(round_ / math.log(t)), t, most))
        if window is not None and t % window == 0:
            round_, threshold = 1, min(math.exp(1 / math.log(t)), t, most)
        thresholds.append(threshold)
    return pulled, thresholds


@pytest.mark.every(3)
@pytest.mark.parametrize("n_arms", [2, 3, 7])
@pytest.mark.parametrize("gap", [0.0, 0.3, 3.0])
def test_a_run_is_that_of_the_definition(n_arms, gap):
    for seed in range(3):
        rewards = np.random.default_rng(seed).normal(gap * np.arange(n_arms)[::-1], 1, (700, n_arms))
        assert br.trace(POLICY, rewards).tolist() == defined(rewards)[0]


@pytest.mark.parametrize("window", [10, 60, 333])
def test_with_a_window_t_goes_on_through_the_resets(window):
    for seed in range(3):
        rewards = np.random.default_rng(seed).normal([0.5, 0, 0.2], 1, (700, 3))
        policy = br.ForcedExploration(ANYTIME, window)
        assert br.trace(policy, rewards).tolist() == defined(rewards, window)[0]


def steps_of(n_arms, horizon, rewards, policy=POLICY, seed=0):
    """Yield step, arm and header of a run in plain Python; rewards may be None."""
    parameters, state = policy.parameters(n_arms, horizon), policy.start(n_arms, horizon)
    rng, candidates = np.random.default_rng(seed), np.arange(n_arms)
    select, pull, learn = policy.kernels[:3]
    for t in range(len(rewards)):
        arm = select(parameters, *state, candidates, rng)
        pull(parameters, *state, arm)
        if rewards[t] is not None:
            learn(parameters, *state, arm, rewards[t][arm], t + 1)
        yield t + 1, int(arm), state.header


@pytest.mark.every(2)
@pytest.mark.parametrize("n_arms", [2, 4])
def test_thresholds_never_decrease_within_a_run(n_arms):
    for seed in range(runs(4, 20)):
        table = np.random.default_rng(seed).normal(0, 1, (600, n_arms))
        thresholds = [float(header["threshold"]) for _, _, header in steps_of(n_arms, None, table)]
        assert (np.diff(thresholds) >= 0).all()
        assert thresholds == pytest.approx(defined(table)[1], rel=1e-12)


@pytest.mark.full
def test_a_threshold_is_kept_where_f_wants_to_decrease():
    """Two arms of which the one pulled last is always the worse alternate; the page has the numbers."""
    table = [[-(2.0**t)] * 2 if t <= 100 else [1e40, 1e40] for t in range(1, 36_101)]
    arms, begins = [], {}
    for t, arm, header in steps_of(2, None, table):
        arms.append(arm)
        begins.setdefault(int(header["round"]), (t, round(float(header["threshold"]))))
    assert arms[:101] == [0, 1] * 50 + [0]
    assert [begins[r] for r in range(50, 54)] == [(t, t) for t in (100, 201, 403, 807)]
    assert [begins[r] for r in (54, 59, 76)] == [(t, 1495) for t in (1615, 9100, 34_549)]
    assert begins[77] == (36_046, 1538)
    wanted = {t: f(r, t) for r, (t, _) in begins.items() if r >= 50}
    assert (round(wanted[9100]), min(wanted, key=wanted.get)) == (647, 100)
    assert wanted[9100] == min(wanted[t] for t in wanted if t > 1615)


@pytest.mark.parametrize(("n_arms", "leader"), [(2, 0), (2, 1), (5, 0), (5, 4)])
def test_after_1000_asks_without_a_reward_every_arm_is_pulled_again_as_soon(n_arms, leader):
    rewards = [None] * 1000 + [[float(arm == leader) for arm in range(n_arms)]] * 1001
    steps = [(arm, float(header["threshold"])) for _, arm, header in steps_of(n_arms, None, rewards)]
    assert steps[999][1] == 1000
    assert {arm for arm, _ in steps[1000:]} == set(range(n_arms))


@pytest.mark.every(5)
@pytest.mark.parametrize("n_arms", [2, 3, 10])
@pytest.mark.parametrize("kind", ["tied", "close", "none", "late", "worst last", "far"])
def test_in_every_run_thresholds_are_at_most_exp_sqrt_r(n_arms, kind):
    """So there are as many rounds as for that f at least, and every arm has a pull in each."""
    horizon, rng = 3000, np.random.default_rng(n_arms)
    table = {
        "tied": np.zeros((horizon, n_arms)),
        "close": (rng.random((horizon, n_arms)) < 0.02).astype(float),
        "none": [None] * horizon,
        "late": [None] * 200 + list(rng.normal(np.arange(n_arms), 1, (horizon - 200, n_arms))),
        "worst last": [[-(1.5 ** min(t, 500))] * n_arms for t in range(horizon)],
        "far": np.tile(np.arange(n_arms, dtype=float), (horizon, 1)),
    }[kind]
    fixed = br.theory.Schedule(br.Sequence(lambda r: math.exp(math.sqrt(r))), n_arms, horizon)
    least = fixed.rounds(np.arange(1, horizon + 1))
    pulls = np.zeros(n_arms, int)
    for (step, arm, header), floor in zip(steps_of(n_arms, None, table), least, strict=True):
        pulls[arm] += 1
        assert header["threshold"] <= math.exp(math.sqrt(header["round"]))
        assert floor <= header["round"] <= pulls.min(), step
    assert floor > 30


def ends(n_arms, steps):
    """Return the steps after which rounds 0, 1, ... are complete where one arm, not the last, leads."""
    found, threshold = [n_arms], 0.0
    while found[-1] <= steps:
        threshold = max(threshold, min(math.exp(len(found) / math.log(found[-1])), found[-1]))
        found.append(found[-1] + max(n_arms, math.ceil(threshold) + 1))
    return np.array(found)


@pytest.mark.parametrize("n_arms", [2, 3, 10])
def test_forced_pulls_where_one_arm_gets_all_greedy_ones(n_arms):
    """Arm k is forced at step k + 1, and then once a round."""
    horizon = 100_000
    arms = [br.Gaussian(mean, 1e-3) for mean in np.linspace(1, 0, n_arms)]
    run = br.simulate(br.Environment.stationary(arms), {"x": POLICY}, horizon, 3).dataset
    expected = [int((ends(n_arms, horizon) - n_arms + k + 1 <= horizon).sum()) for k in range(1, n_arms)]
    assert (run["forced"].sel(policy="x").to_numpy()[:, 1:] == expected).all()
    assert (run["pulls"].sel(policy="x", step=horizon).to_numpy()[:, 1:] == expected).all()


def test_rounds_of_one_leader_grow_as_the_formula_says():
    """r = u^2 - u log 2u + (log u) / 2 + o(log u), u = log t, up to t = 1e300."""
    for n_arms in (2, 5, 50):
        found = ends(n_arms, 10**300 if n_arms == 2 else 10**50)
        for exponent in (6, 12, 25, 49, *([100, 200, 299] if n_arms == 2 else [])):
            u = exponent * math.log(10)
            r = int((found <= 10.0**exponent).sum())
            assert abs(r - (u * u - u * math.log(2 * u) + math.log(u) / 2)) < 1.5


def test_with_one_leader_f_does_not_want_to_decrease():
    """Nor is the minimum t, except in round 1 of K = 2."""
    for n_arms in range(2, 60):
        t, f_before = n_arms, 0.0
        for r in range(1, 300):
            now = f(r, t)
            assert now >= f_before
            assert (now == t) == (n_arms == t == 2)
            t, f_before = t + max(n_arms, math.ceil(now) + 1), now


def test_no_horizon_is_needed_and_none_changes_anything():
    assert not ANYTIME.needs_span
    assert POLICY.must_know == "nothing"
    assert POLICY.parameters(3, None) == POLICY.parameters(3, 100) == POLICY.parameters(3, 10**9)
    table = np.random.default_rng(5).normal([0.2, 0, 0], 1, (500, 3))
    runs = [[arm for _, arm, _ in steps_of(3, horizon, table)] for horizon in (None, 500, 10**6)]
    assert runs[0] == runs[1] == runs[2]
    assert br.trace(POLICY, table)[:200].tolist() == br.trace(POLICY, table[:200]).tolist() == runs[0][:200]


def test_the_json_form_is_lossless():
    for policy in (POLICY, br.ForcedExploration(ANYTIME, 50, 0, 1)):
        assert br.Policy.from_json(policy.to_json()) == policy
    assert ANYTIME.to_json() == {"type": "AnytimeExponential"}


# What needs f beforehand


COINS = br.Environment.stationary([br.Bernoulli(0.4), br.Bernoulli(0.6)])


@pytest.mark.parametrize(
    "needs_f",
    [
        lambda: br.theory.Schedule(ANYTIME, 3, 100),
        lambda: br.theory.Schedule(ANYTIME, 3, 100, window=20),
        lambda: list(forced_exploration_bounds(COINS, POLICY, 100)),
        lambda: list(sliding_window_bounds(COINS, br.ForcedExploration(ANYTIME, 20), 100)),
    ],
)
def test_bounds_and_schedules_refuse_it(needs_f):
    with pytest.raises(
        br.InvalidValueError, match=r"AnytimeExponential\(\) has no schedule.*known beforehand"
    ):
        needs_f()


@pytest.mark.parametrize("window", [None, 20])
def test_only_the_bounds_for_every_policy_are_given(window):
    found = br.theory.bounds(COINS, br.ForcedExploration(ANYTIME, window), 100)
    assert [(b.name, b.kind) for b in found] == [(b.name, b.kind) for b in br.theory.lower_bounds(COINS)]


def test_it_is_stepped():
    with pytest.raises(br.InvalidValueError, match="'x' cannot be skipped"):
        br.simulate(COINS, {"x": POLICY}, 100, 2, method="skip")
    by_steps = br.simulate(COINS, {"x": POLICY}, 1000, 20, method="step").dataset
    auto = br.simulate(COINS, {"x": POLICY}, 1000, 20, method="auto").dataset
    assert auto["regret"].equals(by_steps["regret"])


def test_tuning_tabulates_it_as_it_is_with_one_leader():
    found = tabulate(ANYTIME, 10_000)
    begins = ends(2, 10_000)[:-1]
    assert len(found) == len(begins)
    expected = np.maximum.accumulate([f(r, int(t)) for r, t in enumerate(begins, start=1)])
    assert found == pytest.approx(expected.tolist(), rel=1e-12)
    assert python_line(ANYTIME) == "br.AnytimeExponential()"


# What the page says


def test_the_page_prints_its_table():
    text = PAGE.read_text(encoding="utf-8")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for block in re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL):
            exec(block, {})
    assert len(printed.getvalue().splitlines()) == 8
    assert printed.getvalue() in text


@pytest.mark.parametrize(
    ("n_arms", "pulls", "row"),
    [(2, 100, "100 | 37 | 50"), (2, 1000, "1,000 | 5.2e15 | 500"), (10, 1000, "1,000 | 1,392 | 100")],
)
def test_the_page_gives_the_threshold_after_pulls_without_rewards(n_arms, pulls, row):
    cells = []
    for policy in (POLICY, br.ForcedExploration(), br.ForcedExploration(br.Linear())):
        *_, (_, _, header) = steps_of(n_arms, 10**6, [None] * pulls, policy)
        cells.append(float(header["threshold"]))
    assert row in PAGE.read_text(encoding="utf-8")
    shown = [float(cell.replace(",", "")) for cell in row.split(" | ")]
    assert cells == pytest.approx(shown, rel=0.02)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("sequence", "pulls", "at_first"),
    [(ANYTIME, 3, 1000), (br.Exponential(), 0, 9000), (br.Linear(), 17, 500)],
)
def test_the_page_says_what_comes_after_1000_pulls_without_rewards(sequence, pulls, at_first):
    """Arm 0 gets the first reward: it is the better one, or else it leads until arm 1 is forced."""
    policy = br.ForcedExploration(sequence)
    arms = [arm for _, arm, _ in steps_of(2, 10**6, [None] * 1000 + [[1.0, 0.0]] * 9000, policy)]
    assert arms[1000] == 0
    assert arms[1000:].count(1) == pulls
    arms = [arm for _, arm, _ in steps_of(2, 10**6, [None] * 1000 + [[0.0, 1.0]] * 9000, policy)]
    assert abs([*arms[1000:], 1].index(1) - at_first) <= 1
