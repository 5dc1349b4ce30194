"""Damaged files, changed snapshots and logs: a clear error, or a bandit that works; no crash, nothing else.

Each runs in a process of its own, which a crash would end.
"""

import json
import random
import sqlite3
from collections import Counter

import brigand as br
from brigand.live.snapshots import _checksum
from live.calls import make, path_of
from live.warm import FE, SW_FE, THOMPSON
from strength import runs

WRONG = [
    None,
    True,
    -1,
    0,
    1,
    2,
    77,
    2**31,
    2**63,
    2**64,
    0.5,
    -1e308,
    1e308,
    "",
    "x",
    "a",
    [],
    [1],
    {},
    {"a": 1},
]


def use(bandit):
    """Do all that one does with a bandit."""
    bandit.summary()
    bandit.history(limit=50)
    bandit.tell(bandit.ask(), 0.5)
    bandit.ask(3)
    bandit.add_arm("one more")
    bandit.remove_arm(bandit.arms()[0])
    bandit.ask()
    bandit.snapshot()


def outcome(store):
    """Return what comes of opening a bandit and using it."""
    try:
        with br.Bandit.open(store, "x") as opened:
            use(opened)
    except br.BrigandError as error:
        return type(error).__name__
    return "works"


def damaged(good, rng):
    """Return a file with a few bytes changed, a piece cleared, or the end cut off."""
    data, kind = bytearray(good), rng.randrange(4)
    if kind == 0:
        return data[: rng.randrange(len(data))]
    if kind == 1:
        at = rng.randrange(len(data))
        data[at : at + rng.randrange(1, 600)] = bytes(rng.randrange(1, 600))
        return data
    for _ in range(rng.choice([1, 1, 1, 5])):
        at = rng.randrange(len(data)) if kind == 2 else rng.randrange(100, min(12_000, len(data)))
        data[at] ^= 1 << rng.randrange(8)
    return data


def scene_files(url, count):
    rng, counts, path = random.Random(8), Counter(), path_of(url)
    bandit = make(url, SW_FE)
    bandit.record([("a", 0.5), ("b", None)] * 40)
    bandit.close()
    good = path.read_bytes()
    for number in range(count):
        place = path.with_name(f"{number}.db")
        place.write_bytes(damaged(good, rng))
        counts[outcome(place)] += 1
        for file in path.parent.glob(f"{number}.db*"):
            file.unlink()
    return counts


def test_damaged_files(warm, file_url):
    counts = warm(scene_files, file_url, runs(40, 2000))
    print(counts)  # shown by -rP
    assert counts["StorageError"] > 10


def places(value, path=()):
    """Yield the paths of all values in plain data."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def scene_snapshots(count, forged):
    """Change a value of a snapshot, or leave it out; if it is forged, the checksum is made to fit."""
    rng, counts, texts = random.Random(9), Counter(), []
    for policy in (FE, SW_FE, THOMPSON, br.CATALOGUE["LB-SDA"]):
        bandit = br.Bandit(
            ["a", "b", "c"],
            policy,
            seed=1,
            horizon=300,
            reward_timeout=1e9,
            default_reward=0.5,
            clock=lambda: 5.0,
        )
        bandit.record([("a", 0.5), ("b", None)] * 3)
        for decision in bandit.ask(6):
            bandit.tell(decision, 0.25)
        bandit.add_arm("d")
        texts.append(json.dumps(bandit.snapshot()))
    for _ in range(count):
        snapshot = json.loads(rng.choice(texts))
        path = rng.choice([path for path in places(snapshot) if path and path[0] != "sha256"])
        inside = snapshot
        for key in path[:-1]:
            inside = inside[key]
        before = inside[path[-1]]
        if rng.random() < 0.2:
            del inside[path[-1]]
        else:
            inside[path[-1]] = rng.choice(
                [wrong for wrong in WRONG if wrong != before or wrong is not before]
            )
        if forged:
            snapshot["sha256"] = _checksum(snapshot)
        try:
            restored = br.Bandit.restore(snapshot, clock=lambda: 6.0)
            counts["restored"] += 1
            use(restored)
            counts["works"] += 1
        except br.BrigandError as error:
            counts[type(error).__name__] += 1
    return counts


def test_snapshots_that_were_changed(warm):
    counts = warm(scene_snapshots, runs(100, 2000), False)
    print(counts)
    assert counts["restored"] < 0.02 * counts.total()  # such as a 5.0 in the place of a 5


def test_snapshots_that_were_forged(warm):
    """The state of a bandit that is restored comes from its log, which is checked line by line."""
    print(warm(scene_snapshots, runs(40, 2000), True))


def test_rows_of_a_log_that_were_changed(warm, file_url):
    print(warm(scene_rows, file_url, runs(60, 1000)))


def scene_rows(url, count):
    rng, counts, path = random.Random(10), Counter(), path_of(url)
    bandit = make(url, FE)
    bandit.record([("a", 0.5), ("b", None)] * 20)
    bandit.close()
    good = path.read_bytes()
    for _ in range(count):
        path.write_bytes(good)
        connection = sqlite3.connect(path)
        (last,) = connection.execute("SELECT max(seq) FROM brigand_events").fetchone()
        column = rng.choice(["kind", "step", "arm", "value", "counted", "at", "data"])
        value = rng.choice([v for v in WRONG if not isinstance(v, (list, dict)) and v not in (2**63, 2**64)])
        row = rng.choice([rng.randrange(1, last + 1), last])
        try:
            with connection:
                connection.execute(f"UPDATE brigand_events SET {column} = ? WHERE seq = ?", (value, row))
                if rng.random() < 0.5:
                    connection.execute("DELETE FROM brigand_snapshots")
        except sqlite3.Error:
            continue  # it was refused
        finally:
            connection.close()
        counts[outcome(url)] += 1
    return counts
