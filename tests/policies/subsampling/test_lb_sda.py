"""LB-SDA-LM and SW-LB-SDA: against slow references, the limits of memory and window, the authors' code."""

import math

import numpy as np
import pytest

import brigand as br
from brigand.policies.kernels.randomness import uniform_at
from brigand.policies.subsampling import lb_sda, sw_lb_sda
from brigand.policies.subsampling.lb_sda import LBSDALM
from brigand.policies.subsampling.sub_sampling import LBSDA
from brigand.policies.subsampling.sw_lb_sda import SlidingWindowLBSDA
from policies.play import play, regret
from strength import runs

POWERS = {"none": None, "sqrt_log": 0.5, "cbrt_log": 1 / 3}


def in_order(entrants, key, r, n_arms):
    return sorted(entrants, key=lambda k: uniform_at(key, r * (2 * n_arms + 1) + 1 + k))


def limited_memory(rewards, least, extra, power, key):
    horizon, n_arms = rewards.shape
    every, stores = [[] for _ in range(n_arms)], [[] for _ in range(n_arms)]
    chosen, r = [], 1
    while len(chosen) < horizon:
        leader = max(range(n_arms), key=lambda k: (len(every[k]), sum(every[k])))
        entrants = list(range(n_arms)) if r == 1 else []
        for k in set(range(n_arms)) - {leader} if r > 1 else ():
            mine, theirs = stores[k], stores[leader]
            if (power is not None and len(every[k]) < math.log(r) ** power) or (
                len(every[k]) < len(every[leader]) and np.mean(mine) >= np.mean(theirs[-len(mine) :])
            ):
                entrants.append(k)
        for k in in_order(entrants or [leader], key, r, n_arms):
            if len(chosen) < horizon:
                reward = rewards[len(chosen), k]
                if len(stores[k]) >= max(least, math.log(r) ** 2 + extra):
                    stores[k].pop(0)
                stores[k].append(reward)
                every[k].append(reward)
                chosen.append(k)
        r += 1
    return chosen


@pytest.mark.every(4)
@pytest.mark.parametrize("forced", ["none", "sqrt_log", "cbrt_log"])
@pytest.mark.parametrize(("least", "extra"), [(10, 0), (1, 0), (4.5, 3.0), (10, 50)])
def test_lm_is_its_definition_arm_by_arm(least, extra, forced):
    """The rewards change, so that every arm fills its memory."""
    for key in range(runs(1, 2)):
        rewards = np.random.default_rng(key).normal([0, 0.3, 0.5, 0.6], 1, (800, 4))
        rewards[300:] = rewards[300:, ::-1]
        chosen, _ = play(LBSDALM(least, extra, forced), rewards, key)
        assert chosen == limited_memory(rewards, least, extra, POWERS[forced], key)


@pytest.mark.every(3)
@pytest.mark.parametrize("forced", ["none", "sqrt_log", "cbrt_log"])
def test_unlimited_memory_is_lb_sda(forced):
    for key in range(runs(1, 3)):
        for rewards in (
            np.random.default_rng(key).normal([0, 0.3, 0.5, 0.6], 1, (400, 4)),
            (np.random.default_rng(key).random((400, 4)) < [0.2, 0.5, 0.5, 0.6]).astype(float),
        ):
            expected, _ = play(LBSDA(forced), rewards, key)
            assert play(LBSDALM(math.inf, forced=forced), rewards, key)[0] == expected
            assert play(LBSDALM(400, forced=forced), rewards, key)[0] == expected


