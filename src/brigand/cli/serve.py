"""``brigand serve``: bandits behind HTTP; ``brigand dashboard``: the pages alone."""

from __future__ import annotations

import ipaddress
from socket import socket
from typing import Annotated

import typer

from brigand import checks
from brigand.cli.bandit import DEFAULT_STORE, Store, store_named
from brigand.cli.bandit_text import store_label, visible
from brigand.errors import InvalidValueError

NEEDED = "the service needs FastAPI and uvicorn: pip install 'brigand[service]'."
MEMORY = "memory"


def serve(
    store: Store = DEFAULT_STORE,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 8765,
    no_auth: Annotated[
        bool, typer.Option("--no-auth", help="Ask for no keys; on a loopback address alone.")
    ] = False,
    cors: Annotated[
        list[str] | None,
        typer.Option(metavar="ORIGIN", help="A site whose pages may call; once for each. By default none."),
    ] = None,
    rate: Annotated[
        float | None, typer.Option(help="Requests of a key in a second. By default there is no limit.")
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(metavar="MODULE", help="A module that policies in the store may need; once for each."),
    ] = None,
) -> None:
    """Serve the bandits of a store over HTTP, with a dashboard at /, until SIGTERM or Ctrl-C.

    Keys are made by 'brigand key create'. With '--store memory --no-auth', bandits end with the service.
    """
    _check_packages()
    from brigand.service.app import create_app
    from brigand.service.server import listen, serve
    from brigand.storage.place import store_url
    from brigand.storage.store import open_store

    if no_auth and not _is_loopback(host):
        raise InvalidValueError(f"--no-auth is for a loopback address, such as 127.0.0.1, not for {host}.")
    in_memory = store == MEMORY
    app = create_app(
        None if in_memory else store, auth=not no_auth, cors=cors or (), rate=rate, allow=allow or ()
    )
    if not in_memory:
        open_store(store_url(store), create=True).close()  # or an error, before anybody is served
    place = "memory" if in_memory else store_label(store)
    listening = listen(host, port)
    typer.echo(f"serving {place} on {_address(listening)}, until SIGTERM or Ctrl-C", err=True)
    if not serve(app, listening):
        raise typer.Exit(1)


def dashboard(
    store: Store = DEFAULT_STORE,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 8766,
    allow: Annotated[
        list[str] | None,
        typer.Option(metavar="MODULE", help="A module that policies in the store may need; once for each."),
    ] = None,
) -> None:
    """Show the bandits of a store in a browser on this machine, until SIGTERM or Ctrl-C.

    Nothing can be changed, and no key is needed.
    """
    _check_packages()
    from brigand.service.app import create_dashboard
    from brigand.service.server import listen, serve
    from brigand.storage.place import store_url
    from brigand.storage.store import open_store

    with store_named():
        open_store(store_url(store), create=False).close()
    app = create_dashboard(store, allow=allow or ())
    listening = listen("127.0.0.1", port)
    typer.echo(f"showing {store_label(store)} on {_address(listening)}, until SIGTERM or Ctrl-C", err=True)
    if not serve(app, listening):
        raise typer.Exit(1)


def _check_packages() -> None:
    checks.package("jinja2", NEEDED)
    checks.package("fastapi", NEEDED)
    checks.package("uvicorn", NEEDED)
    checks.package("prometheus_client", NEEDED)


def _address(listening: socket) -> str:
    """Return where a socket listens, as a URL."""
    address = listening.getsockname()
    where = f"[{address[0]}]" if ":" in address[0] else address[0]
    return f"http://{visible(where)}:{address[1]}"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
