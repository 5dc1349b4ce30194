"""PostgreSQL is killed at any moment: what was acknowledged is there, once, and clients go on by themselves.

What was kept is read by psycopg and compared with the clients' answers; nothing of Brigand reads it.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

import brigand as br
from live.common import FE
from stores import GIVEN, Server, run
from strength import runs

CLIENT = """
import json, sys, time
import brigand as br

url, path = sys.argv[1:]

def said(*what):
    with open(path, "a") as file:
        file.write(json.dumps(what) + "\\n")

bandit = br.Bandit.open(url, "x")
said("open")
while True:
    try:
        decision = bandit.ask()
        said("ask", decision.step, decision.arm)
        bandit.tell(decision, (decision.step % 7) / 7)
        said("tell", decision.step)
    except br.StorageError as error:
        said("failed", str(error))
        time.sleep(0.05)
"""
ARMS = ["a", "b", "c"]


@pytest.fixture
def server():
    if GIVEN in os.environ:
        pytest.skip("the server is somebody else's")
    made = Server(f"killed-{os.getpid()}")
    yield made
    made.close()


def lines(path):
    with open(path) as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


def wait_for(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.full
def test_a_server_that_is_killed_loses_nothing(server, tmp_path):
    url, rng = server.new(), random.Random(3)
    br.Bandit(ARMS, FE, store=url, name="x", seed=1).close()
    paths = [tmp_path / f"{number}" for number in range(3)]
    clients = [
        subprocess.Popen([sys.executable, "-W", "error", "-c", CLIENT, url, str(path)]) for path in paths
    ]
    try:
        for _ in range(runs(3, 20)):
            before = [len(lines(path)) if path.exists() else 0 for path in paths]
            wait_for(
                lambda before=before: all(
                    path.exists() and [line[0] for line in lines(path)[n:]].count("tell") > 3
                    for n, path in zip(before, paths, strict=True)
                )
            )
            time.sleep(rng.uniform(0.0, 0.05))
            pid = server.pid()
            os.kill(pid, signal.SIGKILL)
            time.sleep(rng.uniform(0.1, 0.4))
            server.start_again()
    finally:
        for client in clients:
            assert client.poll() is None, "a client ended"
            client.kill()
            client.wait()
    said = [line for path in paths for line in lines(path)]
    reasons = [line[1] for line in said if line[0] == "failed"]
    assert [why for why in reasons if "cannot be reached" not in why and "shut down" not in why] == []
    rows = run(url, "SELECT seq, kind, step, arm, value FROM brigand_events ORDER BY seq")
    assert [row[0] for row in rows] == list(range(1, len(rows) + 1))
    asked = {step: ARMS[arm] for _, kind, step, arm, _ in rows if kind == 1}
    told = Counter(step for _, kind, step, _, _ in rows if kind == 2)
    assert max(told.values()) == 1
    assert sorted(asked) == list(range(1, len(asked) + 1))
    answers = [line for line in said if line[0] == "ask"]
    assert len({step for _, step, _ in answers}) == len(answers)  # no decision was given to two
    for _, step, arm in answers:
        assert asked[step] == arm
    acknowledged = [step for kind, step, *_ in (line for line in said if line[0] == "tell")]
    assert all(told[step] == 1 for step in acknowledged)
    assert all(value == (step % 7) / 7 for _, kind, step, _, value in rows if kind == 2)
    assert reasons
    assert len(answers) <= len(asked) <= len(answers) + len(reasons) + len(clients)
    with br.Bandit.open(url, "x") as bandit:
        assert bandit.ask().step == len(asked) + 1
    print(runs(3, 20), "kills,", len(acknowledged), "tells acknowledged,", len(reasons), "calls failed")
