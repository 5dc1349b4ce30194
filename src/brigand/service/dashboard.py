"""The pages of the dashboard: who looks is let in, and gets what `watching` keeps ready."""

from __future__ import annotations

import gzip
from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple
from urllib.parse import parse_qs, quote

from fastapi import Request, Response
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse
from starlette.routing import Route

from brigand.dashboard import pages
from brigand.dashboard.pages import Links, unpacked
from brigand.dashboard.tables import Table
from brigand.errors import BrigandError, InvalidValueError, StorageError
from brigand.live.bandit import Bandit
from brigand.service.errors import KINDS, STORE, Refused
from brigand.service.keys import ADMIN
from brigand.service.limits import MAX_ARMS, MAX_NAME
from brigand.service.service import Service
from brigand.service.visitors import SignInNeeded, Visitor, check_origin, give_cookie
from brigand.service.watching import Page, Watching
from brigand.storage.store import ORDERS

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
SORTS = {
    "name": "name, A to Z",
    "-name": "name, Z to A",
    "-created": "the newest first",
    "created": "the oldest first",
    "-decisions": "the most decisions first",
    "decisions": "the fewest decisions first",
}
OLD_FORM = "This form is too old, or was not made by this service: nothing was done."
MAX_PAGES = 10**6
Handler = Callable[[Request, Visitor], Awaitable[Response]]


class Action(NamedTuple):
    """Something to do with a bandit: what is asked, what comes of it, and the word on the button."""

    question: str
    consequence: str
    button: str
    done: str


ACTIONS = {
    "pause": Action(
        "Pause this bandit?",
        "It chooses no arms until it is resumed: asks get an error, 409. Rewards can be told.",
        "Pause",
        "The bandit is paused.",
    ),
    "resume": Action(
        "Resume this bandit?", "It chooses arms again.", "Resume", "The bandit is serving again."
    ),
    "add": Action(
        "Add this arm?",
        "It is explored as an arm of a new bandit would be, until it has caught up.",
        "Add the arm",
        "The arm is in service.",
    ),
    "remove": Action(
        "Remove this arm?",
        "It is never chosen again, and rewards that still come for it are not learned. If its name is added "
        "again, it is a new arm.",
        "Remove the arm",
        "The arm is out of service.",
    ),
    "end": Action(
        "End this bandit with this arm?",
        "Every ask gets this arm from now on, for good, and no decision is logged any more.",
        "End for good",
        "The bandit has ended.",
    ),
    "note": Action(
        "Keep this note?",
        "It stands in the audit trail, and above the charts.",
        "Keep it",
        "The note is kept.",
    ),
}


def _watching(request: Request) -> Watching:
    watching: Watching = request.app.state.watching
    return watching


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


# Answers.


def _compressed(request: Request, content: bytes, packed: bytes | None, **headers: str) -> Response:
    """Return an answer, compressed if the browser takes that."""
    headers = (
        HEADERS | {"Vary": "Accept-Encoding"} | {key.replace("_", "-"): it for key, it in headers.items()}
    )
    if "gzip" in request.headers.get("accept-encoding", ""):
        content = gzip.compress(content, 5) if packed is None else packed
        headers["Content-Encoding"] = "gzip"
    return Response(content, headers=headers, media_type=headers.get("Content-Type"))


def _html(request: Request, html: str, status: int = 200, **headers: str) -> Response:
    headers["Content_Type"] = "text/html; charset=utf-8"
    answer = _compressed(request, html.encode("utf-8", "replace"), None, **headers)
    answer.status_code = status
    return answer


def _part(request: Request, page: Page) -> Response:
    """Return a part of a page; nothing, if the browser has it."""
    tag = f'"{page.tag}"'
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers={"ETag": tag})
    kind = {"Content_Type": "text/html; charset=utf-8", "ETag": tag}
    return _compressed(request, page.html.encode("utf-8", "replace"), page.packed, **kind)


def _file(content: bytes, kind: str, name: str) -> Response:
    disposition = f"attachment; filename*=UTF-8''{quote(name, safe='', errors='replace')}"
    return Response(content, headers=HEADERS | {"Content-Disposition": disposition}, media_type=kind)


def _problem(request: Request, visitor: Visitor | None, status: int, detail: str) -> Response:
    title = {403: "Not allowed", 404: "Not found", 503: "Not available now"}.get(status, "This did not work")
    html = pages.render("problem", visitor=visitor, title=title, detail=detail)
    return _html(request, html, status)


