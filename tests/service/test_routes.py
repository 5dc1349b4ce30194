"""What each route does, who may call it, and what it says of errors."""

import io
import json

import pandas as pd
import pytest

import brigand as br
from brigand.service import keys
from brigand.service.app import create_app
from service.common import Served, made, quoted, served

ROUTES = [
    ("POST", "/v1/bandits", "admin", {"name": "new", "arms": ["a"]}, 201),
    ("GET", "/v1/bandits", "read", None, 200),
    ("GET", "/v1/bandits/{}", "read", None, 200),
    ("POST", "/v1/bandits/{}/ask", "decide", {}, 200),
    ("POST", "/v1/bandits/{}/tell", "decide", {"id": "1-x", "reward": 1.0}, 404),
    ("POST", "/v1/bandits/{}/arms", "admin", {"arm": "blue"}, 201),
    ("DELETE", "/v1/bandits/{}/arms/blue", "admin", None, 204),
    ("POST", "/v1/bandits/{}/pause", "admin", {"note": "closed"}, 200),
    ("POST", "/v1/bandits/{}/resume", "admin", {}, 200),
    ("POST", "/v1/bandits/{}/notes", "admin", {"note": "open"}, 200),
    ("GET", "/v1/bandits/{}/history", "read", None, 200),
    ("GET", "/v1/bandits/{}/export", "read", None, 200),
    ("GET", "/v1/bandits/{}/snapshot", "admin", None, 200),
    ("GET", "/v1/bandits/{}/gain", "read", None, 200),
    ("GET", "/v1/bandits/{}/metrics", "read", None, 200),
    ("GET", "/v1/bandits/{}/audit", "read", None, 200),
    ("GET", "/metrics", "read", None, 200),
    ("POST", "/v1/bandits/{}/end", "admin", {"arm": "red"}, 200),
    ("DELETE", "/v1/bandits/{}", "admin", None, 204),
    ("GET", "/healthz", None, None, 200),
    ("GET", "/readyz", None, None, 200),
    ("GET", "/openapi.json", None, None, 200),
]
"""Method, path, the role that it needs, a body, and the status for who has it."""
MAY = {"read": {"read"}, "decide": {"decide"}, "admin": {"read", "decide", "admin"}}


def test_the_table_has_every_route(service):
    paths = service("GET", "/openapi.json").json()["paths"]
    found = {
        (method.upper(), path.replace("{name}", "{}").replace("{arm}", "blue"))
        for path, methods in paths.items()
        for method in methods
    }
    assert found | {("GET", "/openapi.json")} == {(method, path) for method, path, *_ in ROUTES}


@pytest.mark.parametrize("role", [None, "read", "decide", "admin"])
def test_each_role_may_call_its_routes_and_no_others(url, service, role):
    name = f"of {role}"
    made(service, name, holdout=0.5)
    key = None if role is None else keys.create(url, role)
    for method, path, needed, body, status in ROUTES:
        if body is not None and "name" in body:
            body = {**body, "name": f"new of {role}"}
        answer = service(method, path.format(quoted(name)), key=key, json=body)
        if needed is None or needed in MAY.get(role, ()):
            assert answer.status_code == status, (method, path, answer.text)
        else:
            assert answer.status_code == (401 if role is None else 403), (method, path, answer.text)
            assert answer.headers["content-type"] == "application/problem+json"


def test_a_key_of_one_bandit_is_for_that_alone(url, service):
    made(service, "mine"), made(service, "other")
    key = keys.create(url, "admin", bandit="mine")
    for method, path, needed, body, _ in ROUTES:
        if needed is None or method == "DELETE":
            continue
        assert service(method, path.format("other"), key=key, json=body).status_code == 403, path
        if "{}" in path:
            assert service(method, path.format("mine"), key=key, json=body).status_code < 500
    assert service("GET", "/v1/bandits/nobody", key=key).status_code == 403  # not a word of what there is


