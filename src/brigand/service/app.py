"""The app: bandits behind HTTP, with JSON under ``/v1``."""

from __future__ import annotations

import importlib.metadata
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.middleware.cors import CORSMiddleware

from brigand import checks
from brigand.errors import InvalidValueError
from brigand.service import dashboard, errors
from brigand.service.limits import MAX_BODY
from brigand.service.outside import Outside
from brigand.service.places import InMemory, InStore
from brigand.service.routes import router
from brigand.service.service import Service
from brigand.service.watching import Watching
from brigand.storage.place import Place

OPENAPI = "/openapi.json"
OPEN = ("/healthz", "/readyz")
"""Routes of the API that the pages alone have, too."""
CORS: dict[str, Any] = {
    "allow_methods": ["GET", "POST", "DELETE"],
    "allow_headers": ["authorization", "content-type", "x-request-id"],
    "expose_headers": ["x-request-id", "retry-after"],
}


def create_app(
    store: Place | None,
    *,
    auth: bool = True,
    cors: Collection[str] = (),
    rate: float | None = None,
    allow: Iterable[str] = (),
    max_body: int = MAX_BODY,
) -> FastAPI:
    """Return the service as an ASGI app.

    Parameters
    ----------
    store : str, path or None
        Its URL, or the path of its SQLite file, which is made if it is not there. None: bandits are in
        memory, and there are no keys.
    auth : bool
        Whether keys are asked for. Without, requests from other sites' pages, and those that address another
        host than this machine, are refused; let nobody else reach the port.
    cors : collection of str
        Sites whose pages may call, such as ``"https://shop.example"``.
    rate : float, optional
        Requests of a key in a second, and as many at once; by default there is no limit.
    allow : iterable of str
        Modules that policies in the store may need. Requests can never name one.
    max_body : int
        Bytes of a request.

    Raises
    ------
    InvalidValueError
        A value is not allowed.
    """
    if store is None and auth:
        raise InvalidValueError("a service in memory has no keys: auth must be False.")
    if rate is not None:
        rate = checks.number("rate", rate, 0.0, above=0.0)
    max_body = checks.integer("max_body", max_body, 1)
    service = Service(InMemory() if store is None else InStore(store, allow), auth, cors, rate)
    app = _app(service)
    app.router.routes.extend(router.routes)  # to include the router would match each request twice
    app.router.routes.extend(dashboard.routes)
    if cors:
        app.add_middleware(CORSMiddleware, allow_origins=list(cors), **CORS)
    app.add_middleware(Outside, metrics=service.metrics, max_body=max_body)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


def create_dashboard(store: Place, *, allow: Iterable[str] = ()) -> FastAPI:
    """Return the pages alone as an ASGI app: they change nothing, and ask for no keys.

    Requests that address another host than this machine are refused; let nobody else reach the port.

    Parameters
    ----------
    store : str, path
        Its URL, or the path of its SQLite file, which is there.
    allow : iterable of str
        Modules that policies in the store may need.
    """
    service = Service(InStore(store, allow, create=False), auth=False, read_only=True)
    app = _app(service, openapi=None)
    app.router.routes.extend(route for route in router.routes if getattr(route, "path", "") in OPEN)
    app.router.routes.extend(dashboard.routes)
    app.add_middleware(Outside, metrics=service.metrics, max_body=MAX_BODY)
    return app


def _app(service: Service, openapi: str | None = OPENAPI) -> FastAPI:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with service.running():
            app.state.watching = Watching(service)
            yield

    app = FastAPI(
        title="Brigand",
        description="Multi-armed bandits: ask for an arm, tell its reward.",
        version=importlib.metadata.version("brigand"),
        docs_url=None,
        redoc_url=None,
        openapi_url=openapi,
        redirect_slashes=False,
        strict_content_type=False,
        lifespan=lifespan,
    )
    app.state.service = service
    errors.install(app)
    return app


def _openapi(app: FastAPI) -> dict[str, Any]:
    """Return the description of the API, with the shape of errors and of keys."""
    if app.openapi_schema is None:
        found = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        parts = found.setdefault("components", {})
        parts.setdefault("schemas", {})["Problem"] = errors.SCHEMA
        parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        app.openapi_schema = found
    return app.openapi_schema
