"""What is sent, when again, and what waits: without a network and without waiting."""

import itertools
import json

import pytest

import brigand as br
from brigand.client import answers, calls
from brigand.client.outbox import Outbox


@pytest.mark.parametrize(
    ("name", "segment"),
    [
        ("button", "button"),
        ("a/b", "a%2Fb"),
        ("..", "%2E%2E"),
        (".", "%2E"),
        ("a.b", "a.b"),
        ("50 % off?", "50%20%25%20off%3F"),
        ("x#y", "x%23y"),
        ("é", "%C3%A9"),
        ("\n", "%0A"),
    ],
)
def test_a_name_is_one_segment_of_a_path(name, segment):
    assert calls.path(name, "ask") == f"/v1/bandits/{segment}/ask"


def test_what_is_not_given_is_not_sent():
    assert json.loads(calls.body(a=None, b=0, c=[])) == {"b": 0, "c": []}
    assert calls.query(low=None, high=1.5, after=0) == {"high": "1.5", "after": "0"}


def test_an_attempt_has_half_of_what_is_left_and_the_last_one_all(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(calls.time, "monotonic", lambda: now[0])
    attempts = calls.Attempts(0.2, 2)
    shares = []
    for _ in range(2):
        shares.append(attempts.share)
        now[0] += shares[-1]
        assert 0 < attempts.pause() < 0.02
    shares.append(attempts.share)
    assert shares == pytest.approx([0.1, 0.05, 0.05])
    assert attempts.pause() is None  # no attempt is left
    attempts = calls.Attempts(0.2, 9)
    assert attempts.pause(0.15) == 0.15
    assert attempts.pause(0.25) is None  # no time is


def test_pauses_double_up_to_five_seconds():
    drawn = list(itertools.islice(calls.pauses(0.1), 20))
    for k, pause in enumerate(drawn):
        longest = min(0.1 * 2**k, 5.0)
        assert 0.5 * longest <= pause <= longest
    assert drawn != list(itertools.islice(calls.pauses(0.1), 20))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("3", 3.0), ("", 0.0), ("86400", 60.0), ("-1", 0.0), ("nan", 0.0), ("Mon, 1 Jan", 0.0)],
)
def test_what_a_service_asks_to_wait_is_bounded(text, seconds):
    error = answers.error_of(503, {"retry-after": text}, b"")
    assert isinstance(error, br.ServiceError)
    assert (error.status, error.retry_after) == (503, seconds)
    assert str(error) == "the service answered 503 Service Unavailable."


def test_an_error_repeats_only_so_much_of_an_answer():
    error = answers.error_of(422, {}, json.dumps({"detail": "x" * 10**6}).encode())
    assert len(str(error)) == answers.LONGEST


# The queue


def tells(outbox, *decisions):
    made = []
    for decision in decisions:
        made.append(calls.tell("button", decision, 1.0, None, False))
        outbox.put(made[-1], decision)
    return made


def test_tells_are_sent_in_order_those_of_a_decision_one_after_the_other():
    outbox = Outbox(10)
    a, b, again, c = tells(outbox, "a", "b", "a", "c")
    assert outbox.first(2) == [a, b]
    assert outbox.first(9) == [a, b, c]
    outbox.sent(a)
    assert outbox.first(9) == [again, b, c]
    outbox.put_off(again)
    assert outbox.first(9) == [b, c, again]
    outbox.refuse(b)
    outbox.sent(c)
    outbox.sent(again)
    assert outbox.first(9) == []
    assert (outbox.pending, outbox.dropped, outbox.refused) == (0, 0, 1)


def test_the_oldest_makes_room_and_is_not_counted_if_it_gets_through_after_all():
    outbox = Outbox(2)
    first, second, third = tells(outbox, "a", "b", "c")
    assert outbox.first(9) == [second, third]
    assert (outbox.pending, outbox.dropped) == (2, 1)
    outbox.put_off(first)
    outbox.sent(first)
    assert (outbox.pending, outbox.dropped) == (2, 0)
    outbox.drop_all()
    assert (outbox.pending, outbox.dropped) == (0, 2)
    assert outbox.first(9) == []
