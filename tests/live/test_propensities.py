"""Propensities of decisions, the holdout and the floor: against definitions and frequencies.

Statistical tests have fixed seeds; their false-alarm level is 1e-6 each.
"""

import math

import numpy as np
import pytest
from scipy import stats

import brigand as br
from live.common import FE, LOADS, MEANS, POLICIES, arms, loaded, policy_for, rewards_for
from live.golden import POLICIES as OLD
from live.test_golden import written  # noqa: F401
from stores import folder
from strength import LIVE, runs, some

RARE = 1e-6
UCB = br.UCB1(0, 1)


def told(bandit, n, seed=0):
    """Ask n times, and tell rewards of 0 and 1 at once; return the decisions."""
    rng, names = np.random.default_rng(seed), bandit.arms()
    made = []
    for _ in range(n):
        made.append(bandit.ask())
        bandit.tell(made[-1], float(rng.random() < MEANS[names.index(made[-1].arm)]))
    return made


@pytest.mark.parametrize("name", some(POLICIES, LIVE[1:3]))
def test_a_decision_has_the_propensity_that_was_foretold(name):
    """The probabilities sum to 1 where they are numbers; the decision has that of its arm."""
    policy = policy_for(name, 3)
    bandit = br.Bandit(arms(3), policy, seed=1, horizon=60)
    rewards = rewards_for(policy, (60, 3), 0)
    for row in rewards:
        foretold = br.propensities(bandit)["propensity"]
        decision = bandit.ask()
        if decision.propensity is None:
            assert foretold.isna().all()
        else:
            assert foretold.sum() == pytest.approx(1, abs=1e-9)
            assert foretold[decision.arm] == decision.propensity
        bandit.tell(decision, row[arms(3).index(decision.arm)])


def test_ties_are_shared_and_a_forced_arm_is_certain():
    bandit = br.Bandit(["a", "b", "c"], FE, seed=0)
    assert [bandit.ask().propensity for _ in range(3)] == [1, 1, 1]  # each is forced in turn
    tied = br.Bandit(["a", "b"], UCB, seed=0)
    assert tied.ask().propensity == 0.5
    assert tied.ask(among=["b"]).propensity == 1


def test_there_is_none_where_it_is_no_number():
    bandit = br.Bandit(["a", "b"], br.PHE(), seed=0)
    first, alone = bandit.ask(), bandit.ask(among=["a"])
    assert first.propensity is None
    assert first.to_dict()["propensity"] is None
    assert alone.propensity == 1
    assert math.isnan(bandit.history()["propensity"][1])
    assert bandit.history(plain=True)[0]["propensity"] is None


def test_estimates_are_flagged_and_change_nothing():
    policy, n = br.ThompsonBeta(), runs(5000, 1_000_000)
    bandit, twin = (br.Bandit(["a", "b", "c"], policy, seed=2) for _ in range(2))
    for one in (bandit, twin):
        told(one, 30)
    exact = br.propensities(bandit, draws=n)
    assert not exact["estimated"].any()
    assert (exact["error"] == 0).all()
    phe = br.Bandit(["a", "b", "c"], br.PHE(), seed=2, floor=0.1)
    told(phe, 30)
    found = br.propensities(phe, draws=n, seed=1)
    assert found["estimated"].all()
    assert found["propensity"].sum() == pytest.approx(1)
    assert (found["propensity"] >= 0.1).all()
    assert br.propensities(phe, draws=n, seed=1).equals(found)
    assert [one.arm for one in told(bandit, 30, 1)] == [one.arm for one in told(twin, 30, 1)]
    with pytest.raises(br.InvalidValueError, match="draws"):
        br.propensities(phe, draws=0)
    with pytest.raises(br.UnknownNameError, match="'z'"):
        br.propensities(phe, among=["z"])


