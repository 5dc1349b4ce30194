"""What the policies that look for changes have in common: rises and falls are alike, false alarms counted.

Measured with default tuning, in 10,000 steps of five Bernoulli arms. First two columns: all stay at 0.5 (2000
runs). Last two: share of runs with an alarm after one arm of the five has changed in the middle (400 runs).

    policy                        runs with an alarm   alarms a run   0.7 -> 0.3   0.3 -> 0.7
    CUSUM-UCB (changes=1)              100 %              19.4           100 %        100 %
    PHT-UCB (changes=1)                 99.95 %            8.2           100 %        100 %
    M-UCB (changes=1)                    0 %               0             100 %         98 %
    GLR-klUCB, local or global           0.05 %            0.0005        100 %         99 %
    AdSwitch                             0 %               0             100 %        100 %
    Ada-ILTCB+                           0 %               0               3 %          2 %

docs/detectors.md has more of them, of single arms, with delays. With h = log(T / changes) and eps = 0.05 the
walks of the first two reach h by chance: where the mean is known, after 1130 pulls of an arm on average
(Siegmund's approximation for Gaussian rewards of the same spread), which is 8.8 alarms in 10,000 steps.
CUSUM-UCB has more, because its level is the mean of M = 50 rewards, which is more than eps off in every
second case. With h = 30, 0.15 % of the runs of PHT-UCB and 93 % of those of CUSUM-UCB have an alarm; with eps
= 0.1, 40 % and 98 %; with eps = 0.1 and M = 200, 79 % of CUSUM-UCB's.
"""

import math

import numpy as np
import pytest
from scipy import stats

import brigand as br
from brigand.policies.changes import false_alarms
from brigand.policies.changes.ad_switch import AdSwitch
from brigand.policies.changes.ada_iltcb import AdaILTCB
from brigand.policies.changes.cusum_ucb import CUSUMUCB, PHTUCB
from brigand.policies.changes.glr_klucb import GLRKLUCB
from brigand.policies.changes.m_ucb import MUCB
from brigand.policies.kernels.divergences import negentropy
from brigand.spec import canonical
from policies.play import play
from strength import runs


def alarms(state):
    """Return how many alarms there were."""
    if "restarts" in state.arms.dtype.names:
        return int(state.arms["restarts"].sum())
    if "restarts" in state.header.dtype.names:
        return int(state.header["restarts"])
    return int(state.header["episode" if "episode" in state.header.dtype.names else "epoch"]) - 1


def alarm_steps(policy, rewards):
    """Pull the arms in turn; return the steps at which an alarm came, and the state at the end."""
    horizon, n_arms = rewards.size, rewards.shape[1]
    parameters, state = policy.parameters(n_arms, horizon), policy.start(n_arms, horizon)
    steps, before = [], 0
    for step, reward in enumerate(rewards.ravel(), start=1):
        arm = (step - 1) % n_arms
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, reward, step)
        if alarms(state) > before:
            before = alarms(state)
            steps.append(step)
    return steps, state


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "policy",
    [
        CUSUMUCB(changes=1),
        PHTUCB(changes=1),
        MUCB(400, changes=1),
        GLRKLUCB(),
        GLRKLUCB(local=False),
        AdSwitch(),
    ],
    ids=repr,
)
def test_rises_and_falls_are_seen_alike(policy):
    """One of two arms moves from 0.3 to 0.7: the rewards 1 - x give the same alarms at the same steps."""
    for seed in range(runs(1, 2)):
        means = np.repeat([[0.3, 0.5], [0.7, 0.5]], 1000, axis=0)
        rewards = (np.random.default_rng(seed).random(means.shape) < means).astype(float)
        rise, fall = (alarm_steps(policy, x)[0] for x in (rewards, 1.0 - rewards))
        assert rise == fall
        assert any(2000 < step < 4000 for step in rise)


