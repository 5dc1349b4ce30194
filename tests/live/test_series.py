"""Decisions over time: what the database counts is what the history says."""

import json
import math
from datetime import datetime

import numpy as np
import pytest

import brigand as br
import stores
from brigand.live import look_up
from brigand.live.gain import Earned
from brigand.live.listing import search
from brigand.live.series import BUCKETS, POINTS, RECENT, Series, glance
from brigand.storage.store import open_store
from strength import runs

url = stores.urls(stores.FULL_KINDS)


class Clock:
    def __init__(self):
        self.now = 1e9

    def __call__(self):
        self.now += 1.0
        return self.now


@pytest.fixture(params=["store", "memory"])
def place(request, url):
    return {"store": url, "name": "x"} if request.param == "store" else {}


def of_history(bandit, width):
    """Return what a series has, by the bandit's history alone."""
    names = [row["arm"] for row in bandit.audit(plain=True) if row["action"] == "add"]
    shape = (BUCKETS, len(names))
    asked, told, reward = np.zeros(shape, int), np.zeros(shape, int), np.zeros(shape)
    explored, defaulted, late = (np.zeros(BUCKETS, int) for _ in range(3))
    for row in bandit.history(plain=True):
        bucket, arm = (row["step"] - 1) // width, names.index(row["arm"])
        asked[bucket, arm] += 1
        explored[bucket] += row["explored"]
        if row["learned"] is not None:
            told[bucket, arm] += 1
            reward[bucket, arm] += row["learned"]
            defaulted[bucket] += row["status"] in ("default", "late")
    for event in bandit._session.events():
        if event.kind in ("tell", "default") and not event.counted:
            late[(event.step - 1) // width] += 1
    return asked, told, reward, explored, defaulted, late


def parts(series):
    return (series.asked, series.told, series.reward, series.explored, series.defaulted, series.late)


def test_a_series_is_the_history_however_often_it_is_looked_at(place):
    clock, rng = Clock(), np.random.default_rng(0)
    bandit = br.Bandit(
        ["a", "b"], "FE-Linear", seed=0, clock=clock, reward_timeout=300.0, default_reward=0.25, **place
    )
    series, kept = Series(bandit), []
    for place_ in range(runs(12, 60)):
        kept += [made.id for made in bandit.ask(int(rng.integers(1, 40)))]
        for _ in range(20):
            made = kept.pop(int(rng.integers(len(kept)))) if kept else None
            if made is not None:
                became = bandit.tell(made, float(rng.integers(0, 4)))
                if became is br.Told.LEARNED and rng.random() < 0.1:
                    bandit.tell(made, 7.0, replace=True)
        clock.now += float(rng.integers(0, 100))
        if place_ == 5:
            bandit.add_arm("c")
        if place_ == 8:
            bandit.remove_arm("a")
        bandit.summary()  # lets defaults stand in
        series.refresh()
        assert series.steps == len(bandit.history(plain=True))
        assert series.steps <= series.width * BUCKETS
        for found, right in zip(parts(series), of_history(bandit, series.width), strict=True):
            np.testing.assert_allclose(found, right)
    for found, right in zip(parts(series), parts(Series(bandit).refresh()), strict=True):
        np.testing.assert_allclose(found, right)
    assert series.width > 1
    assert series.late.sum() > 0 < series.defaulted.sum()
    assert [(mark.action, mark.arm) for mark in series.marks] == [("add", "c"), ("remove", "a")]
    asked_by_then = [mark.step for mark in series.marks]
    assert 0 < asked_by_then[0] < asked_by_then[1] < series.steps


def test_times_of_buckets_are_those_of_their_first_decisions(place):
    bandit = br.Bandit(["a", "b"], "FE-Linear", seed=0, clock=Clock(), **place)
    for _ in range(3 * BUCKETS):
        bandit.ask()
    series = Series(bandit).refresh()
    first = [row["asked_at"] for row in bandit.history(plain=True)][:: series.width]
    assert series.first_at[: series.used].tolist() == [datetime.fromisoformat(at).timestamp() for at in first]


def test_a_series_of_a_pruned_log_goes_on(url):
    clock = Clock()
    bandit = br.Bandit(["a", "b"], "FE-Linear", store=url, name="x", seed=0, clock=clock)
    series = Series(bandit)
    for made in bandit.ask(200):
        bandit.tell(made, 1.0)
    series.refresh()
    middle = clock.now
    for made in bandit.ask(200):
        bandit.tell(made, 1.0)
    assert bandit.prune(middle) > 100
    assert series.refresh().asked.sum() == 400
    fresh = Series(bandit).refresh()
    assert fresh.steps == 400
    assert fresh.asked.sum() == len(bandit.history(plain=True))


def test_a_glance_is_the_history(place):
    clock = Clock()
    bandit = br.Bandit(["a", "b"], "FE-Linear", seed=0, clock=clock, **place)
    with bandit._session.apart() as log:
        assert glance(log, 0.0)[:3] == (0, None, 0)
    times = []
    for n in range(300):
        made = bandit.ask()
        times.append(clock.now)
        if n % 3:
            bandit.tell(made, float(n))
    for since in (0.0, times[0], times[150] + 0.5, times[-1], times[-1] + 1):
        with bandit._session.apart() as log:
            found = glance(log, since)
        assert found.steps == 300
        assert found.last_at == times[-1]
        assert found.since == sum(at >= since for at in times)
    width = 300 // POINTS
    groups = [[float(n) for n in range(start, start + width) if n % 3] for start in range(0, 300, width)]
    np.testing.assert_allclose(found.line, [np.mean(group) for group in groups])
    bandit.ask(RECENT)
    with bandit._session.apart() as log:
        line = glance(log, 0.0).line
    assert len(line) <= POINTS
    assert math.isnan(line[-1])


def test_what_is_earned_is_the_gain(place):
    bandit = br.Bandit(["a", "b"], br.UCB1(0, 1), seed=0, holdout=0.2, clock=Clock(), **place)
    earned = Earned(bandit)
    assert math.isnan(earned.gain().gain)
    bandit.record([("a", 1.0), ("b", None)])
    for _ in range(5):
        for made in bandit.ask(60):
            bandit.tell(made, float(made.arm == "b"))
        found, right = earned.gain(), bandit.gain()
        assert found[5:] == right[5:]
        np.testing.assert_allclose(found[:5], right[:5])


def test_decisions_are_looked_up(place):
    bandit = br.Bandit(["a", "b", "c"], "FE-Linear", seed=0, clock=Clock(), **place)
    made = [bandit.ask(unit=f"user {n}", request=f"page {n}") for n in range(30)]
    steps = [row["step"] for row in look_up.latest(bandit, 10)]
    assert steps == list(range(30, 20, -1))
    of_b = [one.step for one in made if one.arm == "b"][::-1]
    assert [row["step"] for row in look_up.latest(bandit, 4, 1)] == of_b[:4]
    for text in (made[7].id, "user 7", "page 7"):
        assert [row["decision"] for row in look_up.find(bandit, text)] == [made[7].id]
    for text in ("", "user 77", "8-0000000000000000", "x" * 1000):
        assert look_up.find(bandit, text) == []


def test_bandits_are_searched_sorted_and_counted_in_pages(url):
    for n in range(7):
        with br.Bandit(
            ["a", "b"], "FE-Linear", store=url, name=f"Shop_{n % 3}/{n}", seed=0, clock=Clock()
        ) as one:
            one.ask(n + 1)
    br.Bandit(["a"], "FE-Linear", store=url, name="other", seed=0).close()
    store = open_store(url, create=False)

    def names(text, order, offset, limit):
        found, number = search(store, text, order, offset, limit, 0.0)
        return [seen.listed.name for seen in found], number

    assert names("", "name", 0, 3) == (["Shop_0/0", "Shop_0/3", "Shop_0/6"], 8)
    assert names("", "-name", 0, 1) == (["other"], 8)
    assert names("shop_1", "name", 0, 9) == (["Shop_1/1", "Shop_1/4"], 2)
    assert names("%", "name", 0, 9) == ([], 0)
    assert names("", "-decisions", 1, 2) == (["Shop_2/5", "Shop_1/4"], 8)
    assert names("", "decisions", 0, 1) == (["other"], 8)
    assert names("", "-created", 0, 1) == (["other"], 8)
    found, _ = search(store, "", "-decisions", 0, 1, 0.0)
    assert found[0].glance.since == found[0].listed.decisions == 7
    store.close()


def test_a_bandit_whose_log_is_damaged_is_listed_without_a_glance(url):
    with br.Bandit(["a", "b"], "FE-Linear", store=url, name="x", seed=0) as bandit:
        bandit.ask(5)
    stores.run(url, "UPDATE brigand_bandits SET definition = '{'")
    store = open_store(url, create=False)
    (seen,), _ = search(store, "", "name", 0, 9, 0.0)
    assert seen.listed.damaged
    assert json.dumps(seen.listed.name) == '"x"'
    store.close()
