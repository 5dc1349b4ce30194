"""A store to look at: bandits in all states, with a past of some weeks."""

import json
import time

import numpy as np

import brigand as br

DAY = 86_400.0


class Clock:
    """A clock that is set."""

    def __init__(self, now):
        self.now = now

    def __call__(self):
        return self.now


def play(bandit, clock, means, n, seconds, rng, waiting=0.0):
    """Let a bandit make n decisions in so many seconds; a share of the latest ones wait for their rewards."""
    first = clock.now
    for place in range(10):
        clock.now = first + seconds * place / 10
        decisions = bandit.ask(n // 10)
        clock.now += seconds / 20
        told = decisions[: int(len(decisions) * (1 - waiting))]
        bandit.tell_many([(one.id, float(rng.random() < means[one.arm])) for one in told])
    clock.now = first + seconds


def make(store, decisions=6_000, now=None):
    """Make all bandits of the shop, whose last decisions were a moment ago."""
    rng = np.random.default_rng(0)
    now = time.time() if now is None else now
    button(store, decisions, now, rng)
    for country, device, best in (("de", "phone", 0.09), ("de", "desk", 0.06), ("fr", "phone", 0.05)):
        clock = Clock(now - 3 * DAY)
        name = f"banner/{json.dumps([country, device])}"
        with br.Bandit(["plain", "bold"], br.UCB1(0, 1), store=store, name=name, seed=0, clock=clock) as one:
            play(one, clock, {"plain": 0.05, "bold": best}, decisions // 3, 3 * DAY - 60, rng)
            one.tell(one.ask(), 0.0)
    clock = Clock(now - 20 * DAY)
    with br.Bandit(["a", "b"], "FE-Linear", store=store, name="checkout", seed=0, clock=clock) as one:
        play(one, clock, {"a": 0.3, "b": 0.31}, decisions // 10, 10 * DAY, rng)
    clock = Clock(now - 9 * DAY)
    with br.Bandit(["old", "new"], "UCB1", store=store, name="delivery", seed=0, clock=clock) as one:
        play(one, clock, {"old": 0.2, "new": 0.5}, decisions // 10, 5 * DAY, rng)
        one.end("new", by="Ann", note="clear enough")
    clock = Clock(now - 2 * DAY)
    with br.Bandit(["x", "y"], "FE-Linear", store=store, name="prices", seed=0, clock=clock) as one:
        play(one, clock, {"x": 0.2, "y": 0.5}, 100, DAY, rng)
        one.pause(by="Ann", note="until Monday")
    with br.Bandit(["a", "b"], "FE-Linear", store=store, name="unused", seed=0):
        pass


def button(store, decisions, now, rng):
    """Make the bandit that has all there is to see: a holdout, late rewards, arms that come and go, notes."""
    clock = Clock(now - 28 * DAY)
    means = {"Buy now": 0.11, "Buy": 0.06, "Add to basket": 0.08, "Get it today": 0.13}
    policy = br.ForcedExploration(br.Linear())
    with br.Bandit(
        ["Buy", "Buy now", "Add to basket"],
        policy,
        store=store,
        name="buy button",
        seed=0,
        clock=clock,
        holdout=0.1,
        reward_timeout=30 * DAY,
        default_reward=0.0,
        units="plain",
    ) as one:
        play(one, clock, means, decisions // 4, 7 * DAY, rng)
        one.note("new prices", by="Ann")
        play(one, clock, means, decisions // 4, 7 * DAY, rng)
        one.add_arm("Get it today", by="Ben")
        play(one, clock, means, decisions // 4, 7 * DAY, rng)
        one.remove_arm("Buy", by="Ben")
        play(one, clock, means, decisions // 4, 7 * DAY - 600, rng, waiting=0.2)
        clock.now = now - 60
        one.ask(unit="user-123", request="page-7")
        one.tell(one.ask(unit="user-124"), 1.0, metric="signup")


def many(store, arms=500, decisions=20_000):
    """Make a bandit with many arms."""
    rng = np.random.default_rng(0)
    with br.Bandit(
        [f"headline {n}" for n in range(arms)], br.UCB1(0, 1), store=store, name="many", seed=0
    ) as one:
        for _ in range(decisions // 1000):
            made = one.ask(1000)
            one.tell_many([(d.id, float(rng.random() < 0.1 + 0.0004 * int(d.arm[9:]))) for d in made])


def segments(store, number):
    """Make a bandit for each of many segments."""
    rng = np.random.default_rng(0)
    with br.Bandits(["a", "b"], "FE-Linear", store=store, name="offer", segments=["shop"], seed=0) as all_:
        for place in range(number):
            one = all_.of(f"shop {place:03}")
            one.tell_many([(d.id, float(rng.random() < 0.5)) for d in one.ask(3 + (number - place) // 10)])


STRANGE = (
    "<script>document.title='owned'</script>",
    "\"'><img src=x onerror=alert(1)>",
    "שלום \u202eתפוח",
    "..",
    "=1+1",
    "a" * 500,
    "new\nline\ttab",
    "日本語のとても長い名前のバンディット",
)
"""Names that pages must show as they are."""


def strange(store):
    """Make bandits with strange names, and one that has such arms."""
    for name in STRANGE:
        with br.Bandit(STRANGE, "FE-Linear", store=store, name=name, seed=0) as one:
            for made in one.ask(20):
                one.tell(made, 0.5, metric="<b>metric</b>")
            one.note("<i>note</i>", by="<b>by</b>")
