"""The service from Python: ask for an arm within a deadline, tell its reward once.

`Client` blocks, `AsyncClient` is for asyncio. Neither needs anything of Brigand's but its errors.
"""

from brigand.client.asynchronous import AsyncClient
from brigand.client.blocking import Client
from brigand.client.decision import Decision

__all__ = ["AsyncClient", "Client", "Decision"]
