"""The thin methods: what each sends, and what it returns."""

import json

import httpx
import pytest

import brigand as br
from brigand.client import Client
from client.stub import Service

URL = "http://service.example/bandits"
DECISION = Service().ask(["red"], {"request": "x"})[1]
ROW = {"arm": "red", "mean": 0.5}


class Recorder:
    """A transport that keeps what it gets, and gives the answers of a list."""

    def __init__(self, *replies):
        self.replies, self.seen = list(replies), []

    def client(self, **options):
        return Client(URL, transport=httpx.MockTransport(self.handle), **options)

    def handle(self, request):
        body = json.loads(request.content) if request.content else None
        self.seen.append((request.method, request.url.raw_path.decode(), body))
        reply = self.replies.pop(0)
        return reply if isinstance(reply, httpx.Response) else httpx.Response(200, json=reply)


EVERY = {
    "ask_many": (
        lambda c: [one.step for one in c.ask_many("b", 2, among=["red"])],
        ("POST", "/b/ask", {"n": 2, "among": ["red"]}),
        {"decisions": [DECISION, DECISION]},
        [1, 1],
    ),
    "tell_many": (
        lambda c: c.tell_many("b", {"1-x": 1, "2-x": True}),
        ("POST", "/b/tell", {"rewards": [{"id": "1-x", "reward": 1.0}, {"id": "2-x", "reward": True}]}),
        {"told": ["learned", "repeated"]},
        ["learned", "repeated"],
    ),
    "create": (
        lambda c: c.create("b", ("red",), {"type": "UCB1"}, seed=0, holdout=0.1),
        ("POST", "", {"name": "b", "arms": ["red"], "policy": {"type": "UCB1"}, "seed": 0, "holdout": 0.1}),
        {"name": "b"},
        {"name": "b"},
    ),
    "delete": (lambda c: c.delete("b"), ("DELETE", "/b", None), httpx.Response(204), None),
    "show": (lambda c: c.show("a/b"), ("GET", "/a%2Fb", None), {"name": "a/b"}, {"name": "a/b"}),
    "arms": (lambda c: c.arms(".."), ("GET", "/%2E%2E", None), {"arms": [ROW]}, ["red"]),
    "add_arm": (lambda c: c.add_arm("b", "x"), ("POST", "/b/arms", {"arm": "x"}), httpx.Response(201), None),
    "remove_arm": (lambda c: c.remove_arm("b", "x y"), ("DELETE", "/b/arms/x%20y", None), {}, None),
    "pause": (lambda c: c.pause("b"), ("POST", "/b/pause", {}), {"status": "paused"}, "paused"),
    "resume": (
        lambda c: c.resume("b", "again"),
        ("POST", "/b/resume", {"note": "again"}),
        {"status": "serving"},
        "serving",
    ),
    "end": (lambda c: c.end("b", "red"), ("POST", "/b/end", {"arm": "red"}), {"status": "ended"}, "ended"),
    "note": (
        lambda c: c.note("b", "x"),
        ("POST", "/b/notes", {"note": "x"}),
        {"status": "serving"},
        "serving",
    ),
    "snapshot": (lambda c: c.snapshot("b"), ("GET", "/b/snapshot", None), {"format": 1}, {"format": 1}),
    "gain": (
        lambda c: c.gain("b", low=0, high=1),
        ("GET", "/b/gain?low=0&high=1", None),
        {"gain": None},
        {"gain": None},
    ),
    "metrics": (lambda c: c.metrics("b"), ("GET", "/b/metrics", None), {"metrics": [ROW]}, [ROW]),
    "audit": (lambda c: c.audit("b"), ("GET", "/b/audit", None), {"audit": []}, []),
}


@pytest.mark.parametrize("name", EVERY)
def test_each_method_sends_one_request_and_reads_its_answer(name):
    call, (method, path, body), reply, result = EVERY[name]
    service = Recorder(reply)
    with service.client() as client:
        assert call(client) == result
    assert service.seen == [(method, f"/bandits/v1/bandits{path}", body)]


@pytest.mark.parametrize("name", EVERY)
def test_only_what_does_no_harm_twice_is_sent_again(name):
    call, (method, *_), reply, result = EVERY[name]
    service = Recorder(httpx.Response(503), reply)
    with service.client() as client:
        if method == "GET":
            assert call(client) == result
            return
        with pytest.raises(br.ServiceError, match="503 Service Unavailable"):
            call(client)
    assert len(service.seen) == 1


@pytest.mark.parametrize("name", EVERY)
def test_what_was_never_sent_is_sent_again(name):
    call, _, reply, result = EVERY[name]
    service, failed = Recorder(reply), []

    def handle(request):
        if not failed:
            failed.append(request)
            raise httpx.ConnectError("nobody is there")
        return service.handle(request)

    with Client(URL, transport=httpx.MockTransport(handle)) as client:
        assert call(client) == result


def test_pages_are_fetched_as_they_are_needed():
    service = Recorder(
        {"decisions": [{"step": 1}, {"step": 2}], "next": 2},
        {"decisions": [{"step": 3}], "next": None},
        {"bandits": [{"name": "a"}], "next": "a"},
        {"bandits": [], "next": None},
        {"bandits": [{"name": "c"}], "next": "c"},
    )
    with service.client() as client:
        rows = client.history("b", page=2)
        assert service.seen == []
        assert next(rows) == {"step": 1}
        assert len(service.seen) == 1
        assert list(rows) == [{"step": 2}, {"step": 3}]
        assert list(client.list()) == [{"name": "a"}]
        assert next(client.list(after="b/b")) == {"name": "c"}
    assert [path.removeprefix("/bandits/v1/bandits") for _, path, _ in service.seen] == [
        "/b/history?limit=2",
        "/b/history?after=2&limit=2",
        "?limit=1000",
        "?after=a&limit=1000",
        "?after=b%2Fb&limit=1000",
    ]


def test_ready():
    service = Recorder({"status": "ok"}, *[httpx.Response(503)] * 3)
    with service.client() as client:
        assert client.ready()
        assert not client.ready()
    assert service.seen[0] == ("GET", "/bandits/readyz", None)


class Broken(httpx.AsyncByteStream):
    """A stream that ends before its end."""

    async def __aiter__(self):
        yield b"decision,arm\n"
        raise httpx.RemoteProtocolError("the connection was closed")


def test_an_export_is_a_whole_file_or_none(tmp_path):
    service = Recorder(
        httpx.Response(200, content=b"decision,arm\n1-x,red\n"),
        httpx.Response(200, stream=Broken()),
        httpx.Response(404, json={"title": "unknown name", "detail": "unknown bandit 'x'."}),
    )
    with service.client() as client:
        client.export("b", tmp_path / "b.csv")
        for error, match in (
            (br.ServiceError, "the connection was closed"),
            (br.UnknownNameError, "bandit 'x'"),
        ):
            with pytest.raises(error, match=match):
                client.export("b", str(tmp_path / "other.NDJSON"))
    assert (tmp_path / "b.csv").read_bytes() == b"decision,arm\n1-x,red\n"
    assert [path.name for path in tmp_path.iterdir()] == ["b.csv"]
    assert [path.rpartition("?")[2] for _, path, _ in service.seen] == [
        "format=csv",
        "format=ndjson",
        "format=ndjson",
    ]
