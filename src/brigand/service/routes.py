"""The routes: each checks who calls, hands the call over, and returns what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Any, Literal
from urllib.parse import unquote

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from fastapi.routing import APIRoute
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.convertors import StringConvertor, register_url_convertor

from brigand.checks import MAX_STEPS
from brigand.errors import InvalidValueError, UnknownNameError
from brigand.live import batch, export as exports, history as pages, snapshots
from brigand.live.bandit import Bandit
from brigand.live.batch import Call
from brigand.live.from_outside import policy_from
from brigand.service import schemas
from brigand.service.bodies import Answer, StrictRequest
from brigand.service.errors import documented
from brigand.service.keys import ADMIN, DECIDE, READ
from brigand.service.limits import MAX_ARMS, MAX_NAME, MAX_PAGE
from brigand.service.service import Service
from brigand.service.shelf import Held

EXPORT_ROWS = 10_000
"""Decisions that are read at once."""
MEDIA = {
    "csv": "text/csv; charset=utf-8",
    "ndjson": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}
OF_ALL = (401, 403, 422, 429, 503)
"""Statuses that every route with a key can answer with."""
OF_ONE = (400, 404, 409)
"""And those of one bandit: also that its path is no text, or its policy not allowed."""


class _Quoted(StringConvertor):
    """A segment of a path as it was sent, which may stand for any text."""

    def convert(self, value: str) -> str:
        return unquote(value, errors="strict")


register_url_convertor("quoted", _Quoted())


class CheckedRoute(APIRoute):
    """A route that lets in whoever has its role, before anything is read."""

    def get_route_handler(self) -> Callable[[Request], Any]:
        """Return what answers a request."""
        handle = super().get_route_handler()
        role = (self.openapi_extra or {}).get("x-role")

        async def checked(request: Request) -> Response:
            request.scope["brigand.route"] = self.path_format
            request.scope["brigand.bandit"] = request.path_params.get("name")
            if role is not None:
                await service_of(request).gate.admit(request, role)
            return await handle(StrictRequest(request.scope, request.receive))

        return checked


def service_of(request: Request) -> Service:
    """Return the service that a request is for."""
    service: Service = request.app.state.service
    return service


def needs(role: str, *statuses: int, body: bool = False) -> dict[str, Any]:
    """Return what a route says of itself: the role that it needs, and the statuses of its errors."""
    more = (400, 413) if body else ()
    found = sorted({*OF_ALL, *statuses, *more})
    extra = {"x-role": role, "security": [{"key": []}]}
    return {"openapi_extra": extra, "responses": documented(*found)}


router = APIRouter(route_class=CheckedRoute)
Name = Annotated[str, Path(min_length=1, max_length=MAX_NAME)]
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE)]


# Deciding: first, for routes are tried in order.


@router.post(
    "/v1/bandits/{name:quoted}/ask",
    response_model=schemas.Decision | schemas.Decisions,
    **needs(DECIDE, *OF_ONE, body=True),
)
async def ask(request: Request, name: Name, body: schemas.Ask | None = None) -> Response:
    """Choose an arm, or n of them."""
    body = body or schemas.Ask()
    if body.n is not None and (body.unit is not None or body.request is not None):
        raise InvalidValueError("unit and request are for a single decision, without n.")
    service = service_of(request)
    held = await service.shelf.get(name)
    decisions = await held.call(lambda bandit: _asking(bandit, body))
    service.metrics.asks.labels(service.metrics.label(name)).inc(len(decisions))
    return Answer(decisions[0] if body.n is None else {"decisions": decisions})


def _asking(bandit: Bandit, body: schemas.Ask) -> Call:
    call = batch.asking(bandit, n=body.n or 1, among=body.among, unit=body.unit, request=body.request)
    return lambda session: [decision.to_dict() for decision in call(session)]


@router.post(
    "/v1/bandits/{name:quoted}/tell", response_model=schemas.Became, **needs(DECIDE, *OF_ONE, body=True)
)
async def tell(request: Request, name: Name, body: schemas.Tell) -> Response:
    """Tell the reward of a decision, or those of several: all, or none if one of them is refused."""
    if body.rewards is None:
        if body.id is None or body.reward is None:
            raise InvalidValueError("tell an id with its reward, or rewards.")
        rewards = [(body.id, body.reward)]
    elif (body.id, body.reward, body.metric, body.request) != (None,) * 4 or body.replace:
        raise InvalidValueError("rewards are told alone, without id, reward, metric, replace and request.")
    else:
        rewards = [(told.id, told.reward) for told in body.rewards]
    options: dict[str, Any] = {"metric": body.metric, "replace": body.replace, "request": body.request}
    service = service_of(request)
    held = await service.shelf.get(name)
    became = [str(told) for told in await held.call(lambda bandit: batch.telling(bandit, rewards, **options))]
    label = service.metrics.label(name)
    for told in became:
        service.metrics.tells.labels(label, told).inc()
    return Answer({"told": became[0] if body.rewards is None else became})


# All bandits.


@router.post("/v1/bandits", status_code=201, response_model=schemas.Shown, **needs(ADMIN, 409, body=True))
async def create(request: Request, body: schemas.NewBandit) -> Response:
    """Make a bandit."""
    service = service_of(request)
    await service.read(_create, service, body, _by(request))
    return Answer(await service.of(body.name, lambda bandit: _shown(body.name, bandit, False)), 201)


def _create(service: Service, body: schemas.NewBandit, by: str | None) -> None:
    settings = body.model_dump(exclude={"name"}) | {"by": by}
    try:
        settings["policy"] = policy_from(body.policy, len(body.arms), body.horizon)
        service.bandits.create(body.name, settings)
    except UnknownNameError as error:
        raise InvalidValueError(str(error)) from None
    except (ArithmeticError, MemoryError) as error:
        raise InvalidValueError("no bandit can be made of these settings.") from error


@router.get("/v1/bandits", response_model=schemas.Page, **needs(READ))
async def bandits(request: Request, after: str | None = None, limit: Limit = 100) -> Response:
    """List bandits by name."""
    service = service_of(request)
    found = await service.read(service.bandits.listed, after, limit)
    return Answer({"bandits": found, "next": found[-1]["name"] if len(found) == limit else None})


# One bandit: looking.


@router.get("/v1/bandits/{name:quoted}", response_model=schemas.Shown, **needs(READ, *OF_ONE))
async def show(request: Request, name: Name, over_time: bool = False) -> Response:
    """Show a bandit: what is known of each arm, and of other metrics; also means over the time of its log."""
    return Answer(await service_of(request).of(name, lambda bandit: _shown(name, bandit, over_time)))


def _shown(name: str, bandit: Bandit, over_time: bool) -> dict[str, Any]:
    return {
        "name": name,
        "policy": bandit.policy.to_json(),
        "status": bandit.status,
        "arms": bandit.summary(plain=True, over_time=over_time),
        "metrics": bandit.metrics(plain=True),
    }


@router.get("/v1/bandits/{name:quoted}/history", response_model=schemas.History, **needs(READ, *OF_ONE))
async def history(
    request: Request,
    name: Name,
    after: Annotated[int, Query(ge=0, le=MAX_STEPS)] = 0,
    limit: Limit = 100,
) -> Response:
    """Return decisions, by step."""
    rows = await service_of(request).of(
        name, lambda bandit: bandit.history(after=after, limit=limit, plain=True)
    )
    return Answer({"decisions": rows, "next": rows[-1]["step"] if len(rows) == limit else None})


@router.get(
    "/v1/bandits/{name:quoted}/export",
    response_class=StreamingResponse,
    **needs(READ, *OF_ONE)
    | {
        "responses": documented(*sorted({*OF_ALL, *OF_ONE}))
        | {200: {"description": "The history.", "content": {kind: {} for kind in MEDIA.values()}}}
    },
)
async def export(
    request: Request, name: Name, format: Literal["csv", "parquet", "ndjson"] = "csv"
) -> Response:
    """Return the whole history as a stream, page by page: each as it is when it is read."""
    service = service_of(request)
    held = await service.shelf.get(name)
    pieces = exports.PIECES[format](_pages(held))
    first = await service.read(next, pieces, b"")  # an error here is still an answer
    return StreamingResponse(service.stream(_after(first, pieces)), media_type=MEDIA[format])


def _pages(held: Held) -> Iterator[pages.Columns]:
    after = 0
    while found := held.do(partial(_page, after=after)):
        yield from found
        after = int(found[-1]["step"][-1])


def _page(bandit: Bandit, after: int) -> list[pages.Columns]:
    return list(pages.pages(bandit, after, EXPORT_ROWS))


def _after(first: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from pieces


@router.get("/v1/bandits/{name:quoted}/snapshot", response_model=dict[str, Any], **needs(ADMIN, *OF_ONE))
async def snapshot(request: Request, name: Name) -> Response:
    """Return everything: see `brigand.Bandit.restore`."""
    service = service_of(request)
    found = await service.of(name, lambda bandit: bandit.snapshot())
    pieces = (text.encode() for text in snapshots.written(found))
    return StreamingResponse(service.stream(pieces), media_type="application/json")


@router.get("/v1/bandits/{name:quoted}/gain", response_model=schemas.Gain, **needs(READ, *OF_ONE))
async def gain(
    request: Request,
    name: Name,
    low: Annotated[float | None, Query(allow_inf_nan=False)] = None,
    high: Annotated[float | None, Query(allow_inf_nan=False)] = None,
    level: Annotated[float, Query(gt=0, lt=1)] = 0.95,
) -> Response:
    """Return what the bandit earns over an even split, by its holdout."""
    if (low is None) != (high is None):
        raise InvalidValueError("low and high are given together, or not at all.")
    support = None if low is None or high is None else (low, high)
    found = await service_of(request).of(name, lambda bandit: bandit.gain(level=level, support=support))
    return Answer(found.to_dict())


@router.get("/v1/bandits/{name:quoted}/metrics", response_model=schemas.Metrics, **needs(READ, *OF_ONE))
async def metrics(request: Request, name: Name) -> Response:
    """Return what was told of other metrics."""
    rows = await service_of(request).of(name, lambda bandit: bandit.metrics(plain=True))
    return Answer({"metrics": rows})


@router.get("/v1/bandits/{name:quoted}/audit", response_model=schemas.Audit, **needs(READ, *OF_ONE))
async def audit(request: Request, name: Name) -> Response:
    """Return who changed what, and when."""
    rows = await service_of(request).of(name, lambda bandit: bandit.audit(plain=True))
    return Answer({"audit": rows})


# One bandit: changing.


def _by(request: Request) -> str | None:
    key = request.scope.get("brigand.key")
    return None if key is None else f"key {key}"


@router.delete("/v1/bandits/{name:quoted}", status_code=204, **needs(ADMIN, *OF_ONE))
async def delete(request: Request, name: Name) -> Response:
    """Delete a bandit and all of its decisions, for good."""
    service = service_of(request)
    await service.read(service.bandits.delete, name)
    service.shelf.forget(name)
    return Response(status_code=204)


@router.post(
    "/v1/bandits/{name:quoted}/arms",
    status_code=201,
    response_model=schemas.Arm,
    **needs(ADMIN, *OF_ONE, body=True),
)
async def add_arm(request: Request, name: Name, body: schemas.Arm) -> Response:
    """Put a new arm into service."""
    by = _by(request)

    def add(bandit: Bandit) -> None:
        if len(bandit.arms()) >= MAX_ARMS:
            raise InvalidValueError(f"a bandit has at most {MAX_ARMS:,} arms here.")
        bandit.add_arm(body.arm, by=by)

    await service_of(request).of(name, add)
    return Answer({"arm": body.arm}, 201)


@router.delete("/v1/bandits/{name:quoted}/arms/{arm:quoted}", status_code=204, **needs(ADMIN, *OF_ONE))
async def remove_arm(request: Request, name: Name, arm: Name) -> Response:
    """Take an arm out of service."""
    by = _by(request)
    await service_of(request).of(name, lambda bandit: bandit.remove_arm(arm, by=by))
    return Response(status_code=204)


async def _change(request: Request, name: str, change: Callable[[Bandit], None]) -> Response:
    def changed(bandit: Bandit) -> str:
        change(bandit)
        return bandit.status

    return Answer({"status": await service_of(request).of(name, changed)})


CHANGES: dict[str, Any] = {"response_model": schemas.Status, **needs(ADMIN, *OF_ONE, body=True)}


@router.post("/v1/bandits/{name:quoted}/pause", **CHANGES)
async def pause(request: Request, name: Name, body: schemas.Noted | None = None) -> Response:
    """Choose no arms until the bandit is resumed. Rewards can be told."""
    note, by = (body or schemas.Noted()).note, _by(request)
    return await _change(request, name, lambda bandit: bandit.pause(by=by, note=note))


@router.post("/v1/bandits/{name:quoted}/resume", **CHANGES)
async def resume(request: Request, name: Name, body: schemas.Noted | None = None) -> Response:
    """Go on after a pause."""
    note, by = (body or schemas.Noted()).note, _by(request)
    return await _change(request, name, lambda bandit: bandit.resume(by=by, note=note))


@router.post("/v1/bandits/{name:quoted}/notes", **CHANGES)
async def note(request: Request, name: Name, body: schemas.TheNote) -> Response:
    """Note something."""
    by = _by(request)
    return await _change(request, name, lambda bandit: bandit.note(body.note, by=by))


@router.post("/v1/bandits/{name:quoted}/end", **CHANGES)
async def end(request: Request, name: Name, body: schemas.End) -> Response:
    """End with an arm, for good: every ask gets it from now on."""
    by = _by(request)
    return await _change(request, name, lambda bandit: bandit.end(body.arm, by=by, note=body.note))


# The service.


@router.get("/healthz", response_model=schemas.Health)
async def healthz() -> Response:
    """Say that the service is there."""
    return Answer({"status": "ok"})


@router.get("/readyz", response_model=schemas.Health, responses=documented(503))
async def readyz(request: Request) -> Response:
    """Say whether the store can be read, and its tables are of this version."""
    service = service_of(request)
    await service.read(service.bandits.check)
    return Answer({"status": "ok"})


@router.get(
    "/metrics",
    response_class=Response,
    **needs(READ)
    | {
        "responses": documented(*OF_ALL)
        | {200: {"description": "Numbers for Prometheus.", "content": {"text/plain": {}}}}
    },
)
async def prometheus(request: Request) -> Response:
    """Return what the service counts, in Prometheus' format."""
    service = service_of(request)
    await service.count_pending()
    return Response(service.metrics.text(), media_type=CONTENT_TYPE_LATEST)