def test_ad_switch_sees_an_eliminated_arm_rise_and_fall_alike():
    policy = AdSwitch(c1=1.0, checks_every=10, c2=0.05)
    rewards = np.tile([0.75, 0.25], (1000, 1))
    steps, state = alarm_steps(policy, rewards)
    assert steps == []
    assert state.arms["bad"].tolist() == [0, 1]
    change = np.where(np.arange(1000) < 600, 0.0, 0.2)[:, None] * [0, 1]
    rise, fall = (alarm_steps(policy, x)[0] for x in (rewards + change, rewards - change))
    assert rise == fall
    assert len(rise) == 1
    assert 1200 < rise[0] < 1500


def found(policy, before, after, n):
    """Return in how many runs there is an alarm when one arm of two changes, the other being at 0.5."""
    means = np.repeat([[before, 0.5], [after, 0.5]], 5000, axis=0)
    count = 0
    for seed in range(n):
        rewards = (np.random.default_rng(seed).random(means.shape) < means).astype(float)
        count += alarms(play(policy, rewards, key=seed, seed=seed + 10**6, compiled=True)[1]) > 0
    return count


@pytest.mark.full
def test_ada_iltcb_sees_rises_and_falls_alike():
    """Its weights are not those of 1 - x: 400 runs each, of which about half find the change.

    Fisher's exact test at level 1e-4.
    """
    policy = AdaILTCB(length=0.25)
    n = 400
    rise, fall = found(policy, 0.3, 0.7, n), found(policy, 0.7, 0.3, n)
    assert stats.fisher_exact([[rise, n - rise], [fall, n - fall]]).pvalue > 1e-4
    assert min(rise, fall) > n / 4
    assert found(policy, 0.5, 0.5, 100) == 0


@pytest.mark.parametrize(
    ("policy", "share", "number"),
    [
        (CUSUMUCB(changes=1), 1.0, 20.0),
        (PHTUCB(changes=1), 1.0, 8.5),
        *(
            pytest.param(policy, 0.005, 0.01, marks=pytest.mark.full)
            for policy in (MUCB(changes=1), GLRKLUCB(), AdSwitch(), AdaILTCB())
        ),
    ],
    ids=repr,
)
def test_false_alarms_are_no_more_frequent_than_stated(policy, share, number):
    """400 runs: binomial test of the share with an alarm, normal test of the mean number; level 1e-4 each.

    GLR-klUCB is the same with local and global restarts, up to the first alarm.
    """
    counts, n = [], runs(40, 400)
    for seed in range(n):
        rewards = (np.random.default_rng(seed).random((10_000, 5)) < 0.5).astype(float)
        counts.append(alarms(play(policy, rewards, key=seed, seed=seed + 10**6, compiled=True)[1]))
    some = int(np.count_nonzero(counts))
    assert stats.binomtest(some, n, share, alternative="greater").pvalue > 1e-4
    assert np.mean(counts) < number + 3.72 * np.std(counts) / math.sqrt(n)


# false_alarms: how often there may be one.

LEVEL = 0.05
BOUNDED = {
    "CUSUM": CUSUMUCB(0.0, false_alarms=LEVEL),
    "CUSUM, M = 200": CUSUMUCB(0.0, M=200, eps=0.0, false_alarms=LEVEL, low=-3, high=5),
    "PHT": PHTUCB(0.0, false_alarms=LEVEL),
    "PHT, eps = 0.15": PHTUCB(0.0, eps=0.15, false_alarms=LEVEL, low=-3, high=5),
    "PHT, eps = 0": PHTUCB(0.0, eps=0.0, false_alarms=LEVEL),
    "M-UCB": MUCB(200, gamma=0.0, false_alarms=LEVEL, low=-3, high=5),
    "GLR": GLRKLUCB(false_alarms=LEVEL),
    "GLR, all": GLRKLUCB(every=1, spacing=1, false_alarms=LEVEL, low=-3, high=5),
}
LAWS = {
    "Bernoulli(0.2)": lambda rng, n: (rng.random(n) < 0.2).astype(float),
    "Bernoulli(0.5)": lambda rng, n: (rng.random(n) < 0.5).astype(float),
    "uniform": lambda rng, n: rng.random(n),
    "clipped Gaussian": lambda rng, n: np.clip(rng.normal(0.5, 0.25, n), 0.0, 1.0),
}


