"""The verdict: no arm is called the best before its interval says so, and what is missing is about right."""

import numpy as np
import pytest

import brigand as br
from brigand.live import confidence
from brigand.live.verdict import MOST, Known, intervals, verdict_of
from strength import runs

CLICKS = (0.0, 1.0)
ANY = (-np.inf, np.inf)


def known(told, mean, asked=None):
    """Return what is known of arms with 0/1 rewards."""
    told, mean = np.array(told, float), np.array(mean, float)
    asked = told if asked is None else np.array(asked, float)
    return Known(asked, told, mean, told * mean * (1 - mean))


def said(told, mean, shares=None, support=CLICKS, asked=None, level=0.95):
    names = [f"arm-{place}" for place in range(len(told))]
    shares = np.full(len(told), 1 / len(told)) if shares is None else np.array(shares, float)
    return verdict_of(names, known(told, mean, asked), shares, level, support)


def test_an_arm_is_the_best_once_its_interval_is_above_all_others():
    for n in range(10, 5000, 97):
        found = said([n, n, n], [0.3, 0.5, 0.2])
        lower, upper = intervals(known([n, n, n], [0.3, 0.5, 0.2]), 0.95, CLICKS)
        assert found.leader == "arm-1"
        assert found.decided == (lower[1] > max(upper[0], upper[2]))
        assert found.rivals == tuple(f"arm-{arm}" for arm in (0, 2) if upper[arm] >= lower[1])
        assert (" is the best arm" in found.text) == found.decided
        assert (found.missing == 0) == found.decided


def test_words_of_victory_come_with_the_intervals_alone():
    """At any look, of any numbers."""
    rng = np.random.default_rng(0)
    for _ in range(runs(60, 300)):
        k = int(rng.integers(2, 6))
        told = rng.integers(0, 3000, k)
        mean = np.where(told > 0, rng.random(k) * 0.2 + 0.3, np.nan)
        support = CLICKS if rng.random() < 0.5 else ANY
        found = said(told, mean, rng.dirichlet(np.ones(k)), support)
        lower, upper = intervals(known(told, mean), 0.95, support)
        means = np.where(told > 0, mean, -np.inf)
        best = int(means.argmax())
        apart = bool((np.delete(upper, best) < lower[best]).all()) and told.any()
        assert found.decided == apart
        assert any(word in found.text for word in ("best arm", "winner", "wins")) == apart


def test_arms_that_are_alike_are_hardly_ever_told_apart_however_often_one_looks():
    """With probability 0.05 at most; more than 13 of 100, or 71 of 1,000, have a probability below 0.002."""
    rng, wrong = np.random.default_rng(0), 0
    looks = np.unique(np.geomspace(5, 3000, 40).astype(int))
    for _ in range(runs(100, 1000)):
        sums = np.cumsum(rng.random((3000, 3)) < 0.3, axis=0)
        means = sums[looks - 1] / looks[:, None]
        lower, upper = confidence.bounded(np.repeat(looks[:, None], 3, axis=1), means, 0, 1, 1 - 0.05 / 3)
        best = means.argmax(axis=1)
        others = np.where(np.arange(3) == best[:, None], -np.inf, upper).max(axis=1)
        wrong += bool((lower[np.arange(len(looks)), best] > others).any())
    assert wrong <= runs(13, 71)


@pytest.mark.parametrize("support", [CLICKS, ANY], ids=["known", "unknown"])
@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.9, 0.1), (0.02, 0.98)])
def test_what_is_missing_decides_if_means_stay_and_less_does_not(support, shares):
    told, mean, shares = np.array([400.0, 300.0]), [0.5, 0.45], np.array(shares)
    found = said(told, mean, shares, support)
    assert not found.decided
    assert f"About {found.missing:,} more asks" in found.text
    for part, decided in ((1.0, True), (0.7, False)):
        later = np.floor(told + part * found.missing * shares)
        assert said(later, mean, shares, support).decided == decided


def test_asks_that_get_no_reward_do_not_help():
    half = said([400, 300], [0.5, 0.45], asked=[800, 600])
    assert half.missing == pytest.approx(2 * said([400, 300], [0.5, 0.45]).missing, rel=0.2)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (said([0, 0], [np.nan, np.nan]), "There is no reward yet."),
        (said([9, 0], [0.5, np.nan]), "There is no reward of arm-1 yet."),
        (said([9, 9], [0.5, 0.5]), "arm-0 and arm-1 earn the same"),
        (said([50, 9], [0.5, 0.0], support=ANY), "All rewards of arm-1 were alike"),
        (said([50, 50], [0.5, 0.4], (1.0, 0.0)), "Of late arm-1 was not asked for"),
        (said([50, 50], [0.5, 0.4999999], (0.5, 0.5)), "more than a billion asks"),
        (said([50] * 5, [0.5, 0.4, 0.4, 0.4, 0.4]), "all 4 others could be as good or better"),
        (said([50], [0.5]), "arm-0 is the only arm"),
    ],
)
def test_what_cannot_be_foretold_is_said(found, words):
    assert words in found.text
    assert found.missing in (None, 0) or "could be" in words
    assert MOST == 10**9


def test_names_of_several_words_are_in_quotes():
    text = verdict_of(["Buy now", "x" * 99], known([9, 9], [0.5, 0.4]), np.ones(2) / 2, 0.95, CLICKS).text
    assert text.startswith("“Buy now” leads so far")
    assert f"but {'x' * 59}… could be" in text


def test_the_verdict_of_a_bandit(tmp_path):
    rng = np.random.default_rng(0)
    with br.Bandit(["red", "green"], "FE-Linear", store=tmp_path / "x.db", name="x", seed=0) as bandit:
        assert bandit.verdict() == br.Verdict(
            None, False, ("red", "green"), None, 0.95, "There is no reward yet."
        )
        for _ in range(10):
            bandit.tell_many(
                [
                    (one.id, float(rng.random() < {"red": 0.2, "green": 0.7}[one.arm]))
                    for one in bandit.ask(50)
                ]
            )
        found = bandit.verdict(support=CLICKS)
        assert found.leader == "green"
        assert found.to_dict()["rivals"] == list(found.rivals)
        bandit.remove_arm("red")
        assert bandit.verdict(support=CLICKS).decided
        for wrong in (0.0, 1.0):
            with pytest.raises(br.InvalidValueError, match="level"):
                bandit.verdict(level=wrong)