def sliding_window(rewards, tau, power, key):
    """Return the arms, how often diversity added one, and how often the leader changed."""
    horizon, n_arms = rewards.shape
    pulls, chosen, r, leader, since, diverse, changes = [], [], 1, -1, 1, 0, 0
    last_round = [0] * n_arms
    few = math.log(tau) ** 2
    patience = int((n_arms - 1) * few)
    while len(chosen) < horizon:
        inside = [[x for k, x in pulls[-tau:] if k == arm] for arm in range(n_arms)]
        count = [len(x) for x in inside]
        share = min(r, tau) / n_arms
        allowed = range(n_arms)
        if leader >= 0 and count[leader] >= share / 2:
            active = (k for k in range(n_arms) if last_round[k] == r - 1 and count[k] >= share)
            allowed = {leader, *active}
        previous = leader
        if r > 1:
            leader = max(allowed, key=lambda k: (count[k], np.mean(inside[k]) if count[k] else 0))
        if leader != previous:
            since, changes = r, changes + 1
        idle = previous == leader and r - since >= patience and r - last_round[leader] > patience
        entrants = []
        for k in range(n_arms):
            if r == 1 or count[k] < math.log(tau) ** power:
                entrants.append(k)
            elif k != leader and idle and r - last_round[k] > patience and count[k] <= few:
                entrants.append(k)
                diverse += 1
            elif k != leader and count[k] > 0:
                block = inside[leader][-count[k] :] if count[k] < count[leader] else inside[leader]
                if np.mean(inside[k]) >= np.mean(block):
                    entrants.append(k)
        for k in in_order(entrants or [leader], key, r, n_arms):
            last_round[k] = r
            if len(chosen) < horizon:
                pulls.append((k, rewards[len(chosen), k]))
                chosen.append(k)
        r += 1
    return chosen, diverse, changes


@pytest.mark.every(2)
@pytest.mark.parametrize(("tau", "forced"), [(40, "cbrt_log"), (120, "sqrt_log"), (5, "cbrt_log")])
def test_sw_is_its_definition_arm_by_arm(tau, forced):
    for key in range(runs(1, 2)):
        rewards = np.random.default_rng(key).normal([0, 0.3, 0.5, 0.6], 0.7, (900, 4))
        rewards[400:] = rewards[400:, ::-1]
        expected, _, changes = sliding_window(rewards, tau, POWERS[forced], key)
        assert play(SlidingWindowLBSDA(tau, forced), rewards, key)[0] == expected
        assert changes > 2


def test_sw_diversity_is_its_definition_arm_by_arm():
    """A challenger that has become better is pulled alone until it leads: the rest must be tried again."""
    total = 0
    for key in range(runs(1, 3)):
        rewards = np.random.default_rng(key).normal([0, 0.3, 0.5], 0.2, (1500, 3))
        rewards[500:, 1] += 5
        expected, diverse, _ = sliding_window(rewards, 500, POWERS["cbrt_log"], key)
        assert play(SlidingWindowLBSDA(500), rewards, key)[0] == expected
        total += diverse
    assert total > 0


# The authors' code: rounds are counted from the first comparisons on.

CODED = {"none": 0.0, "sqrt_log": 0.5, "cbrt_log": 0.333}


def duels(rewards, key, decide, learned):
    """Return the arms of a game in which round r = 1 is the first after one pull of every arm.

    Random orders are those of the policy, whose number for that round is 2; arms are not tied.
    """
    horizon, n_arms = rewards.shape
    chosen, r, entrants = [], 1, in_order(range(n_arms), key, 1, n_arms)
    while len(chosen) < horizon:
        for k in entrants[: horizon - len(chosen)]:
            learned(r, k, rewards[len(chosen), k])
            chosen.append(k)
        if len(chosen) > n_arms:
            r += 1
        winners, leader = decide(r)
        entrants = in_order(winners, key, r + 1, n_arms) if winners else [leader]
    return chosen


def coded_limited_memory(rewards, least, extra, power, key):
    n_arms = rewards.shape[1]
    number, total, kept = [0] * n_arms, [0.0] * n_arms, [[] for _ in range(n_arms)]

    def learned(r, k, reward):
        number[k] += 1
        total[k] += reward
        if len(kept[k]) >= max(least, math.log(r) ** 2 + extra):
            kept[k].pop(0)
        kept[k].append(reward)

    def decide(r):
        leader = max(range(n_arms), key=lambda k: (number[k], total[k]))
        behind = [k for k in range(n_arms) if number[k] < number[leader]]
        few = math.log(r) ** power if power else 0.0
        last = kept[leader]
        return [
            k for k in behind if number[k] < few or np.mean(kept[k]) >= np.mean(last[-len(kept[k]) :])
        ], leader

    return duels(rewards, key, decide, learned)