def alarmed(policy, rewards):
    """Return whether there is an alarm among rewards in [0, 1] of a single arm."""
    scaled = (policy.low + (policy.high - policy.low) * rewards)[:, None]
    return alarms(play(policy, scaled, compiled=runs(False, True))[1]) > 0


@pytest.mark.every(4)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", BOUNDED)
def test_false_alarms_are_no_more_frequent_than_asked_for(name, law):
    """Binomial test at level 1e-4."""
    n, horizon = runs(8, 400), runs(500, 10_000)
    if name == "GLR":
        n = runs(5, 400)
    elif name == "GLR, all":  # a test after each reward, at each place
        n, horizon = runs(2, 400), runs(200, 1000)
    found = sum(alarmed(BOUNDED[name], LAWS[law](np.random.default_rng(seed), horizon)) for seed in range(n))
    assert stats.binomtest(found, n, LEVEL, alternative="greater").pvalue > 1e-4


@pytest.mark.parametrize(
    ("policy", "before", "after", "delay"),
    [
        (CUSUMUCB(0.0, false_alarms=LEVEL), 0.2, 0.9, 100),
        (PHTUCB(0.0, false_alarms=LEVEL), 0.3, 0.7, 250),
        (PHTUCB(0.0, eps=0.15, false_alarms=LEVEL), 0.3, 0.7, 120),
        (MUCB(200, gamma=0.0, false_alarms=LEVEL), 0.3, 0.7, 150),
        (GLRKLUCB(false_alarms=LEVEL), 0.3, 0.7, 130),
    ],
    ids=lambda given: given if isinstance(given, float) else type(given).__name__,
)
def test_changes_are_still_found_in_both_directions(policy, before, after, delay):
    for seed in range(runs(1, 3)):
        uniform, means = np.random.default_rng(seed).random(900), np.repeat([before, after], [500, 400])
        rewards = (uniform < means).astype(float)[:, None]
        rise, fall = (alarm_steps(policy, x)[0][0] for x in (rewards, 1.0 - rewards))
        assert rise == fall
        assert 500 < rise < 500 + delay


def test_the_published_thresholds_are_the_default():
    """And a policy without `false_alarms` has the JSON form, thus the random streams, that it always had."""
    for policy in (CUSUMUCB(changes=4), PHTUCB(changes=4), MUCB(changes=4), GLRKLUCB()):
        assert policy.false_alarms is None
        assert "false_alarms" not in canonical(policy)
        again = br.Policy.from_json(policy.to_json())
        assert again == policy
    assert canonical(PHTUCB(changes=4)) == (
        '{"alpha":null,"changes":4,"eps":0.05,"h":null,"high":1.0,"low":0.0,"type":"PHTUCB","xi":0.5}'
    )
    assert CUSUMUCB(changes=4).parameters(2, 4000).h == math.log(1000)
    assert MUCB(changes=4).parameters(2, 4000).b == math.sqrt(400 * math.log(4 * 4000**2))
    assert GLRKLUCB().parameters(2, 4000).log_delta == 0.5 * math.log(4000)
    asked = CUSUMUCB(changes=4, false_alarms=0.1)
    assert br.Policy.from_json(asked.to_json()) == asked
    assert asked.parameters(2, 4000).alpha == CUSUMUCB(changes=4).parameters(2, 4000).alpha


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CUSUMUCB(changes=1, false_alarms=0), r"CUSUMUCB's false_alarms must be in \(0, 1\], not 0"),
        (lambda: PHTUCB(changes=1, false_alarms=1.5), r"PHTUCB's false_alarms must be in \(0, 1\], not 1.5"),
        (lambda: PHTUCB(0.1, 2.0, false_alarms=0.1), "PHTUCB's false_alarms sets h: give one of them"),
        (lambda: MUCB(b=2.0, gamma=0.1, false_alarms=0.1), "MUCB's false_alarms sets b: give one of them"),
        (lambda: GLRKLUCB(delta=0.1, false_alarms=0.1), "GLRKLUCB's false_alarms sets delta: give one"),
        (lambda: CUSUMUCB(false_alarms=0.1), "CUSUMUCB needs alpha and h, or changes"),
        (
            lambda: CUSUMUCB(0.1, false_alarms=0.1).parameters(2, None),
            "false_alarms needs the horizon",
        ),
        (
            lambda: PHTUCB(0.1, false_alarms=0.1).parameters(2, None),
            "false_alarms needs the horizon",
        ),
    ],
)
def test_bad_false_alarms_are_refused(make, message):
    with pytest.raises(br.InvalidValueError, match=message):
        make()


