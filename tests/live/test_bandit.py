"""What a bandit is told: each decision once, numbers only, all or nothing; by threads, and from elsewhere."""

import contextlib
import fractions
import itertools
import math
import pickle
import threading
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import brigand as br
from brigand.live.decision import Past
from live.common import (
    FE,
    POLICIES,
    RANDOM,
    SW_FE,
    arms,
    contents,
    play,
    policy_for,
    rewards_for,
    state,
    table,
)
from stores import FULL_KINDS, another, rows, urls
from strength import LIVE, runs, some

LEARNED, REPEATED, HISTORY = br.Told.LEARNED, br.Told.REPEATED, br.Told.HISTORY
THOMPSON = br.ThompsonBeta()


url = urls(FULL_KINDS, "module")


@pytest.fixture(params=["memory", "store"])
def make(request, url):
    """A function that makes a bandit, in memory or in a store."""

    def make(policy=FE, k=3, **given):
        home = {} if request.param == "memory" else {"store": url, "name": f"{request.node.name} {len(made)}"}
        made.append(br.Bandit(arms(k), policy, seed=0, **home, **given))
        return made[-1]

    made = []
    yield make
    for bandit in made:
        bandit.close()


@contextlib.contextmanager
def unchanged(bandit, url):
    """Check that neither what the bandit says of itself changes nor the file."""
    before, file = contents(bandit), rows(url)
    yield
    assert contents(bandit) == before
    assert rows(url) == file
    assert state(bandit) == state(br.Bandit.restore(bandit.snapshot()))


# Exactly once.


def test_a_reward_is_learned_once(make, url):
    bandit = make()
    first, second = bandit.ask(2)
    assert bandit.tell(first.id, 0.5) is LEARNED
    with unchanged(bandit, url):
        for same in (0.5, np.float64(0.5), np.float32(0.5), fractions.Fraction(1, 2)):
            assert bandit.tell(first.id, same) is REPEATED
        for other in (0.25, math.nextafter(0.5, 1), 0):
            with pytest.raises(br.ConflictingRewardError, match=r"decision 1 .* was told 0\.5 before"):
                bandit.tell(first.id, other)
    assert bandit.tell(second.id, 0) is LEARNED
    assert bandit.tell(second.id, -0.0) is REPEATED
    assert bandit.summary()["told"].sum() == 2


def test_duplicates_inside_one_call(make, url):
    bandit = make()
    first, second, third = bandit.ask(3)
    told = bandit.tell_many([(first.id, 0.5), (second.id, 0.25), (first.id, 0.5)])
    assert told == [LEARNED, LEARNED, REPEATED]
    with unchanged(bandit, url):
        with pytest.raises(br.ConflictingRewardError):
            bandit.tell_many([(third.id, 0.5), (third.id, 0.25)])
        with pytest.raises(br.ConflictingRewardError):
            bandit.tell_many([(third.id, 0.5), (first.id, 0.25)])
    assert bandit.tell_many([(third.id, 0.5)] * 5) == [LEARNED, *[REPEATED] * 4]
    assert bandit.summary()["told"].sum() == 3
    assert bandit.tell_many([]) == []
    assert bandit.tell_many({}) == []
    assert bandit.tell_many({first.id: 0.5, second.id: 0.25}) == [REPEATED, REPEATED]
    assert bandit.tell_many((d.id, 0.5) for d in [first]) == [REPEATED]


