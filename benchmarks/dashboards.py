"""Dashboards: what they send, the first chart of a long log, and what twenty that are open cost asks."""

from __future__ import annotations

import gzip
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from over_http import Server, free_port

import brigand as br
from brigand.dashboard import pages, view
from brigand.dashboard.charts import NARROW, WIDE
from brigand.storage.records import TALLY

DECISIONS = int(os.environ.get("BRIGAND_BENCH_DECISIONS", 1_000_000))
SECONDS = float(os.environ.get("BRIGAND_BENCH_SECONDS", 5.0))
ROUNDS = 5
WRITERS, VIEWERS = 32, 20
VIEW = """
import asyncio, sys, time
import httpx

async def look(client, place):
    tag = None
    await asyncio.sleep(3.0 * place / {viewers})
    while True:
        headers = {{}} if tag is None else {{"If-None-Match": tag}}
        answer = await client.get("/bandit/live?name=b", headers=headers)
        assert answer.status_code in (200, 304), answer.status_code
        tag = answer.headers["etag"]
        await asyncio.sleep(3.0)

async def main():
    limits = httpx.Limits(max_keepalive_connections=0)  # else the server may end one as a request is sent
    async with httpx.AsyncClient(base_url=sys.argv[1], timeout=60, limits=limits) as client:
        answer = await client.post("/sign-in", data={{"key": sys.argv[2]}})
        assert answer.status_code == 303
        print("there", flush=True)
        await asyncio.gather(*(look(client, place) for place in range({viewers})))

asyncio.run(main())
"""


def report(out):
    with tempfile.TemporaryDirectory(dir=".") as folder:
        report_weights(out, folder)
        report_first_chart(out, folder)
        report_viewers(out, folder)


def fetched(url: str) -> int:
    """Return how many bytes are sent for a page, and for what it needs at the first visit."""
    request = urllib.request.Request(url, headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(request) as answer:
        return len(answer.read())


def report_weights(out, folder):
    store = f"{folder}/weights.db"
    for name, arms in (("few", 5), ("many", 500)):
        with br.Bandit(
            [f"arm {n}" for n in range(arms)], br.UCB1(0, 1), store=store, name=name, seed=0
        ) as bandit:
            for _ in range(20):
                bandit.tell_many([(one.id, float(one.step % 3 == 0)) for one in bandit.ask(500)])
    port = free_port()
    command = str(Path(sys.executable).with_name("brigand"))
    words = [command, "dashboard", "--port", str(port), "--store", store]
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    base = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                fetched(f"{base}/healthz")
                break
            except OSError:
                time.sleep(0.1)
        files = sum(len(gzip.compress(pages.content_of(name), 5)) for name in pages.FILES)
        rows = [["style sheets, script and icon, at the first visit", f"{files / 1000:.1f}"]]
        for name, path in (
            ("list", "/"),
            ("a bandit of 5 arms", "/bandit?name=few"),
            ("a bandit of 500 arms", "/bandit?name=many"),
            ("what changes in it, every 3 s at most (5 arms)", "/bandit/live?name=few"),
            ("the last 50 decisions", "/bandit/why?name=few"),
        ):
            rows.append([name, f"{fetched(base + path) / 1000:.1f}"])
    finally:
        process.terminate()
        process.wait()
    out.table("Dashboard: what is sent, compressed", ["page", "kB"], rows)


def report_first_chart(out, folder):
    store = f"{folder}/long.db"
    with br.Bandit(list("abcde"), "FE-Linear", store=store, name="b", seed=0) as bandit:
        for _ in range(DECISIONS // 10_000):
            bandit.tell_many([(one.id, float(one.step % 3 == 0)) for one in bandit.ask(10_000)])
    rows = []
    for _ in range(3):
        with br.Bandit.open(store, "b") as bandit:
            bandit.arms()
            bandit.summary()
            query = _timed(lambda bandit=bandit: _bare(bandit))
            watch = view.Watch(bandit, "b")
            before = _timed(lambda watch=watch: _page(watch, counted=False))
            first = _timed(lambda watch=watch: _page(watch))
            later = _timed(lambda watch=watch: _page(watch))
        rows.append([before, query, first, first - query, later])
    medians = [statistics.median(column) for column in zip(*rows, strict=True)]
    out.table(
        f"Dashboard: seconds to the page of a bandit with {DECISIONS:,} decisions, all told",
        [
            "page before it is counted",
            "the bare query",
            "with all charts",
            "beside the query",
            "the next page",
        ],
        [[f"{value:.3f}" for value in medians]],
    )


def _bare(bandit):
    width = 2 ** max(0, (DECISIONS // 128 - 1).bit_length())
    with bandit._session.apart() as log:
        log._rows(TALLY, seq=0, until=log.last(), width=width)


def _page(watch, counted=True):
    found = view.view_of(watch, watch.gain(), watch.counted() if counted else None)
    return [
        chart.draw(width, chart.name) for chart in found.charts for width in (WIDE, NARROW)
    ], pages.render("live", view=found, links=pages.Links("b"))


def _timed(function):
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def report_viewers(out, folder):
    server = Server("SQLite", f"{folder}/asks.db")
    url = f"http://127.0.0.1:{server.port}"
    rates, costs = {0: [], VIEWERS: []}, {0: [], VIEWERS: []}
    try:
        for place in range(ROUNDS):
            for viewers in (0, VIEWERS) if place % 2 else (VIEWERS, 0):
                words = [sys.executable, "-c", VIEW.format(viewers=VIEWERS), url, server.key]
                looking = subprocess.Popen(words, stdout=subprocess.PIPE) if viewers else None
                if looking is not None:
                    looking.stdout.readline()
                server.rates, server.times, server.costs = [], [], []
                server.measure(SECONDS, WRITERS)
                if looking is not None:
                    assert looking.poll() is None, "the viewers have failed"
                    looking.terminate()
                    looking.wait()
                rates[viewers] += server.rates
                costs[viewers] += server.costs
    finally:
        server.stop()
    rate, cost = ({n: statistics.median(found[n]) for n in found} for found in (rates, costs))
    out.table(
        f"Dashboard: asks over HTTP, SQLite, {WRITERS} connections for {SECONDS:g} s, beside people who look",
        ["open dashboards", "asks a second", "ratio", "processor, µs an ask", "ratio"],
        [
            [
                str(n),
                f"{rate[n]:,.0f}",
                f"{rate[n] / rate[0]:.2f}",
                f"{1e6 * cost[n]:.0f}",
                f"{cost[n] / cost[0]:.2f}",
            ]
            for n in rate
        ],
    )
