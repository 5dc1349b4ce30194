"""What is read from outside is not believed unchecked, and runs no code."""

import contextlib
import copy
import json
import random
import sqlite3

import pytest

import brigand as br
from brigand.live import snapshots
from brigand.live.listing import bandits
from cli.command import brigand
from strength import runs

FE = br.ForcedExploration(br.Linear())
EXIT = {"type": "ForcedExploration", "sequence": {"type": "Sequence", "values": "os:_exit"}}


def change(store, *statements):
    with contextlib.closing(sqlite3.connect(store)) as connection, connection:
        for statement in statements:
            connection.execute(*statement if isinstance(statement, tuple) else (statement,))


@pytest.fixture
def store(tmp_path):
    with br.Bandit(["a", "b", "c"], FE, store=tmp_path / "x.db", name="shop", seed=1) as bandit:
        for step in range(30):
            bandit.tell(bandit.ask(), 0.25 * (step % 3))
    return tmp_path / "x.db"


LAST = "WHERE seq = (SELECT MAX(seq) FROM brigand_events)"


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "damage",
    [
        "arm = 99",
        "arm = -1",
        "arm = 1e9",
        "step = 5000",
        "step = NULL",
        "value = 'x'",
        "value = 1e300",
        "kind = 77",
    ],
)
@pytest.mark.parametrize("old", ["", ", crc = NULL"], ids=["", "without-checksum"])
def test_a_line_of_the_log_that_cannot_be_is_named(store, damage, old):
    change(store, f"UPDATE brigand_events SET {damage}{old} {LAST}")
    for _ in range(2):
        with (
            br.Bandit.open(store, "shop") as bandit,
            pytest.raises(br.StorageError, match="line 63 of the log"),
        ):
            bandit.ask()


def test_a_reward_that_names_another_arm_than_its_decision_is_noticed(store):
    """Also if the decision was made before the state that is kept."""
    with br.Bandit.open(store, "shop") as bandit:
        pending = bandit.ask()
        with bandit._session.lock, bandit._session as session:
            session._state_is_due = True
        bandit.tell(pending, 0.5)
    change(store, f"UPDATE brigand_events SET arm = (arm + 1) % 3, crc = NULL {LAST}")
    wrong = pytest.raises(br.StorageError, match=r"line 65 of the log is damaged: decision 31 was arm")
    with br.Bandit.open(store, "shop") as bandit, wrong:
        bandit.ask()


def test_a_state_is_believed_only_if_its_checksum_fits(store):
    with br.Bandit.open(store, "shop") as bandit:
        expected = bandit.summary()
        with bandit._session.lock, bandit._session as session:
            session._state_is_due = True
        arm = bandit._session.engine.header.tobytes()
    rng = random.Random(0)
    with contextlib.closing(sqlite3.connect(store)) as connection:
        ((text,),) = connection.execute("SELECT state FROM brigand_snapshots").fetchall()
    for _ in range(runs(30, 2000)):
        place = rng.randrange(len(text))
        wrong = text[:place] + chr(rng.randrange(32, 127)) + text[place + rng.randrange(2) :]
        change(store, ("UPDATE brigand_snapshots SET state = ?", (wrong,)))
        with br.Bandit.open(store, "shop") as bandit:
            assert bandit.summary().equals(expected)
            with bandit._session.reading() as session:
                assert session.engine.header.tobytes() == arm


def test_a_snapshot_with_another_number_is_refused():
    bandit = br.Bandit(["a", "b"], FE, seed=1)
    bandit.record([("a", 0.5), ("b", 0.25)] * 5)
    snapshot = json.loads(json.dumps(bandit.snapshot()))
    tables = snapshot["state"]["tables"]
    tried = 0
    for table, columns in tables.items():
        for number, (_, kind, values) in enumerate(columns["columns"]):
            if "i" in kind and values:
                wrong = copy.deepcopy(snapshot)
                wrong["state"]["tables"][table]["columns"][number][2][0] = 10**9
                with pytest.raises(br.InvalidValueError, match="checksum"):
                    br.Bandit.restore(wrong)
                tried += 1
    assert tried > 5


def test_one_damaged_bandit_does_not_hide_the_others(store):
    br.Bandit(["x"], FE, store=store, name="other").close()
    change(store, "UPDATE brigand_bandits SET definition = '{' WHERE name = 'shop'")
    listed = [("other", False), ("shop", True)]
    assert [(found.name, found.damaged) for found in bandits(f"sqlite:///{store}")] == listed
    with pytest.raises(br.StorageError, match="settings of bandit 'shop' are damaged"):
        br.Bandit.open(store, "shop")
    change(store, "UPDATE brigand_events SET step = 'x' WHERE step = 30 AND bandit_id = 1")
    assert [(found.name, found.damaged) for found in bandits(f"sqlite:///{store}")] == listed


