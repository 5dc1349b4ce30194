"""An app whose requests are answered in this process, from code that does not wait."""

import asyncio
import contextlib
import threading

import httpx

from brigand.service import keys
from brigand.service.app import create_app


class Served:
    """An app between its beginning and its end, in an event loop of its own."""

    def __init__(self, app, key=None, host="localhost"):
        self.app, self.key, self.host = app, key, host

    def __enter__(self):
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._lifespan = self.app.router.lifespan_context(self.app)
        self.run(self._lifespan.__aenter__())
        self.client = httpx.AsyncClient(
            transport=httpx.ASGITransport(self.app, raise_app_exceptions=False),
            base_url=f"http://{self.host}",
            timeout=60,
        )
        return self

    def __exit__(self, *error):
        self.run(self.client.aclose())
        self.run(self._lifespan.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(120)

    def together(self, *calls):
        """Make requests at once, each given as (method, path, options)."""

        async def all_of_them():
            made = (self._request(method, path, **options) for method, path, options in calls)
            return await asyncio.gather(*made)

        return self.run(all_of_them())

    def __call__(self, method, path, **options):
        return self.run(self._request(method, path, **options))

    def _request(self, method, path, *, key=..., headers=None, **options):
        key = self.key if key is ... else key
        headers = {**({} if key is None else {"Authorization": f"Bearer {key}"}), **(headers or {})}
        return self.client.request(method, path, headers=headers, **options)


@contextlib.contextmanager
def served(url, role="admin", **options):
    """Serve a store, with a key of a role; None: in memory, without keys."""
    if url is None:
        app, key = create_app(None, auth=False, **options), None
    else:
        app, key = create_app(url, **options), keys.create(url, role)
    with Served(app, key) as found:
        yield found


def made(served, name="shop", arms=("red", "green"), **settings):
    """Make a bandit, and return the path of its routes."""
    body = {"name": name, "arms": list(arms), "seed": 0, **settings}
    answer = served("POST", "/v1/bandits", json=body)
    assert answer.status_code == 201, answer.text
    return f"/v1/bandits/{quoted(name)}"


def quoted(name):
    """Return a name as one segment of a path, also one of dots, which clients take for folders."""
    return "".join(f"%{byte:02X}" for byte in name.encode())