def test_an_ask_and_a_tell(service):
    path = made(service, "first")
    decision = service("POST", f"{path}/ask", json={}).json()
    assert decision == {
        "id": decision["id"],
        "step": 1,
        "arm": "red",
        "explored": True,
        "propensity": 1.0,
        "holdout": False,
        "again": False,
        "reason": "forced: red was never chosen before",
        "data": {"kind": "forced"},
    }
    told = {"id": decision["id"], "reward": 1}
    assert service("POST", f"{path}/tell", json=told).json() == {"told": "learned"}
    assert service("POST", f"{path}/tell", json=told).json() == {"told": "repeated"}
    conflict = service("POST", f"{path}/tell", json=told | {"reward": 0.5})
    assert (conflict.status_code, conflict.json()["title"]) == (409, "conflicting reward")
    replaced = service("POST", f"{path}/tell", json=told | {"reward": 0.5, "replace": True})
    assert replaced.json() == {"told": "replaced"}


def test_many_at_once(service):
    path = made(service, "many")
    decisions = service("POST", f"{path}/ask", json={"n": 3, "among": ["green"]}).json()["decisions"]
    assert [decision["arm"] for decision in decisions] == ["green"] * 3
    rewards = [{"id": decision["id"], "reward": 0.5} for decision in decisions]
    assert service("POST", f"{path}/tell", json={"rewards": rewards}).json() == {"told": ["learned"] * 3}
    wrong = [{"id": decision["id"], "reward": 0.25} for decision in decisions]
    assert service("POST", f"{path}/tell", json={"rewards": wrong}).status_code == 409


def test_units_and_requests_get_their_decision_again(service):
    path = made(service, "sticky")
    for body in ({"unit": "anna"}, {"request": "r-1"}):
        first, again = (service("POST", f"{path}/ask", json=body).json() for _ in range(2))
        assert (first["id"], first["again"], again["again"]) == (again["id"], False, True)


def test_other_metrics_and_rewards_that_add_up(service):
    path = made(service, "sums", accumulate=3600, metric="spent")
    id = service("POST", f"{path}/ask").json()["id"]
    body = {"id": id, "reward": 2.5, "request": "r-1"}
    became = [service("POST", f"{path}/tell", json=body).json()["told"] for _ in range(2)]
    assert became == ["added", "repeated"]
    other = {"id": id, "reward": 1.0, "metric": "signup"}
    assert service("POST", f"{path}/tell", json=other).json() == {"told": "history"}
    (row,) = service("GET", f"{path}/metrics").json()["metrics"]
    assert (row["metric"], row["told"], row["mean"]) == ("signup", 1, 1.0)


def test_means_over_time(service):
    path = made(service, "over time")
    for reward in (1, 0, 1, 1) * 10:
        asked = service("POST", f"{path}/ask").json()
        service("POST", f"{path}/tell", json={"id": asked["id"], "reward": reward})
    plain, more = (service("GET", f"{path}{end}").json()["arms"] for end in ("", "?over_time=true"))
    assert all("over_time" not in row for row in plain)
    assert max(row["over_time"] or 0 for row in more) > 0.5


def test_pages(service):
    names = [f"page {number:02}" for number in range(5)]
    for name in names:
        path = made(service, name)
    found, after = [], "page"
    while after is not None:
        page = service("GET", "/v1/bandits", params={"after": after, "limit": 2}).json()
        found += [one["name"] for one in page["bandits"] if one["name"].startswith("page")]
        after = page["next"]
    assert found == names
    service("POST", f"{path}/ask", json={"n": 5})
    steps, after = [], 0
    while after is not None:
        page = service("GET", f"{path}/history", params={"after": after, "limit": 2}).json()
        steps += [row["step"] for row in page["decisions"]]
        after = page["next"]
    assert steps == [1, 2, 3, 4, 5]


def test_the_list_says_what_a_bandit_does(service):
    path = made(service, "states")

    def state():
        page = service("GET", "/v1/bandits", params={"after": "state", "limit": 1}).json()
        return page["bandits"][0]["status"], page["bandits"][0]["arms"]

    assert state() == ("serving", ["red", "green"])
    assert service("POST", f"{path}/pause").json() == {"status": "paused"}
    assert state()[0] == "paused"
    refused = service("POST", f"{path}/ask")
    assert (refused.status_code, refused.json()["title"]) == (409, "paused")
    service("POST", f"{path}/resume")
    service("DELETE", f"{path}/arms/red")
    assert state() == ("serving", ["green"])
    service("POST", f"{path}/end", json={"arm": "green", "note": "it won"})
    assert state()[0] == service("GET", path).json()["status"] == "ended"
    assert service("POST", f"{path}/ask").json()["arm"] == "green"
    audit = service("GET", f"{path}/audit").json()["audit"]
    assert (audit[-1]["action"], audit[-1]["arm"], audit[-1]["note"]) == ("end", "green", "it won")
    assert {row["by"] for row in audit} == {f"key {service.key.split('_')[1]}"}


