"""Decisions are explained by what the policy knows, not by what it has forgotten."""

import math

import numpy as np
import pytest

import brigand as br
from brigand.policies.base import all_rewards
from brigand.testing.base import fit
from live.common import MEANS, POLICIES, arms
from strength import LIVE, runs, some

FORGETFUL = {
    "SW-UCB": br.SlidingWindowUCB(window=40),
    "SW-KL-UCB": br.SlidingWindowKLUCB(window=40, low=-1, high=2),
    "SW-TS": br.SlidingWindowThompson(40, low=-1, high=2),
    "SW-TS-Gaussian": br.SlidingWindowThompsonGaussian(40, 0.5),
    "SW-LB-SDA": br.SlidingWindowLBSDA(40),
    "SW-FE": br.ForcedExploration(br.Linear(), window=40),
    "D-UCB": br.DiscountedUCB(0.9),
    "D-TS": br.DiscountedThompson(0.9, low=-1, high=2),
    "LB-SDA-LM": br.LBSDALM(),
    "CUSUM-UCB": br.CUSUMUCB(changes=9, M=5, low=-1, high=2),
    "PHT-UCB": br.PHTUCB(changes=9, low=-1, high=2),
    "M-UCB": br.MUCB(10, b=2.0, gamma=0.3, low=-1, high=2),
    "GLR-klUCB-local": br.GLRKLUCB(delta=0.9, every=2, spacing=2, low=-1, high=2),
    "GLR-klUCB-global": br.GLRKLUCB(False, delta=0.9, every=2, spacing=2, low=-1, high=2),
    "AdSwitch": br.AdSwitch(0.2, 10, 0.05, low=-1, high=2),
    "Ada-ILTCB+": br.AdaILTCB(0.2, 0.1, 0.25, low=-1, high=2),
}


def known(bandit):
    """Return the policy's estimate of every arm in service, and the number of rewards in it."""
    with bandit._session.reading() as session:
        engine, policy = session.engine, bandit.policy
    if policy.kernels.estimate is all_rewards:
        return {name: tuple(engine.ledger[row][["mean", "told"]]) for name, row in engine.row_of.items()}
    state = engine._parameters, engine.header[0], engine.arms, engine.memory
    return {name: policy.kernels.estimate(*state, row) for name, row in engine.row_of.items()}