# A few are of the kind that reads as the number of a decision that exists.
NO_IDS = {
    "of another bandit": "1-aaaaaaaaaaaaaaaa",
    "of another bandit, as once": "aaaaaaaaaaaa-1",
    "upper case": "1-{TAG}",
    "number only": "1",
    "a negative number": "-1",
    "two hyphens": "1--{tag}",
    "a hyphen before": "-1-{tag}",
    "no tag": "1-",
    "of another step": "2-{tag}",
    "no number": "-{tag}",
    "no hyphen": "1{tag}",
    "the tag": "{tag}",
    "empty": "",
    "step 0": "0-{tag}",
    "a step to come": "{to_come}",
    "another way to write 1": "01-{tag}",
    "plus 1": "+1-{tag}",
    "1.0": "1.0-{tag}",
    "1e0": "1e0-{tag}",
    "1_": "1_0-{tag}",
    "a blank before": " 1-{tag}",
    "a blank inside": " 1-{tag}",
    "a blank after": "1-{tag} ",
    "a line after": "1-{tag}\n",
    "NUL": "1\0-{tag}",
    "superscript": "¹-{tag}",
    "square": "²-{tag}",
    "Arabic": "١-{tag}",
    "full width": "１-{tag}",
    "lone surrogate": "\ud800-{tag}",
    "2^53": f"{2**53}-{{tag}}",
    "2^63": f"{2**63}-{{tag}}",
    "2^64 + 1": f"{2**64 + 1}-{{tag}}",
    "a thousand digits": f"1{'0' * 1000}-{{tag}}",
    "five thousand digits": f"1{'0' * 5000}-{{tag}}",
    "None": None,
    "an integer": 1,
    "bytes": b"1-{tag}",
    "a list": ["1-{tag}"],
    "a tuple": ("{tag}", 1),
    "NaN": math.nan,
}
NO_REWARDS = {
    "NaN": math.nan,
    "NaN of NumPy": np.float32("nan"),
    "inf": math.inf,
    "-inf": -math.inf,
    "1e300": 1e300,
    "-1e300": -1e300,
    "above the limit": math.nextafter(1e100, math.inf),
    "10^400": 10**400,
    "text": "0.5",
    "bytes": b"1",
    "True": True,
    "True of NumPy": np.True_,
    "None": None,
    "Decimal": Decimal("0.5"),
    "complex": 0.5 + 0j,
    "complex of NumPy": np.complex128(0.5),
    "list": [0.5],
    "array": np.array([0.5]),
    "array of shape ()": np.array(0.5),
    "date": np.datetime64("2020-01-01"),
}
NUMBERS = {
    "int": 1,
    "float": 0.5,
    "float of NumPy": np.float64(0.1),
    "float32": np.float32(0.1),
    "float16": np.float16(0.1),
    "int8": np.int8(1),
    "uint64": np.uint64(1),
    "Fraction": fractions.Fraction(1, 3),
    "-0.0": -0.0,
    "the least float": 5e-324,
}


def id_from(kind, bandit):
    given, tag = NO_IDS[kind], bandit._ids.id_of(1).removeprefix("1-")
    if not isinstance(given, str):
        return given
    upper = tag.upper() if tag.upper() != tag else "X"
    return given.format(tag=tag, TAG=upper, to_come=bandit._ids.id_of(99))


def test_a_reward_is_told_with_the_decision_or_its_id(make):
    bandit = make()
    one, two, three = bandit.ask(3)
    assert bandit.tell(one, 0.5) is bandit.tell(two.id, 0.5) is br.Told.LEARNED
    assert bandit.tell_many([(three, 0.25), (one, 0.5)]) == [br.Told.LEARNED, br.Told.REPEATED]
    with pytest.raises(br.UnknownDecisionError, match="is no id of a decision of bandit"):
        make().tell(one, 0.5)


def test_what_has_no_order_is_refused_where_the_order_counts(make):
    for names in ({"a", "b"}, frozenset("ab")):
        with pytest.raises(br.InvalidValueError, match="a set has no order"):
            br.Bandit(names, FE)
    with pytest.raises(br.InvalidValueError, match="record takes pairs in the order of the decisions"):
        make().record({"a": 1.0})


@pytest.mark.every(6)
@pytest.mark.parametrize("kind", NO_IDS)
def test_an_id_that_names_no_decision_is_refused(make, url, kind):
    bandit = make()
    bandit.ask(5)
    with unchanged(bandit, url), pytest.raises(br.UnknownDecisionError, match="bandit"):
        bandit.tell(id_from(kind, bandit), 0.5)


@pytest.mark.every(4)
@pytest.mark.parametrize("kind", NO_REWARDS)
def test_a_value_that_is_not_a_reward_is_refused(make, url, kind):
    bandit = make()
    decision = bandit.ask()
    with unchanged(bandit, url):
        with pytest.raises(br.InvalidValueError, match="a reward must be"):
            bandit.tell(decision.id, NO_REWARDS[kind])
        if NO_REWARDS[kind] is not None:  # that is a reward which is still to come
            with pytest.raises(br.InvalidValueError, match="a reward must be"):
                bandit.record([("arm 9", 0.5), ("arm 8", NO_REWARDS[kind])])


