"""The client and the service, in one process and over a socket."""

import asyncio
import concurrent.futures
import itertools
import json
import math
import re
import shutil
import signal
import subprocess
import sys
import time

import httpx
import pytest

import brigand as br
from brigand.client import AsyncClient, Client
from brigand.service import app
from cli.command import PROGRAM
from client import test_page as page
from client.stub import AWAY, DROPPED, LOST, TWICE, Faults
from strength import runs

LONG = 120.0
CLIENTS = 16
ODD = ["a/b", "..", "50 % off?", "x#y", "é\n", "'; DROP TABLE brigand_bandits; --"]


class Flaky(httpx.AsyncBaseTransport):
    """A network that fails."""

    def __init__(self, inner, faults):
        self.inner, self.faults = inner, faults

    async def handle_async_request(self, request):
        fault = self.faults()
        if fault == DROPPED:
            raise httpx.ConnectError("nobody is there")
        if fault == AWAY:
            return httpx.Response(503)
        for _ in range(1 + (fault == TWICE)):
            response = await self.inner.handle_async_request(request)
            await response.aread()
        if fault == LOST:
            raise httpx.ReadError("the connection was lost")
        return response


class Served:
    """A service in a process of its own, which can be killed."""

    def __init__(self, folder):
        self.folder, self.port = folder, 0
        self.key = self.run("key", "create", "--role", "admin").splitlines()[-1]
        self.start()

    def run(self, *arguments):
        done = subprocess.run([PROGRAM, *arguments], cwd=self.folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self):
        said = self.folder / "said"
        with said.open("w") as file:
            self.process = subprocess.Popen(
                [PROGRAM, "serve", "--port", str(self.port)], cwd=self.folder, stderr=file
            )
        while not (found := re.search(r"on (http://127\.0\.0\.1:(\d+))", said.read_text())):
            assert self.process.poll() is None, said.read_text()
            time.sleep(0.05)
        self.url, self.port = found[1], int(found[2])

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@pytest.fixture(scope="module")
def process(tmp_path_factory):
    made = Served(tmp_path_factory.mktemp("served"))
    yield made
    made.kill()


@pytest.fixture
def served(process):
    """The service, which has no bandit before a test nor after it."""
    yield process
    with Client(process.url, process.key, timeout=LONG) as client:
        for row in list(client.list()):
            client.delete(row["name"])


def test_every_method_over_a_socket(served, tmp_path):
    with Client(served.url, served.key, timeout=LONG) as client:
        assert client.ready()
        shown = client.create("button", ["red", "green"], "UCB1", seed=0, holdout=0.5)
        assert shown["name"] == "button"
        assert client.show("button")["status"] == "serving"
        decision = client.ask("button", among=["green"], unit="anna")
        assert (decision.arm, decision.step, decision.is_fallback) == ("green", 1, False)
        assert client.ask("button", unit="anna") == decision
        assert client.tell("button", decision, 1.0) == "learned"
        assert client.tell("button", decision.id, 1.0) == "repeated"
        assert client.tell("button", decision, 1, metric="signup") == "history"
        assert client.tell("button", decision, 0.5, replace=True) in ("replaced", "history")
        many = client.ask_many("button", 3, among=["red"])
        assert [one.arm for one in many] == ["red"] * 3
        assert client.tell_many("button", [(many[0], 1.0), (many[1].id, 0)]) == ["learned"] * 2
        client.add_arm("button", "blue / 2")
        assert client.arms("button") == ["red", "green", "blue / 2"]
        client.remove_arm("button", "blue / 2")
        assert client.arms("button") == ["red", "green"]
        assert client.pause("button", "lunch") == "paused"
        assert client.ask("button", fallback="red").is_fallback
        with pytest.raises(br.NotServingError):
            client.ask("button")
        assert client.resume("button") == client.note("button", "back") == "serving"
        rows = list(client.history("button", page=3))
        assert [row["step"] for row in rows] == [1, 2, 3, 4]
        assert [row["step"] for row in client.history("button", after=2)] == [3, 4]
        for ending in ("csv", "parquet", "ndjson"):
            client.export("button", tmp_path / f"all.{ending}")
            assert (tmp_path / f"all.{ending}").stat().st_size > 100
        assert (
            len(br.Log.read_csv(tmp_path / "all.csv").rewards) == 3 if hasattr(br.Log, "read_csv") else True
        )
        assert client.gain("button", low=0, high=1)["interval"] == "exact"
        assert [row["metric"] for row in client.metrics("button")] == ["signup"]
        assert len(client.audit("button")) >= 5
        assert br.Bandit.restore(client.snapshot("button")).arms() == ["red", "green"]
        assert client.end("button", "green") == "ended"
        ended = client.ask("button")
        assert (ended.arm, ended.is_fallback) == ("green", True)
        assert client.tell("button", ended, 1.0) == "history"
        assert [row["name"] for row in client.list()] == ["button"]
        client.delete("button")
        assert list(client.list()) == []


@pytest.mark.full
def test_the_code_of_the_page(served, tmp_path):
    with Client(served.url, served.key) as client:
        client.create("button", ["red", "green"], "UCB1", seed=0)
        (code,) = page.blocks("python")
        script = page.written(served, tmp_path, code.replace('"BRIGAND_KEY"]', '"BRIGAND_KEY"], timeout=60'))
        assert " False explored: " in page.run(served, tmp_path, sys.executable, script)
        told = 1
        if shutil.which("node"):
            script = page.written(served, tmp_path, *page.blocks("js"))
            assert page.run(served, tmp_path, "node", script).endswith("\nlearned\n")
            told += 1
        if shutil.which("curl"):
            (lines,) = page.blocks("console")
            code = lines.replace("$ ", "").replace("http://localhost:8765", served.url)
            printed = page.run(served, tmp_path, "bash", "-e", "-c", code)
            assert json.loads(printed) == {"told": "learned"}
            told += 1
        assert sum(row["told"] for row in client.show("button")["arms"]) == told


