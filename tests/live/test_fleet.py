"""Fleets: each row is a bandit, whatever the order; files; what is refused changes nothing."""

import json

import h5py
import numpy as np
import pytest

import brigand as br
from brigand import shortcuts
from strength import runs, some

POLICIES = [
    "FE-Linear",
    "UCB1",
    "TS-Beta",
    "SW-FE-Exp",
    "LB-SDA",
    "KL-UCB",
    "GLR-klUCB-local",
    "BESA",
    "EXP3",
]
FE = br.ForcedExploration(br.Linear())


def play(fleet, groups, rng):
    """Ask groups of bandits, tell rewards at once, and return what each bandit was told, in its order."""
    said = {}
    for ids in groups:
        arms = fleet.ask(ids)
        rewards = (rng.random(len(ids)) < 0.3 + 0.1 * arms).astype(float)
        fleet.tell(ids, arms, rewards)
        for i, arm, reward in zip(ids, arms.tolist(), rewards.tolist(), strict=True):
            said.setdefault(i, []).append((arm, reward))
    return said


def bandit_of(fleet, i):
    arms = [str(k) for k in range(fleet.n_arms)]
    return br.Bandit(arms, fleet.policy, seed=fleet.seed + i, horizon=fleet.horizon)


def state(fleet):
    return b"".join(table.tobytes() for table in fleet._tables.values())


@pytest.mark.parametrize("name", some(POLICIES, ["FE-Linear"]))
def test_each_row_decides_as_a_bandit_of_its_own(name):
    n, rng = 12, np.random.default_rng(0)
    fleet = br.Fleet(n, 4, br.CATALOGUE[name], seed=2**32 - 5, horizon=400)
    groups = [rng.integers(n, size=5).tolist() for _ in range(runs(30, 200))]
    groups = [sorted(set(ids)) for ids in groups]
    for i, rows in play(fleet, groups, rng).items():
        bandit = bandit_of(fleet, i)
        for arm, reward in rows:
            decision = bandit.ask()
            assert int(decision.arm) == arm
            bandit.tell(decision.id, reward)
        assert fleet.steps[i] == len(rows)


def test_rewards_may_come_late():
    fleet, bandit = br.Fleet(3, 3, FE, seed=0), br.Bandit(["0", "1", "2"], FE, seed=1)
    rng, open_ = np.random.default_rng(1), []
    for _ in range(60):
        arm, decision = int(fleet.ask([1])[0]), bandit.ask()
        assert int(decision.arm) == arm
        open_.append((arm, decision))
        if rng.random() < 0.7:
            late, told = open_.pop(0)
            reward = float(rng.random())
            fleet.tell([1], [late], [reward])
            bandit.tell(told.id, reward)


def test_neither_order_nor_batches_matter():
    rng = np.random.default_rng(2)
    asked = rng.integers(50, size=600)
    rewards = rng.random((50, 60, 3))
    fleets = [br.Fleet(50, 3, FE, seed=3) for _ in range(3)]
    whole, single, sorted_ = fleets
    for start in range(0, 600, 60):
        ids = asked[start : start + 60]
        ordered = ids[np.argsort(ids, kind="stable")]
        for fleet, batches in ((whole, [ids]), (single, [[i] for i in ids]), (sorted_, [ordered])):
            for batch in batches:
                arms = fleet.ask(batch)
                steps = fleet.steps[batch] - 1
                fleet.tell(batch, arms, rewards[batch, np.minimum(steps, 59), arms])
    # A batch asks a bandit twice before its rewards are told: so these are as the others with late rewards.
    assert np.array_equal(whole.steps, single.steps)
    assert np.array_equal(whole.steps, np.bincount(asked, minlength=50))
    assert state(whole) == state(sorted_)


def test_more_bandits_are_as_if_they_had_been_there():
    few, many = br.Fleet(3, 2, FE, seed=4), br.Fleet(8, 2, FE, seed=4)
    for fleet in (few, many):
        fleet.tell([1], fleet.ask([1]), [1.0])
    few.grow(5)
    assert few.n_bandits == 8
    assert state(few) == state(many)


def test_without_shortcuts_the_numbers_are_the_same(monkeypatch):
    ids = [0, 3, 3, 1, 0]
    policy = br.CATALOGUE["TS-Beta"]
    quick = br.Fleet(4, 3, policy, seed=5)
    wanted = [quick.ask(ids).tolist() for _ in range(5)]
    for name in ("winds", "hashes", "packs"):
        monkeypatch.setattr(shortcuts, name, lambda: False)
    slow = br.Fleet(4, 3, policy, seed=5)
    assert [slow.ask(ids).tolist() for _ in range(5)] == wanted


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("name", ["FE-Linear", "SW-FE-Exp"])
def test_a_fleet_comes_back_from_its_file(tmp_path, name, mapped):
    fleet = br.Fleet(40, 3, br.CATALOGUE[name], seed=6, horizon=1000)
    play(fleet, [list(range(40))] * 5, np.random.default_rng(0))
    fleet.save(tmp_path / "fleet.h5")
    again = br.Fleet.load(tmp_path / "fleet.h5", mapped=mapped)
    assert state(again) == state(fleet)
    ids = np.arange(40)
    assert np.array_equal(again.ask(ids), fleet.ask(ids))
    if mapped:
        del again
        assert state(br.Fleet.load(tmp_path / "fleet.h5")) == state(fleet)


