"""Asking and telling, while the service answers, is slow, refuses, or is away."""

import asyncio
import json
import logging
import os
import pickle
import subprocess
import sys
import threading

import httpx
import pytest

import brigand as br
from brigand.client import AsyncClient, Client, Decision
from client.stub import AWAY, DROPPED, KEY, LOST, Service

URL = "http://service.example"
LONG = 60.0
"""Seconds after which a call would be over that should be over long before."""


@pytest.fixture
def service():
    made = Service()
    made.bandits["button"] = ["red", "green"]
    return made


def client_of(service, **options):
    return Client(URL, KEY, **({"transport": service.transport(), "timeout": LONG} | options))


class Given:
    """Faults in a given order; then `after` for ever."""

    def __init__(self, *faults, after=None):
        self.faults, self.after = list(faults), after

    def __call__(self):
        return self.faults.pop(0) if self.faults else self.after


def bodies(service):
    return [given for *_, given in service.requests]


# Asking


def test_a_decision_is_asked_for_and_its_reward_told(service):
    with client_of(service) as client:
        decision = client.ask("button", among=iter(["red", "green"]), unit="anna", fallback="red")
        assert decision == Decision("1-d", "green", 1, False, 1.0, False, "greedy: it is the turn of green")
        assert not decision.is_fallback
        assert client.tell("button", decision, 1) == "added"
        assert client.tell("button", decision.id, True, metric="signup", replace=True) == "added"
        assert (client.pending, client.dropped, client.refused) == (0, 0, 0)
    asked, told, more = bodies(service)
    assert asked == {"among": ["red", "green"], "unit": "anna", "request": asked["request"]}
    assert told == {"id": "1-d", "reward": 1.0, "request": told["request"]}
    assert more == {
        "id": "1-d",
        "reward": True,
        "metric": "signup",
        "replace": True,
        "request": more["request"],
    }
    for (method, target, headers, given), path in zip(service.requests, ["ask", "tell", "tell"], strict=True):
        assert (method, target) == ("POST", f"/v1/bandits/button/{path}")
        assert headers["x-request-id"] == given["request"]
        assert headers["content-type"] == "application/json"


@pytest.mark.parametrize("fault", [DROPPED, LOST, AWAY])
def test_it_is_asked_again_under_the_same_name(service, fault):
    service.faults = Given(fault, fault)
    with client_of(service, retries=2) as client:
        assert client.ask("button").step == 1
    assert len({given["request"] for given in bodies(service)}) == 1
    assert len(bodies(service)) == (3 if fault == LOST else 1)
    assert len(service.decisions) == 1


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (DROPPED, "the service cannot be reached: nobody is there"),
        (LOST, "the service cannot be reached: the connection was lost"),
        (AWAY, "away"),
    ],
)
def test_a_service_that_is_away_gives_the_fallback(service, fault, why):
    service.faults = Given(after=fault)
    with client_of(service, retries=1) as client:
        decision = client.ask("button", fallback="red")
        assert (decision.arm, decision.step, decision.is_fallback) == ("red", 0, True)
        assert decision.reason == f"fallback: {why}"
        assert decision.id != client.ask("button", fallback="red").id
        with pytest.raises(br.ServiceError, match=why) as caught:
            client.ask("button")
        assert caught.value.status == (503 if fault == AWAY else None)
        assert client.tell("button", decision, 1.0) == client.tell("button", decision.id, 1.0) == "fallback"
        assert client.pending == 0


def hanging(times):
    """Return a transport that answers no request but those after so many, and the requests."""
    seen = []

    async def handler(request):
        seen.append(json.loads(request.content)["request"])
        if len(seen) <= times:
            await asyncio.sleep(LONG)
        return httpx.Response(200, json=Service().ask(["red"], {"request": "x"})[1])

    return httpx.MockTransport(handler), seen


def test_a_deadline_holds_whatever_hangs():
    transport, seen = hanging(1000)
    with Client(URL, transport=transport) as client:
        decision = client.ask("button", fallback="red")
        assert decision.reason == "fallback: the service did not answer within 0.2 seconds"
        assert 2 <= len(seen) <= 3  # attempts, as time allows
        assert len(set(seen)) == 1
        with pytest.raises(br.ServiceError, match=r"did not answer within 0\.2 seconds"):
            client.ask("button")