def test_errors_are_those_of_the_library(served):
    with Client(served.url, served.key, timeout=LONG) as client:
        client.create("button", ["red", "green"], "UCB1", seed=0)
        decision = client.ask("button")
        client.tell("button", decision, 1.0)
        for error, call in (
            (br.NameTakenError, lambda: client.create("button", ["red"])),
            (br.InvalidValueError, lambda: client.create("other", ["red", "red"])),
            (br.InvalidValueError, lambda: client.create("other", ["red"], "no such policy")),
            (br.UnknownNameError, lambda: client.ask("nothing", fallback="red")),
            (br.UnknownNameError, lambda: client.ask("button", among=["blue"], fallback="blue")),
            (br.ConflictingRewardError, lambda: client.tell("button", decision, 0.0)),
            (br.UnknownDecisionError, lambda: client.tell("button", "1-0000000000000000", 1.0)),
            (br.InvalidValueError, lambda: client.tell("button", client.ask("button"), 1e300)),
            (br.UnknownNameError, lambda: client.remove_arm("button", "blue")),
        ):
            with pytest.raises(error) as caught:
                call()
            assert type(caught.value) is error or error is br.UnknownNameError
            assert caught.value.__notes__[0].startswith("X-Request-ID: ")
    for key in (None, "wrong"):
        with Client(served.url, key, timeout=LONG) as client, pytest.raises(br.AccessError):
            client.ask("button", fallback="red")


def test_odd_names_are_names(served):
    with Client(served.url, served.key, timeout=LONG) as client:
        for name in ODD:
            client.create(name, [name, "other"], "UCB1", seed=0)
            decision = client.ask(name, among=[name], fallback=name)
            assert (decision.arm, decision.step) == (name, 1)
            assert client.tell(name, decision, 1.0) == "learned"
            client.remove_arm(name, name)
            assert client.arms(name) == ["other"]
        assert sorted(row["name"] for row in client.list(page=1)) == sorted(ODD)


def test_in_one_process_each_call_counts_once():
    rounds = runs(10, 100)

    async def work(client, number):
        decisions = []
        for k in range(rounds):
            while (decision := await client.ask("button", fallback="red")).is_fallback:
                pass
            decisions.append(decision)
            await client.tell("button", decision, (number * rounds + k) / 64)
        return decisions

    async def main():
        made = app.create_app(None, auth=False)
        async with made.router.lifespan_context(made):
            inner = httpx.ASGITransport(made)
            async with AsyncClient("http://localhost", transport=inner) as client:
                await client.create("button", ["red", "green"], "FE-Linear", seed=0)
            flaky = Flaky(inner, Faults(0, often=4, kinds=(DROPPED, LOST, AWAY, TWICE)))
            async with AsyncClient("http://localhost", transport=flaky, timeout=LONG) as client:
                decisions = await asyncio.gather(*(work(client, number) for number in range(CLIENTS)))
                assert await client.flush(LONG)
                assert (client.pending, client.dropped, client.refused) == (0, 0, 0)
            async with AsyncClient("http://localhost", transport=inner) as client:
                return itertools.chain(*decisions), [row async for row in client.history("button")]

    decisions, rows = asyncio.run(main())
    check(decisions, rows, CLIENTS * rounds)


def check(decisions, rows, n):
    decisions = list(decisions)
    assert len({decision.id for decision in decisions}) == n
    known = {row["decision"]: row for row in rows}
    assert all(known[decision.id]["arm"] == decision.arm for decision in decisions)
    rewards = [row["reward"] for row in rows if row["reward"] is not None]
    assert len(rewards) == n
    assert math.fsum(rewards) == math.fsum(k / 64 for k in range(n))


@pytest.mark.full
def test_threads_go_on_while_the_service_is_killed(served):
    rounds, kills = runs(8, 300), runs(1, 20)

    def work(client, number):
        decisions = []
        for k in range(rounds):
            while (decision := client.ask("button", fallback="red")).is_fallback:
                pass
            decisions.append(decision)
            client.tell("button", decision, (number * rounds + k) / 64)
        return decisions

    with Client(served.url, served.key, timeout=2.0) as client:
        client.create("button", ["red", "green"], "FE-Linear", seed=0)
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            work_done = [pool.submit(work, client, number) for number in range(CLIENTS)]
            for _ in range(kills):
                concurrent.futures.wait(work_done, timeout=0.5)
                served.kill()
                served.start()
            decisions = itertools.chain(*(one.result() for one in work_done))
        assert client.flush(LONG)
        assert (client.pending, client.dropped, client.refused) == (0, 0, 0)
        rows = list(client.history("button"))
    check(decisions, rows, CLIENTS * rounds)


@pytest.mark.full
def test_tells_that_waited_are_told_when_the_service_is_back(served):
    with Client(served.url, served.key, timeout=LONG) as client:
        client.create("button", ["red", "green"], "FE-Linear", seed=0, accumulate=3600)
        decisions = client.ask_many("button", 20)
    with Client(served.url, served.key, timeout=1.0) as client:
        served.kill()
        assert client.ask("button", fallback="red").is_fallback
        for decision in decisions:
            assert client.tell("button", decision, 0.5) == client.tell("button", decision, 0.25) == "queued"
        assert client.pending == 40
        served.start()
        assert client.flush(LONG)
        kinds, _, _, values, *_ = client.snapshot("button")["events"]
        told = [value for kind, value in zip(kinds, values, strict=True) if kind == "part"]
        assert sorted(told) == [0.25] * 20 + [0.5] * 20