def test_estimates_agree_with_what_is_exact():
    """Frequencies of Thompson's choices, drawn as those of a policy without propensities are."""
    from brigand.live import propensities

    bandit, n = br.Bandit(["a", "b", "c"], br.ThompsonBeta(), seed=3), runs(20_000, 1_000_000)
    told(bandit, 25)
    exact = br.propensities(bandit)["propensity"]
    with bandit._session.reading() as session:
        found = propensities._frequencies(session.engine, np.arange(3), n, 7)
    for p, share in zip(exact, found, strict=True):
        assert stats.binomtest(round(share * n), n, p).pvalue > RARE


# In the log.


@pytest.mark.parametrize("how", LOADS)
def test_they_are_in_the_log_wherever_it_is_kept(how):
    with folder() as path:
        url = f"sqlite:///{path}/x.db"
        store = {} if how == "json" else {"store": url, "name": "x"}
        bandit = br.Bandit(["a", "b", "c"], br.ThompsonBeta(), seed=0, holdout=0.2, floor=0.05, **store)
        made = told(bandit, 40)
        expected = [(one.propensity, one.holdout) for one in made]
        assert {holdout for _, holdout in expected} == {True, False}
        again = loaded(bandit, how, url)
        history = again.history()
        assert list(zip(history["propensity"], history["holdout"], strict=True)) == expected
        assert [row["propensity"] for row in again.history(plain=True)] == [p for p, _ in expected]
        assert again.log().propensity.tolist() == [p for p, _ in expected]
        assert {one.holdout for one in told(again, 60, 1)} == {True, False}


def test_decisions_that_were_made_elsewhere_may_have_one():
    bandit = br.Bandit(["a", "b"], FE, seed=0)
    bandit.record([br.Past("a", 1.0, propensity=0.3), br.Past("b", 0.0), ("a", 0.5)])
    assert bandit.history()["propensity"].tolist() == pytest.approx([0.3, math.nan, math.nan], nan_ok=True)
    for wrong in (0, -0.1, 1.1, math.nan, "0.3", True):
        with pytest.raises(br.InvalidValueError, match="row 1: propensity"):
            bandit.record([br.Past("a", 1.0, propensity=wrong)])
    assert len(bandit.history()) == 3


def test_decisions_of_older_versions_have_none(written):  # noqa: F811
    store, _ = written
    for name in OLD:
        with br.Bandit.open(store, name) as bandit:
            bandit.ask()
            history = bandit.history()
            assert not history["holdout"].any()
            assert history["propensity"][:-1].isna().all()
            assert len(bandit.log()) == (~history["reward"].isna()).sum()


@pytest.mark.parametrize("wrong", ["0.0", "1.5", "-0.5", "1e999", '"x"', "null", "[]"])
def test_one_that_cannot_be_is_an_error(wrong):
    bandit = br.Bandit(["a", "b"], UCB, seed=0)
    bandit.ask()
    log = bandit._backend.writing()
    log._events[-1] = log._events[-1]._replace(data=f'{{"propensity": {wrong}}}')
    with pytest.raises(br.StorageError, match="damaged"):
        bandit.history()


# The holdout and the floor.


def test_the_holdout_is_a_share_of_all_asks_and_even():
    n = runs(4000, 100_000)
    bandit = br.Bandit(["a", "b", "c"], FE, seed=5, holdout=0.1)
    rewards = {"a": 0.0, "b": 1.0, "c": 0.0}
    made = [bandit.ask() for _ in range(50)]
    for decision in made:
        bandit.tell(decision, rewards[decision.arm])
    made = bandit.ask(n)
    within = [decision for decision in made if decision.holdout]
    assert stats.binomtest(len(within), n, 0.1).pvalue > RARE
    counts = np.bincount([bandit.arms().index(decision.arm) for decision in within], minlength=3)
    assert stats.chisquare(counts).pvalue > RARE
    assert all(decision.explored for decision in within)
    assert within[0].reason == f"holdout: {within[0].arm} was drawn from 3 arms, as 10 % of all asks are"
    assert {decision.propensity for decision in made} <= {0.1 / 3, 0.1 / 3 + 0.9}