@pytest.mark.parametrize("name", some(POLICIES, LIVE))
def test_a_pull_explores_unless_its_arm_is_the_best_the_policy_knows(name):
    """Rewards change, some come late or never, and not every arm is always available."""
    policy, rng = POLICIES[name], np.random.default_rng(11)
    forced = "forced" in policy.arm.dtype.names
    bandit = br.Bandit(arms(3), policy, seed=4, horizon=600)
    waiting, explored = [], {arm: 0 for arm in arms(3)}
    for step in range(runs(300, 600)):
        among = [arm for arm in arms(3) if rng.random() < 0.9] or arms(3)
        there = {arm: estimate for arm, (estimate, _) in known(bandit).items() if arm in among}
        count = known(bandit)
        decision = bandit.ask(among=among)
        explored[decision.arm] += decision.explored
        best = max((value for value in there.values() if not math.isnan(value)), default=math.inf)
        ties = sum(value == best for value in there.values())
        if forced and decision.data["kind"] == "forced":
            assert decision.explored
        elif forced and count[decision.arm][1] == 0:
            assert not decision.explored
        else:
            assert decision.explored == (there[decision.arm] != best), decision.reason
            assert decision.data["kind"] == ("explored" if decision.explored else "greedy")
            assert decision.data.get("tied", 0) == (0 if decision.explored else ties - 1)
            words = f"highest {policy.estimated.name}"
            assert math.isnan(there[decision.arm]) or words in decision.reason
        mean = MEANS[(arms(3).index(decision.arm) + step // 150) % 3]
        waiting.append((decision, float(fit(policy, float(rng.random() < mean)))))
        for late in [pair for pair in waiting if rng.random() < 0.7]:
            waiting.remove(late)
            bandit.tell(*late)
    summary = bandit.summary()
    np.testing.assert_allclose(summary["explored"] * summary["asked"], list(explored.values()), atol=1e-9)


@pytest.mark.every(3)
@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_that_keeps_its_own_mean_is_explained_by_it(name):
    """Estimates, by kernels in plain Python: those of policies that forget nothing are all rewards' means."""
    policy, rng = POLICIES[name], np.random.default_rng(2)
    parameters, state = policy.parameters(3, 300), policy.start(3, 300, key=5)
    paid, kernels = [[], [], []], policy.kernels
    for step in range(1, 301):
        arm = int(kernels.select(parameters, *state, np.arange(3), rng))
        before = state.header.tobytes(), state.arms.tobytes(), state.memory.tobytes()
        for other in range(3):
            number = kernels.estimate(parameters, *state, other)[1]
            assert isinstance(number, float)
            assert number >= 0
            if kernels.estimate is all_rewards and "mean" in state.arms.dtype.names and paid[other]:
                low, width = getattr(parameters, "low", 0.0), getattr(parameters, "width", 1.0)
                width = width if hasattr(parameters, "low") else 1.0
                own = low + width * state.arms[other]["mean"]
                assert math.isclose(own, np.mean(paid[other]), rel_tol=1e-9), "it keeps another mean"
        assert before == (state.header.tobytes(), state.arms.tobytes(), state.memory.tobytes())
        kernels.pull(parameters, *state, arm)
        reward = float(fit(policy, float(rng.random() < MEANS[(arm + step // 100) % 3])))
        kernels.learn(parameters, *state, arm, reward, step)
        paid[arm].append(reward)


def remembered(name, policy, history, state, before):
    """Return the rewards that the policy should remember of each arm, with weights: from the history alone.

    Of those that look for changes, an arm is known to remember all since it last knew nothing: `before`.
    """
    n = len(history)
    window, gamma = getattr(policy, "window", None), getattr(policy, "gamma", None)
    for place, (arm, reward) in enumerate(history):
        age = n - 1 - place
        if window is not None:
            weight = float(age < window)
        elif name in ("D-UCB", "D-TS"):
            weight = gamma**age
        elif name == "LB-SDA-LM":
            weight = float(sum(a == arm for a, _ in history[place + 1 :]) < state.arms[arm]["kept"])
        else:
            weight = float(place >= before[arm])
        yield arm, reward, weight


@pytest.mark.every(6)
@pytest.mark.parametrize("name", [name for name in FORGETFUL if name != "Ada-ILTCB+"])
def test_estimates_are_of_what_is_not_forgotten(name):
    """Against weighted means over the history; rewards are the ends of the range, so that ones stay ones."""
    policy, rng = FORGETFUL[name], np.random.default_rng(3)
    parameters, state = policy.parameters(2, 400), policy.start(2, 400, key=5)
    history, before, forgot = [], [0, 0], 0
    for step in range(1, 401):
        arm = int(policy.kernels.select(parameters, *state, np.arange(2), rng))
        policy.kernels.pull(parameters, *state, arm)
        mean = (0.2, 0.8)[(arm + step // 100) % 2]
        reward = float(fit(policy, float(rng.random() < mean)))
        policy.kernels.learn(parameters, *state, arm, reward, step)
        history.append((arm, reward))
        for other in range(2):
            if policy.kernels.estimate(parameters, *state, other)[1] == 0:
                before[other] = step
        sums, weights = [0.0, 0.0], [0.0, 0.0]
        for other, paid, weight in remembered(name, policy, history, state, before):
            sums[other] += weight * paid
            weights[other] += weight
        for other in range(2):
            estimate, number = policy.kernels.estimate(parameters, *state, other)
            np.testing.assert_allclose(number, weights[other], rtol=1e-9, atol=1e-12)
            if weights[other] > 0:
                np.testing.assert_allclose(estimate, sums[other] / weights[other], rtol=1e-9, atol=1e-9)
            else:
                assert math.isnan(estimate)
            forgot += number < sum(a == other for a, _ in history)
    assert forgot > 20


def test_estimates_of_ada_iltcb_are_weighted_means_of_the_epoch():
    policy, rng = FORGETFUL["Ada-ILTCB+"], np.random.default_rng(3)
    parameters, state = policy.parameters(2, 2000), policy.start(2, 2000, key=5)
    totals, epoch, began = [0.0, 0.0], 1, 0
    for step in range(1, 2001):
        arm = int(policy.kernels.select(parameters, *state, np.arange(2), rng))
        share = state.arms["probability"][arm] / state.arms["probability"].sum()
        policy.kernels.pull(parameters, *state, arm)
        x = float(rng.random() < (0.1, 0.9)[(arm + step // 700) % 2])
        totals[arm] += x / share
        policy.kernels.learn(parameters, *state, arm, -1 + 3 * x, step)
        if state.header["epoch"] > epoch:
            epoch, totals, began = state.header["epoch"], [0.0, 0.0], step
        for other in range(2):
            estimate, steps = policy.kernels.estimate(parameters, *state, other)
            assert steps == step - began
            if steps:
                np.testing.assert_allclose(estimate, -1 + 3 * totals[other] / steps, rtol=1e-9)
            else:
                assert math.isnan(estimate)
    assert epoch > 1


def after_a_change(policy, n=400):
    """Return the decisions of the second half: arm a paid 0.9 on average, and pays 0.3 since; b pays 0.6."""
    bandit, rng = br.Bandit(["a", "b"], policy, seed=0, horizon=2 * n), np.random.default_rng(0)
    decisions = []
    for step in range(2 * n):
        mean = (0.9, 0.5) if step < n else (0.3, 0.6)
        decisions.append(bandit.ask())
        bandit.tell(decisions[-1].id, float(rng.random() < mean[decisions[-1].arm == "b"]))
    return bandit, decisions[-n // 2 :]


@pytest.mark.full
@pytest.mark.parametrize("name", some(["SW-UCB", "EXP3.S"], ["SW-UCB"]))
def test_after_a_change_the_best_arm_is_not_explored(name):
    policy = {"SW-UCB": br.SlidingWindowUCB(window=100), "EXP3.S": br.EXP3S(0.02, 0.2)}[name]
    bandit, late = after_a_change(policy)
    table = bandit.summary()
    assert table.loc["a", "mean"] > table.loc["b", "mean"]
    of_b = [decision for decision in late if decision.arm == "b"]
    assert len(of_b) > 100
    explored = [decision for decision in of_b if decision.explored]
    assert len(explored) <= (0 if name == "SW-UCB" else len(of_b) / 10)  # weights go up and down
    words = {"SW-UCB": "of the last 100 steps", "EXP3.S": "highest weight"}[name]
    assert all(words in decision.reason for decision in of_b)


@pytest.mark.full
def test_words_for_what_is_forgotten_discounted_or_weighted():
    def second(policy, rewards, **given):
        bandit = br.Bandit(["a", "b"], policy, seed=1, horizon=50)
        decisions = []
        for reward in rewards:
            decisions.append(bandit.ask(**given))
            bandit.tell(decisions[-1].id, reward)
        return [decision.reason for decision in decisions]

    alone = {"among": ["a"]}
    assert second(br.SlidingWindowUCB(window=2), [1.0] * 3, **alone) == [
        "explored: no reward of a of the last 2 steps is known",
        "greedy: a has the highest mean of the available arms, 1 over 1 reward of the last 2 steps",
        "greedy: a has the highest mean of the available arms, 1 over 2 rewards of the last 2 steps",
    ]
    assert second(br.DiscountedUCB(0.5), [1.0] * 3, **alone)[1:] == [
        "greedy: a has the highest mean of the available arms, 1 over 1 discounted reward",
        "greedy: a has the highest mean of the available arms, 1 over 1.5 discounted rewards",
    ]
    assert second(br.CUSUMUCB(0.0, math.inf), [1.0] * 2, **alone) == [
        "explored: no reward of a is remembered",
        "greedy: a has the highest mean of the available arms, 1 over 1 remembered reward",
    ]
    assert second(br.EXP3S(0.1, 0.2), [0.0] * 2, **alone)[1] == (
        "greedy: a has the highest weight of the available arms, 1 after 1 reward"
    )
    assert second(br.RobustUCB("catoni", v=1.0), [1.0] * 2, **alone)[1] == (
        "explored: a has too few rewards for a robust mean, 1"
    )


def test_a_tie_is_called_a_tie():
    bandit = br.Bandit(["a", "b", "c", "d"], br.ForcedExploration(br.Constant(9)), seed=0)
    for decision in bandit.ask(4):
        bandit.tell(decision, 0.25 if decision.arm == "d" else 0.5)
    decision = bandit.ask()
    assert decision.reason == (
        f"greedy: {decision.arm} has the highest mean, 0.5 over 1 reward, and so have 2 other arms"
    )
    assert decision.data == {"kind": "greedy", "mean": 0.5, "rewards": 1, "tied": 2}
    assert not decision.explored
    two = bandit.ask(among=["a", "c", "d"])
    assert two.reason.endswith("0.5 over 1 reward, and so has 1 other arm")


def test_no_arm_is_said_to_wait_less_than_it_did():
    """Three arms that are due after one step wait two: a turn takes three steps."""
    decisions = br.Bandit(["a", "b", "c"], br.ForcedExploration(br.Linear()), seed=0).ask(9)
    assert (
        decisions[3].reason == "forced: a was last chosen 2 steps ago; in round 1 an arm is due after 1 step"
    )
    assert decisions[3].data == {"kind": "forced", "waited": 2, "limit": 1.0, "round": 1}
    assert decisions[6].reason == (
        "forced: a was last chosen 2 steps ago; in round 2 no arm waits longer than 2"
    )


def test_a_new_arm_is_not_said_to_wait_less_than_it_did():
    bandit = br.Bandit(["a", "b"], br.ForcedExploration(br.Linear()), seed=0)
    bandit.ask(30)
    bandit.add_arm("new")
    bandit.ask()
    bandit.ask(4, among=["a", "b"])
    assert bandit.ask().reason == (
        "forced: new was last chosen 4 steps ago; a new arm with 1 pull is due after 1 step"
    )
