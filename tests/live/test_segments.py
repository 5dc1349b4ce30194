"""Bandits of one definition, each for a segment."""

import pytest

import brigand as br
from live.common import FE
from stores import FULL_KINDS, a_store, folder


@pytest.fixture(params=FULL_KINDS)
def store(request):
    with a_store(request.param, request) as url:
        yield url


def made(store, **given):
    settings = {"segments": ["country", "device"], "name": "shop"} | given
    return br.Bandits(["red", "green"], FE, store=store, **settings)


def test_each_segment_learns_for_itself(store):
    with made(store) as shop:
        decision = shop.ask(("de", "phone"))
        assert shop.tell(("de", "phone"), decision, 0.5) is br.Told.LEARNED
        shop.ask({"device": "desk", "country": "fr"}, unit="ann")
        assert shop.ask({"device": "desk", "country": "fr"}, unit="ann").again
        assert shop.segments() == [("de", "phone"), ("fr", "desk")]
        found = shop.summary()
        assert found["told"].to_dict()["de", "phone", decision.arm] == 1
        assert found["asked"].sum() == 2
        assert found.index.names == ["country", "device", "arm"]


def test_another_process_finds_them(store):
    with made(store) as shop:
        first = shop.ask(("de", "phone"), unit="ann")
    with made(store) as again:
        assert again.ask(("de", "phone"), unit="ann").id == first.id
        assert [len(again.segments(limit=1)), len(again.segments(after=("de", "phone")))] == [1, 0]


def test_other_bandits_are_not_segments(store):
    br.Bandit(["red"], FE, store=store, name="shop").close()
    br.Bandit(["red"], FE, store=store, name="shop/x").close()
    with made(store) as shop, made(store, name="shop2", segments="country") as other:
        other.ask("de")
        assert shop.segments() == []
        assert other.segments() == [("de",)]


def test_there_may_be_more_than_are_kept_open(monkeypatch):
    monkeypatch.setattr("brigand.live.segments.OPEN", 3)
    monkeypatch.setattr("brigand.live.segments.PAGE", 4)
    with folder() as path, made(f"sqlite:///{path}/x.db", segments=["item"]) as shop:
        for number in range(10):
            shop.ask(f"{number:02}")
        assert len(shop._open) == 3
        assert shop.segments() == [(f"{number:02}",) for number in range(10)]
        assert shop.summary()["asked"].sum() == 10


@pytest.mark.parametrize(
    "segment",
    ["de", ("de",), ("de", "phone", "x"), ("de", 7), ("de", ""), {"country": "de"}, ["de", "phone"]],
)
def test_a_segment_of_other_parts_is_refused(segment):
    with folder() as path:
        shop = made(f"sqlite:///{path}/x.db")
        with pytest.raises(br.InvalidValueError):
            shop.ask(segment)
        assert shop.segments() == []


def test_settings_are_checked_before_the_first_segment():
    with folder() as path:
        url = f"sqlite:///{path}/x.db"
        for given in ({"holdout": 2}, {"segments": []}, {"load_if_exists": True}):
            with pytest.raises(br.InvalidValueError):
                made(url, **given)
        with pytest.raises(br.InvalidValueError, match="one decision"):
            made(url).ask(("de", "phone"), n=3)