@pytest.mark.full
def test_one_connection_that_hangs_leaves_time_for_another():
    transport, seen = hanging(1)
    with Client(URL, transport=transport, timeout=2.0) as client:
        assert client.ask("button").step == 1
    assert len(seen) == 2
    assert len(set(seen)) == 1


def test_a_service_that_asks_for_more_time_than_there_is_is_not_asked_again():
    seen = []

    def handler(request):
        seen.append(request)
        return httpx.Response(429, json={"title": "too many"}, headers={"Retry-After": "50"})

    with Client(URL, transport=httpx.MockTransport(handler), timeout=10.0) as client:
        assert client.ask("button", fallback="red").reason == "fallback: too many"
    assert len(seen) == 1


# What is refused


REFUSED = [
    (400, "", br.InvalidValueError),
    (401, "", br.AccessError),
    (403, "", br.AccessError),
    (404, "", br.UnknownNameError),
    (404, "unknown name", br.UnknownNameError),
    (404, "unknown decision", br.UnknownDecisionError),
    (409, "conflicting reward", br.ConflictingRewardError),
    (409, "name taken", br.NameTakenError),
    (409, "paused", br.NotServingError),
    (413, "", br.InvalidValueError),
    (422, "value not allowed", br.InvalidValueError),
    (500, "unknown name", br.ServiceError),
    (302, "", br.ServiceError),
]


@pytest.mark.parametrize(("status", "title", "kind"), REFUSED)
def test_refusals_are_the_errors_of_the_library_and_come_at_once(status, title, kind):
    seen = []

    def handler(request):
        seen.append(request)
        problem = {"type": "about:blank", "title": title, "status": status, "detail": "it is so."}
        return httpx.Response(status, json=problem, headers={"X-Request-ID": "r-1"})

    transport = httpx.MockTransport(handler)
    with Client(URL, KEY, transport=transport, retries=1, queue=0, timeout=LONG) as client:
        for call in (lambda: client.ask("button"), lambda: client.tell("button", "1-x", 1.0)):
            seen.clear()
            with pytest.raises(kind) as caught:
                call()
            assert isinstance(caught.value, kind)
            assert caught.value.__notes__ == ["X-Request-ID: r-1"]
            assert str(caught.value) == str(pickle.loads(pickle.dumps(caught.value))) == "it is so."
            assert len(seen) == (2 if kind is br.ServiceError else 1)
        if kind in (br.ServiceError, br.NotServingError):
            assert client.ask("button", fallback="red").reason == "fallback: it is so"
        else:
            with pytest.raises(kind):
                client.ask("button", fallback="red")


ODD = [
    (200, b"<html>"),
    (200, b""),
    (200, b"[]"),
    (200, b"[" * 100_000),
    (200, b'{"id": "1-x", "arm": "red", "step": true}'),
    (200, b'{"told": 3}'),
    (502, b"<html>"),
    (599, b"\xff"),
]


@pytest.mark.parametrize(("status", "content"), ODD)
def test_what_is_no_answer_of_the_service_is_a_service_error(status, content):
    transport = httpx.MockTransport(lambda _: httpx.Response(status, content=content))
    with Client(URL, transport=transport, retries=0, queue=0) as client:
        for call in (
            lambda: client.ask("button"),
            lambda: client.tell("button", "1-x", 1.0),
            lambda: (
                client.show("button")
                if content != b'{"told": 3}' and b'"id"' not in content
                else client.arms("b")
            ),
            lambda: client.metrics("button"),
            lambda: list(client.history("button")),
        ):
            with pytest.raises(br.ServiceError, match="the service"):
                call()
        assert client.ask("button", fallback="red").is_fallback


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        (lambda c: c.ask(""), "must not be empty"),
        (lambda c: c.ask(3), "must be a string"),
        (lambda c: c.ask("\ud800"), "UTF-8 can hold"),
        (lambda c: c.ask("b", among="red"), "must be a list of names"),
        (lambda c: c.ask("b", among=[3]), "must be a string"),
        (lambda c: c.ask("b", unit=3), "must be a string"),
        (lambda c: c.ask("b", fallback=3), "must be a string"),
        (lambda c: c.ask("b", among=["green"], fallback="red"), "one of the arms in among"),
        (lambda c: c.ask_many("b", 0), "n must be"),
        (lambda c: c.tell("b", "1-x", float("nan")), "reward must be finite"),
        (lambda c: c.tell("b", "1-x", "1"), "reward must be a number"),
        (lambda c: c.tell("b", 1, 1.0), "must be a string"),
        (lambda c: c.tell("b", "1-x", 1.0, metric=3), "must be a string"),
        (lambda c: c.create("b", ["red"], {"x": object()}), "cannot be written as JSON"),
        (lambda c: c.create("b", ["red"], floor=float("inf")), "cannot be written as JSON"),
        (lambda c: c.export("b", "x.txt"), "must end in"),
        (lambda c: list(c.history("b", page=0)), "page must be"),
    ],
)
def test_what_is_wrong_is_said_without_the_service(wrong, match):
    def handler(request):
        raise AssertionError(request)

    with (
        Client(URL, transport=httpx.MockTransport(handler)) as client,
        pytest.raises(br.InvalidValueError, match=match),
    ):
        wrong(client)