def coded_sliding_window(rewards, tau, power, key):
    """Return the arms, and how often diversity added one."""
    n_arms = rewards.shape[1]
    pulls, last, everyone = [], [1] * n_arms, set(range(n_arms))
    state = {"leader": -1, "changed": 0, "won": everyone, "diverse": 0}
    few = math.log(tau) ** 2
    patience = int((n_arms - 1) * few)

    def learned(r, k, reward):
        pulls.append((k, reward))
        last[k] = r

    def decide(r):
        own = [[x for k, x in pulls[-tau:] if k == arm] for arm in range(n_arms)]
        size, before = [len(x) for x in own], state["leader"]
        allowed = everyone
        if size[before] >= min(r, tau) / (2 * n_arms):
            allowed = {k for k in state["won"] if size[k] >= min(r, tau) / n_arms} | {before % n_arms}
        leader = max(allowed, key=lambda k: (size[k], sum(own[k])))
        if leader != before:
            state["leader"], state["changed"] = leader, r
        won = {k for k in range(n_arms) if size[k] < math.log(tau) ** power}
        for k in everyone - won - {leader}:
            if np.mean(own[k]) >= np.mean(own[leader][-min(size[k], size[leader]) :]):
                won.add(k)
        if r - state["changed"] >= patience and r - last[leader] >= patience:
            late = {k for k in range(n_arms) if k != leader and r - last[k] >= patience and size[k] <= few}
            state["diverse"] += len(late - won)
            won |= late
        state["won"] = won
        return won, leader

    chosen = duels(rewards, key, decide, learned)
    return chosen, state["diverse"]


@pytest.mark.every(3)
@pytest.mark.parametrize("forced", POWERS)
@pytest.mark.parametrize(("least", "extra"), [(10, 0), (4.5, 3.0), (math.inf, 0.0)])
def test_lm_is_as_its_authors_code_where_that_is_asked_for(least, extra, forced):
    for key in range(runs(1, 2)):
        rewards = np.random.default_rng(key).normal([0, 0.3, 0.5, 0.6], 1, (800, 4))
        rewards[300:] = rewards[300:, ::-1]
        chosen, _ = play(LBSDALM(least, extra, forced, authors_code=True), rewards, key)
        assert chosen == coded_limited_memory(rewards, least, extra, CODED[forced], key)


def test_lm_is_not_as_its_authors_code_by_default():
    """Its forced exploration comes one round earlier: most games are other ones."""
    differ = 0
    for seed in range(20):
        rewards = np.random.default_rng(seed).random((60, 3))
        differ += play(LBSDALM(), rewards, seed)[0] != coded_limited_memory(rewards, 10, 0, 0.333, seed)
    assert differ > 10


@pytest.mark.every(2)
@pytest.mark.parametrize(("tau", "forced"), [(40, "cbrt_log"), (120, "sqrt_log"), (5, "cbrt_log")])
def test_sw_is_as_its_authors_code_where_that_is_asked_for(tau, forced):
    for key in range(runs(1, 2)):
        rewards = np.random.default_rng(key).normal([0, 0.3, 0.5, 0.6], 0.7, (900, 4))
        rewards[400:] = rewards[400:, ::-1]
        chosen, _ = play(SlidingWindowLBSDA(tau, forced, authors_code=True), rewards, key)
        assert chosen == coded_sliding_window(rewards, tau, CODED[forced], key)[0]


def test_sw_diversity_is_as_in_the_authors_code_where_that_is_asked_for():
    """As the test above of its own rule; the two rules give other games."""
    total, same = 0, 0
    for key in range(runs(1, 3)):
        rewards = np.random.default_rng(key).normal([0, 0.3, 0.5], 0.2, (1500, 3))
        rewards[500:, 1] += 5
        expected, diverse = coded_sliding_window(rewards, 500, CODED["cbrt_log"], key)
        assert play(SlidingWindowLBSDA(500, authors_code=True), rewards, key)[0] == expected
        total += diverse
        same += play(SlidingWindowLBSDA(500), rewards, key)[0] == expected
    assert total > 0
    assert same == 0


