"""FE that forgets all at a change: against the definition, and its false alarms against what is proved."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import brigand as br
from brigand.policies.kernels.randomness import uniform_at
from policies.play import play
from strength import runs

KEY = 12345


class Arm:
    """An arm's rewards since the last restart, its reference and its evidence."""

    def __init__(self):
        self.rewards, self.reference = [], []
        self.evidence = {side * s: 0.0 for side in (1, -1) for s in (0.3, 0.9)}

    def add(self, reward, uniform, room):
        if len(self.reference) == room:
            self.reference = self.reference[room - room // 2 :]
            self.evidence = dict.fromkeys(self.evidence, 0.0)
        less = sum(other < reward for other in self.reference)
        equal = sum(other == reward for other in self.reference) + 1
        self.reference.append(reward)
        self.rewards.append(reward)
        x = 2 * (less + uniform * equal) / len(self.reference) - 1
        for s in self.evidence:
            self.evidence[s] = (self.evidence[s] + 1 / len(self.rewards)) * (1 + s * x)

    def side(self, sign):
        return (self.evidence[sign * 0.3] + self.evidence[sign * 0.9]) / 2

    @property
    def mean(self):
        return math.fsum(self.rewards) / len(self.rewards) if self.rewards else math.nan


REWARDS = {
    "binary": lambda rng, size: rng.integers(0, 2, size).astype(float),
    "few": lambda rng, size: rng.integers(-2, 3, size) / 10,
    "heavy": lambda rng, size: rng.standard_t(1.2, size),
    "moving": lambda rng, size: rng.normal(np.sign(np.sin(np.arange(size[0]) / 40))[:, None], 0.5, size),
}


@settings(max_examples=runs(10, 150), deadline=None, derandomize=True)
@given(
    alpha=st.sampled_from([0.1, 0.5, 1.0]),
    suspicion=st.sampled_from([0.3, 0.8, 1.5, math.inf]),
    room=st.sampled_from([2, 5, 64]),
    sequence=st.sampled_from([br.Power(2.0), br.Linear(), br.Constant(4)]),
    n_arms=st.integers(1, 4),
    kind=st.sampled_from(sorted(REWARDS)),
    delay=st.sampled_from([0, 1, 20]),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_choice_and_restart_follow_the_definition(
    alpha, suspicion, room, sequence, n_arms, kind, delay, seed
):
    rng = np.random.default_rng(seed)
    horizon = 300
    rewards = REWARDS[kind](rng, (horizon, n_arms))
    policy = br.RestartingForcedExploration(sequence, alpha, suspicion, room)
    parameters, state = policy.parameters(n_arms, None), policy.start(n_arms, None, KEY)
    arms, waiting, told, resets = [Arm() for _ in range(n_arms)], [], 0, 0
    last, seen, round_, since, again, favourite = [0] * n_arms, set(), 0, 0, -1, -1
    for t in range(1, horizon + 1):
        means = [arm.mean for arm in arms]
        assert state.arms["mean"].tolist() == pytest.approx(means, rel=1e-12, abs=1e-15, nan_ok=True)
        arm = policy.kernels.select(parameters, *state, np.arange(n_arms), rng)
        assert policy.kernels.propensity(parameters, *state, np.arange(n_arms), arm) > 0
        oldest = last.index(min(last))
        limit = sequence.form(None).number if isinstance(sequence, br.Constant) else round_
        limit = limit**2 if isinstance(sequence, br.Power) else limit
        due = [last[k] == 0 or t - 1 - last[k] >= (limit if round_ > 0 else 0) for k in range(n_arms)]
        if again >= 0:
            assert arm == again
        elif due[oldest] or not any(a.rewards for a in arms):
            assert arm == oldest
        else:
            assert means[arm] >= np.nanmax(means) - 1e-12

        policy.kernels.pull(parameters, *state, arm)
        if arm != again and not due[arm]:
            favourite = arm
        again = -1 if arm == again else again
        last[arm] = t
        seen.add(arm)
        if len(seen) == n_arms:
            seen, round_ = set(), round_ + 1
        waiting.append((t + rng.integers(0, delay + 1), t, arm, rewards[t - 1, arm]))
        rng.shuffle(waiting)
        for item in [item for item in waiting if item[0] <= t]:
            waiting.remove(item)
            _, step, arm, reward = item
            policy.kernels.learn(parameters, *state, arm, reward, step)
            if step <= since:
                continue
            told += 1
            arms[arm].add(reward, uniform_at(KEY, told), room)
            leads = arm == favourite
            evidence = arms[arm].side(-1 if leads else 1)
            if not leads and evidence >= n_arms * suspicion:
                again = arm
            elif again == arm:
                again = -1
            if evidence >= n_arms / alpha:
                arms, last, seen = [Arm() for _ in range(n_arms)], [0] * n_arms, set()
                round_, since, again, favourite, resets = 0, t, -1, -1, resets + 1
    assert state.header["restarts"] == resets


@pytest.mark.parametrize(
    "law",
    [
        lambda rng, size: rng.random(size) < 0.1,
        lambda rng, size: rng.standard_normal(size),
        lambda rng, size: rng.standard_t(1.1, size),
    ],
    ids=["Bernoulli", "Gaussian", "Student 1.1"],
)
@pytest.mark.parametrize(
    ("n_arms", "alpha", "n", "room"), [(1, 0.2, 60, 2048), (1, 0.5, 200, 8), (2, 0.4, 40, 64)]
)
def test_false_alarms_are_at_most_as_often_as_is_proved(law, n_arms, alpha, n, room):
    """Within the first n rewards of each arm, whatever they are: one-sided at 4 standard errors each."""
    number = runs(40, 1_000)
    rng = np.random.default_rng(0)
    policy = br.RestartingForcedExploration(br.Constant(2), alpha=alpha, room=room)
    alarms = 0
    for run in range(number):
        parameters, state = policy.parameters(n_arms, None), policy.start(n_arms, None, run)
        rewards = law(rng, (n_arms * n, n_arms)).astype(float)
        for step in range(n_arms * n):
            arm = policy.kernels.select(parameters, *state, np.arange(n_arms), rng)
            policy.kernels.pull(parameters, *state, arm)
            policy.kernels.learn(parameters, *state, arm, rewards[step, arm], step + 1)
            if state.header["restarts"] > 0:
                alarms += 1
                break
            if max(state.arms["count"]) == n:
                break
    bound = min((1 if n_arms == 1 else 2) * alpha * sum(1 / i for i in range(1, n + 1)), 1)
    assert alarms / number < bound + 4 * math.sqrt(bound * (1 - bound) / number)
    assert alarms > 0  # so that something is tested


def test_a_change_of_the_leader_is_found_and_all_is_forgotten():
    rng = np.random.default_rng(3)
    rewards = np.stack([rng.normal(1, 0.3, 800), rng.normal(0.5, 0.3, 800)], axis=1)
    rewards[400:, 0] -= 1.0
    parameters_at, states = [], []
    policy = br.RestartingForcedExploration()
    parameters, state = policy.parameters(2, None), policy.start(2, None, KEY)
    for step in range(1, 801):
        arm = policy.kernels.select(parameters, *state, np.arange(2), rng)
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, rewards[step - 1, arm], step)
        if step == 400:
            assert state.header["restarts"] == 0
        states.append(int(state.header["restarts"]))
        parameters_at.append(arm)
    assert states[430] == 1
    assert states[-1] == 1
    assert np.mean(parameters_at[500:]) > 0.9


def test_an_arm_that_rises_is_looked_at_again_at_once():
    policy = br.RestartingForcedExploration()
    parameters, state = policy.parameters(2, None), policy.start(2, None, KEY)
    rng = np.random.default_rng(4)
    for step in range(1, 1001):
        arm = policy.kernels.select(parameters, *state, np.arange(2), rng)
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, rng.normal(arm == 0, 0.1), step)
    while True:  # arm 1 pays more from here on: its forced pulls are looked into
        step += 1
        arm = policy.kernels.select(parameters, *state, np.arange(2), rng)
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, rng.normal(1.0 if arm == 0 else 2.0, 0.1), step)
        if state.header["again"] == 1:
            break
    assert policy.kernels.select(parameters, *state, np.arange(2), rng) == 1
    assert policy.kernels.select(parameters, *state, np.array([0]), rng) == 0
    assert policy.kernels.propensity(parameters, *state, np.arange(2), 1) == 1
    assert policy.kernels.propensity(parameters, *state, np.array([0]), 0) == 1
    said = policy.explain("b", state.header, state.arms[1], "")
    assert "seem larger than those before" in said.sentence
    assert policy.explain("a", state.header, state.arms[0], "") is None
    policy.kernels.miss(parameters, *state, 1)
    assert state.header["again"] == -1  # it missed its turn
    assert state.arms["again"].tolist() == [0, 0]


