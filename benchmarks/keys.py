"""Wrong keys: whether the time of a refusal tells how much of a key was right."""

import asyncio
import random
import statistics
import tempfile
import time

from brigand.service import keys
from brigand.storage.store import open_store

ROUNDS = 20_000
SECRET = 43
"""Characters of a key's secret."""


def altered(key, right):
    """Return a key whose secret has so many right characters, and a wrong one after them."""
    place = len(key) - SECRET + right
    wrong = "A" if key[place] != "A" else "B"
    return key[:place] + wrong * (SECRET - right)


def report(out):
    """Time refusals of keys of a right id in turn, in an order drawn for each round."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/keys.db"
        key = keys.create(url, "admin")
        tried = {right: altered(key, right) for right in (0, 21, 42)}
        with open_store(url, create=False) as store:
            times = asyncio.run(refused(keys.Keyring(store, asyncio.to_thread), key, tried))
    first = statistics.median(times[0])
    table = [
        [
            f"{right} of {SECRET}",
            f"{1e6 * statistics.median(found):.2f}",
            f"{statistics.median(found) / first:.3f}",
        ]
        for right, found in times.items()
    ]
    out.table(
        "Refusing a key, microseconds of processor time",
        ["right characters", "median", "times that of none"],
        table,
    )


async def refused(ring, key, tried):
    """Return the times of refusals, by the number of right characters."""
    assert await ring.find(key) is not None
    times, rng = {right: [] for right in tried}, random.Random(0)
    order = list(tried.items())
    for _ in range(ROUNDS):
        rng.shuffle(order)
        for right, text in order:
            start = time.thread_time_ns()
            found = await ring.find(text)
            times[right].append((time.thread_time_ns() - start) / 1e9)
            assert found is None
    return times