def test_the_cube_root_of_the_authors_code_matters_for_some_windows():
    """Three pulls are forced from a window of 2981 on, and in their code from 3032 on."""
    for window, ours, theirs in ((2980, 2, 2), (2981, 3, 2), (3031, 3, 2), (3032, 3, 3)):
        for coded, expected in ((False, ours), (True, theirs)):
            forced = SlidingWindowLBSDA(window, authors_code=coded).parameters(2, None).forced
            assert math.ceil(forced) == expected
            log = math.log(window)
            power = LBSDALM(authors_code=coded).parameters(2, None).forced
            assert math.ceil(log**power) == expected


def test_the_default_has_the_json_form_that_it_always_had():
    assert LBSDALM().to_json() == {"type": "LBSDALM", "least": 10.0, "extra": 0.0, "forced": "cbrt_log"}
    assert SlidingWindowLBSDA(9).to_json() == {
        "type": "SlidingWindowLBSDA",
        "window": 9,
        "forced": "cbrt_log",
    }
    for policy in (LBSDALM(authors_code=True), SlidingWindowLBSDA(9, authors_code=True)):
        assert br.Policy.from_json(policy.to_json()) == policy


def test_sums_of_the_ring_are_exact():
    """Against math.fsum, over several turns of the ring and scales; an outlier leaves no trace."""
    rng = np.random.default_rng(0)
    capacity = 7
    memory, rewards, lap = np.repeat(lb_sda.MEMORY, 2 * capacity), [], 0
    for i in range(60):
        rewards.append(1e150 if i == 20 else rng.normal())
        lap = lb_sda.push(memory, capacity, capacity, lap, rewards[-1])
        for size in range(1, min(capacity, len(rewards) + 1)):
            total, residue = lb_sda.last_sum(memory, capacity, capacity, lap, size)
            if not 20 <= i < 20 + 2 * capacity:
                assert total + residue == pytest.approx(math.fsum(rewards[-size:]), rel=1e-12, abs=1e-14)


@pytest.mark.full
def test_the_window_follows_a_change():
    environment = br.Environment.piecewise(
        [[br.Bernoulli(0.2), br.Bernoulli(0.5)], [br.Bernoulli(0.9), br.Bernoulli(0.5)]], starts=[1, 2001]
    )
    window, everything = (
        regret(environment, policy, 4000, 60)[:, -1].mean() for policy in (SlidingWindowLBSDA(500), LBSDA())
    )
    assert window < 150 < everything


@pytest.mark.full
@pytest.mark.parametrize(
    ("policy", "instance", "mean", "error"),
    [
        (LBSDALM(authors_code=True), (10, 100_000, 1, 1), 98.723, 2.164),
        (SlidingWindowLBSDA(536, authors_code=True), (5, 100_000, 4, 0), 2719.953, 11.766),
        (SlidingWindowLBSDA(100_000, authors_code=True), (10, 100_000, 1, 1), 99.838, 2.048),
    ],
    ids=["LM", "SW", "SW-T"],
)
def test_the_authors_own_code_gives_the_same_regret(policy, instance, mean, error):
    """Mean and standard error of their runs on Bernoulli arms; |z| < 4."""
    environment = br.random_environment("bernoulli", *instance)
    ours = regret(environment, policy, 100_000, 40)[:, -1]
    assert abs(ours.mean() - mean) < 4 * math.hypot(ours.std(ddof=1) / math.sqrt(40), error)


def test_the_window_holds_what_was_told_of_its_pulls():
    """The third arm's rewards never come; the others' wait up to 30 steps."""
    policy = SlidingWindowLBSDA(100)
    steps = runs(200, 1000)
    parameters, state = policy.parameters(3, 1000), policy.start(3, 1000, 5)
    rng = np.random.default_rng(0)
    pulled, told, waiting = [], {}, []
    for step in range(1, steps + 1):
        arm = policy.kernels.select(parameters, *state, np.arange(3), rng)
        policy.kernels.pull(parameters, *state, arm)
        pulled.append(arm)
        waiting.append((step, arm))
        rng.shuffle(waiting)
        for made, late in waiting[30:] if step % 3 else waiting[:5]:
            if late != 2:
                told[made] = [0.2, 0.8][late] + 0.1 * rng.standard_normal()
                policy.kernels.learn(parameters, *state, late, told[made], made)
            waiting.remove((made, late))
        check_window(policy, state, pulled, told)