@pytest.mark.parametrize("kind", NUMBERS)
def test_any_real_number_is_a_reward(make, kind):
    bandit, number = make(), NUMBERS[kind]
    decision = bandit.ask()
    assert bandit.tell(decision.id, number) is LEARNED
    value = bandit.history().loc[1, "reward"]
    assert (value, math.copysign(1, value)) == (float(number), math.copysign(1, float(number)))
    assert bandit.tell(decision.id, number) is REPEATED
    assert table(bandit, "arms")["mean"][0] == float(number)


def test_the_largest_rewards_leave_everything_finite(make):
    bandit = make()
    decisions = bandit.ask(12)
    bandit.tell_many([(d.id, 1e100 * (-1) ** (d.step // 3)) for d in decisions])
    ledger = table(bandit, "ledger")
    assert np.isfinite(ledger["mean"] + ledger["squares"]).all()
    assert np.isfinite(table(bandit, "arms")["mean"]).all()
    bandit.ask(3)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("policy", "reward", "match"),
    [
        (THOMPSON, 1.5, r"ThompsonBeta needs rewards in \[0, 1\], not 1.5"),
        (THOMPSON, -1e-9, r"\[0, 1\]"),
        (br.ThompsonBeta(low=-2, high=5), 5.1, r"\[-2, 5\]"),
        (br.KLUCB("poisson"), -1, r"\[0, inf\]"),
    ],
    ids=["above", "below", "range", "negative"],
)
def test_a_reward_out_of_the_policys_range(make, url, policy, reward, match):
    bandit = make(policy)
    decisions = bandit.ask(2)
    with unchanged(bandit, url):
        for refused in (
            lambda: bandit.tell(decisions[0].id, reward),
            lambda: bandit.tell_many([(decisions[0].id, 0.5), (decisions[1].id, reward)]),
            lambda: bandit.record([("arm 9", 0.5), ("arm 9", reward)]),
        ):
            with pytest.raises(br.UnsupportedRewardError, match=match):
                refused()
    assert bandit.tell(decisions[0].id, 0.5) is LEARNED


@pytest.mark.parametrize("place", [0, 2, 4], ids=["first", "middle", "last"])
def test_many_are_told_all_or_none(make, url, place):
    bandit = make(THOMPSON)
    decisions = bandit.ask(8)
    bandit.tell(decisions[-1].id, 0.5)
    bad = [((id_from(kind, bandit), 0.5), br.UnknownDecisionError) for kind in NO_IDS]
    bad += [
        ((decisions[6].id, reward), br.InvalidValueError)
        for reward in NO_REWARDS.values()
        if not isinstance(reward, (bool, np.bool_))  # a reward, for this policy
    ]
    bad += [((decisions[6].id, 1.5), br.UnsupportedRewardError)]
    bad += [((decisions[-1].id, 0.25), br.ConflictingRewardError)]
    good = [(decision.id, 0.75) for decision in decisions[:4]]
    with unchanged(bandit, url):
        for entry, error in bad:
            with pytest.raises(error):
                bandit.tell_many([*good[:place], entry, *good[place:]])
        for entry in (("one",), "abc", None, 5):  # no pair
            with pytest.raises(
                br.InvalidValueError, match=f"row {place + 1} of tell_many must be a decision and its rew"
            ):
                bandit.tell_many([*good[:place], entry, *good[place:]])
    assert bandit.tell_many(good) == [LEARNED] * 4


def test_of_two_bandits_each_knows_its_own_decisions(make, url):
    one, other = make(), make()
    mine = one.ask()
    theirs = other.ask()
    assert mine.id != theirs.id
    assert mine != theirs
    assert len({mine, theirs, one.ask(), mine}) == 3
    with unchanged(other, url), pytest.raises(br.UnknownDecisionError, match="no id of a decision"):
        other.tell(mine.id, 0.5)


@pytest.mark.parametrize("n", [0, -1, 1.0, "2", True, int])
def test_a_bad_number_of_asks_is_refused(make, url, n):
    bandit = make()
    with unchanged(bandit, url), pytest.raises(br.InvalidValueError, match="n must be"):
        bandit.ask(n)


@pytest.mark.parametrize(
    "given", [{"after": -1}, {"after": 1.5}, {"after": "1"}, {"limit": -1}, {"limit": True}]
)
def test_bad_limits_of_the_history_are_refused(make, given):
    bandit = make()
    bandit.ask(3)
    with pytest.raises(br.InvalidValueError, match=next(iter(given))):
        bandit.history(**given)


# Several at once.


@pytest.mark.every(2)
@pytest.mark.parametrize("policy", [FE, THOMPSON], ids=["FE", "Thompson"])
def test_threads_share_a_bandit(make, policy):
    bandit = make(policy, 4)
    threads, each = 8, 40
    done, failures = [], []

    def work(number):
        rng = np.random.default_rng(number)
        try:
            waiting = []
            for _ in range(each):
                waiting += [bandit.ask()] if rng.random() < 0.5 else bandit.ask(3)
                while waiting and rng.random() < 0.6:
                    decision = waiting.pop(rng.integers(len(waiting)))
                    reward = float(rng.integers(0, 5) / 4)
                    assert bandit.tell(decision.id, reward) is LEARNED
                    done.append((decision.step, decision.arm, reward))
                if rng.random() < 0.1:
                    summary = bandit.summary()
                    assert (summary["asked"] == summary["told"] + summary["pending"]).all()
            done.extend((decision.step, decision.arm, None) for decision in waiting)
        except BaseException as error:
            failures.append(error)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert not failures
    done.sort()
    history = bandit.history()
    assert [step for step, _, _ in done] == history.index.tolist() == list(range(1, len(done) + 1))
    assert [arm for _, arm, _ in done] == history["arm"].tolist()
    np.testing.assert_array_equal(np.array([reward for *_, reward in done], float), history["reward"])
    for arm, row in bandit.summary().iterrows():
        rewards = [reward for _, one, reward in done if one == arm]
        known = [reward for reward in rewards if reward is not None]
        assert (row["asked"], row["told"], row["pending"]) == (len(rewards), len(known), rewards.count(None))
        assert row["mean"] == math.fsum(known) / len(known)


@pytest.mark.parametrize("name", some(["FE-Linear", "TS-Beta", "LB-SDA", "SW-FE-Exp"], LIVE))
def test_two_bandits_on_one_store_taking_turns_choose_as_the_simulator(url, name):
    """In turn, they are the simulator."""
    policy, n = policy_for(name, 3), 60
    rewards = rewards_for(policy, (n, 3), 5)
    first = br.Bandit(arms(3), policy, seed=4, horizon=n, store=url, name=f"turns {name}")
    second = br.Bandit.open(url, f"turns {name}")
    chosen = []
    for step in range(n):
        asks, tells = (first, second) if step % 3 else (second, first)
        decision = asks.ask()
        chosen.append(arms(3).index(decision.arm))
        tells.tell(decision.id, float(rewards[step, chosen[-1]]))
    assert chosen == br.trace(policy, rewards, seed=4).tolist()
    assert state(first) == state(second)
    first.close()
    second.close()


def ask_meanwhile(bandit):
    """Yield names of arms, and ask the bandit for each."""
    for name in bandit.arms():
        bandit.summary()
        yield name


def test_an_iterator_passed_to_a_call_may_ask_the_bandit(make):
    """The bandit is not locked while its caller's iterators run."""
    bandit = make()
    done = []

    def work():
        done.append(bandit.ask(among=ask_meanwhile(bandit)))
        done.append(bandit.record((name, 0.5) for name in ask_meanwhile(bandit)))
        done.append(bandit.tell_many((bandit.ask().id, 0.5) for _ in ask_meanwhile(bandit)))

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    worker.join(60)
    assert [type(found) for found in done] == [br.Decision, list, list]


# Decisions from elsewhere.


@pytest.mark.parametrize(
    "name",
    some(
        ["FE-Linear", "FE-Exp", "SW-FE-Linear", "UCB1", "TS-Beta", "LB-SDA", "BESA", "GLR-klUCB-local"], LIVE
    ),
)
@settings(max_examples=runs(4, 8), deadline=None)
@given(seed=st.integers(0, 2**32), k=st.integers(1, 4), n=st.integers(0, 40), known=st.floats(0, 1))
def test_what_is_recorded_is_what_asks_and_tells_would_have_been(name, seed, k, n, known):
    """One bandit asks, and is told some rewards at once; another records that: all tables are the same."""
    policy, rng = POLICIES[name], np.random.default_rng(seed)
    one, other = (br.Bandit(arms(k), policy, seed=seed, horizon=100) for _ in range(2))
    rewards = rewards_for(policy, (n + 1, 1), seed)[:, 0].tolist()
    past = []
    for step in range(n):
        decision = one.ask()
        past.append((decision.arm, rewards[step] if rng.random() < known else None))
        if past[-1][1] is not None:
            one.tell(decision.id, past[-1][1])
    ids = other.record(past)
    assert list(map(one._ids.step_of, one.history()["decision"])) == list(map(other._ids.step_of, ids))
    for name_of_table in ("header", "arms", "memory", "ledger"):
        assert repr(table(one, name_of_table)) == repr(table(other, name_of_table))
    assert one.summary().equals(other.summary())
    columns = ["arm", "reward", "status"]
    assert one.history()[columns].equals(other.history()[columns])
    for number, (_, reward) in zip(ids, past, strict=True):
        if reward is None:
            assert other.tell(number, rewards[n]) is LEARNED
        else:
            assert other.tell(number, reward) is REPEATED


def test_recording_is_all_or_nothing(make, url):
    bandit = make(THOMPSON)
    bandit.ask(2)
    bandit.remove_arm("arm 7")
    good = [("arm 9", 0.5), ("arm 8", None), ("arm 9", 0)]
    bad = [(("arm 7", 0.5), br.UnknownNameError), (("nobody", 0.5), br.UnknownNameError)]
    bad += [((name, 0.5), br.UnknownNameError) for name in (None, 3, ["arm 9"], {}, b"arm 9")]
    bad += [(("arm 9", 2), br.UnsupportedRewardError), (("arm 9", "1"), br.InvalidValueError)]
    bad += [
        (("arm 9", 0.5, math.nan), br.InvalidValueError),
        (("arm 9", 0.5, 1.0, "x"), br.InvalidValueError),
    ]
    with unchanged(bandit, url):
        assert bandit.record([]) == []
        for (entry, error), place in itertools.product(bad, (0, 1, 3)):
            with pytest.raises(error):
                bandit.record([*good[:place], entry, *good[place:]])
        for entry in (("arm 9",), ("arm 9", 0.5, 1.0, 1.0, 1.0, 1.0), None):
            with pytest.raises(br.InvalidValueError, match="row 4 of record must be an arm and its reward"):
                bandit.record([*good, entry])
    ids = bandit.record(good)
    assert bandit.tell_many([(ids[0], 0.5), (ids[1], 0.5), (ids[2], 0.0)]) == [REPEATED, LEARNED, REPEATED]
    assert [decision.step for decision in bandit.ask(2)] == [6, 7]


def test_errors_name_the_row_or_the_decision(make):
    bandit = make(THOMPSON)
    one, two, three = bandit.ask(3)
    for reward, what in (
        (math.nan, "a reward must be finite"),
        ("x", "a reward must be a number"),
        (2, "Thomp"),
    ):
        with pytest.raises(br.InvalidValueError, match=f"^decision 2: {what}"):
            bandit.tell_many({one: 0.5, two: reward, three: 0.5})
        with pytest.raises(br.InvalidValueError, match=f"^decision 3: {what}"):
            bandit.tell(three, reward)
        with pytest.raises(br.InvalidValueError, match=f"^row 2: {what}"):
            bandit.record([("arm 9", 0.5), ("arm 9", reward)])
    with pytest.raises(br.UnknownNameError, match=r"^row 3: unknown arm 'arm 10'") as error:
        bandit.record([("arm 9", 0.5), ("arm 8", 0.5), ("arm 10", 0.5)])
    again = pickle.loads(pickle.dumps(error.value))
    assert str(again) == str(error.value)
    for name in ("asked_at", "told_at"):
        with pytest.raises(br.InvalidValueError, match=f"^row 2: {name} must be finite"):
            bandit.record([("arm 9", 0.5), Past("arm 9", 0.5, **{name: math.inf})])
    for method in (bandit.record, bandit.tell_many):
        with pytest.raises(br.InvalidValueError, match=f"{method.__name__} takes rows of a.* not 3"):
            method(3)

    def broken():
        yield one, 0.5
        raise TypeError("the user's own")

    with pytest.raises(TypeError, match="the user's own"):
        bandit.tell_many(broken())


def test_decisions_from_elsewhere_keep_their_times(make):
    bandit = make()
    bandit.record([Past("arm 9", 0.5, 1e9, 1e9 + 60), Past("arm 8", None, 1e9 + 1)])
    history = bandit.history()
    assert history["asked_at"].map(lambda at: at.timestamp()).tolist() == [1e9, 1e9 + 1]
    assert history["told_at"][1].timestamp() == 1e9 + 60
    assert history["told_at"].isna().tolist() == [False, True]
    assert history["reason"].str.startswith("recorded").all()


# Opened, closed, made.


def test_a_bandit_that_is_there_is_loaded_or_refused(url):
    with br.Bandit(arms(2), FE, store=url, name="there", seed=5) as bandit:
        decision = bandit.ask()
    with pytest.raises(br.InvalidValueError, match="'there'"):
        br.Bandit(arms(2), FE, store=url, name="there")
    with pytest.raises(br.InvalidValueError, match="ForcedExploration"):
        br.Bandit(arms(2), SW_FE, store=url, name="there", load_if_exists=True)
    with br.Bandit(["other", "arms"], FE, store=url, name="there", load_if_exists=True) as bandit:
        assert bandit.arms() == arms(2)
        assert bandit.tell(decision.id, 0.5) is LEARNED
    with br.Bandit(["x"], FE, store=url, name="not there", load_if_exists=True) as bandit:
        assert bandit.arms() == ["x"]
    with pytest.raises(br.InvalidValueError, match="name"):
        br.Bandit(arms(2), FE, store=url)
    with pytest.raises(br.UnknownNameError, match="nobody"):
        br.Bandit.open(url, "nobody")
    with pytest.raises(br.StorageError, match=r"no file|holds no bandits"):
        br.Bandit.open(another(url, 0), "x")


def test_a_closed_store_says_so(url):
    bandit = br.Bandit(arms(2), FE, store=url, name="closed")
    decision = bandit.ask()
    bandit.close()
    bandit.close()
    for refused in (bandit.ask, bandit.summary, bandit.arms, lambda: bandit.tell(decision.id, 0.5)):
        with pytest.raises(br.StorageError, match="closed"):
            refused()


@pytest.mark.parametrize("policy", [None, br.ForcedExploration, br.Linear()])
def test_what_is_not_a_policy_is_refused(policy):
    with pytest.raises(br.InvalidValueError, match="policy must be a policy"):
        br.Bandit(arms(2), policy)


@pytest.mark.parametrize("seed", [-1, 1.0, "1", True])
def test_a_bad_seed_is_refused(seed):
    with pytest.raises(br.InvalidValueError, match="must be"):
        br.Bandit(arms(2), RANDOM, seed=seed)


def test_a_seed_is_drawn_and_kept():
    one, other = br.Bandit(arms(4), RANDOM), br.Bandit(arms(4), RANDOM)
    assert [d.arm for d in one.ask(50)] != [d.arm for d in other.ask(50)]  # by chance with probability 4^-50
    again = br.Bandit(arms(4), RANDOM, seed=one.snapshot()["settings"]["seed"])
    assert [d.arm for d in again.ask(50)] == one.history()["arm"].tolist()


def test_the_helper_play_gives_the_arms_of_trace():
    bandit = br.Bandit(arms(2), FE, seed=0)
    assert play(bandit, np.array([[0.5, 1.0]] * 4)) == br.trace(FE, np.array([[0.5, 1.0]] * 4)).tolist()