def test_nothing_that_a_store_or_snapshot_names_is_called(store):
    bandit = br.Bandit(["a"], FE)
    snapshot = bandit.snapshot() | {"schema": 1}
    snapshot["settings"] = snapshot["settings"] | {"policy": EXIT}
    settings = json.dumps(snapshot["settings"])
    change(store, ("UPDATE brigand_bandits SET definition = ?", (settings,)))
    assert bandits(f"sqlite:///{store}")[0].policy == EXIT
    for call in (lambda: br.Bandit.open(store, "shop"), lambda: br.Bandit.restore(snapshot)):
        with pytest.raises(br.InvalidValueError, match=r"'os:_exit' is not imported.*allow=\['os'\]"):
            call()


def test_a_list_on_the_command_line_calls_nothing_either(store, tmp_path, monkeypatch):
    """In this process: the test would not survive."""
    settings = {"policy": EXIT, "seed": 1, "horizon": None, "reward_timeout": None, "default_reward": None}
    change(store, ("UPDATE brigand_bandits SET definition = ?", (json.dumps(settings),)))
    monkeypatch.chdir(tmp_path)
    done = brigand("bandit", "list", "--store", "x.db")
    assert done.returncode == 0
    assert "ForcedExploration" in done.stdout


def test_an_allowed_module_gives_only_what_is_its_own(tmp_path, monkeypatch):
    (tmp_path / "theirs_with_os.py").write_text("import os\nfrom os import _exit\n")
    monkeypatch.syspath_prepend(tmp_path)
    snapshot = br.Bandit(["a"], FE).snapshot() | {"schema": 1}
    for name in ("os._exit", "_exit"):
        sequence = {"type": "Sequence", "values": f"theirs_with_os:{name}"}
        policy = {"type": "ForcedExploration", "sequence": sequence}
        wrong = snapshot | {"settings": snapshot["settings"] | {"policy": policy}}
        with pytest.raises(br.InvalidValueError, match="it comes from the module"):
            br.Bandit.restore(wrong, allow=["theirs_with_os"])


def test_a_forged_state_with_its_checksum_is_not_believed():
    bandit = br.Bandit(["a", "b"], FE, seed=1)
    bandit.record([("a", 0.5), ("b", 0.25)] * 5)
    snapshot = json.loads(json.dumps(bandit.snapshot()))
    for columns in snapshot["state"]["tables"].values():
        for _, kind, values in columns["columns"]:
            values[:] = [10**9 if "i" in kind else value for value in values]
    again = br.Bandit.restore(snapshot | {"sha256": snapshots._checksum(snapshot)})
    assert again.summary().equals(bandit.summary())
    assert again.ask().arm == bandit.ask().arm


def test_what_is_allowed_is_imported():
    policy = br.ForcedExploration(br.Sequence("math:sqrt"))
    snapshot = br.Bandit(["a"], policy, seed=1, horizon=100).snapshot()
    with pytest.raises(br.InvalidValueError, match="'math:sqrt' is not imported"):
        br.Bandit.restore(snapshot)
    assert br.Bandit.restore(snapshot, allow=["math"]).policy == policy
    with pytest.raises(br.InvalidValueError, match="allow must be a list of names, not 'math'"):
        br.Bandit.restore(snapshot, allow="math")


def test_a_policy_that_no_other_process_can_make_is_in_no_snapshot():
    bandit = br.Bandit(["a"], br.ForcedExploration(br.Sequence(lambda r: 2.0 * r)), horizon=100)
    with pytest.raises(br.InvalidValueError, match="inside a function"):
        bandit.snapshot()


CALLS = {
    "ask": lambda bandit: bandit.ask(),
    "tell": lambda bandit: bandit.tell(bandit._ids.id_of(7), 0.5),
    "history": lambda bandit: bandit.history(),
    "page": lambda bandit: bandit.history(after=3, limit=5, plain=True),
    "summary": lambda bandit: bandit.summary(),
    "log": lambda bandit: bandit.log(),
    "snapshot": lambda bandit: bandit.snapshot(),
    "verdict": lambda bandit: bandit.verdict(),
    "prune": lambda bandit: bandit.prune(before=2e9),
}
COLUMNS = {
    "brigand_bandits": ("name", "uid", "definition", "created_at"),
    "brigand_events": ("seq", "kind", "step", "arm", "value", "counted", "at", "data"),
    "brigand_snapshots": ("seq", "state"),
    "brigand_bases": ("seq", "state"),
}
VALUES = ("'q'", "x'ff'", "x''", "-3", "9000000000000000", "1e300", "9e999", "2.5", "'[]'", "''")


