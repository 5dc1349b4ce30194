"""What comes from people who mean no good, or from programs that are broken."""

import json
import sys

import pytest

import brigand as br
from brigand.service.limits import MAX_BODY
from service.common import made, quoted, served

JSON = {"Content-Type": "application/json"}
NAMES = [
    "a/b",
    "../../etc/passwd",
    ".",
    "..",
    "%2F",
    "a%00b",
    "?x=1#y",
    "'; DROP TABLE brigand_bandits; --",
    '"quoted"',
    "<script>alert(1)</script>",
    "é\u0301",
    "\u202egnp.exe",
    "\U0001f600",
    "line\r\nX-Injected: yes",
    "ask",
    " ",
    "x" * 500,
]


@pytest.mark.parametrize("name", NAMES)
def test_odd_names_are_names(service, name):
    path = made(service, name, arms=[name, "other"])
    assert service("GET", path).json()["name"] == name
    arm = service("POST", f"{path}/ask", json={"among": [name]}).json()["arm"]
    assert arm == name
    assert service("GET", f"{path}/export").status_code == 200
    assert service("DELETE", f"{path}/arms/{quoted(name)}").status_code == 204
    answer = service("DELETE", path)
    assert answer.status_code == 204
    assert "x-injected" not in answer.headers


@pytest.mark.parametrize("name", ["", "x" * 501, "a\0b", 7, None, ["a"], {"a": 1}])
def test_what_is_no_name(service, name):
    answer = service("POST", "/v1/bandits", json={"name": name, "arms": ["a"]})
    assert answer.status_code == 422


def test_a_path_that_is_no_text(service):
    assert service("GET", "/v1/bandits/%ff").status_code == 400
    assert service("GET", "/v1/bandits/%00").status_code == 404
    assert service("GET", "/v1/bandits/%ed%a0%80").status_code == 400


POLICIES = [
    "os:_exit",
    {"type": "os:_exit"},
    {"type": "own_policy:Own"},
    {"type": "ForcedExploration", "sequence": "os:_exit", "window": None},
    {"type": "ForcedExploration", "sequence": {"type": "antigravity:x"}},
    {"type": "ForcedExploration", "sequence": {"type": "Linear", "slope": "os:system"}},
    {"type": "brigand.policies.ucb.ucb1:UCB1"},
    {"type": "Spec"},
    {"type": "Bernoulli", "p": 0.5},
    {"type": "UCB1", "low": 1, "high": 0},
    {"type": "UCB1", "low": {}, "high": []},
    {"type": "UCB1", "sigma": "inf"},
    {"type": "UCB1", "__class__": 1},
    {"type": ["UCB1"]},
    {"type": "SlidingWindowUCB", "window": 10**15},
    {"type": "SlidingWindowUCB", "window": 10**400},
    {"type": "ForcedExploration", "sequence": {"type": "Linear", "slope": 1e308}, "window": 10**12},
    {},
    "",
    "nonsense",
    "Oracle",
]


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_no_policy_imports_anything_or_fills_the_memory(service, policy):
    before = set(sys.modules)
    answer = service("POST", "/v1/bandits", json={"name": "bad", "arms": ["a", "b"], "policy": policy})
    assert answer.status_code == 422, answer.text
    assert not {"antigravity", "own_policy"} & (set(sys.modules) - before)


def test_a_policy_that_would_keep_too_much(service):
    body = {"name": "large", "arms": ["a", "b"], "policy": "LB-SDA", "horizon": 10**12}
    answer = service("POST", "/v1/bandits", json=body)
    assert answer.status_code == 422
    assert "are allowed here" in answer.json()["detail"]


def test_a_stored_policy_of_a_module_is_not_imported(url, service, monkeypatch):
    import own_policy

    policy = next(
        cls
        for cls in vars(own_policy).values()
        if isinstance(cls, type) and issubclass(cls, br.Policy) and cls.__module__ == "own_policy"
    )()
    br.Bandit(["a", "b"], policy, store=url, name="own", horizon=100).close()
    monkeypatch.delitem(sys.modules, "own_policy")
    answer = service("POST", "/v1/bandits/own/ask")
    assert (answer.status_code, answer.json()["title"]) == (409, "policy not allowed")
    assert "own_policy" not in sys.modules
    with served(url, allow=["own_policy"]) as other:
        assert other("POST", "/v1/bandits/own/ask").status_code == 200
    service("DELETE", "/v1/bandits/own")


