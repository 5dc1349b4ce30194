"""Clients that repeat what they sent, against two services that are killed: each decision is made once.

What the clients were answered is compared with what the services show in the end, over HTTP alone; nothing of
Brigand reads the store.
"""

import asyncio
import json
import math
import os
import random
import signal
import socket
import time
import uuid
from collections import Counter, defaultdict

import httpx
import pytest

from brigand.service import keys
from service.process import Process
from stores import FULL_KINDS, GIVEN, Server, folder

pytestmark = pytest.mark.full
CLIENTS, WRITERS = 16, 32
ROUNDS = 600
KILLS, SERVER_KILLS = 40, 8


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture(params=FULL_KINDS)
def place(request):
    """The URL of a store, and the server that can be killed, if it is one."""
    if request.param == "sqlite":
        with folder() as path:
            yield f"sqlite:///{path}/x.db", None
        return
    if GIVEN in os.environ:
        pytest.skip("the server is somebody else's")
    server = Server(f"service-{os.getpid()}")
    yield server.new(), server
    server.close()


@pytest.fixture
def processes(place, tmp_path):
    """Two services on one store, and the headers of who may call them."""
    url, _ = place
    headers = {"Authorization": f"Bearer {keys.create(url, 'admin')}"}
    found = [Process(url, tmp_path / f"log{number}", port=free_port()) for number in (1, 2)]
    for process in found:
        process.wait()
    body = {"name": "x", "arms": ["a", "b", "c"]}
    assert httpx.post(f"{found[0].url}/v1/bandits", json=body, headers=headers, timeout=60).is_success
    yield found, headers
    for process in found:
        process.kill()


class Clients:
    """Programs that ask and tell over HTTP, impatiently, and remember each answer."""

    def __init__(self, urls, headers, seed):
        self.urls, self.headers, self.rng = urls, headers, random.Random(seed)
        self.asked = defaultdict(list)  # answers, by request
        self.told = defaultdict(list)  # answers and rewards, by decision
        self.statuses = Counter()
        self.rounds = Counter()

    async def send(self, client, path, body):
        """Send something until it is acknowledged, sometimes twice, sometimes without waiting for it."""
        answers = []
        while not answers:
            twice = 2 if self.rng.random() < 0.2 else 1
            sent = (self._send_once(client, path, body) for _ in range(twice))
            answers = [answer for answer in await asyncio.gather(*sent) if answer is not None]
            if not answers:
                await asyncio.sleep(self.rng.uniform(0.0, 0.1))
        return answers

    async def _send_once(self, client, path, body):
        url = self.rng.choice(self.urls)
        timeout = 0.01 if self.rng.random() < 0.1 else 30.0
        try:
            answer = await client.post(f"{url}/v1/bandits/x/{path}", json=body, timeout=timeout)
        except httpx.HTTPError:
            self.statuses["none"] += 1
            return None
        self.statuses[answer.status_code] += 1
        assert answer.status_code in (200, 503), answer.text
        return answer.json() if answer.status_code == 200 else None

    async def work(self, number, rounds, over):
        async with httpx.AsyncClient(headers=self.headers) as client:
            while self.rounds[number] < rounds or not over.is_set():
                request = str(uuid.uuid4())
                self.asked[request] += await self.send(client, "ask", {"request": request})
                id, reward = self.asked[request][0]["id"], self.rng.random()
                body = {"id": id, "reward": reward}
                self.told[id] += [(answer, reward) for answer in await self.send(client, "tell", body)]
                self.rounds[number] += 1
                if self.rounds[number] >= rounds:
                    await asyncio.sleep(0.05)  # enough is done; there are kills to come