def test_a_fall_of_the_best_of_the_available_arms_is_found():
    """The leader of all arms is away."""
    rng = np.random.default_rng(6)
    policy = br.RestartingForcedExploration()
    parameters, state = policy.parameters(3, None), policy.start(3, None, KEY)
    fallen = []
    for step in range(1, 2001):
        there = np.arange(3) if step <= 200 else np.array([1, 2])
        arm = policy.kernels.select(parameters, *state, there, rng)
        if step > 200:
            policy.kernels.miss(parameters, *state, 0)
        policy.kernels.pull(parameters, *state, arm)
        mean = [0.9, 0.7 if step <= 1000 else 0.1, 0.4][arm]
        policy.kernels.learn(parameters, *state, arm, float(rng.random() < mean), step)
        fallen.append(arm == 1 and step > 1000)
    assert state.header["restarts"] >= 1
    assert sum(fallen) < 200


def test_rewards_of_before_a_restart_are_left_out():
    policy = br.RestartingForcedExploration(alpha=0.5)
    parameters, state = policy.parameters(1, None), policy.start(1, None, KEY)
    step = 0
    while state.header["restarts"] == 0:
        step += 1
        policy.kernels.pull(parameters, *state, 0)
        policy.kernels.learn(parameters, *state, 0, 10.0 - step, step)
    policy.kernels.pull(parameters, *state, 0)
    policy.kernels.learn(parameters, *state, 0, 5.0, step)
    assert state.arms["count"][0] == 0
    policy.kernels.learn(parameters, *state, 0, 5.0, step + 1)
    assert state.arms["count"][0] == 1


def test_nothing_is_told_of_the_scale_of_the_rewards():
    rewards = np.random.default_rng(5).normal(0, 1, (500, 3)) + np.repeat([[0, 1, 0], [2, 0, 0]], 250, axis=0)
    policy = br.RestartingForcedExploration()
    chosen, _ = play(policy, rewards)
    assert play(policy, 1024 * rewards)[0] == chosen
    assert play(policy, rewards / 4)[0] == chosen


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": math.nan}, "alpha"),
        ({"alpha": 1.5}, "alpha"),
        ({"suspicion": 0.0}, "suspicion"),
        ({"suspicion": math.nan}, "suspicion"),
        ({"room": 1}, "room"),
        ({"room": 2.5}, "room"),
        ({"sequence": 3}, "sequence"),
    ],
)
def test_bad_settings_are_refused(settings, words):
    with pytest.raises(br.BrigandError, match=words):
        br.RestartingForcedExploration(**settings)
