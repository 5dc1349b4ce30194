"""The command `brigand serve`: how it begins, what it logs, how it ends."""

import json
import signal
import socket
import sys
import threading

import httpx
import pytest

import brigand as br
from brigand.service import keys
from brigand.service.logs import LOG, written
from cli.command import brigand, in_this_process
from service.common import made, served
from service.process import Process

SECRETS = ("anna", "r-77", "the-note")


def test_lines_of_the_log_have_neither_keys_nor_whom_a_decision_is_for(url, tmp_path):
    log = tmp_path / "log"
    with log.open("w") as file, written(file), served(url) as service:
        path = made(service, "logged", units="plain")
        body = {"unit": "anna", "request": "r-77"}
        id = service("POST", f"{path}/ask", json=body).json()["id"]
        service("POST", f"{path}/ask?key={service.key}", json=body | {"unit": "anna\u0007"})
        service("POST", f"{path}/tell", json={"id": id, "reward": 0.12345})
        service("POST", f"{path}/notes", json={"note": "the-note"})
        service("GET", path, key=service.key[:-1] + "x")
        service("GET", path, headers={"X-Request-ID": "mine"})
        LOG.warning("a warning", exc_info=ValueError("anna"))
    text = log.read_text()
    secret = service.key.split("_", 2)[2]
    assert not any(word in text for word in (*SECRETS, service.key, secret, secret[:-1], "0.12345"))
    lines = [json.loads(line) for line in text.splitlines()]
    asked = next(line for line in lines if line.get("route") == "/v1/bandits/{name}/ask")
    assert set(asked) == {"at", "level", "message", "request_id", "method", "route", "bandit", "key"} | {
        "status",
        "ms",
    }
    assert (asked["bandit"], asked["key"]) == ("logged", service.key.split("_")[1])
    assert [line["request_id"] for line in lines if "request_id" in line].count("mine") == 1
    assert [line["status"] for line in lines if "status" in line] == [201, 200, 422, 200, 200, 401, 200]


def test_a_failed_store_is_in_the_log_without_the_row(url, tmp_path, monkeypatch):
    def fail(self, name):
        raise br.StorageError("it refuses DETAIL: Key (u:anna)")

    log = tmp_path / "log"
    with log.open("w") as file, written(file), served(url) as service:
        monkeypatch.setattr("brigand.service.places.InStore.open", fail)
        assert service("GET", "/v1/bandits/x").status_code == 503
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["error"] for line in lines if line["level"] == "error"] == ["it refuses"]


MISTAKES = [
    (("--no-auth", "--host", "0.0.0.0"), "--no-auth is for a loopback address"),
    (("--no-auth", "--host", "example.org"), "--no-auth is for a loopback address"),
    (("--store", "memory"), "a service in memory has no keys"),
    (("--store", "sqlite:////nowhere/x.db"), "there is no folder"),
    (("--store", "mysql://x/y"), "url must be"),
    (("--rate", "0"), "rate must be"),
    (("--host", "999.1.1.1"), "cannot be listened on"),
    (("--host", "192.0.2.1"), "cannot be listened on"),
]


@pytest.mark.parametrize(("words", "said"), MISTAKES, ids=[" ".join(words) for words, _ in MISTAKES])
def test_mistakes_are_one_line(tmp_path, words, said):
    done = in_this_process("serve", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_port_in_use(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = in_this_process("serve", "--port", str(taken.getsockname()[1]), cwd=tmp_path)
    assert (done.returncode, "Address already in use" in done.stderr) == (2, True)
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("module", ["fastapi", "uvicorn", "prometheus_client"])
def test_a_missing_extra_is_named(tmp_path, monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    done = in_this_process("serve", cwd=tmp_path)
    assert (done.returncode, "pip install 'brigand[service]'" in done.stderr) == (2, True)


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.full)])
def test_it_ends_when_what_was_begun_has_ended(tmp_path, number):
    url = f"sqlite:///{tmp_path}/x.db"
    key = brigand("key", "create", "--role", "admin", "--store", url).stdout.split()[-1]
    headers = {"Authorization": f"Bearer {key}"}
    answers, refused = [], []
    with Process(url, tmp_path / "log") as process:
        body = {"name": "x", "arms": ["a", "b"]}
        created = httpx.post(f"{process.url}/v1/bandits", json=body, headers=headers, timeout=60)
        assert created.status_code == 201

        def ask(begun):
            with httpx.Client(headers=headers, timeout=60) as client:
                while True:
                    try:
                        answers.append(client.post(f"{process.url}/v1/bandits/x/ask").json()["id"])
                    except httpx.HTTPError as error:
                        refused.append(error)
                        return
                    begun.set()

        begun = [threading.Event() for _ in range(4)]
        threads = [threading.Thread(target=ask, args=(one,)) for one in begun]
        for thread in threads:
            thread.start()
        for one in begun:
            assert one.wait(60)
        assert process.end(number) == 0
        for thread in threads:
            thread.join()
        lines = [json.loads(line) for line in process.text().decode().splitlines()[1:]]
    history = br.Bandit.open(url, "x").history(plain=True)
    assert {row["decision"] for row in history} >= set(answers)
    assert len(history) - len(answers) <= len(threads)  # those whose answers the end has overtaken
    assert not any(line["level"] == "error" for line in lines)
    assert lines[-1]["message"].startswith("Finished")


@pytest.mark.full
def test_a_real_server_refuses_a_large_body(tmp_path):
    url = f"sqlite:///{tmp_path}/x.db"
    headers = {"Authorization": f"Bearer {keys.create(url, 'admin')}"}
    with Process(url, tmp_path / "log") as process:
        body = {"name": "a/b", "arms": ["a"]}
        assert httpx.post(f"{process.url}/v1/bandits", json=body, headers=headers, timeout=60).is_success
        path = f"{process.url}/v1/bandits/a%2Fb/ask"
        large = httpx.post(path, content=b" " * 100_000_000, headers=headers, timeout=60)
        assert (large.status_code, large.json()["title"]) == (413, "Request Entity Too Large")
        assert httpx.post(path, headers=headers, timeout=60).json()["arm"] == "a"
        assert process.process.poll() is None