def check(clients, rows, arms):
    """Compare the answers with what there is in the end."""
    decisions = {}
    for answers in clients.asked.values():
        assert len({(answer["id"], answer["step"], answer["arm"]) for answer in answers}) == 1
        assert [answer["again"] for answer in answers].count(False) <= 1
        decisions[answers[0]["id"]] = answers[0]
    assert len(decisions) == len(clients.asked)  # no two requests have one decision
    assert [row["step"] for row in rows] == list(range(1, len(rows) + 1))
    assert {row["decision"] for row in rows} == set(decisions)  # no more, no less
    rewards = {}
    for id, answers in clients.told.items():
        (rewards[id],) = {reward for _, reward in answers}
        assert [answer["told"] for answer, _ in answers].count("learned") <= 1
        assert {answer["told"] for answer, _ in answers} <= {"learned", "repeated"}
    for row in rows:
        assert row["arm"] == decisions[row["decision"]]["arm"]
        assert row["reward"] == row["learned"] == rewards[row["decision"]]
    for arm in arms:
        of_arm = [rewards[row["decision"]] for row in rows if row["arm"] == arm["arm"]]
        assert (arm["asked"], arm["told"], arm["pending"]) == (len(of_arm), len(of_arm), 0)
        assert arm["mean"] == pytest.approx(math.fsum(of_arm) / len(of_arm), rel=1e-9)


def shown(process, headers):
    with httpx.Client(base_url=process.url, headers=headers, timeout=120) as client:
        lines = client.get("/v1/bandits/x/export", params={"format": "ndjson"}).text.splitlines()
        return list(map(json.loads, lines)), client.get("/v1/bandits/x").json()["arms"]


def test_each_request_is_done_once_though_services_are_killed(place, processes):
    _, server = place
    found, headers = processes
    clients, rng = Clients([process.url for process in found], headers, 1), random.Random(2)

    def kill_services():
        for number in range(KILLS):
            process = found[number % 2]
            time.sleep(rng.uniform(0.0, 0.3))
            process.kill()
            if server is not None and number % (KILLS // SERVER_KILLS) == 0:
                os.kill(server.pid(), signal.SIGKILL)
                time.sleep(rng.uniform(0.1, 0.4))
                server.start_again()
            process.start()
            process.wait()

    async def all_of_them():
        over = asyncio.Event()

        async def kill():
            try:
                await asyncio.to_thread(kill_services)
            finally:
                over.set()

        work = [clients.work(number, ROUNDS, over) for number in range(CLIENTS)]
        await asyncio.gather(kill(), *work)

    asyncio.run(all_of_them())
    assert min(clients.rounds.values()) >= ROUNDS
    check(clients, *shown(found[1], headers))
    print(f"{sum(clients.rounds.values()):,} rounds, answers: {dict(clients.statuses)}")


def test_at_once_from_two_processes_there_is_one_decision(processes):
    found, headers = processes

    async def ask_at_once(kind, name):
        async with httpx.AsyncClient(headers=headers, timeout=60) as client:
            sent = [
                client.post(f"{process.url}/v1/bandits/x/ask", json={kind: name})
                for process in found
                for _ in range(4)
            ]
            return {answer.json()["id"] for answer in await asyncio.gather(*sent)}

    for kind in ("unit", "request"):
        for number in range(100):
            assert len(asyncio.run(ask_at_once(kind, f"{number}"))) == 1


def test_many_writers_and_readers_meet_no_error_of_the_service(processes):
    found, headers = processes
    clients = Clients([process.url for process in found], headers, 3)
    end = time.monotonic() + 60

    async def write(client):
        while time.monotonic() < end:
            answer = await client.post(f"{clients.rng.choice(clients.urls)}/v1/bandits/x/ask")
            clients.statuses[answer.status_code] += 1

    async def read(client):
        while time.monotonic() < end:
            for path in ("/v1/bandits", "/v1/bandits/x", "/v1/bandits/x/history?limit=10", "/readyz"):
                answer = await client.get(f"{clients.rng.choice(clients.urls)}{path}")
                clients.statuses[answer.status_code] += 1

    async def all_of_them():
        async with httpx.AsyncClient(headers=headers, timeout=60) as client:
            await asyncio.gather(*(write(client) for _ in range(WRITERS)), *(read(client) for _ in range(4)))

    asyncio.run(all_of_them())
    print(f"answers: {dict(clients.statuses)}")
    assert set(clients.statuses) == {200}
