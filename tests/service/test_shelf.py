"""Calls that wait together share a transaction, each with its own answer; and what happens where it fails."""

import threading

import brigand as br
from brigand.live import batch
from brigand.storage.store import Store
from service.common import made, served


def test_calls_that_wait_together_share_a_transaction(service, monkeypatch):
    path = made(service, "together")
    begun, go_on, counts = threading.Event(), threading.Event(), []
    run = batch.run

    def slowly(bandit, calls):
        counts.append(len(calls))
        begun.set()
        go_on.wait(10)
        return run(bandit, calls)

    monkeypatch.setattr("brigand.service.shelf.batch.run", slowly)
    threading.Thread(target=lambda: (begun.wait(10), threading.Event().wait(0.3), go_on.set())).start()
    answers = service.together(*[("POST", f"{path}/ask", {"json": {}}) for _ in range(40)])
    assert sorted(answer.json()["step"] for answer in answers) == list(range(1, 41))
    assert sum(counts) == 40
    assert len(counts) <= 3


def test_each_call_has_its_own_error(service):
    path = made(service, "mixed")
    id = service("POST", f"{path}/ask").json()["id"]
    answers = service.together(
        ("POST", f"{path}/ask", {"json": {}}),
        ("POST", f"{path}/ask", {"json": {"among": ["blue"]}}),
        ("POST", f"{path}/tell", {"json": {"id": id, "reward": 1.0}}),
        ("POST", f"{path}/tell", {"json": {"id": "99-x", "reward": 1.0}}),
        ("POST", f"{path}/ask", {"json": {"unit": "\u0007"}}),
    )
    assert [answer.status_code for answer in answers] == [200, 404, 200, 404, 422]
    assert len(service("GET", f"{path}/history").json()["decisions"]) == 2


def test_where_the_store_fails_nothing_of_the_calls_is_stored(url, monkeypatch):
    with served(url) as service:
        path = made(service, "away")
        first = service("POST", f"{path}/ask").json()

        def fail(self, bandit_id):
            raise br.StorageError("secret place DETAIL: anna")

        monkeypatch.setattr(Store, "writing", fail)
        answers = service.together(*[("POST", f"{path}/ask", {"json": {}}) for _ in range(10)])
        assert {answer.status_code for answer in answers} == {503}
        assert {answer.headers["retry-after"] for answer in answers} == {"1"}
        assert not any("secret" in answer.text for answer in answers)
        monkeypatch.undo()
        again = service("POST", f"{path}/ask").json()
        assert (first["step"], again["step"]) == (1, 2)
        service("DELETE", path)


def test_one_call_that_breaks_the_service_does_not_break_the_others(service, monkeypatch):
    path = made(service, "poison")
    asking = batch.asking

    def sometimes(bandit, **options):
        if options["unit"] == "poison":
            raise ZeroDivisionError
        return asking(bandit, **options)

    monkeypatch.setattr("brigand.service.routes.batch.asking", sometimes)
    units = ["a", "poison", "b"]
    answers = service.together(*[("POST", f"{path}/ask", {"json": {"unit": unit}}) for unit in units])
    assert [answer.status_code for answer in answers] == [200, 500, 200]


def test_too_many_waiting_calls_are_refused(monkeypatch):
    monkeypatch.setattr("brigand.service.shelf.MAX_WAITING", 5)
    with served(None) as service:
        path = made(service, "busy")
        answers = service.together(*[("POST", f"{path}/ask", {"json": {}}) for _ in range(20)])
        found = [answer.status_code for answer in answers]
    assert set(found) == {200, 503}
    assert found.count(200) >= 5


def test_few_bandits_are_kept_open(url, monkeypatch):
    monkeypatch.setattr("brigand.service.shelf.OPEN", 3)
    with served(url) as service:
        for number in range(6):
            service("POST", f"{made(service, f'open {number}')}/ask")
        assert len(service.app.state.service.shelf.open_now()) <= 4
        for number in range(6):
            path = f"/v1/bandits/open%20{number}"
            assert service("POST", f"{path}/ask").json()["step"] == 2
            service("DELETE", path)


def test_one_unit_asked_at_once_from_two_services_gets_one_decision(url):
    with served(url) as one, served(url) as two:
        path = made(one, "unit")
        found = []

        def ask(service):
            calls = [("POST", f"{path}/ask", {"json": {"unit": "anna"}}) for _ in range(4)]
            found.extend(answer.json() for answer in service.together(*calls))

        threads = [threading.Thread(target=ask, args=(service,)) for service in (one, two)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 8
        assert len({decision["id"] for decision in found}) == 1
        assert len(one("GET", f"{path}/history").json()["decisions"]) == 1
        one("DELETE", path)