@pytest.mark.parametrize(
    "options",
    [
        {"url": "service.example"},
        {"url": "ftp://service.example"},
        {"url": "http://service.example/?x=1"},
        {"url": 3},
        {"key": ""},
        {"key": "a\nb"},
        {"key": 7},
        {"timeout": 0},
        {"retries": -1},
        {"queue": -1},
        {"patience": float("nan")},
    ],
)
def test_wrong_settings_are_refused(options):
    with pytest.raises(br.InvalidValueError) as caught:
        Client(**{"url": URL, "key": KEY, **options})
    assert "a\nb" not in str(caught.value)


# Telling


def test_tells_wait_while_the_service_is_away_and_are_told_once(service):
    with client_of(service, retries=0) as client:
        decisions = [client.ask("button") for _ in range(40)]
        service.faults = Given(after=DROPPED)
        for decision in decisions:
            assert client.tell("button", decision, 1.0) == "queued"
            assert client.tell("button", decision, 0.25) == "queued"
        assert client.pending == 80
        assert not client.flush(0.3)
        service.faults = Given(LOST, None, LOST, AWAY)
        assert client.flush(LONG)
        assert client.tell("button", decisions[0], 0.5) == "added"
    assert service.rewards.pop("1-d") == [1.0, 0.25, 0.5]
    assert list(service.rewards.values()) == [[1.0, 0.25]] * 39  # each once, and in order
    assert (client.pending, client.dropped, client.refused) == (0, 0, 0)


def test_a_tell_that_may_have_come_through_is_told_once(service):
    with client_of(service, retries=0) as client:
        decision = client.ask("button")
        service.faults = Given(LOST)
        assert client.tell("button", decision, 1.0) == "queued"
        assert client.flush(LONG)
    assert service.rewards["1-d"] == [1.0]


def test_of_a_full_queue_the_oldest_is_dropped_and_counted(service):
    with client_of(service, retries=0, queue=3) as client:
        for _ in range(5):
            client.ask("button")
        service.faults = Given(after=DROPPED)
        for step in range(1, 6):
            client.tell("button", f"{step}-d", 1.0)
        assert (client.pending, client.dropped) == (3, 2)
        service.faults = Given()
        assert client.flush(LONG)
    assert [len(told) for told in service.rewards.values()] == [0, 0, 1, 1, 1]


def test_without_a_queue_a_tell_without_an_answer_is_an_error(service):
    service.faults = Given(after=DROPPED)
    with client_of(service, retries=0, queue=0) as client:
        with pytest.raises(br.ServiceError, match="nobody is there"):
            client.tell("button", "1-d", 1.0)
        assert client.pending == 0


def test_what_is_refused_is_not_sent_again_and_logged_without_the_key(service, caplog):
    with client_of(service, retries=0) as client, caplog.at_level(logging.WARNING, "brigand.client"):
        with pytest.raises(br.InvalidValueError, match="not negative"):
            client.tell("button", client.ask("button"), -1.0)
        service.faults = Given(DROPPED)
        assert client.tell("button", "1-d", -1.0) == "queued"
        assert client.flush(LONG)
        assert (client.pending, client.dropped, client.refused) == (0, 0, 1)
        assert KEY not in repr(client)
    assert "InvalidValueError: rewards are not negative." in caplog.text
    assert KEY not in caplog.text


