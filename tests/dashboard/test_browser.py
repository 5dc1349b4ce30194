"""The dashboard in a real browser, as people use it: with a mouse, with keys alone, on a telephone."""

import itertools
import os
import re
import shutil
import signal
import time

import pytest

import brigand as br
import stores
from brigand.service import keys
from dashboard import shop
from dashboard.people import to
from dashboard.viewer import Viewer
from service.process import Process
from strength import runs

axe_playwright = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")

BUTTON = "buy button"
SEGMENT = 'banner/["de", "phone"]'
PAGES = {
    "list": "/",
    "searched": "/?q=banner&sort=-decisions",
    "nothing found": "/?q=nothing",
    "bandit": to("", BUTTON),
    "segment": to("", SEGMENT),
    "many arms": to("", "many"),
    "many segments": to("", 'offer/["shop 007"]'),
    "ended": to("", "delivery"),
    "paused": to("", "prices"),
    "unused": to("", "unused"),
    "strange": to("", shop.STRANGE[0]),
    "why": to("/why", BUTTON),
    "why, found": to("/why", BUTTON, find="user-123"),
    "change": to("/change", BUTTON, action="end", arm='"Buy now"', note="clear enough"),
    "done": to("", BUTTON, did="note"),
    "not there": to("", "not there"),
    "sign in": "/sign-in",
}
LOOKS = [(360, "light"), (1920, "dark"), (360, "dark"), (1920, "light")]
CHROMIUM = os.environ.get("BRIGAND_TEST_CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"


@pytest.fixture(scope="module")
def chromium():
    """Give a browser; without Chromium, tests that need one are skipped.

    It is closed with its module: meanwhile an event loop runs, and there can be no other in this thread.
    """
    if not os.access(CHROMIUM, os.X_OK):
        pytest.skip("there is no Chromium: install it, or name one in BRIGAND_TEST_CHROMIUM")
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def opened(chromium):
    """Give a store of a shop behind a service, and a key: other tests of the process change nothing in it."""
    with stores.folder() as folder:
        store = f"{folder}/shop.db"
        server = Process(store, f"{folder}/log")
        shop.make(store, runs(600, 6000))
        shop.many(store, runs(60, 500), runs(2000, 20_000))
        shop.segments(store, runs(2, 300))
        shop.strange(store)
        with server:
            server.key = keys.create(store, "admin")
            server.store = store
            with Viewer(chromium, server.url) as first:
                first.sign_in(server.key)
                server.state = first.context.storage_state()
            yield server


@pytest.fixture
def viewer(chromium, opened):
    """Give somebody who looks at the shop, and is signed in."""
    with Viewer(chromium, opened.url, storage_state=opened.state) as found:
        yield found


@pytest.fixture
def fresh(opened):
    """Give a new bandit of the shop's."""
    name = f"fresh {os.urandom(4).hex()}"
    with br.Bandit(["red", "green"], br.ThompsonBeta(), store=opened.store, name=name, seed=0) as bandit:
        bandit.title = name
        yield bandit


def test_a_wrong_key_is_refused_and_a_right_one_opens(chromium, opened):
    with Viewer(chromium, opened.url, silent=False) as viewer:
        page = viewer.bandit(BUTTON)
        assert page.url.endswith("/sign-in?next=%2Fbandit%3Fname%3Dbuy%2Bbutton")
        page.fill("#key", opened.key[:-1] + ("A" if opened.key[-1] != "A" else "B"))
        page.click("#sign-in")
        assert page.text_content("#refused") == "This key is not valid."
        page.fill("#key", opened.key)
        page.click("#sign-in")
        page.wait_for_url(viewer.url + to("", BUTTON))
        assert page.text_content("h1") == BUTTON
        (cookie,) = viewer.context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        assert page.evaluate("document.cookie") == ""
        assert opened.key.split("_", 2)[2] not in cookie["value"]
        page.click("#sign-out")
        page.wait_for_url(f"{viewer.url}/sign-in")
        assert viewer.context.cookies() == []
        assert all("403" in line for line in viewer.said), viewer.said


@pytest.mark.full
def test_asks_and_tells_are_seen_as_they_happen(viewer, fresh):
    page = viewer.bandit(fresh.title)
    page.evaluate("window.here = true")
    assert "There is no reward yet." in page.text_content("#verdict")
    page.wait_for_selector("section[aria-label=Numbers] >> text=none yet")
    for one in fresh.ask(40):
        fresh.tell(one, float(one.arm == "green"))
    page.wait_for_selector("#traffic-title")
    page.wait_for_selector("#verdict:has-text('green is the best arm')")
    page.click("#arms-table summary")
    assert page.text_content("#arms-table tbody tr:first-child th") == "green"
    for one in fresh.ask(7):
        fresh.tell(one, 1.0)
    page.wait_for_selector("dd:text-is('47')")
    assert page.evaluate("window.here")
    assert page.get_attribute("#arms-table", "open") is not None  # stays open


@pytest.mark.full
def test_what_has_the_focus_keeps_it_and_what_is_open_stays_open(viewer, fresh):
    made = fresh.ask(10)
    page = viewer.bandit(fresh.title)
    page.click("#traffic-table summary")
    page.focus("#arms-png")
    fresh.tell(made[0], 1.0)
    page.wait_for_selector("#verdict:has-text('leads')")
    assert page.evaluate("document.activeElement.id") == "arms-png"
    assert page.get_attribute("#traffic-table", "open") is not None


@pytest.mark.full
def test_pausing_adding_and_ending_are_asked_twice_and_kept(viewer, fresh):
    page = viewer.bandit(fresh.title)
    page.fill("#pause-note", "closed <b>today</b>")
    page.click("#do-pause")
    assert page.text_content("h1") == "Pause this bandit?"
    assert fresh.status == "serving"
    page.click("#cancel")
    page.fill("#pause-note", "closed <b>today</b>")
    page.click("#do-pause")
    page.click("#confirm")
    page.wait_for_selector(".said:text-is('The bandit is paused.')")
    assert fresh.status == "paused"
    page.click("#do-resume")
    page.click("#confirm")
    page.fill("#add-arm", "blue")
    page.click("#do-add")
    page.click("#confirm")
    page.wait_for_selector(".said:text-is('The arm is in service.')")
    page.fill("#add-arm", "blue")
    page.click("#do-add")
    viewer.silent = False  # the browser notes the 409
    page.click("#confirm")
    assert "has an arm 'blue' already" in page.text_content(".refused")
    page.click("#cancel")
    page.select_option("#remove-arm", label="red")
    page.click("#do-remove")
    page.click("#confirm")
    page.fill("#note-text", "new prices")
    page.click("#do-note")
    page.click("#confirm")
    page.select_option("#end-arm", label="green")
    page.click("#do-end")
    page.click("#confirm")
    page.wait_for_selector("text=It has ended: every ask gets green.")
    audit = [(row["action"], row["arm"], row["note"]) for row in fresh.audit(plain=True)]
    assert audit[2:] == [
        ("pause", "", "closed <b>today</b>"),
        ("resume", "", ""),
        ("add", "blue", ""),
        ("remove", "red", ""),
        ("note", "", "new prices"),
        ("end", "green", ""),
    ]
    rows = page.locator("#changes-scroll tbody tr").all_text_contents()
    assert [re.split(r"\d\d:\d\d:\d\d", row)[1].split("key")[0] for row in rows] == [
        "ended withgreen",
        "note",
        "removedred",
        "addedblue",
        "resumed",
        "paused",
    ]


@pytest.mark.full
def test_what_is_being_counted_comes_by_itself(chromium, tmp_path, monkeypatch):
    """Of a log so long that the page is there before."""
    store = tmp_path / "long.db"
    with br.Bandit(["a", "b"], "FE-Linear", store=store, name="x", seed=0) as bandit:
        for _ in range(30):
            bandit.tell_many([(one.id, 1.0) for one in bandit.ask(10_000)])
        bandit.note("enough")
    with Process(store, tmp_path / "log") as server, Viewer(chromium, server.url) as viewer:
        viewer.sign_in(keys.create(store, "read"))
        page = viewer.bandit("x")
        page.click("#arms-table summary")
        page.wait_for_selector("#traffic-w-t", state="attached")
        page.wait_for_selector("#changes-scroll")
        assert page.locator("[data-counting]").count() == 0
        assert page.get_attribute("#arms-table", "open") is not None


@pytest.mark.full
def test_why_is_live_and_can_be_filtered(viewer, fresh):
    page = viewer.bandit(fresh.title, "/why")
    assert page.text_content("#none") == "There is no decision yet."
    made = [fresh.ask(unit=f"user {n}") for n in range(4)]
    page.wait_for_selector(f"td:has-text('{made[-1].id}')")
    assert (
        page.locator("td.why").first.text_content() == f"{made[-1].reason[0].upper()}{made[-1].reason[1:]}."
    )
    page.select_option("#arm", label="green")
    page.click("#filter")
    assert page.locator("tbody tr").count() == sum(one.arm == "green" for one in made)
    page.fill("#find", made[1].id)
    page.click("#look-up")
    assert page.locator("tbody tr").count() == 1
    page.fill("#find", "user 2")
    page.click("#look-up")
    assert made[2].id in page.text_content("tbody tr")


@pytest.mark.full
def test_a_lost_server_is_said_and_it_comes_back(chromium):
    with stores.folder() as folder, Viewer(chromium, "http://127.0.0.1", silent=False) as viewer:
        store = f"{folder}/lost.db"
        bandit = br.Bandit(["a", "b"], "FE-Linear", store=store, name="x", seed=0)
        with bandit, Process(store, f"{folder}/log") as server:
            viewer.url = server.url
            viewer.sign_in(keys.create(store, "read"))
            page = viewer.bandit("x")
            page.evaluate("window.here = true")
            assert page.is_hidden("#lost")
            server.kill()
            page.wait_for_selector("#lost:has-text('The connection to the server is lost')")
            assert page.get_attribute("#lost", "role") == "alert"
            bandit.ask(5)
            again = Process(store, f"{folder}/again", port=server.port)
            with again:
                page.wait_for_selector("#lost", state="hidden", timeout=30_000)
                page.wait_for_selector("dd:text-is('5')")
                assert page.evaluate("window.here")  # still signed in, and not loaded again
        assert all("ERR_" in line for line in viewer.said)


@pytest.mark.full
def test_who_is_signed_out_is_told(viewer, opened):
    page = viewer.bandit(BUTTON)
    viewer.context.clear_cookies()
    viewer.silent = False  # the browser notes the 401
    page.wait_for_selector("#lost:has-text('You are signed out.')")
    page.click("#lost a")
    assert page.url.startswith(f"{opened.url}/sign-in?next=")


@pytest.mark.full
def test_charts_are_saved_as_png_and_svg_and_tables_as_csv(viewer, tmp_path):
    page = viewer.bandit(BUTTON)
    with page.expect_download() as saved:
        page.click("#traffic-png")
    content = saved.value.path().read_bytes()
    assert saved.value.suggested_filename == "traffic.png"
    assert content.startswith(b"\x89PNG")
    assert int.from_bytes(content[16:20], "big") == 1440
    assert len(content) > 8_000
    for link, begin in (("SVG of Share of traffic", "<?xml"), ("CSV of Share of traffic", "from decision,")):
        with page.expect_download() as saved:
            page.get_by_role("link", name=link, exact=True).click()
        assert saved.value.path().read_text().startswith(begin)
    with page.expect_download() as saved:
        page.click("text=Report to print or send")
    report = tmp_path / "report.html"
    saved.value.save_as(report)
    with Viewer(viewer._browser, "file://") as reader:
        reader.page.goto(f"file://{report}")
        assert reader.page.text_content("h1") == BUTTON
        assert reader.page.locator("svg.wide").count() == 5


@pytest.mark.full
def test_keys_alone_are_enough(chromium, opened, fresh):
    with Viewer(chromium, opened.url) as viewer:
        page = viewer.bandit(fresh.title)
        page.keyboard.type(opened.key)  # the field has the focus
        page.keyboard.press("Enter")
        page.wait_for_selector("#verdict")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
        assert page.locator(".skip").bounding_box()["x"] >= 0
        page.keyboard.press("Enter")
        viewer.tab_to("#arms-table summary")
        page.keyboard.press("Enter")
        assert page.get_attribute("#arms-table", "open") is not None
        viewer.tab_to("#add-arm")
        page.keyboard.type("blue")
        page.keyboard.press("Enter")
        page.wait_for_selector("#confirm")
        viewer.tab_to("#confirm")
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        page.keyboard.press("Enter")
        page.wait_for_selector(".said")
        assert "blue" in fresh.arms()
        viewer.tab_to("nav a")
        page.keyboard.press("Enter")
        page.wait_for_selector("h1:text-is('Bandits')")


@pytest.mark.full
def test_no_script_is_needed(chromium, opened, fresh):
    with Viewer(chromium, opened.url, java_script_enabled=False) as viewer:
        page = viewer.sign_in(opened.key)
        page.click("text=buy button")
        assert "leads" in page.text_content("#verdict")
        page = viewer.bandit(fresh.title)
        page.click("#do-pause")
        page.click("#confirm")
        assert fresh.status == "paused"


@pytest.mark.parametrize(("width", "scheme"), LOOKS[: runs(1, 4)])
def test_axe_finds_nothing_on_any_page(chromium, opened, width, scheme):
    axe = axe_playwright.Axe()
    names = runs(["list", "bandit"], list(PAGES))
    look = {"width": width, "scheme": scheme, "storage_state": opened.state}
    with Viewer(chromium, opened.url, silent=False, **look) as viewer:
        for name in names:
            page = viewer.go(PAGES[name])
            if name in ("bandit", "why") and runs(False, True):
                page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
            found = axe.run(page)
            assert found.violations_count == 0, (name, found.generate_report())
        assert all("404" in line for line in viewer.said), viewer.said


@pytest.mark.full
@pytest.mark.parametrize("width", [320, 360, 600, 768, 980, 1280, 1920])
def test_no_page_is_wider_than_the_screen(viewer, width):
    viewer.page.set_viewport_size({"width": width, "height": 800})
    viewer.silent = False
    for name, path in PAGES.items():
        page = viewer.go(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name


def test_what_a_screen_reader_has(viewer):
    page = viewer.bandit(SEGMENT)
    assert page.get_by_role("img", name="Segments side by side").count() == 1
    page.click("#segments-table summary")
    assert page.locator("#segments-table tbody th").all_text_contents() == [
        "de, desk",
        "de, phone",
        "fr, phone",
    ]
    page = viewer.bandit(BUTTON)
    page.wait_for_selector("[data-counting]", state="detached")
    for role in ("banner", "main", "contentinfo"):
        assert page.get_by_role(role).count() == 1
    assert page.get_by_role("heading", level=1).all_text_contents() == [BUTTON]
    levels = [
        int(tag[1]) for tag in page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map(h => h.tagName)")
    ]
    assert all(later - earlier <= 1 for earlier, later in itertools.pairwise(levels))
    charts = page.get_by_role("img").all()
    assert len(charts) == 5
    names = [
        page.evaluate(
            "one => document.getElementById(one.getAttribute('aria-labelledby').split(' ')[0]).textContent",
            one.element_handle(),
        )
        for one in charts
    ]
    assert names == [
        "Arms",
        "Share of traffic",
        "Reward over time",
        "Forced against greedy",
        "Pending and late rewards",
    ]
    for name in names:
        assert page.locator("details summary", has_text=f"Table: {name}").count() == 1
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    for table in page.get_by_role("table").all():
        assert table.locator("caption").text_content()
        assert table.locator("th[scope=col]").count() > 1
    assert all(
        one.get_attribute("aria-label") or one.get_attribute("aria-labelledby")
        for one in page.locator("section").all()
    )


@pytest.mark.full
def test_names_run_nothing(viewer):
    for name in shop.STRANGE:
        for place in ("", "/why"):
            page = viewer.bandit(name, place)
            assert page.title() != "owned"
            assert page.locator("main script, main img, main b, main i").count() == 0
    assert viewer.go("/?q=%3Cscript%3E").locator("tbody a").count() == 1


@pytest.mark.full
def test_it_can_be_printed(viewer):
    page = viewer.bandit(BUTTON)
    page.emulate_media(media="print", color_scheme="dark")
    assert page.is_hidden("#do-pause")
    assert page.is_hidden("header")
    assert page.is_visible("svg.wide >> nth=0")
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    assert page.pdf().startswith(b"%PDF")


@pytest.mark.full
def test_the_list_is_live_searched_and_paged(viewer, opened, fresh):
    page = viewer.go("/")
    page.fill("#q", fresh.title)
    page.press("#q", "Enter")
    row = page.locator("tbody tr", has_text=fresh.title)
    assert row.locator("td").nth(2).text_content() == "0"
    fresh.ask(3)
    page.wait_for_selector("tbody td:text-is('3')")
    page.fill("#q", "")
    page.select_option("#sort", "-decisions")
    page.press("#q", "Enter")
    counts = [
        int(text.replace(",", "")) for text in page.locator("td[data-title=decisions]").all_text_contents()
    ]
    assert counts == sorted(counts, reverse=True)
    row = page.locator("tbody tr", has_text="buy button")
    assert row.get_by_role("img").get_attribute("aria-label").startswith("reward over the last")
    states = page.locator(".state").all_text_contents()
    assert {state.split(" ")[0] for state in states} == {"serving", "silent", "ended", "paused"}


@pytest.mark.full
def test_pages_alone_are_read_only_and_end_by_a_signal(chromium, opened, tmp_path):
    server = Process(opened.store, tmp_path / "log")
    server.end(signal.SIGTERM)
    server._words = [server._words[0], "dashboard", "--store", opened.store, "--port", "0"]
    server.start()
    with server.wait(), Viewer(chromium, server.url) as viewer:
        page = viewer.bandit(BUTTON)
        assert page.locator("#change").count() == 0
        page.click("text=Why")
        page.wait_for_selector("td.why")
        assert server.end(signal.SIGTERM) == 0


@pytest.mark.full
def test_what_is_sent_is_small(viewer):
    sent = []
    viewer.page.on("response", lambda answer: sent.append(answer.request.sizes()["responseBodySize"]))
    viewer.go("/")
    time.sleep(0.5)
    assert sum(sent) < 300_000
    viewer.bandit("many")
    time.sleep(0.5)
    assert sum(sent) < 600_000