def test_files_that_are_no_fleets_are_refused(tmp_path):
    path = tmp_path / "fleet.h5"
    with pytest.raises(br.ResultFileError, match="no fleet"):
        br.Fleet.load(path)
    path.write_text("hello")
    with pytest.raises(br.ResultFileError, match="no fleet"):
        br.Fleet.load(path)
    fleet = br.Fleet(5, 3, FE, seed=0)
    fleet.tell([2], fleet.ask([2]), [1.0])

    def changed(change):
        fleet.save(path)
        with h5py.File(path, "r+") as file:
            change(file)
        with pytest.raises(br.ResultFileError):
            br.Fleet.load(path)

    def leader(file):
        table = file["headers"][()]
        table["leader"] = 3
        file["headers"][...] = table

    def open_decisions(file):
        file["open"][0, 0] = 1

    def shorter(file):
        del file["last"]
        file["last"] = np.zeros((4, 3), np.int32)

    def another_policy(file):
        about = json.loads(file.attrs["brigand fleet"])
        file.attrs["brigand fleet"] = json.dumps(about | {"policy": br.UCB1().to_json()})

    def a_module(file):
        about = json.loads(file.attrs["brigand fleet"])
        about["policy"]["type"] = "os:system"
        file.attrs["brigand fleet"] = json.dumps(about)

    def a_seed(file):
        about = json.loads(file.attrs["brigand fleet"])
        file.attrs["brigand fleet"] = json.dumps(about | {"seed": -1})

    for change in (leader, open_decisions, shorter, another_policy, a_module, a_seed):
        changed(change)
    fleet.save(path)
    content = path.read_bytes()
    for length in (0, 100, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(br.ResultFileError):
            br.Fleet.load(path)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda fleet: fleet.ask([0, 5]), r"ids\[1\] is 5.* there are 5"),
        (lambda fleet: fleet.ask([-1]), r"ids\[0\] is -1"),
        (lambda fleet: fleet.ask([0.5]), "integers"),
        (lambda fleet: fleet.ask([[0]]), "shape"),
        (lambda fleet: fleet.ask(["a"]), "integers"),
        (lambda fleet: fleet.tell([0, 1], [0], [1.0, 1.0]), "2 ids and 1 arms"),
        (lambda fleet: fleet.tell([0], [3], [1.0]), "no such arm"),
        (lambda fleet: fleet.tell([0], [0], [np.nan]), r"rewards\[0\] is nan"),
        (lambda fleet: fleet.tell([0], [0], [1.0, 2.0]), "shape"),
        (
            lambda fleet: fleet.tell([2, 0], [int(fleet.first), 0], [1.0, 1.0]),
            "row 1: bandit 0 has no decision",
        ),
        (lambda fleet: fleet.tell([2, 2], [int(fleet.first)] * 2, [1.0, 1.0]), "row 1: bandit 2"),
        (lambda fleet: fleet.ask([1] * 11), "bandit 1 can be asked 10 times"),
    ],
)
def test_what_is_refused_changes_nothing(call, words):
    fleet = br.Fleet(5, 3, FE, seed=0, horizon=10)
    fleet.first = fleet.ask([2])[0]
    before = state(fleet)
    with pytest.raises(br.InvalidValueError, match=words):
        call(fleet)
    assert state(fleet) == before


def test_rewards_that_a_policy_cannot_use_change_nothing():
    fleet = br.Fleet(2, 2, br.ThompsonBeta(), seed=0)
    arms = fleet.ask([0, 1])
    before = state(fleet)
    with pytest.raises(br.UnsupportedRewardError, match=r"rewards\[1\]"):
        fleet.tell([0, 1], arms, [0.5, 2.0])
    assert state(fleet) == before


def test_settings_that_are_not_allowed_are_refused():
    for bad in (
        lambda: br.Fleet(-1, 2, FE),
        lambda: br.Fleet(2, 0, FE),
        lambda: br.Fleet(2, 2, FE, seed=2**63 - 1),
        lambda: br.Fleet(2, 2, br.ForcedExploration()),  # needs the horizon
    ):
        with pytest.raises(br.InvalidValueError):
            bad()
    assert br.Fleet(0, 2, FE).ask([]).tolist() == []
    assert br.Fleet(2, 1, FE).ask([0, 1, 1]).tolist() == [0, 0, 0]


@pytest.mark.full
def test_fleets_with_very_many_arms_are_saved_with_their_trees(tmp_path):
    n, rng = 2, np.random.default_rng(0)
    fleet = br.Fleet(n, 150, FE, seed=4)
    said = play(fleet, [[0, 1]] * 200, rng)
    fleet.save(tmp_path / "x.h5")
    loaded = br.Fleet.load(tmp_path / "x.h5")
    again = np.random.default_rng(1), np.random.default_rng(1)
    for i, rows in play(fleet, [[1, 0]] * 200, again[0]).items():
        said[i] += rows
    play(loaded, [[1, 0]] * 200, again[1])
    assert state(loaded) == state(fleet)
    for i, rows in said.items():
        bandit = bandit_of(fleet, i)
        for arm, reward in rows:
            decision = bandit.ask()
            assert int(decision.arm) == arm
            bandit.tell(decision.id, reward)