def check_window(policy, state, pulled, told):
    first = max(0, len(pulled) - policy.window)
    arms, leader = state.arms, state.header["listed"]
    assert arms["recent_pulls"].tolist() == np.bincount(pulled[first:], minlength=3).tolist()
    if leader >= 0:
        rewards = [
            told[s] for s in range(first + 1, len(pulled) + 1) if pulled[s - 1] == leader and s in told
        ]
        assert arms["count"][leader] == len(rewards)
        for size in range(1, len(rewards) + 1):
            total, _ = sw_lb_sda.recent_sum(state.header, state.memory, leader, size)
            assert total == pytest.approx(np.sum(rewards[-size:]), rel=1e-12)


def test_the_sums_with_and_without_the_list_are_equal():
    policy = SlidingWindowLBSDA(50)
    parameters, state = policy.parameters(3, 200), policy.start(3, 200)
    rng = np.random.default_rng(0)
    for step in range(1, 120):
        arm = int(rng.integers(3))
        policy.kernels.pull(parameters, *state, arm)
        if step % 7:
            policy.kernels.learn(parameters, *state, arm, rng.normal(), step)
    for leader in range(3):
        sizes = range(1, int(state.arms["count"][leader]) + 1)
        state.header["listed"] = -1
        slow = [sw_lb_sda.recent_sum(state.header, state.memory, leader, n) for n in sizes]
        sw_lb_sda.relist(state.header, state.memory, leader)
        fast = [sw_lb_sda.recent_sum(state.header, state.memory, leader, n) for n in sizes]
        assert len(slow) > 5
        assert np.array(fast) == pytest.approx(np.array(slow), rel=1e-13, abs=1e-14)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LBSDALM(0.5), "LBSDALM's least must be >= 1, not 0.5"),
        (lambda: LBSDALM(extra=-1), "LBSDALM's extra must be in"),
        (lambda: LBSDALM(forced="log"), "LBSDALM's forced must be one of none, sqrt_log, cbrt_log"),
        (lambda: SlidingWindowLBSDA(0), "SlidingWindowLBSDA's window must be >= 1, not 0"),
        (lambda: SlidingWindowLBSDA(9.5), "window must be an integer"),
        (lambda: SlidingWindowLBSDA(9, "log"), "SlidingWindowLBSDA's forced must be one of"),
        (lambda: LBSDALM(authors_code=1), "LBSDALM's authors_code must be True or False, not 1"),
        (lambda: SlidingWindowLBSDA(9, authors_code="x"), "authors_code must be True or False, not 'x'"),
        (lambda: LBSDALM(math.inf).start(2, None), "LBSDALM with least = inf needs the horizon"),
    ],
)
def test_bad_settings_are_refused(make, message):
    with pytest.raises(br.InvalidValueError, match=message):
        make()


def test_memory_is_small_and_needs_no_horizon():
    assert len(LBSDALM().start(3, None).memory) < 3 * 1400
    assert len(LBSDALM().start(3, 100_000).memory) == 3 * (math.ceil(math.log(1e5) ** 2) + 1)
    assert len(SlidingWindowLBSDA(300).start(3, None).memory) == 301
    assert len(SlidingWindowLBSDA(300).start(3, 50).memory) == 51


@pytest.mark.every(3)
@pytest.mark.parametrize("forced", POWERS)
@pytest.mark.parametrize("window", [1, 2, 50])
def test_an_arm_that_has_left_the_window_is_pulled(forced, window):
    """Without that, no change of it would be seen: "none" pulled the arm that became best not once."""
    rewards = np.repeat([[0.9, 0.1], [0.1, 0.9]], 1000, axis=0)
    chosen = br.trace(SlidingWindowLBSDA(window, forced), rewards, compiled=False)
    for t in range(window, 2000):
        # A round begins before the window has moved, and may be as long as both arms.
        assert {0, 1} <= set(chosen[max(0, t - window - 1) : t + 2])
    if window == 50:
        assert (chosen[1000:] == 1).sum() > 800