def test_a_tell_that_the_service_cannot_take_holds_up_no_other():
    told, bad = [], {f"{step}-d" for step in range(20)}

    def handler(request):
        given = json.loads(request.content)
        if not open_again or given["id"] in bad:
            return httpx.Response(500, json={"title": "a mistake"})
        told.append(given["id"])
        return httpx.Response(200, json={"told": "learned"})

    open_again = []
    with Client(URL, transport=httpx.MockTransport(handler), retries=0, timeout=LONG) as client:
        for step in range(60):
            assert client.tell("button", f"{step}-d", 1.0) == "queued"
        open_again.append(True)
        client.flush(0.1)
        while client.pending > 20:
            client.flush(0.1)
        assert sorted(told) == sorted({f"{step}-d" for step in range(20, 60)})
        assert client.pending == 20
        bad.clear()
        assert client.flush(LONG)


def test_what_waits_when_the_client_is_closed_is_sent_or_dropped(service, caplog):
    client = client_of(service, retries=0)
    client.ask("button")
    service.faults = Given(DROPPED, DROPPED)
    client.tell("button", "1-d", 1.0)
    client.close()
    assert service.rewards["1-d"] == [1.0]
    client = client_of(service, retries=0)
    service.faults = Given(after=DROPPED)
    client.tell("button", "1-d", 1.0)
    client.close(0.0)
    client.close()
    assert (client.pending, client.dropped) == (0, 1)
    assert "1 tells were dropped" in caplog.text
    with pytest.raises(br.InvalidValueError, match="was closed"):
        client.ask("button", fallback="red")


def test_closed_and_forgotten_clients_end_their_threads(service):
    def threads():
        return [thread for thread in threading.enumerate() if thread.name == "brigand-client"]

    before = threads()
    with client_of(service) as client:
        client.ask("button")
        assert len(threads()) == len(before) + 1
    assert threads() == before
    client_of(service).close()
    client = client_of(service)
    client.ask("button")
    del client
    assert threads() == before


# Asyncio, forks, and a package that is missing


def test_the_client_for_asyncio_does_the_same(service):
    async def main():
        async with AsyncClient(URL, KEY, transport=service.transport(), retries=0, timeout=LONG) as client:
            decisions = await asyncio.gather(*(client.ask("button") for _ in range(50)))
            assert len({decision.id for decision in decisions}) == 50
            service.faults = Given(after=DROPPED)
            fallback = await client.ask("button", fallback="green")
            assert fallback.is_fallback
            told = await asyncio.gather(*(client.tell("button", one, 1.0) for one in [*decisions, fallback]))
            assert told == ["queued"] * 50 + ["fallback"]
            assert client.pending == 50
            service.faults = Given()
            assert await client.flush(LONG)
            assert client.pending == 0
        with pytest.raises(br.InvalidValueError, match="was closed"):
            await client.tell("button", "1-d", 1.0)

    asyncio.run(main())
    assert list(service.rewards.values()) == [[1.0]] * 50


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="POSIX only")
def test_a_forked_process_has_a_client_of_its_own_and_sends_nothing_of_its_parents(service):
    with service.listening() as url, Client(url, KEY, retries=0, timeout=LONG) as client:
        client.ask("button")
        service.faults = Given(after=DROPPED)
        client.tell("button", "1-d", 1.0)
        child = (
            "assert (client.pending, client.ask('button').step) == (0, 2)\n"
            "assert client.tell('button', '2-d', 1.0) == 'added'\n"
            "client.close()\n"
        )
        service.faults = Given()
        pid = os.fork()
        if pid == 0:  # what fails here must not go on with the tests
            code = 1
            try:
                exec(child, {"client": client})
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(pid, 0)[1] == 0
        assert client.flush(LONG)
        assert client.ask("button").step == 3
    assert service.rewards == {"1-d": [1.0], "2-d": [1.0], "3-d": []}


def test_the_package_that_is_missing_is_named():
    code = (
        "import sys\nsys.modules['httpx'] = None\n"
        "try: import brigand.client\nexcept ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "the client needs httpx: pip install 'brigand[client]'.\n"


def test_the_client_loads_nothing_heavy():
    heavy = ("numpy", "numba", "scipy", "sqlalchemy", "pandas")
    code = f"import sys, brigand.client; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