def page(handler: Handler, part: bool = False) -> Callable[[Request], Awaitable[Response]]:
    """Return what answers a request: it lets visitors in, and says as a page what went wrong."""

    async def answer(request: Request) -> Response:
        request.scope["brigand.route"] = request.url.path
        visitor = None
        try:
            visitor = await _service(request).door.visitor(request)
            return await handler(request, visitor)
        except SignInNeeded:
            if part or request.method == "POST":
                return _problem(request, None, 401, "You are signed out.")
            to = request.url.path + (f"?{request.url.query}" if request.url.query else "")
            return RedirectResponse(f"/sign-in?next={quote(to, safe='')}", 303, HEADERS)
        except HTTPException as error:
            return _problem(request, visitor, error.status_code, str(error.detail))
        except BrigandError as error:
            status, detail = _said(error)
            if isinstance(error, StorageError):
                request.scope["brigand.error"] = str(error).partition(" DETAIL:")[0]
            return _problem(request, visitor, status, detail)

    return answer


def _said(error: BrigandError) -> tuple[int, str]:
    if isinstance(error, StorageError):
        return 503, STORE
    return next((status for kind, status, _ in KINDS if isinstance(error, kind)), 422), str(error)


def _name(request: Request, visitor: Visitor, given: str | None = None) -> str:
    """Return the name of the bandit that a request is for, if this visitor may see it."""
    name = request.query_params.get("name", "") if given is None else given
    request.scope["brigand.bandit"] = name
    if not 0 < len(name) <= MAX_NAME:
        raise Refused(404, "There is no such bandit.")
    if visitor.bandit is not None and visitor.bandit != name:
        raise Refused(403, "This key is for another bandit.")
    return name


# Looking.


async def bandits(request: Request, visitor: Visitor) -> Response:
    """Return the list of bandits; who may see one alone gets that."""
    if visitor.bandit is not None:
        return RedirectResponse(Links(visitor.bandit).page(), 303, HEADERS)
    text, order, place = _wanted(request)
    _, part = await _watching(request).bandits(text, order, place)
    live = "/live" + pages.to_list(text, order, place)[1:]
    html = pages.render(
        "list", visitor=visitor, q=text, sort=order, sorts=SORTS.items(), live=live, content=part.html
    )
    return _html(request, html)


async def bandits_live(request: Request, visitor: Visitor) -> Response:
    """Return what changes in the list."""
    return _part(request, (await _found(request, visitor))[1])


async def bandits_csv(request: Request, visitor: Visitor) -> Response:
    """Return the list as CSV."""
    return _csv((await _found(request, visitor))[0], "bandits")


async def _found(request: Request, visitor: Visitor) -> tuple[Table, Page]:
    if visitor.bandit is not None:
        raise Refused(403, "This key is for one bandit alone.")
    return await _watching(request).bandits(*_wanted(request))


def _wanted(request: Request) -> tuple[str, str, int]:
    given = request.query_params
    order, place = given.get("sort", "name"), given.get("page", "1")
    text = given.get("q", "")[:MAX_NAME].replace("\0", "")
    number = int(place) if place.isascii() and place.isdigit() and len(place) < 8 else 1
    return text, order if order in ORDERS else "name", min(max(number, 1), MAX_PAGES)


async def bandit(request: Request, visitor: Visitor) -> Response:
    """Return the page of a bandit."""
    name = _name(request, visitor)
    seen = await _watching(request).bandit(name, visitor.bandit is not None)
    action = ACTIONS.get(request.query_params.get("did", ""))
    html = pages.render(
        "bandit",
        visitor=visitor,
        view=seen.view,
        links=Links(name),
        content=seen.page.html,
        said=action.done if action else "",
    )
    return _html(request, html)


async def bandit_live(request: Request, visitor: Visitor) -> Response:
    """Return what changes in it."""
    name = _name(request, visitor)
    return _part(request, (await _watching(request).bandit(name, visitor.bandit is not None)).page)


async def chart(request: Request, visitor: Visitor) -> Response:
    """Return a chart as SVG."""
    name, wanted = _name(request, visitor), request.query_params.get("chart")
    seen = await _watching(request).bandit(name, visitor.bandit is not None, whole=True)
    found = next((one for one in seen.view.charts if one.name == wanted), None)
    if found is None:
        raise Refused(404, "There is no such chart.")
    return _file(
        pages.svg_file(found).encode("utf-8", "replace"), "image/svg+xml", f"{name}-{found.name}.svg"
    )


