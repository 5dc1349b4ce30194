"""The service beside a bare echo of the same JSON: asks a second, and how long each takes.

Each server is a process of its own on this machine, and this one loads it over 64 connections: so what makes
the load takes its share of the processors.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from stores import postgres

SECONDS = 5.0
CONNECTIONS = 64
ROUNDS = 3
ASK = b'{"unit":null,"request":null}'
ECHO = """
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

class Ask(BaseModel):
    n: int | None = None
    among: list[str] | None = None
    unit: str | None = None
    request: str | None = None

class Decision(BaseModel):
    id: str = "1-6ee549ac5a0983df"
    step: int = 1
    arm: str = "a"
    explored: bool = True
    propensity: float | None = 1.0
    holdout: bool = False
    again: bool = False
    reason: str = "forced: a was never chosen before"
    data: dict[str, str] = {"kind": "forced"}

app = FastAPI()

@app.post("/v1/bandits/{name}/ask")
async def ask(name: str, body: Ask) -> Decision:
    return Decision(arm=name)

@app.get("/healthz")
async def healthz():
    return {}

uvicorn.run(app, port=PORT, access_log=False, log_level="error")
"""
ALONE = """
import sys, time
from concurrent.futures import ThreadPoolExecutor
import brigand as br
bandit = br.Bandit.open(sys.argv[1], "b")
with ThreadPoolExecutor(64) as pool:
    for warm in (True, False):
        end = time.monotonic() + (1 if warm else float(sys.argv[2]))
        def work(_):
            n = 0
            while time.monotonic() < end:
                bandit.ask()
                n += 1
            return n
        began = time.monotonic()
        total = sum(pool.map(work, range(64)))
        if not warm:
            print(total / (time.monotonic() - began))
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Server:
    """A server in a process of its own."""

    def __init__(self, name: str, store: str | None) -> None:
        self.name, self.port, self.key = name, free_port(), ""
        self.rates: list[float] = []
        self.times: list[float] = []
        self.costs: list[float] = []
        command = Path(sys.executable).with_name("brigand")
        if store is None:
            words = [sys.executable, "-c", ECHO.replace("PORT", str(self.port))]
        else:
            words = [str(command), "serve", "--port", str(self.port), "--store", store]
            if store == "memory":
                words.append("--no-auth")
            else:
                made = subprocess.run(
                    [str(command), "key", "create", "--role", "admin", "--store", store],
                    capture_output=True,
                    text=True,
                    check=True,
                )
                self.key = made.stdout.split()[-1]
        self.process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        self._wait()
        if store is not None:
            self._post("/v1/bandits", {"name": "b", "arms": list("abcde")})

    def _wait(self) -> None:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz").close()
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError(f"{self.name} does not answer")

    def _post(self, path: str, body: object) -> None:
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        url = f"http://127.0.0.1:{self.port}{path}"
        urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)).close()

    def measure(self, seconds: float, connections: int = CONNECTIONS) -> None:
        """Load the server, and keep the rate and the times."""
        before = self._processor()
        rate, times, asked = asyncio.run(self._load(seconds, connections))
        self.costs.append((self._processor() - before) / asked)
        self.rates.append(rate)
        self.times += times

    def _processor(self) -> float:
        """Return the seconds of a processor that the server has used (on Linux)."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    async def _load(self, seconds: float, connections: int) -> tuple[float, list[float], int]:
        request = (
            f"POST /v1/bandits/b/ask HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
            f"Authorization: Bearer {self.key}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(ASK)}\r\n\r\n"
        ).encode() + ASK
        times: list[float] = []
        asked = 0
        warm = time.perf_counter() + 1.0
        end = warm + seconds

        async def client() -> None:
            nonlocal asked
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            while (began := time.perf_counter()) < end:
                writer.write(request)
                head = await reader.readuntil(b"\r\n\r\n")
                if not head.startswith(b"HTTP/1.1 200"):
                    raise RuntimeError(head.decode())
                length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                await reader.readexactly(length)
                asked += 1
                if began > warm:
                    times.append(time.perf_counter() - began)
            writer.close()

        await asyncio.gather(*(client() for _ in range(connections)))
        return len(times) / seconds, times, asked

    def stop(self) -> None:
        """End the server."""
        self.process.terminate()
        self.process.wait()


def report(out):
    alone = []
    with tempfile.TemporaryDirectory(dir=".") as folder, postgres(folder) as url:
        places = {
            "a bare echo": None,
            "in memory": "memory",
            "SQLite": f"{folder}/b.db",
            "PostgreSQL": url,
        }
        servers = [Server(name, store) for name, store in places.items()]
        try:
            for _ in range(ROUNDS):
                for server in servers:
                    server.measure(SECONDS)
                words = [sys.executable, "-c", ALONE, f"{folder}/b.db", str(SECONDS)]
                alone.append(float(subprocess.run(words, capture_output=True, text=True, check=True).stdout))
        finally:
            for server in servers:
                server.stop()
    echo, cost = (statistics.median(values) for values in (servers[0].rates, servers[0].costs))
    table = []
    for server in servers:
        rate, times, used = (
            statistics.median(server.rates),
            sorted(server.times),
            statistics.median(server.costs),
        )
        marks = (statistics.median(times), times[int(0.99 * len(times))])
        table.append(
            [
                server.name,
                f"{rate:,.0f}",
                f"{rate / echo:.2f}",
                *(f"{1000 * t:.1f}" for t in marks),
                f"{1e6 * used:.0f}",
                f"{cost / used:.2f}",
            ]
        )
    rate = statistics.median(alone)
    table.append(["SQLite, 64 threads, no HTTP, no groups", f"{rate:,.0f}", f"{rate / echo:.2f}", *4 * ["-"]])
    out.table(
        "Asks over HTTP, 64 connections; milliseconds, and microseconds of a processor for an ask",
        ["server", "asks a second", "ratio", "median", "99 %", "processor", "echo's by it"],
        table,
    )
