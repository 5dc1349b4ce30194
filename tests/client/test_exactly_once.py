"""Sixteen at once, while connections break, answers are lost and requests come twice: each call counts once.

Where there is no answer after all attempts, `ask` is called again, which is another request: some decisions
are for nobody.
"""

import asyncio
import concurrent.futures
import math

import pytest

from brigand.client import AsyncClient, Client
from client.stub import KEY, Faults, Service
from strength import runs

CLIENTS = 16
LONG = 120.0


def test_threads_get_distinct_decisions_and_sums_are_exact():
    service = Service(Faults(0, often=4))
    service.bandits["button"] = ["red", "green"]
    rounds = runs(8, 400)

    def work(client, number):
        decisions, told = [], []
        for k in range(rounds):
            while (decision := client.ask("button", fallback="red")).is_fallback:
                pass
            decisions.append(decision)
            told.append((number * rounds + k) / 64)  # whose sums are exact
            client.tell("button", decision, told[-1])
        return decisions, told

    with (
        service.listening() as url,
        Client(url, KEY, timeout=LONG, retries=3) as client,  # which may not suffice: then tells wait
        concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool,
    ):
        results = list(pool.map(lambda number: work(client, number), range(CLIENTS)))
        assert client.flush(LONG)
        assert (client.pending, client.dropped, client.refused) == (0, 0, 0)
    check(service, results, CLIENTS * rounds)


def check(service, results, n):
    """Compare what the clients know with what the service has."""
    known = {
        decision.id: reward
        for decisions, told in results
        for decision, reward in zip(decisions, told, strict=True)
    }
    assert len(known) == n
    assert len(service.tells) == n
    assert {id: told[0] for id, told in service.rewards.items() if told} == known
    total = math.fsum(reward for told in service.rewards.values() for reward in told)
    assert total == math.fsum(k / 64 for k in range(n))
    made = {decision["id"]: decision["arm"] for decision in service.decisions.values()}
    assert all(made[decision.id] == decision.arm for decisions, _ in results for decision in decisions)
    assert len(service.decisions) < 1.5 * n


@pytest.mark.full
def test_tasks_do_too():
    service = Service(Faults(1, often=4))
    service.bandits["button"] = ["red", "green"]
    rounds = runs(6, 200)

    async def work(client, number):
        decisions, told = [], []
        for k in range(rounds):
            while (decision := await client.ask("button", fallback="red")).is_fallback:
                pass
            decisions.append(decision)
            told.append((number * rounds + k) / 64)
            await client.tell("button", decision.id, told[-1])
        return decisions, told

    async def main(url):
        async with AsyncClient(url, KEY, timeout=LONG, retries=3) as client:
            results = await asyncio.gather(*(work(client, number) for number in range(CLIENTS)))
            assert await client.flush(LONG)
            return results

    with service.listening() as url:
        check(service, asyncio.run(main(url)), CLIENTS * rounds)