# What the proofs in `false_alarms` rest on.


@pytest.mark.parametrize("p", [1e-6, 0.05, 1.0])
@pytest.mark.parametrize("steps", [1, 50, 3000])
@pytest.mark.parametrize("eps", [0.0, 1e-4, 0.05, 0.4])
def test_the_page_hinkley_bound_is_kept(eps, steps, p):
    """By the sum over all beginnings and ends itself; the threshold is at most 15 % larger than needed."""
    lengths = np.arange(1, steps + 1)

    def bound(h):
        return (2 * (steps + 1 - lengths) * np.exp(-2 * (h + eps * lengths) ** 2 / lengths)).sum()

    h = false_alarms.page_hinkley(p, steps, eps)
    assert bound(h) <= p * (1 + 1e-9)
    if steps == 3000 and eps > 0.01:
        assert bound(0.85 * h) > p


def test_distances_from_the_running_mean_add_up_to_few_squares():
    """The coefficients of x_1, ..., x_n in the sum of x_j - u_j over j = i + 1, ..., n."""
    for i, n in ((0, 1), (0, 20), (7, 20), (19, 20), (100, 300)):
        rows = np.eye(n) - np.tril(np.ones((n, n))) / np.arange(1, n + 1)[:, None]
        coefficients = rows[i:].sum(axis=0)
        expected = (1 - 1 / np.arange(i + 1, n + 1)).sum()
        assert coefficients @ coefficients == pytest.approx(expected)
        assert expected <= n - i


def test_the_mixture_of_likelihood_ratios_is_large_enough():
    """Beta(1/2, 1/2) mixed over s rewards of any sum, against exp(s kl(mean, mu)) / (2 sqrt(s))."""
    for s in (1, 2, 3, 10, 1000):
        for total in np.linspace(0, s, 41):
            mixture = log_beta(total, s) - math.log(math.pi)
            assert mixture >= s * negentropy(total / s) - math.log(2 * math.sqrt(s)) - 1e-9


def log_beta(total, s):
    return math.lgamma(total + 0.5) + math.lgamma(s - total + 0.5) - math.lgamma(s + 1)


@pytest.mark.parametrize("spacing", runs([7], [1, 7, 10]))
def test_the_likelihood_ratio_thresholds_are_large_enough(spacing):
    """1 / W summed over all places s, where W is what the threshold at the worst n > s allows."""
    for steps in (50, 1000, 10_000):
        delta = false_alarms.likelihood_ratio(LEVEL, steps, spacing)
        total = 0.0
        for s in range(spacing, steps, spacing):
            n = np.arange(s + 1, steps + 1)
            total += 1 / (3 * n**1.5 / delta / (4 * np.sqrt(s * (n - s)))).min()
        assert total <= LEVEL


def test_fewer_false_alarms_need_larger_thresholds():
    for p, q in ((0.5, 0.05), (0.05, 1e-6)):
        assert false_alarms.cusum(p, 1000, 50, 0.05)[0] < false_alarms.cusum(q, 1000, 50, 0.05)[0]
        assert false_alarms.cusum(p, 1000, 50, 0.6)[1] < false_alarms.cusum(q, 1000, 50, 0.6)[1]
        assert false_alarms.page_hinkley(p, 1000, 0.05) < false_alarms.page_hinkley(q, 1000, 0.05)
        assert false_alarms.window(p, 1000, 50) < false_alarms.window(q, 1000, 50)
        assert false_alarms.likelihood_ratio(p, 1000, 10) > false_alarms.likelihood_ratio(q, 1000, 10)
    assert false_alarms.cusum(0.05, 10_000, 10**9, 0.05)[0] == 0.05
