"""The pages without a browser: who may see and do what, and what is sent."""

import asyncio
import csv
import gzip
import io
import json
import re
import threading
import time
import xml.etree.ElementTree as ET

import pytest

import brigand as br
from brigand.dashboard import pages
from brigand.dashboard.view import Watch
from brigand.service import keys, watching
from brigand.service.app import create_dashboard
from brigand.service.logs import written
from brigand.service.visitors import COOKIE, FAILURES, Visitor
from cli.command import brigand
from dashboard import shop
from dashboard.people import Person, percent, shown, to
from service.common import Served, made, served

PLACES = ("", "/live", "/why", "/why/live", "/report")


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Let pages wait, whatever else this machine does."""
    monkeypatch.setattr(watching, "PATIENCE", 60.0)


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    return f"sqlite:///{tmp_path_factory.mktemp('pages')}/shop.db"


@pytest.fixture(scope="module")
def service(url):
    with served(url) as found:
        path = made(found, "shop", ("red", "green"), holdout=0.2)
        asked = found("POST", f"{path}/ask", json={"n": 200}).json()["decisions"]
        rewards = [{"id": one["id"], "reward": float(one["arm"] == "green")} for one in asked[:150]]
        found("POST", f"{path}/tell", json={"rewards": rewards})
        made(found, "other")
        yield found


@pytest.fixture(scope="module")
def admin(service):
    return Person(service, service.key)


@pytest.fixture(scope="module")
def reader(service, url):
    return Person(service, keys.create(url, "read"))


def every_page(name):
    return [
        "/",
        "/live",
        "/bandits.csv",
        *(to(place, name) for place in PLACES),
        to("/table.csv", name, table="arms"),
        to("/chart.svg", name, chart="arms"),
    ]


def test_nothing_is_seen_without_signing_in(service):
    nobody = Person(service)
    for path in every_page("shop"):
        answer = nobody.get(path)
        if path.partition("?")[0] in ("/live", "/bandit/live", "/bandit/why/live"):
            assert answer.status_code == 401
        else:
            assert (answer.status_code, answer.headers["location"]) == (303, f"/sign-in?next={percent(path)}")
        assert "shop" not in answer.text
    assert nobody.post("/bandit/change", {"name": "shop", "action": "pause"}).status_code == 401


def test_every_page_has_a_strict_policy_and_needs_nothing_else(admin):
    for path in [
        *every_page("shop"),
        "/sign-in",
        to("/change", "shop", action="pause"),
        "/bandit?name=nothing",
        "/static/page.css",
    ]:
        answer = admin.get(path)
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "frame-ancestors 'none'; base-uri 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        if "text/html" in answer.headers["content-type"] and "attachment" not in answer.headers.get(
            "content-disposition", ""
        ):
            assert not re.search(
                r"<style|\sstyle=|\son\w+=|<script(?! src=\"/static/)|javascript:", answer.text
            )
        assert not re.search(r"(?:src|href|action)=\"(?!/|#|\?)", answer.text)


def test_the_cookie_is_kept_from_scripts_and_other_sites_and_is_not_the_key(service, url):
    person = Person(service)
    answer = person.sign_in(service.key)
    assert answer.status_code == 303
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=")
    for part in ("HttpOnly", "SameSite=strict", "Path=/", "Max-Age=43200"):
        assert part in cookie
    assert "Secure" not in cookie
    for part in service.key.split("_", 2)[1:]:  # a secret may hold an underscore
        assert part not in cookie
    secure = Person(service)(
        "POST",
        "https://localhost/sign-in",
        {"Content-Type": "application/x-www-form-urlencoded"},
        content=f"key={service.key}",
    )
    assert "Secure" in secure.headers["set-cookie"]


def test_the_cookie_is_no_key_of_the_api(service):
    person = Person(service, service.key)
    id, secret = person.cookie.partition("=")[2].split(".")
    for key in (f"brg_{id}_{secret}", f"{id}.{secret}"):
        assert service("GET", "/v1/bandits", key=key).status_code in (401, 403)
    assert person.get("/v1/bandits").status_code == 401


def test_signing_out_revoking_and_expiry_end_it(service, url):
    key = keys.create(url, "read")
    first, second, third = (Person(service, key) for _ in range(3))
    assert first.post("/sign-out", {"token": "x"}).status_code == 403
    assert first.post("/sign-out", {"token": first.token("/")}).status_code == 303
    assert first.get("/").headers["location"].startswith("/sign-in")
    assert second.get("/").status_code == 200
    keys.revoke(url, key.split("_")[1])
    time.sleep(1.1)
    assert second.get("/").headers["location"].startswith("/sign-in")
    short = keys.create(url, "read", expires=0.6 / keys.DAY)
    fourth = Person(service, short)
    assert fourth.get("/").status_code == 200
    time.sleep(0.7)
    assert fourth.get("/").headers["location"].startswith("/sign-in")
    assert third.sign_in(short).status_code == 403
    assert keys.SESSION not in {key.role for key in keys.all_keys(url)}


@pytest.mark.parametrize("wrong", ["", "x", "000000000000." + 43 * "A", "../..", "a" * 5000])
def test_forged_cookies_open_nothing(service, wrong):
    person = Person(service)
    person.cookie = f"{COOKIE}={wrong}"
    assert person.get("/").headers["location"].startswith("/sign-in")


def test_a_key_that_may_not_look_and_wrong_keys_are_refused(url):
    with served(url) as service:  # whose failures are its own
        person = Person(service)
        decide = person.sign_in(keys.create(url, "decide"))
        assert decide.status_code == 403
        assert "role decide may not look" in decide.text
        for _ in range(FAILURES):
            assert person.sign_in("brg_000000000000_" + 43 * "A").status_code == 403
        late = person.sign_in(service.key)
        assert late.status_code == 429
        assert 0 < int(late.headers["retry-after"]) <= 60
        assert "set-cookie" not in late.headers
        assert service("GET", "/v1/bandits").status_code == 200  # the API goes on


@pytest.mark.parametrize(
    "next", ["//evil.example", "https://evil.example", "/\\evil.example", "/x\r\nSet-Cookie: a=b"]
)
def test_signing_in_leads_to_pages_of_the_service_alone(service, next):
    answer = Person(service).sign_in(service.key, next)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


OTHER_SITES = [
    {"Origin": "https://evil.example"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Origin": "null"},
]


@pytest.mark.parametrize("headers", OTHER_SITES)
def test_forms_of_other_sites_are_refused(service, admin, headers):
    assert admin.change("shop", "pause", **headers).status_code == 403
    assert Person(service).sign_in(service.key, **headers).status_code == 403
    assert admin.post("/sign-out", {"token": admin.token("/")}, **headers).status_code == 403
    assert service("GET", "/v1/bandits/shop").json()["status"] == "serving"


def test_forms_without_this_visitors_token_are_refused(service, admin, reader):
    for token in ("", "x", reader.token("/"), "A" * 88, Person(service, service.key).token("/")):
        form = {"name": "shop", "action": "pause", "token": token}
        assert admin.post("/bandit/change", form, Origin="http://localhost").status_code == 403
    assert service("GET", "/v1/bandits/shop").json()["status"] == "serving"


def test_tokens_are_masked_anew_each_time():
    visitor = Visitor("k", frozenset(), None, b"secret")
    tokens = {visitor.token() for _ in range(20)}
    assert len(tokens) == 20
    assert all(map(visitor.sent, tokens))
    assert not visitor._replace(secret=b"other").sent(tokens.pop())


def test_a_reader_sees_and_changes_nothing(service, reader):
    page = reader.get(to("", "shop")).text
    assert "read only" in page
    assert 'action="/bandit/change"' not in page
    assert reader.get(to("/change", "shop", action="pause")).status_code == 403
    form = {"name": "shop", "action": "pause", "token": reader.token("/")}
    assert reader.post("/bandit/change", form).status_code == 403
    assert service("GET", "/v1/bandits/shop").json()["status"] == "serving"


def test_a_key_for_one_bandit_sees_no_other(service, url):
    person = Person(service, keys.create(url, "admin", bandit="shop"))
    assert person.get("/").headers["location"] == to("", "shop")
    for path in every_page("shop")[3:]:
        assert person.get(path).status_code == 200
    for path in [*every_page("other"), "/bandits.csv", "/live"]:
        answer = person.get(path)
        assert answer.status_code == (303 if path == "/" else 403)
        assert ">other<" not in answer.text
    form = {"name": "other", "action": "pause", "token": person.token(to("", "shop"))}
    assert person.post("/bandit/change", form).status_code == 403


def test_what_an_admin_does_is_asked_twice_and_is_in_the_audit(service, url):
    path, admin = made(service, "doing", ("red", "green")), Person(service, service.key)
    id = service.key.split("_")[1]
    assert "Pause this bandit?" in admin.get(to("/change", "doing", action="pause")).text
    assert service("GET", path).json()["status"] == "serving"
    steps = [
        ("pause", "", "closed"),
        ("resume", "", "open"),
        ("add", "blue <b>", ""),
        ("remove", json.dumps("red"), ""),
        ("note", "", "new prices"),
        ("end", json.dumps("green"), "enough"),
    ]
    for action, arm, note in steps:
        done = admin.change("doing", action, arm, note)
        assert (done.status_code, done.headers["location"]) == (303, to("", "doing", did=action)), done.text
        assert 'role="status"' in admin.get(done.headers["location"]).text
    audit = service("GET", f"{path}/audit").json()["audit"][2:]
    found = [(row["action"], row["arm"], row["note"], row["by"]) for row in audit]
    by = f"key {id}"
    assert found == [
        ("pause", "", "closed", by),
        ("resume", "", "open", by),
        ("add", "blue <b>", "", by),
        ("remove", "red", "", by),
        ("note", "", "new prices", by),
        ("end", "green", "enough", by),
    ]
    page = admin.get(to("", "doing")).text
    assert "It has ended: every ask gets <bdi>green</bdi>" in page
    assert "new prices" in page


@pytest.mark.parametrize(
    ("action", "arm", "status", "words"),
    [
        ("add", "red", 409, "has an arm"),
        ("add", "", 422, "1 to 500 characters"),
        ("remove", json.dumps("nothing"), 404, "nothing"),
        ("end", json.dumps("nothing"), 404, "nothing"),
        ("note", "", 422, "the note is empty"),
        ("nonsense", "", 404, "no such action"),
    ],
)
def test_what_cannot_be_done_is_said(service, admin, action, arm, status, words):
    form = {"name": "other", "action": action, "arm": arm, "note": "", "token": admin.token("/")}
    answer = admin.post("/bandit/change", form)
    assert answer.status_code == status
    assert words in answer.text
    assert "<h1>" in answer.text


def test_parts_are_sent_again_only_if_they_have_changed(service, admin):
    for path in ("/live", to("/live", "other"), to("/why/live", "other")):
        first = admin.get(path)
        assert admin.get(path, **{"If-None-Match": first.headers["etag"]}).status_code == 304
    path = made(service, "moving")
    first = admin.get(to("/live", "moving"))
    asked = service("POST", f"{path}/ask").json()
    time.sleep(2.2)
    later = admin.get(to("/live", "moving"), **{"If-None-Match": first.headers["etag"]})
    assert later.status_code == 200
    assert asked["id"] in admin.get(to("/why/live", "moving")).text


def test_the_last_decisions_by_arm_and_one_by_its_id_its_unit_or_its_request(service, admin):
    path = made(service, "asked", ("red", "green"), units="plain")
    asked = [
        service("POST", f"{path}/ask", json={"unit": f"u{n}", "request": f"r{n}"}).json() for n in range(6)
    ]
    page = admin.get(to("/why", "asked")).text
    assert all(one["id"] in page for one in asked)
    assert f"{asked[0]['reason'].capitalize()}." in page
    reds = admin.get(to("/why", "asked", arm=json.dumps("red"))).text
    assert [one["id"] in reds for one in asked] == [one["arm"] == "red" for one in asked]
    for text in (asked[3]["id"], "u3", "r3"):
        found = admin.get(to("/why", "asked", find=text)).text
        assert [one["id"] in found.partition('id="live"')[2] for one in asked] == [n == 3 for n in range(6)]
    assert "No decision has this id" in admin.get(to("/why", "asked", find="nothing")).text


def test_tables_are_saved_as_csv_and_charts_as_svg(admin):
    rows = list(csv.reader(io.StringIO(admin.get(to("/table.csv", "shop", table="arms")).text)))
    assert rows[0][:5] == ["arm", "mean", "lower", "upper", "asked"]
    assert sum(int(row[4]) for row in rows[1:]) == 200
    page = admin.get(to("", "shop")).text
    tables = set(re.findall(r"/bandit/table\.csv\?name=shop&amp;table=(\w+)", page))
    charts = set(re.findall(r"/bandit/chart\.svg\?name=shop&amp;chart=(\w+)", page))
    assert charts == {"arms", "traffic", "rewards", "explored", "pending"} == tables - {"changes"}
    for name in tables:
        answer = admin.get(to("/table.csv", "shop", table=name))
        assert answer.headers["content-type"] == "text/csv; charset=utf-8"
        assert "attachment" in answer.headers["content-disposition"]
        assert len(list(csv.reader(io.StringIO(answer.text)))) > 1
    for name in charts:
        root = ET.fromstring(admin.get(to("/chart.svg", "shop", chart=name)).text)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert root.find("{http://www.w3.org/2000/svg}title").text
    for path in (to("/table.csv", "shop", table="x"), to("/chart.svg", "shop", chart="x"), "/static/x"):
        assert admin.get(path).status_code == 404


def test_the_list_is_searched_sorted_and_paged(url, service, admin):
    for n in range(30):
        br.Bandit(["a"], "FE-Linear", store=url, name=f"paged {n:02}", seed=0).close()
    first = admin.get("/?q=PAGED").text
    assert "30 bandits, page 1 of 2" in first
    assert ">paged 24<" in first
    assert ">paged 25<" not in first
    later = re.search(r'id="later" href="([^"]+)"', first)[1].replace("&amp;", "&")
    assert ">paged 25<" in admin.get(later).text
    assert ">paged 29<" in admin.get("/?q=paged&sort=-created").text
    assert len(admin.get("/bandits.csv?q=paged&page=2").text.splitlines()) == 6
    assert "No bandit's name has <bdi>xyz&lt;</bdi>" in admin.get("/?q=xyz%3C").text
    for odd in ("/?page=0", "/?page=-1", "/?page=x", "/?sort=x", "/?page=999999999", "/?q=%00"):
        assert admin.get(odd).status_code == 200


def test_answers_are_compressed_and_files_are_kept_by_browsers(admin):
    page = admin.get(to("", "shop"))
    assert page.headers["content-encoding"] == "gzip"
    assert page.headers["cache-control"] == "no-store"
    plain = admin.get(to("", "shop"), **{"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    for name in pages.FILES:
        answer = admin.get(pages.link_to(name))
        assert "immutable" in answer.headers["cache-control"]
        assert answer.content == pages.content_of(name)
    sent = sum(len(gzip.compress(pages.content_of(name))) for name in pages.FILES)
    assert sent + len(gzip.compress(page.content)) < 100_000


def test_the_log_has_no_key_and_no_cookie(service):
    stream = io.StringIO()
    with written(stream):
        person = Person(service, service.key)
        person.get("/")
        person.change("other", "note", note="very private")
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert {line["route"] for line in lines} >= {"/sign-in", "/", "/bandit/change"}
    assert lines[1]["key"] == service.key.split("_")[1]
    for secret in (service.key.split("_", 2)[2], person.cookie.partition("=")[2], "very private"):
        assert secret not in stream.getvalue()


# Without keys, and alone.


@pytest.fixture(scope="module")
def strange(tmp_path_factory):
    store = f"{tmp_path_factory.mktemp('strange')}/strange.db"
    shop.strange(store)
    return store


@pytest.fixture(scope="module")
def alone(strange):
    with Served(create_dashboard(strange)) as found:
        yield Person(found)


def test_any_name_is_shown_as_it_is(alone):
    page = alone.get("/").text
    for name in shop.STRANGE:
        link = shown(to("", name))
        assert f'href="{link}"' in page
        one = alone.get(to("", name)).text
        assert "<script>document" not in one
        assert "<img" not in one
        assert "<b>" not in one
        assert "<i>" not in one
        assert "\u202e" not in one
        for place in ("/why", "/report"):
            assert "<script>d" not in alone.get(to(place, name)).text
        rows = list(csv.reader(io.StringIO(alone.get(to("/table.csv", name, table="arms")).text)))
        assert {"'=1+1", "..", "a" * 500} < {row[0] for row in rows}
        ET.fromstring(alone.get(to("/chart.svg", name, chart="traffic")).text)
    assert shown("<script>document.title='owned'</script>") in page


def test_pages_alone_change_nothing_and_are_for_this_machine(alone, strange):
    page = alone.get(to("", "..")).text
    assert 'action="/bandit/change"' not in page
    form = {"name": "..", "action": "pause", "token": "x"}
    assert alone.post("/bandit/change", form).status_code == 403
    assert alone.get(to("/change", "..", action="pause")).status_code == 403
    for path in ("/v1/bandits", "/metrics", "/openapi.json"):
        assert alone.get(path).status_code == 404
    assert alone.get("/", Host="evil.example").status_code == 403
    assert alone.get("/readyz").status_code == 200
    assert alone.get("/sign-in").headers["location"] == "/"


@pytest.mark.full
def test_a_service_in_memory_has_pages_too():
    with served(None) as service:
        person = Person(service)
        assert "There is no bandit yet" in person.get("/").text
        path = made(service, "x", ("red", "green"))
        asked = service("POST", f"{path}/ask", json={"n": 40}).json()["decisions"]
        for one in asked:
            service("POST", f"{path}/tell", json={"id": one["id"], "reward": 0.5})
        time.sleep(2.1)
        assert ">x<" in person.get("/").text
        assert person.get(to("", "x")).status_code == 200
        assert person.change("x", "pause").status_code == 303
        assert service("GET", path).json()["status"] == "paused"
        assert service("GET", f"{path}/audit").json()["audit"][-1]["by"] == "dashboard"
        assert person.change("x", "resume", Origin="http://evil.example").status_code == 403
        assert person.get("/", Host="evil.example").status_code == 403


def test_the_command_needs_a_store_that_is_there(tmp_path):
    done = brigand("dashboard", "--store", "nothing.db", cwd=tmp_path)
    assert done.returncode == 2
    assert "nothing.db" in done.stderr
    assert not (tmp_path / "nothing.db").exists()


def test_segments_are_side_by_side(tmp_path, monkeypatch):
    monkeypatch.setattr(watching, "MOST_SEGMENTS", 2)
    store = f"sqlite:///{tmp_path}/segments.db"
    with br.Bandits(
        ["red", "green"], "FE-Linear", store=store, name="button", segments=["country"]
    ) as bandits:
        bandits.of("at").ask(3)
        bandits.of("be").ask(1)
        for country, asks in (("de", 5), ("fr", 40)):
            for _ in range(asks):
                decision = bandits.ask(country)
                bandits.tell(country, decision, float(decision.arm == "red"))
    with br.Bandit(["red"], "FE-Linear", store=store, name="buttons", seed=0):
        pass
    smallest, other, largest = ('button/["at"]', 'button/["de"]', 'button/["fr"]')
    with served(store) as service:
        person = Person(service, service.key)
        page = person.get(to("", smallest)).text
        assert "The 2 segments with the most decisions, of 4, and this one." in page
        assert shown(to("", largest)) in page
        found = person.get(to("/table.csv", smallest, table="segments")).text
        rows = list(csv.DictReader(io.StringIO(found)))
        assert [list(row.values())[:4] for row in rows] == [
            ["fr", "40", "red", "not yet"],
            ["de", "5", "red", "not yet"],
            ["at", "3", "", ""],
        ]
        arms = person.get(to("/table.csv", largest, table="arms")).text
        mean, lower, upper = (rows[0][key] for key in ("mean", "lower", "upper"))
        assert f"red,{mean},{lower},{upper}," in arms  # as on its own page
        assert ET.fromstring(person.get(to("/chart.svg", other, chart="segments")).text) is not None
        assert "The 2 segments with the most decisions, of 4." in person.get(to("", other)).text
        all_ = person.get(
            re.search(r'href="(/\?q=[^"]+)">All 4 segments', page)[1].replace("&amp;", "&")
        ).text
        assert all(shown(to("", name)) in all_ for name in (smallest, other, largest))
        report = person.get(to("/report", other)).text
        assert "Segments side by side" in report
        assert "href" not in report
        limited = Person(service, keys.create(store, "read", bandit=other))
        assert "Segments" not in limited.get(to("", other)).text


def test_a_page_does_not_wait_until_all_is_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(watching, "PATIENCE", 0.05)
    store, may_count = f"sqlite:///{tmp_path}/long.db", threading.Event()
    counted = Watch.counted

    def slowly(watch):
        assert may_count.wait(60)
        return counted(watch)

    monkeypatch.setattr(Watch, "counted", slowly)
    with served(store) as service:
        path = made(service, "x")
        service("POST", f"{path}/ask", json={"n": 20})
        person = Person(service, service.key)
        page = person.get(to("", "x")).text
        assert "being counted" in page
        assert page.count("data-counting") == 5
        assert '<h2 id="arms-title">' in page
        assert 'id="traffic-w-t"' not in page
        threading.Timer(0.2, may_count.set).start()
        assert person.get(to("/chart.svg", "x", chart="traffic")).status_code == 200  # this waits
        page = person.get(to("/live", "x")).text
        assert "counting" not in page
        assert 'id="traffic-w-t"' in page


def test_a_store_that_cannot_be_read_is_said_without_its_place(tmp_path):
    with served(f"sqlite:///{tmp_path}/secret-place.db") as service:
        person = Person(service, service.key)
        made(service, "x")
        (tmp_path / "secret-place.db").unlink()
        answer = person.get(to("", "x"))
        assert answer.status_code == 503
        assert "cannot be read" in answer.text
        assert "secret-place" not in answer.text


@pytest.mark.parametrize("seconds", [0.0, 0.05])
def test_what_failed_is_told_once_and_tried_again(seconds, monkeypatch):
    """Where it fails while the page waits, and where the page has gone on without it."""
    monkeypatch.setattr(watching, "PATIENCE", 0.02)
    answers = [br.StorageError("the store is away"), 3]

    def make():
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def read(function):
        await asyncio.sleep(seconds)
        return function()

    async def visit():
        patient, ready = watching.Patient(read, make, "not yet"), asyncio.Event()
        found = []
        while 3 not in found:
            try:
                found.append(await patient.get(ready.set))
            except br.StorageError:
                found.append("failed")
            await patient.ready()
            assert len(found) < 9
        return found

    late = ["not yet"] if seconds else []
    assert asyncio.run(visit()) == [*late, "failed", *late, 3]