async def table(request: Request, visitor: Visitor) -> Response:
    """Return a table as CSV."""
    name, wanted = _name(request, visitor), request.query_params.get("table", "")
    if wanted == "decisions":
        return _csv((await _why(request, name))[0], f"{name}-decisions")
    seen = await _watching(request).bandit(name, visitor.bandit is not None, whole=True)
    found = seen.view.table(wanted)
    if found is None:
        raise Refused(404, "There is no such table.")
    return _csv(found, f"{name}-{found.name}")


def _csv(table: Table, name: str) -> Response:
    return _file(table.csv(), "text/csv; charset=utf-8", f"{name}.csv")


async def report(request: Request, visitor: Visitor) -> Response:
    """Return the report of a bandit."""
    name = _name(request, visitor)
    watching = _watching(request)
    seen = await watching.bandit(name, visitor.bandit is not None, whole=True)
    decisions, _ = await watching.why(name, None, None)
    html = await _service(request).read(pages.report, seen.view, [decisions])
    return _file(html.encode("utf-8", "replace"), "text/html; charset=utf-8", f"{name}.html")


async def why(request: Request, visitor: Visitor) -> Response:
    """Return the page with the last decisions."""
    name = _name(request, visitor)
    _, part = await _why(request, name)
    arm, find = _filter(request)
    seen = await _watching(request).bandit(name, visitor.bandit is not None)
    more = {"find": find} if find else {"arm": pages.packed(arm)} if arm else {}
    html = pages.render(
        "why",
        visitor=visitor,
        bandit=name,
        links=Links(name),
        arms=seen.view.arms,
        arm=arm,
        find=find or "",
        live=Links(name).why(**more).replace("/bandit/why?", "/bandit/why/live?"),
        content=part.html,
    )
    return _html(request, html)


async def why_live(request: Request, visitor: Visitor) -> Response:
    """Return what changes in it."""
    return _part(request, (await _why(request, _name(request, visitor)))[1])


async def _why(request: Request, name: str) -> tuple[Table, Page]:
    return await _watching(request).why(name, *_filter(request))


def _filter(request: Request) -> tuple[str | None, str | None]:
    given = request.query_params
    find = given.get("find", "").strip()[:200] or None
    return unpacked(given.get("arm", "")[: 6 * MAX_NAME]) or None, find


# Changing.


async def ask_again(request: Request, visitor: Visitor) -> Response:
    """Return the page that asks whether something is to be done."""
    given = request.query_params
    name = _name(request, visitor)
    _check_admin(visitor)
    return _confirm(
        request, visitor, name, given.get("action", ""), given.get("arm", ""), given.get("note", "")
    )


def _confirm(
    request: Request,
    visitor: Visitor,
    name: str,
    action: str,
    arm: str,
    note: str,
    refused: str = "",
    status: int = 200,
) -> Response:
    if action not in ACTIONS:
        raise Refused(404, "There is no such action.")
    question, consequence, button, _ = ACTIONS[action]
    html = pages.render(
        "change",
        visitor=visitor,
        bandit=name,
        links=Links(name),
        action=action,
        arm=_arm(action, arm),
        note=note[:MAX_NAME],
        question=question,
        consequence=consequence,
        button=button,
        refused=refused,
    )
    return _html(request, html, status)


def _arm(action: str, text: str) -> str:
    """Return the name of an arm in a form: a new one is as it was typed."""
    return text[:MAX_NAME] if action == "add" and not text.startswith('"') else unpacked(text[: 6 * MAX_NAME])


async def change(request: Request, visitor: Visitor) -> Response:
    """Do what was asked for twice."""
    form = await _form(request)
    name = _name(request, visitor, form.get("name", ""))
    check_origin(request)
    if not visitor.sent(form.get("token", "")):
        raise Refused(403, f"{OLD_FORM} Go back, load the page again, and try once more.")
    _check_admin(visitor)
    action, arm, note = form.get("action", ""), form.get("arm", ""), form.get("note", "")
    by = "dashboard" if visitor.key is None else f"key {visitor.key}"
    try:
        do = partial(_do, action=action, arm=_arm(action, arm), note=note, by=by)
        await _service(request).of(name, do)
    except StorageError:
        raise
    except BrigandError as error:
        status, detail = _said(error)
        return _confirm(request, visitor, name, action, arm, note, detail, status)
    _watching(request).changed(name)
    return RedirectResponse(Links(name).page(did=action), 303, HEADERS)


