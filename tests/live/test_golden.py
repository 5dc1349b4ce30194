"""Stores that older versions wrote are opened and gone on with: the same arms as the older version chose."""

import json
import shutil
from pathlib import Path

import pytest

import brigand as br
from brigand.live import stores
from brigand.live.listing import bandits
from live.golden import POLICIES, Clock, go_on
from stores import FULL_KINDS, a_store, run
from strength import runs, some

FILES = Path(__file__).parents[1] / "data" / "stores"
QUICK = ("forced", "window", "thompson")
VERSIONS = sorted(file.stem for file in FILES.glob("*.db"))


@pytest.fixture(params=VERSIONS)
def written(request, tmp_path):
    """A store of an older version, and how its bandits went on."""
    shutil.copy(FILES / f"{request.param}.db", tmp_path / "x.db")
    return tmp_path / "x.db", json.loads((FILES / f"{request.param}.json").read_text())


def gone_on(store, name):
    clock = Clock()
    clock.now = 1070.0
    with br.Bandit.open(store, name, clock=clock) as bandit:
        return go_on(bandit, clock, 70, 130)


def test_there_are_stores():
    assert "8962d74" in VERSIONS


@pytest.mark.parametrize("name", some(POLICIES, QUICK))
def test_its_bandits_go_on_as_they_did(written, name):
    store, arms = written
    assert gone_on(store, name) == arms[name]


def test_what_is_added_has_checksums(written):
    store, _ = written
    had_them = run(f"sqlite:///{store}", "SELECT version FROM brigand_schema") != [(1,)]
    gone_on(store, "forced")
    found = run(
        f"sqlite:///{store}", "SELECT bandit_id, crc IS NULL, count(*) FROM brigand_events GROUP BY 1, 2"
    )
    assert sum(n for _, old, n in found if not old) > 60
    without = {bandit for bandit, old, _ in found if old}
    assert len(without) == (0 if had_them else len(POLICIES))


@pytest.mark.parametrize("kind", FULL_KINDS)
def test_so_do_copies(written, kind, request):
    store, arms = written
    with a_store(kind, request) as other:
        for name in runs(QUICK, tuple(POLICIES)):
            stores.copy(store, name, other)
            assert gone_on(other, name) == arms[name]


def test_what_they_hold_is_there(written):
    store, _ = written
    assert [(found.name, found.decisions, found.arms) for found in bandits(store)] == [
        (name, 70, ["b", "c", "d"]) for name in sorted(POLICIES)
    ]
    with br.Bandit.open(store, "forced", clock=lambda: 1070.0) as bandit:
        assert bandit.history()["status"].value_counts().to_dict() == {
            "learned": 46,
            "default": 21,
            "pending": 3,
        }
        restored = br.Bandit.restore(bandit.snapshot(), clock=lambda: 1070.0)
        assert restored.summary(removed=True).equals(bandit.summary(removed=True))