BODIES = {
    "nothing": (b"", 422),
    "brackets": (b"[" * 10**6, 400),
    "objects": (b'{"a":' * 10**5, 400),
    "closed brackets": (b"[" * 10**5 + b"]" * 10**5, 400),
    "150 levels": (b"[" * 150 + b"]" * 150, 422),
    "NaN": (b'{"id":"1-x","reward":NaN}', 400),
    "Infinity": (b'{"id":"1-x","reward":Infinity}', 400),
    "1e400": (b'{"id":"1-x","reward":1e400}', 422),
    "a long number": (b'{"id":"1-x","reward":' + b"9" * 10**5 + b"}", 400),
    "a large integer": (b'{"id":"1-x","reward":' + b"9" * 400 + b"}", 422),
    "half a surrogate": (b'{"id":"\\ud800","reward":1}', 400),
    "no UTF-8": (b'{"id":"\xff","reward":1}', 400),
    "UTF-16": ('{"id":"1-x","reward":1}'.encode("utf-16"), 400),
    "half an object": (b'{"id":', 400),
    "a list": (b"[]", 422),
    "a text": (b'"x"', 422),
    "null": (b"null", 422),
    "a text for a number": (b'{"id":"1-x","reward":"1"}', 422),
    "an unknown field": (b'{"id":"1-x","reward":1,"__proto__":{}}', 422),
    "a control character": (b'{"id":"\x00","reward":1}', 400),
    "U+0000": (b'{"id":"\\u0000","reward":1}', 404),
    "too large": (b" " * (MAX_BODY + 1), 413),
}


@pytest.mark.parametrize(("body", "status"), BODIES.values(), ids=BODIES)
def test_broken_bodies(service, body, status):
    path = made(service, "bodies")
    answer = service("POST", f"{path}/tell", content=body, headers=JSON)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    service("DELETE", path)


def test_a_body_without_a_length_is_bounded_too(service):
    path = made(service, "stream")
    read = 0

    async def endless():
        nonlocal read
        while True:
            read += 2**16
            yield b" " * 2**16

    answer = service("POST", f"{path}/ask", content=endless(), headers=JSON)
    assert answer.status_code == 413
    assert read < MAX_BODY + 2**18
    claims = {**JSON, "Content-Length": "100000000000000000000000000"}
    assert service("POST", f"{path}/ask", content=b"{}", headers=claims).status_code == 413


def test_other_bodies_than_json_are_refused(service):
    path = made(service, "forms")
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        answer = service("POST", f"{path}/ask", content=b'{"n":1}', headers={"Content-Type": kind})
        assert answer.status_code == 422


LIMITS = {
    "n": ("ask", {"n": 1001}),
    "n as a text": ("ask", {"n": "1"}),
    "n as a fraction": ("ask", {"n": 1.5}),
    "n with a unit": ("ask", {"n": 1, "unit": "u"}),
    "no arms": ("ask", {"among": []}),
    "a long unit": ("ask", {"unit": "u" * 201}),
    "a unit that does not print": ("ask", {"unit": "a\u0007"}),
    "rewards": ("tell", {"rewards": [{"id": "1-x", "reward": 1}] * 1001}),
    "no rewards": ("tell", {"rewards": []}),
    "rewards and an id": ("tell", {"rewards": [{"id": "1-x", "reward": 1}], "id": "1-x"}),
    "no reward": ("tell", {"id": "1-x"}),
    "a huge reward": ("tell", {"id": "1-x", "reward": 1e101}),
    "a long note": ("notes", {"note": "x" * 10_001}),
}


@pytest.mark.parametrize(("route", "body"), LIMITS.values(), ids=LIMITS)
def test_limits(service, route, body):
    path = made(service, "limits")
    if body.get("id"):
        body = {**body, "id": service("POST", f"{path}/ask").json()["id"]}
    assert service("POST", f"{path}/{route}", json=body).status_code == 422
    service("DELETE", path)


def test_limits_of_a_new_bandit(service):
    for settings in (
        {"arms": [f"a{number}" for number in range(1001)]},
        {"arms": ["a", "a"]},
        {"arms": []},
        {"arms": "ab"},
        {"arms": ["é", "e\u0301"]},  # which look the same
        {"seed": -1},
        {"seed": 2**70},
        {"horizon": 0},
        {"holdout": 1.0},
        {"floor": 0.9},
        {"reward_timeout": 1.0},
        {"units": "secret"},
        {"store": "sqlite:////etc/passwd"},
    ):
        answer = service("POST", "/v1/bandits", json={"name": "limited", "arms": ["a", "b"], **settings})
        assert answer.status_code == 422, settings
    assert service("GET", "/v1/bandits/limited").status_code == 404


def test_answers_are_ascii_and_are_not_sniffed(service):
    path = made(service, "<b>é", arms=["<script>", "\u2028"])
    answer = service("GET", path)
    assert answer.content.isascii()
    assert json.loads(answer.content)["name"] == "<b>é"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    service("DELETE", path)


def test_a_mistake_of_ours_says_nothing_but_500(service, monkeypatch):
    def fail(*_):
        raise ZeroDivisionError("secret: anna")

    path = made(service, "broken")
    monkeypatch.setattr("brigand.service.routes.batch.asking", fail)
    answer = service("POST", f"{path}/ask")
    assert answer.status_code == 500
    assert answer.json()["request_id"] == answer.headers["x-request-id"]
    assert not any(word in answer.text for word in ("secret", "ZeroDivision", "Traceback"))
    monkeypatch.undo()
    assert service("POST", f"{path}/ask").status_code == 200
    service("DELETE", path)
