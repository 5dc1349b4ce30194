"""Many who ask and tell, beside many who look: nothing fails, nothing is lost, and pages are live."""

import asyncio
import re
import time

import httpx
import pytest

import brigand as br
import stores
from brigand.service import keys
from service.process import Process

any_store = stores.urls(stores.FULL_KINDS)
WRITERS, VIEWERS = 32, 20
SECONDS = 10.0
EVERY = 0.5
"""Seconds between looks: of a browser there are three."""
CLOSED = httpx.Limits(max_keepalive_connections=0)
"""A server ends connections that idle, maybe just when the next request is sent: browsers send it again."""
DECISIONS = re.compile(r"<dt>decisions</dt><dd>([\d,]+)</dd>")


async def write(client, until):
    """Ask and tell; return how many decisions were made, and how many of their rewards learned."""
    made = learned = 0
    while time.monotonic() < until:
        answer = await client.post("/v1/bandits/x/ask", json={})
        assert answer.status_code == 200, answer.text
        made += 1
        told = {"id": answer.json()["id"], "reward": 1.0}
        answer = await client.post("/v1/bandits/x/tell", json=told)
        assert answer.status_code == 200, answer.text
        learned += answer.json()["told"] == "learned"
    return made, learned


async def look(client, until):
    """Look as a browser does; return what the page said of how many decisions there are, look by look."""
    seen, tag = [], None
    while time.monotonic() < until:
        answer = await client.get("/bandit/live?name=x", headers={"If-None-Match": tag} if tag else {})
        assert answer.status_code in (200, 304), answer.text
        if answer.status_code == 200:
            tag = answer.headers["etag"]
            seen.append(int(DECISIONS.search(answer.text)[1].replace(",", "")))
        await asyncio.sleep(EVERY)
    return seen


async def crowd(url, key):
    header = {"Authorization": f"Bearer {key}"}
    async with (
        httpx.AsyncClient(base_url=url, headers=header, timeout=60) as writer,
        httpx.AsyncClient(base_url=url, timeout=60, limits=CLOSED) as viewer,
    ):
        signed_in = await viewer.post("/sign-in", data={"key": key})
        assert signed_in.status_code == 303
        until = time.monotonic() + SECONDS
        return await asyncio.gather(
            asyncio.gather(*(write(writer, until) for _ in range(WRITERS))),
            asyncio.gather(*(look(viewer, until) for _ in range(VIEWERS))),
        )


@pytest.mark.full
def test_thirty_two_writers_beside_twenty_dashboards(any_store, tmp_path):
    with br.Bandit(["a", "b", "c"], "FE-Linear", store=any_store, name="x", seed=0):
        pass
    key = keys.create(any_store, "admin")
    with Process(any_store, tmp_path / "log") as server:
        written, looked = asyncio.run(crowd(server.url, key))
    made, learned = (sum(column) for column in zip(*written, strict=True))
    assert min(one for one, _ in written) > 0
    assert made == learned
    with br.Bandit.open(any_store, "x") as bandit:
        rows = bandit.summary(plain=True)
        assert [sum(row[name] for row in rows) for name in ("asked", "told")] == [made, learned]
        assert bandit.history()["decision"].is_unique
    for seen in looked:
        assert seen == sorted(seen)
        assert len(set(seen)) > 1
        assert seen[-1] <= made