def test_rewards_of_the_holdout_are_learned():
    bandit = br.Bandit(["a", "b"], FE, seed=0, holdout=0.999)
    for decision in bandit.ask(200):
        bandit.tell(decision, 1.0)
    assert bandit.summary()["told"].sum() == 200


def test_a_floor_keeps_each_arm_at_a_probability():
    n = runs(4000, 100_000)
    bandit = br.Bandit(["a", "b", "c"], FE, seed=6, floor=0.05)
    rewards = {"a": 0.0, "b": 1.0, "c": 0.0}
    for _ in range(50):
        decision = bandit.ask()
        bandit.tell(decision, rewards[decision.arm])
    made = bandit.ask(n, among=["b", "c"])
    least = {"b": [], "c": []}
    for decision in made:
        least[decision.arm].append(decision.propensity)
        assert not decision.holdout
    assert min(least["b"] + least["c"]) == pytest.approx(0.05)
    share = sum(p < 0.06 for p in least["b"] + least["c"])
    drawn = next(one for one in made if one.reason.startswith("floor"))
    assert drawn.reason == (
        f"floor: {drawn.arm} was drawn from 2 available arms: each keeps a probability of 0.05"
    )
    assert stats.binomtest(share, n, 0.05).pvalue > RARE


def test_a_holdout_counts_for_the_floor():
    bandit = br.Bandit(["a", "b"], FE, seed=0, holdout=0.2, floor=0.1)
    bandit.ask(2)
    assert set(br.propensities(bandit)["propensity"]) == {0.1, 0.9}
    assert not any(decision.reason.startswith("floor") for decision in bandit.ask(300))


def test_without_them_choices_are_what_they_were():
    one, other = (
        br.Bandit(["a", "b", "c"], br.ThompsonBeta(), seed=1, **given) for given in ({}, {"holdout": 0})
    )
    assert [d.arm for d in told(one, 50)] == [d.arm for d in told(other, 50)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"holdout": 1.0}, "holdout"),
        ({"holdout": -0.1}, "holdout"),
        ({"holdout": math.nan}, "holdout"),
        ({"holdout": "5 %"}, "holdout"),
        ({"floor": 0.34}, "at most 0.333333 for 3 arms"),
        ({"floor": -1}, "floor"),
    ],
)
def test_shares_that_cannot_be_are_refused(given, message):
    with pytest.raises(br.InvalidValueError, match=message):
        br.Bandit(["a", "b", "c"], FE, **given)


def test_an_arm_more_than_the_floor_allows_is_refused():
    bandit = br.Bandit(["a", "b"], FE, floor=0.5)
    with pytest.raises(br.InvalidValueError, match=r"at most 0\.333333 for 3 arms"):
        bandit.add_arm("c")
    assert bandit.arms() == ["a", "b"]
    assert {decision.propensity for decision in bandit.ask(20)} == {0.5}


def test_settings_without_them_are_written_as_before():
    settings = br.Bandit(["a"], FE, seed=0).snapshot()["settings"]
    assert "holdout" not in settings
    assert "floor" not in settings


def test_the_loop_and_plain_python_agree():
    """With a holdout, too: the same arms, propensities and marks."""
    from brigand.live.loop import live_loop

    compiled = live_loop(br.ThompsonBeta())
    assert hasattr(compiled, "py_func")
    bandit, twin = (
        br.Bandit(["a", "b", "c"], br.ThompsonBeta(), seed=4, holdout=0.3, floor=0.12) for _ in range(2)
    )
    with twin._session.reading() as session:
        session.engine._run_directly = _plain(compiled.py_func, session.engine)
    ours, theirs = told(bandit, 40), told(twin, 40)
    assert [(d.arm, d.holdout) for d in ours] == [(d.arm, d.holdout) for d in theirs]
    assert [d.propensity for d in ours] == pytest.approx([d.propensity for d in theirs], abs=1e-12)


def _plain(loop, engine):
    """Return the loop in plain Python; it takes the generator itself."""
    return lambda *arguments: loop(*arguments[:-1], engine._generator)
