"""A history is read a page at a time, of one moment, and waits for nobody."""

import json
import math
import threading
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import brigand as br
from brigand.live import history
from brigand.storage import records
from live.common import FE, Clock
from stores import run


@pytest.fixture(params=["memory", "store"])
def bandit(request, url):
    """One with decisions of every status, some out of order, one with a reason that JSON must escape."""
    clock = Clock(1000.0)
    place = {} if request.param == "memory" else {"store": url, "name": "x"}
    with br.Bandit(
        ["a", 'quo"te\\'], FE, seed=0, reward_timeout=10, default_reward=0.25, clock=clock, **place
    ) as made:
        made.record([br.Past("a", 0.5, 900.5, 901.0), br.Past("a", None, 995.0, None)])
        first = made.ask(8)
        clock.now += 5.125
        made.tell_many([(decision, 0.5) for decision in first[::2]])
        clock.now += 10.0
        made.tell(first[1], 1.0)
        made.ask(3)
        made.remove_arm("a")
        made.ask(2)
        yield made


def plainly(bandit):
    """Return the history, written down from the log event by event."""
    events = bandit._session.events()
    names = [json.loads(event.data)["name"] for event in events if event.kind == "add"]
    rows = {}
    for event in events:
        if event.kind == "ask":
            data = json.loads(event.data) if event.data else {}
            rows[event.step] = {
                "step": event.step,
                "decision": bandit._ids.id_of(event.step),
                "arm": names[event.arm],
                "explored": data.get("explored", False),
                "propensity": data.get("propensity"),
                "holdout": data.get("holdout", False),
                "reason": data.get("reason", ""),
                "asked_at": datetime.fromtimestamp(event.at, UTC).isoformat(),
                "told_at": None,
                "reward": None,
                "learned": None,
                "status": "pending",
            }
        elif event.step:
            row = rows[event.step]
            row["told_at"] = datetime.fromtimestamp(event.at, UTC).isoformat()
            row["reward"] = event.value
            if event.counted:
                row["learned"] = event.value
            late = row["status"] == "default"
            kind = "learned" if event.kind == "tell" else "default"
            row["status"] = "late" if late else kind if event.counted else "history"
    return list(rows.values())


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_it_is_what_the_log_says_whatever_the_pages(bandit, size, monkeypatch):
    monkeypatch.setattr(records, "PAGE_SIZE", size)
    monkeypatch.setattr("brigand.live.session.PAGE_SIZE", size)
    expected = plainly(bandit)
    assert bandit.history(plain=True) == expected
    assert {row["status"] for row in expected} == {"learned", "default", "late", "pending"}
    for after, limit in ((0, 0), (0, 5), (3, 4), (12, None), (99, None), (2, 10**9)):
        end = None if limit is None else after + limit
        assert bandit.history(after=after, limit=limit, plain=True) == expected[after:end]
        frame = bandit.history(after=after, limit=limit)
        assert frame.index.tolist() == [row["step"] for row in expected[after:end]]
        assert frame["reward"].isna().tolist() == [row["reward"] is None for row in expected[after:end]]
        assert {name: str(kind) for name, kind in frame.dtypes.items()} == {
            name: kind for name, kind in history.HISTORY.items() if name != "step"
        }


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(st.floats(-2e9, 4e9), st.just(math.nan))))
def test_times_are_those_of_datetime(seconds):
    expected = [
        "" if math.isnan(time) else f"{datetime.fromtimestamp(time, UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
        for time in seconds
    ]
    found = history.texts(np.array(seconds, float))
    assert [text.lstrip("0") for text in found] == [text.lstrip("0") for text in expected]


def test_it_waits_for_nobody_and_nobody_for_it(url):
    with br.Bandit(["a", "b"], FE, seed=0, store=url, name="x") as bandit:
        bandit.ask(20)
        pages = history.pages(bandit, 0, None)
        next(pages)
        thread = threading.Thread(target=bandit.ask)  # while a reader has begun
        thread.start()
        thread.join(30)
        assert not thread.is_alive()
        pages.close()
        with bandit._session.lock:  # while somebody writes
            read = []
            thread = threading.Thread(target=lambda: read.append(len(bandit.history())))
            thread.start()
            thread.join(30)
            assert read == [21]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("arm = 99", "there is no arm number 99"),
        ("arm = -1", "there is no arm number -1"),
        ("data = '{'", "Expecting"),
        ("data = '[]'", "no attribute"),
    ],
)
def test_a_damaged_decision_is_said_to_be(url, change, message):
    with br.Bandit(["a", "b"], FE, seed=0, store=url, name="x") as bandit:
        bandit.ask(5)
        run(url, f"UPDATE brigand_events SET {change} WHERE step = 3")
        with pytest.raises(br.StorageError, match="line 5 of the log is damaged: its checksum does not fit"):
            bandit.history()
        run(url, "UPDATE brigand_events SET crc = NULL")  # as in old stores
        with pytest.raises(br.StorageError, match=f"damaged at one of the decisions 1 to 5: .*{message}"):
            bandit.history()
        assert len(bandit.history(after=3)) == 2