def test_exports_hold_the_history(service):
    path = made(service, "exports", arms=["=1+1", 'b\r\n,"'])
    for decision in service("POST", f"{path}/ask", json={"n": 7}).json()["decisions"]:
        service("POST", f"{path}/tell", json={"id": decision["id"], "reward": 0.5})
    rows = service("GET", f"{path}/history").json()["decisions"]
    lines = service("GET", f"{path}/export", params={"format": "ndjson"}).text.splitlines()
    assert list(map(json.loads, lines)) == rows
    parquet = pd.read_parquet(
        io.BytesIO(service("GET", f"{path}/export", params={"format": "parquet"}).content)
    )
    assert parquet["arm"].to_list() == [row["arm"] for row in rows]
    text = service("GET", f"{path}/export")
    assert text.headers["content-type"] == "text/csv; charset=utf-8"
    table = pd.read_csv(io.StringIO(text.text, newline=""))
    assert set(table["arm"]) == {"'=1+1", 'b\r\n,"'}
    assert table["reward"].to_list() == [0.5] * 7


def test_a_long_export_comes_in_pieces(service, monkeypatch):
    monkeypatch.setattr("brigand.service.routes.EXPORT_ROWS", 10)
    path = made(service, "long")
    service("POST", f"{path}/ask", json={"n": 35})
    text = service("GET", f"{path}/export", params={"format": "csv"}).text
    assert [line.split(",")[0] for line in text.splitlines()[1:]] == list(map(str, range(1, 36)))
    parquet = service("GET", f"{path}/export", params={"format": "parquet"}).content
    assert pd.read_parquet(io.BytesIO(parquet))["step"].to_list() == list(range(1, 36))


def test_a_snapshot_can_be_restored(service):
    path = made(service, "snapshot")
    service("POST", f"{path}/ask", json={"n": 3})
    bandit = br.Bandit.restore(service("GET", f"{path}/snapshot").json())
    assert len(bandit.history()) == 3


def test_gain(service):
    path = made(service, "gain", holdout=0.5)
    for decision in service("POST", f"{path}/ask", json={"n": 9}).json()["decisions"]:
        service("POST", f"{path}/tell", json={"id": decision["id"], "reward": 0.5})
    found = service("GET", f"{path}/gain", params={"low": 0, "high": 1, "level": 0.9}).json()
    assert (found["decisions"] + found["holdout"], found["level"]) == (9, 0.9)
    assert service("GET", f"{path}/gain", params={"low": 0}).status_code == 422


def test_a_deleted_bandit_is_gone_and_another_one_can_take_its_name(url, service):
    path = made(service, "again", arms=["a"])
    assert service("POST", f"{path}/ask").json()["arm"] == "a"
    with served(url) as other:  # as another process would
        other("POST", f"{path}/ask")
        assert service("DELETE", path).status_code == 204
        assert other("POST", f"{path}/ask").status_code == 404
        assert service("POST", f"{path}/ask").status_code == 404
        made(service, "again", arms=["b"])
        assert other("POST", f"{path}/ask").json()["arm"] == "b"
        service("DELETE", path)
        made(service, "again", arms=["c"])
        assert other("GET", path).json()["arms"][0]["arm"] == "c"


def test_names_that_are_taken(service):
    path = made(service, "taken")
    again = service("POST", "/v1/bandits", json={"name": "taken", "arms": ["a"]})
    assert (again.status_code, again.json()["title"]) == (409, "name taken")
    assert service("POST", f"{path}/arms", json={"arm": "red"}).status_code == 409