@pytest.mark.full
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("table", COLUMNS)
def test_whatever_stands_in_a_column_every_call_works_or_says_what_is_damaged(store, table, value):
    with br.Bandit.open(store, "shop") as bandit:
        bandit.prune(before=2e9)
        bandit.ask()
        bandit.snapshot()
    whole = store.read_bytes()
    for column in COLUMNS[table]:
        for crc in (", crc = NULL", "")[:: 1 if table == "brigand_events" else -2]:
            store.write_bytes(whole)
            where = "WHERE kind = 2 AND step = 20" if table == "brigand_events" else ""
            with contextlib.suppress(sqlite3.IntegrityError):
                change(store, f"UPDATE OR FAIL {table} SET {column} = {value}{crc} {where}")
            for call in CALLS.values():
                with contextlib.suppress(br.errors.BrigandError), br.Bandit.open(store, "shop") as bandit:
                    call(bandit)
            assert len(bandits(str(store))) == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("kind = 1 AND step = 20", "line 42 of the log|line 42 is not there"),
        ("kind = 2 AND step = 20", "line 43 of the log|line 43 is not there"),
    ],
)
def test_a_line_that_is_missing_is_missed_by_whoever_reads_the_history(store, line, message):
    change(store, f"DELETE FROM brigand_events WHERE {line}")
    with br.Bandit.open(store, "shop") as bandit:
        for read in (bandit.history, bandit.log, bandit.snapshot):
            with pytest.raises(br.StorageError, match=message):
                read()
        if "kind = 1" in line:  # a few decisions are looked at alone
            for after, limit in ((17, 5), (19, 1), (18, 2), (19, 3)):
                with pytest.raises(br.StorageError, match=r"damaged at .* (one decision|not there)"):
                    bandit.history(after=after, limit=limit)
        assert bandit.history(after=2, limit=17).index.tolist() == list(range(3, 20))
        assert bandit.history(after=20, limit=99).index.tolist() == list(range(21, 31))
    assert brigand("bandit", "export", "shop", "out.csv", "--store", str(store), cwd=store.parent).returncode


def test_a_decision_with_a_very_large_number_takes_no_memory(store):
    change(
        store, "UPDATE brigand_events SET step = 9000000000000000, crc = NULL WHERE kind = 1 AND step = 20"
    )
    with (
        br.Bandit.open(store, "shop") as bandit,
        pytest.raises(br.StorageError, match="not one decision for"),
    ):
        bandit.history()


def test_a_decision_that_is_there_twice_is_noticed(store):
    change(
        store,
        "DROP INDEX brigand_events_step",
        "INSERT INTO brigand_events SELECT bandit_id, seq + 1000, kind, step, arm, value, counted, at, data, "
        "crc FROM brigand_events WHERE kind = 1 AND step = 20",
    )
    with br.Bandit.open(store, "shop") as bandit:
        for after, limit in ((0, 30), (19, 1), (19, 5), (15, 5)):
            with pytest.raises(br.StorageError, match="there is not one decision for each step"):
                bandit.history(after=after, limit=limit)
        assert len(bandit.history(limit=19)) == 19


def test_an_arm_that_is_missing_gives_its_name_to_no_other(store):
    change(store, "DELETE FROM brigand_events WHERE seq = 1")
    with br.Bandit.open(store, "shop") as bandit:
        for read in (bandit.history, lambda: bandit.history(limit=1)):
            with pytest.raises(br.StorageError, match="line 2 of the log is damaged: it adds arm 1"):
                read()


def test_a_name_that_is_no_text_hides_no_other_bandit(store):
    br.Bandit(["a"], FE, store=store, name="other").close()
    change(store, "UPDATE brigand_bandits SET name = x'ff' WHERE name = 'shop'")
    assert [(one.name, one.damaged) for one in bandits(str(store))] == [("other", False), (r"b'\xff'", True)]
    with pytest.raises(br.errors.UnknownNameError, match="unknown bandit 'shop'"):
        br.Bandit.open(store, "shop")
    done = brigand("bandit", "list", "--store", str(store))
    assert (done.returncode, done.stderr) == (0, "")
