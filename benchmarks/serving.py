"""What an ask and a tell cost: in memory beside plain Python, on SQLite beside a bare insert."""

import sqlite3
import statistics
import tempfile
import time
from pathlib import Path

import brigand as br

ASKS = 500
BATCH = 100
DECISIONS = 1_000_000


class PlainForcedExploration:
    """FE with f(r) = r as one would write it down: no log, no names, no checks, O(K) an ask."""

    def __init__(self, n_arms):
        self.step, self.round, self.seen = 0, 0, set()
        self.last, self.count, self.mean = [0] * n_arms, [0] * n_arms, [0.0] * n_arms

    def ask(self):
        arm = min(range(len(self.last)), key=self.last.__getitem__)
        if self.last[arm] > 0 and self.step - self.last[arm] < self.round:
            arm = max(range(len(self.mean)), key=self.mean.__getitem__)
        self.step += 1
        self.last[arm] = self.step
        self.seen.add(arm)
        if len(self.seen) == len(self.last):
            self.round += 1
            self.seen.clear()
        return arm

    def tell(self, arm, reward):
        self.count[arm] += 1
        self.mean[arm] += (reward - self.mean[arm]) / self.count[arm]


def fe(n_arms, **options):
    arms = [f"arm {k}" for k in range(n_arms)]
    return br.Bandit(arms, br.ForcedExploration(br.Linear()), seed=0, **options)


def timed(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def medians(calls, repetitions):
    """Time calls in turn; medians in microseconds, so that what other processes do between hits few."""
    times = {name: [] for name in calls}
    for _ in range(repetitions):
        for name, call in calls.items():
            times[name].append(timed(call))
    return {name: statistics.median(values) * 1e6 for name, values in times.items()}


def ask_and_tell(bandit):
    def call():
        bandit.tell(bandit.ask().id, 0.5)

    return call


def plain(n_arms):
    policy = PlainForcedExploration(n_arms)

    def call():
        policy.tell(policy.ask(), 0.5)

    return call


def report_memory(out):
    rows = []
    for n_arms in (10, 10_000):
        calls = {
            "plain Python FE, no log": plain(n_arms),
            "FE-Linear": ask_and_tell(fe(n_arms)),
            "UCB1": ask_and_tell(br.Bandit([str(k) for k in range(n_arms)], br.UCB1(), seed=0)),
        }
        found = medians(calls, 4 * ASKS)
        base = found["plain Python FE, no log"]
        rows += [[f"{name}, K={n_arms:,}", f"{us:.1f}", f"{us / base:.2f}"] for name, us in found.items()]
    title = "Live in memory: one ask and one tell, microseconds"
    out.table(title, ["", "median", "ratio to plain Python"], rows)


def report_sqlite(out, folder):
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    for pragma in ("journal_mode = wal", "synchronous = full"):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute("CREATE TABLE log (at REAL, data TEXT)")
    bandit = fe(10, store=f"sqlite:///{folder / 'bandit.db'}", name="bench")
    waiting = []
    calls = {
        "bare insert": lambda: connection.execute("INSERT INTO log VALUES (?, ?)", (time.time(), "x" * 150)),
        "ask": lambda: waiting.append(bandit.ask().id),
        "tell": lambda: bandit.tell(waiting.pop(), 0.5),
    }
    found = medians(calls, ASKS)
    batches = medians(
        {
            f"ask(n={BATCH}), a decision": lambda: waiting.extend(d.id for d in bandit.ask(n=BATCH)),
            f"tell_many of {BATCH}, a reward": lambda: bandit.tell_many(
                [(waiting.pop(), 0.5) for _ in range(BATCH)]
            ),
        },
        ASKS // 25,
    )
    found |= {name: us / BATCH for name, us in batches.items()}
    connection.close()
    bandit.close()
    rows = [[name, f"{us:.0f}", f"{us / found['bare insert']:.2f}"] for name, us in found.items()]
    title = "Live on SQLite (WAL, synchronous FULL), microseconds, K=10"
    out.table(title, ["", "median", "ratio to a bare insert"], rows)


def report_opening(out, folder):
    def opened(name):
        def call():
            bandit = br.Bandit.open(f"sqlite:///{folder / 'long.db'}", name)
            bandit.ask()
            bandit.close()

        return call

    for name, decisions in (("short", 1000), ("long", DECISIONS)):
        with fe(10, store=f"sqlite:///{folder / 'long.db'}", name=name) as bandit:
            for start in range(0, decisions, 10_000):
                bandit.record(
                    (f"arm {i % 10}", 0.1 * (i % 7)) for i in range(start, min(start + 10_000, decisions))
                )
    found = medians({name: opened(name) for name in ("short", "long")}, 9)
    rows = [
        [f"{decisions:,} decisions", f"{found[name] / 1000:.1f}", f"{found[name] / found['short']:.2f}"]
        for name, decisions in (("short", 1000), ("long", DECISIONS))
    ]
    out.table("Opening a bandit and the first ask, milliseconds", ["", "median", "ratio"], rows)


def report(out):
    report_memory(out)
    with tempfile.TemporaryDirectory() as name:
        report_sqlite(out, Path(name))
        report_opening(out, Path(name))
