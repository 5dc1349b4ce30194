"""What a page says of a bandit."""

import math

import numpy as np
import pytest

import brigand as br
from brigand.dashboard import pages, view
from brigand.dashboard.tables import Table, shown
from brigand.live.gain import Gain
from cli.command import brigand
from dashboard import shop


def seen(bandit, name="x"):
    watch = view.Watch(bandit, name)
    return view.view_of(watch, watch.gain(), watch.counted())


def gain(middle, lower, upper, holdout=100):
    return Gain(middle, lower, upper, 0.5, 0.4, 900, holdout, 0.95, "exact")


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (None, "Not measured: this bandit has no holdout."),
        (gain(math.nan, -1, 1), "There is no reward yet."),
        (gain(0.1, -math.inf, math.inf), "too few for an interval"),
        (gain(0.1, -0.05, 0.25), "Not known yet: +0.1 a decision (−0.05 to +0.25)"),
        (gain(0.1, 0.05, 0.15), "A decision earns +0.1 (+0.05 to +0.15), 25% more, over an even split"),
        (gain(-0.1, -0.15, -0.05), "A decision earns −0.1 (−0.15 to −0.05), 25% less,"),
    ],
)
def test_the_gain_in_words(found, words):
    assert words in view.gain_text(found)


def test_tables_say_what_the_summary_says():
    rng = np.random.default_rng(0)
    bandit = br.Bandit(["a", "b", "c"], "FE-Linear", seed=0)
    for one in bandit.ask(600)[:500]:
        bandit.tell(one, float(rng.random() < 0.5))
    bandit.remove_arm("c")
    found = seen(bandit)
    table = found.table("arms")
    summary = {row["arm"]: row for row in bandit.summary(plain=True, removed=True, level=1 - 0.05 / 2)}
    for row in table.rows:
        right = summary[row[0]]
        assert row[1:5] == [right[key] for key in ("mean", "lower", "upper", "asked")]
        assert row[6:8] == [right["told"], right["pending"]]
    assert [row[-1] for row in table.rows] == ["yes", "yes", "no"]
    assert sum(row[5] for row in table.rows) == pytest.approx(1.0)
    for name in ("traffic", "explored", "pending"):
        for row in found.table(name).rows:
            assert sum(row[3:]) == pytest.approx(1.0)
    assert found.table("traffic").rows[0][0] == 1
    assert found.table("traffic").rows[-1][1] == 600
    assert dict(found.facts)["waiting for a reward"] == "100"


def test_a_view_writes_nothing(tmp_path):
    store, clock = tmp_path / "x.db", shop.Clock(1e9)
    settings = {"reward_timeout": 10.0, "default_reward": 0.0, "clock": clock}
    with br.Bandit(["a", "b"], "FE-Linear", store=store, name="x", seed=0, **settings) as bandit:
        bandit.ask(5)
        clock.now += 100
        before = len(bandit._session.events())
        assert dict(seen(bandit).facts)["waiting for a reward"] == "5"
        assert len(bandit._session.events()) == before


def test_cells():
    table = Table(
        "x",
        "X",
        (("a", "text"), ("b", "share"), ("c", "time")),
        [["=1", 0.5, 1e9], ["\ud800", math.nan, None]],
    )
    assert table.cells() == [["=1", "50.0 %", "2001-09-09 01:46:40"], ["\\ud800", "–", "–"]]
    assert table.csv().decode() == "a,b,c\n'=1,0.5,2001-09-09T01:46:40+00:00\n\\ud800,,\n"
    assert shown(1234567.0, "number") == "1.235e+06"


def test_the_report_is_one_file(tmp_path):
    shop.make(tmp_path / "shop.db", decisions=400)
    done = brigand("bandit", "report", "buy button", "--store", "shop.db", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "the report on buy button is in buy button.html\n")
    text = (tmp_path / "buy button.html").read_text(encoding="utf-8")
    assert "<link" not in text
    assert "<script" not in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    for part in (
        "leads",
        "even split",
        "Share of traffic",
        "added",
        "new prices",
        "Decisions, the latest first",
    ):
        assert part in text
    again = brigand("bandit", "report", "buy button", "--store", "shop.db", cwd=tmp_path)
    assert again.returncode == 2
    assert "--force" in again.stderr
    odd = brigand("bandit", "report", 'banner/["de", "desk"]', "--store", "shop.db", "--force", cwd=tmp_path)
    assert odd.returncode == 0, odd.stderr
    missing = brigand("bandit", "report", "x", "--store", "nothing.db", cwd=tmp_path)
    assert missing.returncode == 2


def test_links_take_any_name():
    assert pages.Links("..").page() == "/bandit?name=.."
    assert pages.Links("a/b&c").why() == "/bandit/why?name=a%2Fb%26c"
    assert pages.unpacked(pages.packed("\ud800")) == "\ud800"