def _check_admin(visitor: Visitor) -> None:
    if ADMIN not in visitor.may:
        raise Refused(403, "This needs a key of role admin.")


def _do(bandit: Bandit, action: str, arm: str, note: str, by: str) -> None:
    if action == "add":
        if len(bandit.arms()) >= MAX_ARMS:
            raise InvalidValueError(f"a bandit has at most {MAX_ARMS:,} arms here.")
        if not 0 < len(arm) <= MAX_NAME:
            raise InvalidValueError(f"the name of an arm has 1 to {MAX_NAME} characters.")
        bandit.add_arm(arm, by=by)
    elif action == "remove":
        bandit.remove_arm(arm, by=by)
    elif action == "pause":
        bandit.pause(by=by, note=note)
    elif action == "resume":
        bandit.resume(by=by, note=note)
    elif action == "end":
        bandit.end(arm, by=by, note=note)
    elif action == "note":
        if not note.strip():
            raise InvalidValueError("the note is empty.")
        bandit.note(note, by=by)
    else:
        raise Refused(404, "There is no such action.")


async def _form(request: Request) -> dict[str, str]:
    """Return the fields of a form, as browsers send them by default."""
    text = (await request.body()).decode("utf-8", "replace")
    try:
        fields = parse_qs(text, keep_blank_values=True, max_num_fields=20)
    except ValueError:
        raise Refused(400, "This is no form of these pages.") from None
    return {key: values[-1] for key, values in fields.items()}


# Signing in.


async def sign_in_page(request: Request) -> Response:
    """Return the page to sign in."""
    request.scope["brigand.route"] = "/sign-in"
    to = _inside(request.query_params.get("next", "/"))
    if not _service(request).door.has_keys:
        return RedirectResponse("/", 303, HEADERS)
    return _html(request, pages.render("sign_in", visitor=None, next=to, refused=""))


async def sign_in(request: Request) -> Response:
    """Take a key, and give a cookie."""
    request.scope["brigand.route"] = "/sign-in"
    form = await _form(request)
    to = _inside(form.get("next", "/"))
    try:
        cookie = await _service(request).door.sign_in(request, form.get("key", "")[:200])
    except HTTPException as error:
        html = pages.render("sign_in", visitor=None, next=to, refused=str(error.detail))
        answer = _html(request, html, error.status_code)
        answer.headers.update(error.headers or {})
        return answer
    except BrigandError as error:
        return _problem(request, None, *_said(error))
    answer = RedirectResponse(to, 303, HEADERS)
    give_cookie(request, answer, cookie)
    return answer


async def sign_out(request: Request, visitor: Visitor) -> Response:
    """Forget the visitor."""
    form = await _form(request)
    check_origin(request)
    if not visitor.sent(form.get("token", "")):
        raise Refused(403, OLD_FORM)
    await _service(request).door.sign_out(request)
    answer = RedirectResponse("/sign-in", 303, HEADERS)
    give_cookie(request, answer, "")
    return answer


def _inside(to: str) -> str:
    """Return where to go after signing in: a page of ours."""
    return to if to.startswith("/") and not to.startswith(("//", "/\\")) and to.isprintable() else "/"


async def static(request: Request) -> Response:
    """Return a file that is the same for all; links to it change with its content."""
    request.scope["brigand.route"] = "/static"
    name = request.path_params["file"]
    if name not in pages.FILES:
        raise Refused(404, "there is no such file.")
    days = {"Cache_Control": "public, max-age=31536000, immutable", "Content_Type": pages.FILES[name]}
    return _compressed(request, pages.content_of(name), None, **days)


routes = [
    Route("/", page(bandits)),
    Route("/live", page(bandits_live, part=True)),
    Route("/bandits.csv", page(bandits_csv)),
    Route("/bandit", page(bandit)),
    Route("/bandit/live", page(bandit_live, part=True)),
    Route("/bandit/chart.svg", page(chart)),
    Route("/bandit/table.csv", page(table)),
    Route("/bandit/report", page(report)),
    Route("/bandit/why", page(why)),
    Route("/bandit/why/live", page(why_live, part=True)),
    Route("/bandit/change", page(ask_again), methods=["GET"]),
    Route("/bandit/change", page(change), methods=["POST"]),
    Route("/sign-in", sign_in_page, methods=["GET"]),
    Route("/sign-in", sign_in, methods=["POST"]),
    Route("/sign-out", page(sign_out), methods=["POST"]),
    Route("/static/{file}", static),
]