def test_every_error_has_one_shape_and_a_request_id(service):
    path = made(service, "errors")
    answers = [
        service("GET", "/v1/bandits/nobody"),
        service("GET", "/nothing"),
        service("PUT", path),
        service("POST", f"{path}/ask", json={"n": 0}),
        service("POST", f"{path}/ask", content=b"{", headers={"Content-Type": "application/json"}),
        service("GET", path, key="brg_nonsense"),
        service("POST", f"{path}/ask", json={"among": ["blue"]}),
    ]
    assert [answer.status_code for answer in answers] == [404, 404, 405, 422, 400, 401, 404]
    for answer in answers:
        assert answer.headers["content-type"] == "application/problem+json"
        body = answer.json()
        assert set(body) == {"type", "title", "status", "detail", "request_id"}
        assert (body["status"], body["request_id"]) == (answer.status_code, answer.headers["x-request-id"])
        assert "Traceback" not in answer.text


def test_a_request_id_is_kept_if_it_is_one(service):
    assert service("GET", "/healthz", headers={"X-Request-ID": "a-1"}).headers["x-request-id"] == "a-1"
    for wrong in ("a b", "x" * 200, "é"):
        answer = service("GET", "/healthz", headers={"X-Request-ID": wrong.encode()})
        assert answer.headers["x-request-id"] not in (wrong, "")


def test_a_service_in_memory():
    with served(None) as service:
        path = made(service, "quick")
        id = service("POST", f"{path}/ask").json()["id"]
        assert service("POST", f"{path}/tell", json={"id": id, "reward": 1.0}).json() == {"told": "learned"}
        assert service("GET", "/v1/bandits").json()["bandits"][0]["decisions"] == 1
        assert service("POST", "/v1/bandits", json={"name": "quick", "arms": ["a"]}).status_code == 409
        assert service("DELETE", path).status_code == 204
        assert service("POST", f"{path}/ask").status_code == 404
    with pytest.raises(br.InvalidValueError, match="no keys"):
        create_app(None)


@pytest.mark.parametrize(
    ("host", "headers", "status"),
    [
        ("localhost:8765", {}, 200),
        ("127.0.0.1:8765", {"Origin": "http://127.0.0.1:8765"}, 200),
        ("[::1]:8765", {}, 200),
        ("localhost", {"Origin": "https://shop.example"}, 200),
        ("localhost", {"Origin": "https://evil.example"}, 403),
        ("localhost", {"Origin": "null"}, 403),
        ("evil.example", {}, 403),  # a name that leads to this machine
    ],
)
def test_without_keys_other_sites_are_refused(host, headers, status):
    app = create_app(None, auth=False, cors=["https://shop.example"])
    with Served(app, host=host) as service:
        assert service("GET", "/v1/bandits", headers=headers).status_code == status


def test_other_origins_may_read_answers_only_if_they_are_named(url, service):
    origin = {"Origin": "https://shop.example"}
    assert "access-control-allow-origin" not in service("GET", "/v1/bandits", headers=origin).headers
    with served(url, cors=["https://shop.example"]) as other:
        allowed = other("GET", "/v1/bandits", headers=origin).headers
        assert allowed["access-control-allow-origin"] == "https://shop.example"
        evil = other("GET", "/v1/bandits", headers={"Origin": "https://evil.example"}).headers
        assert "access-control-allow-origin" not in evil


def test_numbers_for_prometheus(service):
    path = made(service, "counted")
    decisions = service("POST", f"{path}/ask", json={"n": 3}).json()["decisions"]
    service("POST", f"{path}/tell", json={"id": decisions[0]["id"], "reward": 1.0})
    service("POST", f"{path}/ask", json={"n": 0})
    text = service("GET", "/metrics").text
    for line in (
        'brigand_asks_total{bandit="counted"} 3.0',
        'brigand_tells_total{bandit="counted",told="learned"} 1.0',
        'brigand_refused_total{bandit="counted",status="422"} 1.0',
        'brigand_pending{bandit="counted"} 2.0',
    ):
        assert line in text


def test_labels_are_bounded(monkeypatch):
    monkeypatch.setattr("brigand.service.metrics.MOST_BANDITS", 2)
    with served(None) as service:
        for name in "abcd":
            service("POST", f"{made(service, name)}/ask")
        for number in range(5):
            service("POST", f"/v1/bandits/nobody{number}/ask")
        text = service("GET", "/metrics").text
    assert 'brigand_asks_total{bandit="other"} 2.0' in text
    assert 'brigand_refused_total{bandit="other",status="404"} 5.0' in text
    assert "nobody" not in text
