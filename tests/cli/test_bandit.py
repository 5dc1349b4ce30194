"""The commands ``brigand bandit``; most in this process, for another one takes seconds to load a compiler."""

import csv
import json
import math
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
from sqlalchemy.engine import make_url

import brigand as br
from brigand.cli import main
from brigand.live import history
from brigand.live.decision import Past
from brigand.live.export import as_typed
from brigand.live.listing import bandits
from brigand.storage import records
from brigand.storage.store import open_store
from stores import a_store

STORE = "sqlite:///brigand.db"
COMMAND = Path(sys.executable).with_name("brigand")
ODD = [
    "[red]",
    "new\nline",
    "tab\tand\x1b[31m",
    "a\rb",
    ":smile:",
    "",
    " edge ",
    "007",
    "NA",
    "é,\"'",
    "x" * 300,
]


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def folder(tmp_path):
    """An empty folder, in memory if there is such a place: there is much to be synchronized."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else tmp_path) as path:
        yield Path(path)


@pytest.fixture
def brigand(folder, monkeypatch, capsys):
    """Run ``brigand bandit`` in an empty folder."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("BRIGAND_STORE", raising=False)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["brigand", "bandit", *map(str, arguments)])
        status = 0
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
        return Done(status, *capsys.readouterr())

    return run


@pytest.fixture
def shop(brigand):
    """The same, and there is a bandit shop with arms red and green."""
    done = brigand("create", "shop", "--arm", "red", "--arm", "green", "--seed", "1")
    assert done.returncode == 0, done.stderr
    return brigand


def opened(name="shop"):
    return br.Bandit.open(STORE, name)


def decided(name="shop"):
    return len(opened(name).history())


# What goes well.


def test_the_commands_for_one_bandit_work_together(shop):
    ask = shop("ask", "shop")
    number, arm, reason = ask.stdout.rstrip("\n").split("\t")
    assert (arm, reason) == ("red", "forced: red was never chosen before")
    assert number.startswith("1-")
    assert shop("tell", "shop", number, "0.5").stdout == "learned\n"
    assert shop("tell", "shop", number, "0.5").stdout.startswith("told before")
    conflict = shop("tell", "shop", number, "0.7")
    assert conflict.returncode == 2
    assert "was told 0.5 before, and now 0.7" in conflict.stderr
    assert shop("add-arm", "shop", "blue").stdout == "blue is in service now: arms red, green, blue\n"
    asked = [json.loads(line) for line in shop("ask", "shop", "-n", 2, "--json").stdout.splitlines()]
    assert [made["arm"] for made in asked] == ["green", "blue"]
    assert asked[0].keys() == {
        *("id", "step", "arm", "explored", "propensity", "holdout", "again", "reason", "data"),
    }
    assert (asked[0]["step"], asked[0]["explored"], asked[0]["data"]["kind"]) == (2, True, "forced")
    assert shop("remove-arm", "shop", "green").stdout == "green is out of service now: arms red, blue\n"
    assert shop("tell", "shop", asked[0]["id"], "1").stdout.startswith("kept for history")
    assert shop("ask", "shop", "--among", "blue").stdout.split("\t")[1] == "blue"
    listed = shop("list").stdout
    assert listed.splitlines()[-2].split() == ["shop", "4", "FE-Linear", "2:", "red,", "blue"]
    shown = shop("show", "shop").stdout
    assert shown.startswith("shop: FE-Linear, 4 decisions\nLast decision, ")
    assert [line.split()[0] for line in shown.splitlines()[6:-2]] == ["red", "blue"]


def test_help_reads_well(brigand):
    assert brigand("--help").stdout.count("Usage") == 1
    for command in ["create", "ask", "tell", "add-arm", "remove-arm", "list", "show", "export", "import"]:
        done = brigand(command, "--help")
        assert done.returncode == 0
        assert "BRIGAND_STORE" in done.stdout


def test_help_loads_nothing_heavy():
    heavy = ("numba", "pandas", "sqlalchemy", "pyarrow", "matplotlib")
    code = (
        "import sys; from brigand.cli import main; sys.argv = ['brigand', 'bandit', 'ask', '--help']\n"
        f"try: main()\nfinally: print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.endswith("[]\n")


def test_create_says_what_was_made_and_takes_all_settings(brigand):
    done = brigand(
        *("create", "shop", "--arm", "red", "--arm", "green", "--policy", "FE-Exp", "--seed", 3),
        *("--horizon", 1000, "--reward-timeout", 60, "--default-reward", -1),
    )
    assert done.stdout == "shop is in sqlite:///brigand.db: FE-Exp, arms red, green\n"
    settings = opened()._settings
    assert settings.policy == br.CATALOGUE["FE-Exp"]
    assert (settings.seed, settings.horizon) == (3, 1000)
    assert (settings.reward_timeout, settings.default_reward) == (60.0, -1.0)


def test_a_policy_is_given_by_name_as_json_or_in_a_file(brigand):
    policy = br.ForcedExploration(br.Power(0.5), window=50)
    text = json.dumps(policy.to_json())
    Path("mine.json").write_text(text)
    for number, given in enumerate((text, "mine.json", "./mine.json")):
        done = brigand("create", f"b{number}", "--arm", "a", "--policy", given)
        assert "ForcedExploration(Power(0.5), window=50)" in done.stdout
        assert opened(f"b{number}").policy == policy


def test_a_store_is_a_path_a_url_or_the_environments(brigand, folder, monkeypatch):
    brigand("create", "one", "--arm", "a", "--store", "other 100%.db")
    assert (folder / "other 100%.db").exists()
    monkeypatch.setenv("BRIGAND_STORE", f"sqlite:///{folder}/theirs.db")
    brigand("create", "two", "--arm", "a")
    assert "two" in brigand("list").stdout
    assert "one" in brigand("list", "--store", folder / "other 100%.db").stdout
    assert not (folder / "brigand.db").exists()


def test_negative_rewards_are_told(shop):
    numbers = [line.split("\t")[0] for line in shop("ask", "shop", "-n", 4).stdout.splitlines()]
    for number, reward in zip(numbers, (["-1"], ["-0.5"], ["-1e-3"], ["--", "-2"]), strict=True):
        assert shop("tell", "shop", number, *reward).stdout == "learned\n"
    assert opened().history()["reward"].tolist() == [-1, -0.5, -1e-3, -2]


def test_rewards_are_told_from_a_file_all_or_none(shop):
    numbers = [made.id for made in opened().ask(3)]
    opened().tell(numbers[2], 3.0)
    rows = [f"{number},{reward},x" for number, reward in zip(numbers, (1, -2, 3), strict=True)]
    Path("bad.csv").write_text("\n".join(["decision,reward,note", *rows, "nonsense,1,"]))
    assert "'nonsense' is no id" in shop("tell", "shop", "--file", "bad.csv").stderr
    assert opened().history()["reward"].notna().sum() == 1
    Path("good.csv").write_text("\n".join(["decision,reward,note", *rows]))
    assert shop("tell", "shop", "--file", "good.csv").stdout.splitlines() == [
        "2 learned",
        "1 told before: nothing changed",
    ]
    Path("empty.csv").write_text(f"decision,reward\n{numbers[0]},\n")
    assert "line 2, column reward: it is empty" in shop("tell", "shop", "--file", "empty.csv").stderr


# The table.


def test_show_has_numbers_that_can_be_read(shop, monkeypatch):
    bandit = opened()
    for step in range(400):
        made = bandit.ask()
        bandit.tell(made.id, float((step * 7919) % 10 < (6 if made.arm == "red" else 3)))
    told = bandit.summary()
    done = shop("show", "shop")
    lines = done.stdout.splitlines()
    assert lines[0] == "shop: FE-Linear, 400 decisions"
    assert lines[1].startswith("Last decision, ")
    assert lines[4].split() == ["arm", "asked", "told", "pending", "mean", "interval", "explored", "greedy"]
    red = lines[6].split(maxsplit=5)
    assert red[:4] == ["red", *[str(told.loc["red", "asked"])] * 2, "0"]
    assert red[4] == f"{told.loc['red', 'mean']:.3f}"
    assert red[5].startswith(f"[{told.loc['red', 'lower']:.2f}, {told.loc['red', 'upper']:.2f}]")
    assert lines[-1] == "95 % interval of the mean: asymptotic, from 30 rewards on; valid at all times."
    exact = shop("show", "shop", "--support", "-1", "1", "--level", "0.99").stdout
    assert "99 %" in exact
    assert exact.endswith("99 % interval of the mean: exact for rewards in [-1, 1]; valid at all times.\n")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "400 decisions" in shop("show", "shop").stdout  # and it ends


def test_show_without_decisions_and_with_few_rewards(shop):
    lines = shop("show", "shop").stdout.splitlines()
    assert lines[1] == "No decision yet"
    assert lines[6].split() == ["red", "0", "0", "0", "–", "–", "–", "–"]
    opened().record([("red", 0.25), ("red", 0.5), ("green", None)])
    lines = shop("show", "shop", "--once").stdout.splitlines()
    assert lines[1] == "Last decision, recorded: the decision was made elsewhere"
    assert lines[6].split()[:6] == ["red", "2", "2", "0", "0.375", "–"]


def test_show_has_the_columns_of_the_summary_and_counts_defaults(brigand):
    brigand(
        *("create", "shop", "--arm", "red", "--policy", "TS-Beta"),
        *("--reward-timeout", 0, "--default-reward", 0),
    )
    shown = brigand("show", "shop").stdout
    assert "explored" in shown
    assert "exact for rewards in [0, 1]" in shown
    assert "default" not in shown
    brigand("create", "two", "--arm", "red", "--reward-timeout", 0, "--default-reward", 0)
    brigand("ask", "two")
    time.sleep(0.01)
    brigand("ask", "two")
    for shown in (brigand("show", "two").stdout,):
        heads = shown.splitlines()[4].split()
        columns = [head for head in heads if head not in ("interval",)]
        assert columns == ["arm", "asked", "told", "defaulted", "pending", "mean", "explored", "greedy"]
        assert {*columns} <= {"arm", *opened("two").summary().columns}
    brigand("remove-arm", "two", "red")
    assert brigand("show", "two").stdout.endswith("No arm is in service.\n")


@pytest.mark.parametrize("width", [60, 80, 120])
def test_odd_names_do_not_break_tables(brigand, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    name = "[bold]my\nbandit"
    arms = [part for arm in ODD for part in ("--arm", arm)]
    made = brigand("create", name, *arms)
    assert made.stdout.count("\n") == 1
    asked = brigand("ask", name, "-n", len(ODD)).stdout
    assert len(asked.splitlines()) == len(ODD)
    assert not any(character in asked for character in "\x1b\r")
    assert [line.split("\t")[1] for line in asked.splitlines()][:6] == [
        "[red]",
        r"new\nline",
        r"tab\tand\x1b[31m",
        r"a\rb",
        ":smile:",
        "''",
    ]
    lines = brigand("show", name).stdout.splitlines()
    assert all(len(line) <= width for line in lines)
    assert sum(" 1 " in line and "–" in line for line in lines) == len(ODD)
    assert lines[0].startswith(r"[bold]my\nbandit: ")
    if width == 120:
        assert any(line.startswith(r" tab\tand\x1b[31m ") for line in lines)
        assert any(line.startswith(f" {'x' * 39}… ") for line in lines)
    assert all(len(line) <= width for line in brigand("list").stdout.splitlines())
    assert not any(c in brigand("remove-arm", name, "blue").stderr.rstrip("\n") for c in "\x1b\n\r")


def test_many_rewards_and_a_narrow_terminal(shop, monkeypatch):
    opened().record((("red", "green")[step % 2], step * 0.5) for step in range(30_000))
    for width, last in ((80, "explored"), (100, "greedy")):
        monkeypatch.setenv("COLUMNS", str(width))
        lines = shop("show", "shop").stdout.splitlines()
        assert lines[4].split()[-1] in ("greedy", last)
        assert "15,000" in lines[6]
        assert not any("…" in line for line in lines)


# A terminal.


@pytest.mark.full
@pytest.mark.skipif(not hasattr(os, "openpty"), reason="POSIX only")
def test_show_goes_on_in_a_terminal_until_ctrl_c(shop):
    terminal, end = os.openpty()
    process = subprocess.Popen(
        [COMMAND, "bandit", "show", "shop", "--watch", "0.1"],
        stdin=end,
        stdout=end,
        stderr=end,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "80", "LINES": "30"},
        start_new_session=True,
    )
    os.close(end)
    try:
        seen = read_until(terminal, b"0 decisions")
        number = shop("ask", "shop").stdout.split("\t")[0]
        seen += read_until(terminal, b"1 decision")
        shop("tell", "shop", number, 0.625)
        seen += read_until(terminal, b"0.625")
        process.send_signal(signal.SIGINT)
        seen += read_until(terminal, None)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
    assert b"Traceback" not in seen
    assert b"Aborted" not in seen
    assert seen.count(b"\x1b[?25h") == 1  # the cursor is back


def read_until(terminal, text, patience=120):
    """Return what a terminal shows until it has shown a text, or until nobody writes to it any more."""
    seen, deadline = b"", time.monotonic() + patience
    while text is None or text not in seen:
        assert time.monotonic() < deadline, seen
        if select.select([terminal], [], [], 1)[0]:
            try:
                piece = os.read(terminal, 65536)
            except OSError:  # Linux says so when the other end is closed
                piece = b""
            if not piece:
                assert text is None, seen
                break
            seen += piece
    return seen


@pytest.mark.full
def test_ask_in_a_process_of_its_own_ends_quietly_if_nobody_listens(shop):
    with subprocess.Popen(
        [COMMAND, "bandit", "ask", "shop", "-n", "20000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.readline().count(b"\t") == 2
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()


# Files.


@pytest.mark.every(3)
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("decisions", [0, 13, 14])
def test_an_export_is_the_history_and_an_import_of_it_the_same_bandit(
    brigand, monkeypatch, suffix, decisions
):
    monkeypatch.setattr(records, "PAGE_SIZE", 7)
    arms = [part for arm in ODD for part in ("--arm", arm)]
    for name in ("old", "new"):
        brigand("create", name, *arms)
    old = opened("old")
    for step in range(decisions):
        made = old.ask()
        if step % 3:
            old.tell(made.id, 0.1 * step - 0.3)
    done = brigand("export", "old", f"log.{suffix}")
    assert done.stdout == f"{decisions} decisions are in log.{suffix}\n"
    history = old.history().reset_index()
    if suffix == "csv":
        table = pd.read_csv("log.csv", keep_default_na=False, na_values={"reward": [""], "learned": [""]})
        for column in ("arm", "reason"):
            table[column] = table[column].map(as_typed)
    else:
        table = pd.read_parquet("log.parquet")
    assert set(table.columns) == set(history.columns)
    for column in ("step", "decision", "arm", "reason", "status", "reward", "learned"):
        assert table[column].fillna(-9).tolist() == history[column].fillna(-9).tolist()
    for column in ("asked_at", "told_at"):
        assert list(map(written, table[column])) == list(map(written, history[column]))
    assert brigand("import", "new", f"log.{suffix}").stdout == (
        f"{decisions} decisions from log.{suffix} are in new now\n"
    )
    pd.testing.assert_frame_equal(opened("new").summary(), old.summary())
    again = opened("new").history().reset_index()
    assert again["reward"].fillna(-9).tolist() == history["reward"].fillna(-9).tolist()
    assert all(abs(again["asked_at"] - history["asked_at"]) <= pd.Timedelta("1us"))


def test_no_cell_of_an_export_is_a_formula_for_a_spreadsheet(brigand):
    arms = ["=1+1", "'=1+1", "''=1+1", "+1", "-1", "@x", "'x"]
    for name in ("old", "new"):
        brigand("create", name, *[part for arm in arms for part in ("--arm", arm)])
    opened("old").record([(arm, 1.0) for arm in arms])
    brigand("export", "old", "log.csv")
    rows = list(csv.DictReader(Path("log.csv").read_text().splitlines()))
    assert [row["arm"] for row in rows] == ["'" + arm for arm in arms[:-1]] + ["'x"]
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row.values())
    brigand("import", "new", "log.csv")
    assert opened("new").history()["arm"].tolist() == arms


def written(moment):
    """Return how a time stands in a CSV file."""
    if isinstance(moment, str):
        return moment
    return "" if pd.isna(moment) else f"{moment.round('us'):%Y-%m-%dT%H:%M:%S.%fZ}"


def test_an_export_replaces_nothing_unless_it_is_told_to(shop):
    Path("log.csv").write_text("mine")
    done = shop("export", "shop", "log.csv")
    assert done.returncode == 2
    assert "'log.csv' is there already; --force replaces it." in done.stderr
    assert Path("log.csv").read_text() == "mine"
    assert shop("export", "shop", "log.csv", "--force").returncode == 0
    assert Path("log.csv").read_text().startswith("step,decision,arm,")


def test_an_export_that_fails_leaves_nothing(brigand, monkeypatch):
    brigand("create", "shop", "--arm", "\udcff", "--arm", "ok")
    brigand("ask", "shop", "-n", 2)
    assert r"\udcff" in brigand("show", "shop").stdout
    before = sorted(os.listdir())
    for file in ("log.csv", "log.parquet"):
        done = brigand("export", "shop", file)
        assert done.returncode == 2
        assert r"lone surrogates, '\udcff'" in done.stderr
    assert "no/log.csv' cannot be written" in brigand("export", "shop", "no/log.csv").stderr
    monkeypatch.setattr(history, "pages", interrupted)
    done = brigand("export", "shop", "log.csv")
    assert (done.returncode, done.stderr) == (130, "Stopped; nothing was written.\n")
    assert sorted(os.listdir()) == before


def interrupted(*_, **__):
    raise KeyboardInterrupt


def test_an_export_tells_a_store_that_fails_from_a_file_that_does(shop, monkeypatch):
    def fails(*_, **__):
        raise br.StorageError("the store is damaged.")

    monkeypatch.setattr(history, "pages", fails)
    assert shop("export", "shop", "log.csv").stderr == "Error: the store is damaged.\n"


def test_parquet_needs_pyarrow_and_says_so(shop, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for command in (("export", "shop"), ("import", "shop"), ("tell", "shop", "--file")):
        assert "pip install 'brigand[parquet]'" in shop(*command, "log.parquet").stderr
    assert shop("export", "shop", "log.csv").returncode == 0


def test_an_import_takes_times_and_ignores_other_columns(shop):
    Path("past.csv").write_text(
        "﻿when, reward ,arm,told_at,asked_at\n"
        "x,1.5,red,2024-01-01T10:00:01+02:00,2024-01-01T10:00:00+02:00\n"
        "\n"
        'x," -2e1 ","red",1704103201.5,1704103200\n'
        "x,,green,,2024-01-02\n"
        "x, ,green,,\n",
        encoding="utf-8",
    )
    before = time.time()
    assert shop("import", "shop", "past.csv").stdout == "4 decisions from past.csv are in shop now\n"
    table = opened().history()
    assert table["arm"].tolist() == ["red", "red", "green", "green"]
    assert table["reward"].tolist()[:2] == [1.5, -20]
    assert table["status"].tolist() == ["learned", "learned", "pending", "pending"]
    seconds = [stamp.timestamp() for stamp in table["asked_at"]]
    assert seconds[:3] == [1704096000, 1704103200, 1704153600]
    assert before - 1 <= seconds[3] <= time.time()
    assert [stamp.timestamp() for stamp in table["told_at"][:2]] == [1704096001, 1704103201.5]
    number = table["decision"].iloc[-1]
    assert shop("tell", "shop", number, 1).stdout == "learned\n"


@pytest.mark.parametrize("cell", ["20260101", "20260101.0", "2026-01-01", "1767225600"])
def test_a_date_without_dashes_is_a_date(shop, cell):
    Path("past.csv").write_text(f"arm,reward,asked_at\nred,1,{cell}\n", encoding="utf-8")
    assert shop("import", "shop", "past.csv").returncode == 0
    assert opened().history()["asked_at"].dt.strftime("%Y-%m-%d").to_list() == ["2026-01-01"]


@pytest.mark.parametrize("given", [20260101, 20260101.0])
def test_a_number_that_spells_a_date_is_no_number_of_seconds(shop, given):
    with opened() as bandit:
        with pytest.raises(br.InvalidValueError, match=r"asked_at .* give datetime\(2026, 1, 1\)"):
            bandit.record([br.Past("red", 1.0, asked_at=given)])
        bandit.record([br.Past("red", 1.0, datetime(2026, 1, 1), datetime(2026, 1, 2, tzinfo=UTC))])
        assert bandit.history()["told_at"].dt.strftime("%m-%d %H:%M").to_list() == ["01-02 00:00"]


def test_a_column_that_is_not_used_may_be_long(shop):
    long = "x" * 300_000
    Path("past.csv").write_text(f'page,arm,reward\n"{long}",red,1\n{long},green,0\n', encoding="utf-8")
    done = shop("import", "shop", "past.csv")
    assert (done.returncode, done.stdout) == (0, "2 decisions from past.csv are in shop now\n")


def test_names_that_begin_alike_are_told_apart(brigand, monkeypatch):
    names = ["checkout-blue", "checkout-green", "$HOME", "[red]x[/red]", "n" * 299 + "a", "n" * 299 + "b"]
    assert brigand("create", "shop", *(f"--arm={name}" for name in names)).returncode == 0
    for columns in (40, 60, 100):
        monkeypatch.setenv("COLUMNS", str(columns))
        rows = brigand("show", "shop", "--once").stdout
        whole = names[:4] if columns > 40 else ["blue", "green", "$HOME"]
        assert all(name in rows for name in whole), rows
        assert "na " in rows
        assert "nb " in rows
    asked = [brigand("ask", "shop").stdout.split("\t")[1] for _ in names]
    assert asked == names


def test_parquet_of_others_is_imported(brigand):
    brigand("create", "shop", "--arm", "1", "--arm", "2")
    table = pd.DataFrame(
        {
            "arm": [1, 2, 2],
            "reward": [1, 0, 1],
            "asked_at": pd.to_datetime(
                ["2024-01-01T10:00:00.123456789", "2024-01-02", None], format="ISO8601"
            ),
        }
    )
    table.to_parquet("past.parquet")
    assert brigand("import", "shop", "past.parquet").returncode == 0
    assert opened().summary()["told"].tolist() == [1, 2]
    assert written(opened().history()["asked_at"].iloc[0]) == "2024-01-01T10:00:00.123456Z"


@pytest.mark.parametrize(
    ("column", "value"), [("arm", 1.5), ("arm", None), ("reward", math.inf), ("reward", True)], ids=str
)
def test_bad_parquet_is_refused_with_its_row(shop, column, value):
    rows = {"arm": ["red", "red"], "reward": [None, None]}
    pd.DataFrame(rows | {column: [value, value]}).to_parquet("past.parquet")
    done = shop("import", "shop", "past.parquet")
    assert done.returncode == 2
    assert f"past.parquet, row 1, column {column}: " in done.stderr
    assert decided() == 0


BAD_FILES = [
    (b"", "is empty: its first line names the columns arm and reward"),
    (b"\n", "is empty"),
    (b"arm,gain\nred,1\n", "there is no column 'reward'"),
    (b"arm;reward\nred;1\n", "separated by commas; here 'arm;reward'."),
    (b"arm,reward,arm\nred,1,red\n", "there are 2 columns 'arm'."),
    (b"arm,reward\nred,1\nblue,1\n", "line 3, column arm: unknown arm 'blue'."),
    (b"arm,reward\nRed,1\n", "line 2, column arm: unknown arm 'Red'. Did you mean 'red'?"),
    (b'arm,reward\n"re\nd",1\n', r"line 2, column arm: unknown arm 're\nd'."),
    (b"arm,reward\nred,1\n\n\nred,high\n", "line 5, column reward: 'high' is no number."),
    (b"arm,reward\nred,1_000\n", "line 2, column reward: '1_000' is no number."),
    (b'arm,reward\nred,"0,5"\n', "line 2, column reward: '0,5' is no number."),
    (b"arm,reward\nred,nan\n", "line 2, column reward: 'nan' is not finite"),
    (b"arm,reward\nred,-inf\n", "line 2, column reward: '-inf' is not finite"),
    (b"arm,reward\nred,1e300\n", "line 2, column reward: '1e300' is not in [-1e+100, 1e+100]"),
    (b"arm,reward\nred,1\nred\n", "line 3 has 1 fields, where the first line names 2."),
    (b"arm,reward\nred,1,2\n", "line 2 has 3 fields, where the first line names 2."),
    (b'arm,reward\nred,1\n"red,1\nred,1\n', "line 3: this is no CSV: "),
    (b'arm,reward\n"r"ed,1\n', "line 2: this is no CSV: "),
    (b"arm,reward\nred,1\nr\xe9d,1\n", "line 3: this is not UTF-8 text."),
    ("arm,reward\nred,1\n".encode("utf-16"), "line 1: this is not UTF-8 text."),
    (b"arm,reward,asked_at\nred,1,today\n", "line 2, column asked_at: 'today' is no time"),
    (b"arm,reward,told_at\nred,1,1704103201500\n", "column told_at: '1704103201500' is not between"),
    (b"arm,reward,told_at\nred,1,inf\n", "column told_at: 'inf' is not between"),
]


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("content", "message"),
    BAD_FILES,
    ids=str,
)
def test_a_bad_file_is_refused_as_a_whole_with_its_first_mistake(shop, content, message):
    Path("past.csv").write_bytes(content)
    done = shop("import", "shop", "past.csv")
    assert done.returncode == 2
    assert message in done.stderr
    assert "past.csv" in done.stderr
    assert done.stderr.count("\n") == 1
    assert decided() == 0


def test_an_import_respects_what_the_policy_accepts_and_the_horizon(brigand):
    brigand("create", "shop", "--arm", "red", "--policy", "TS-Beta")
    Path("past.csv").write_text("arm,reward\nred,1\nred,2\n")
    assert "line 3, column reward: '2' is not in [0, 1]" in brigand("import", "shop", "past.csv").stderr
    brigand("create", "two", "--arm", "red", "--horizon", 1)
    assert "at most 1 asks" in brigand("import", "two", "past.csv").stderr
    assert (decided("shop"), decided("two")) == (0, 0)


def test_ctrl_c_ends_an_import_and_nothing_is_in(shop, monkeypatch):
    Path("past.csv").write_text("arm,reward\nred,1\n")
    monkeypatch.setattr(br.Bandit, "record", interrupted)
    done = shop("import", "shop", "past.csv")
    assert (done.returncode, done.stderr) == (130, "Stopped; nothing was imported.\n")
    assert decided() == 0


# Whole bandits and stores.


def test_a_list_has_pages(shop):
    for name in ("a", "z"):
        shop("create", name, "--arm", "x")
    first = shop("list", "-n", "2").stdout
    assert first.endswith("There are more: --after shop\n")
    assert " z " not in first
    assert " z " in shop("list", "--after", "shop").stdout
    assert shop("list", "--after", "z").stdout == "No bandit in sqlite:///brigand.db comes after z\n"


def test_a_bandit_is_copied_and_deleted_and_a_store_backed_up(shop, monkeypatch):
    made = json.loads(shop("ask", "shop", "--json").stdout)
    done = shop("copy", "shop", "--to", "other.db", "--as", "moved")
    assert done.stdout == "'moved' is in other.db now, with 3 events\n".replace("'", "")
    assert shop("tell", "moved", made["id"], "0.5", "--store", "other.db").stdout == "learned\n"
    monkeypatch.setattr(sys, "argv", ["brigand", "store", "backup", "kept.db"])
    with pytest.raises(SystemExit):
        main()
    assert shop("delete", "shop").stderr == (
        "Error: delete 'shop' with all of its decisions? Say so with --yes.\n"
    )
    assert shop("delete", "shop", "--yes").stdout.endswith("is not in sqlite:///brigand.db any more\n")
    assert "unknown bandit 'shop'" in shop("ask", "shop").stderr
    assert shop("tell", "shop", made["id"], "0.5", "--store", "kept.db").stdout == "learned\n"


def test_old_decisions_are_dropped(shop):
    first = json.loads(shop("ask", "shop", "--json").stdout)
    shop("ask", "shop", "-n", "3")
    none = shop("prune", "shop", "--before", "2026-01-01", "--yes")
    assert none.stdout == "0 decisions of shop were dropped\n"
    assert shop("prune", "shop", "--before", "2199-01-01T00:00Z").stderr == (
        "Error: drop the decisions of 'shop' that were made before 2199-01-01T00:00Z? Say so with --yes.\n"
    )
    done = shop("prune", "shop", "--before", "2199-01-01T00:00Z", "--yes")
    assert done.stdout == "3 decisions of shop were dropped\n"
    assert "has dropped decision 1," in shop("tell", "shop", first["id"], "1").stderr
    assert "4 decisions" in shop("show", "shop", "--once").stdout


def test_no_password_is_printed(brigand, request):
    with a_store("postgresql", request) as url:
        secret = make_url(url).set(password="hidden").render_as_string(hide_password=False)
        assert "hidden" in secret
        for arguments in (
            ("create", "x", "--arm", "a", "--store", secret),
            ("list", "--after", "x", "--store", secret),
            ("copy", "x", "--to", secret, "--as", "y", "--store", secret),
            ("delete", "x", "--yes", "--store", secret),
            ("ask", "z", "--store", secret),
            ("create", "y", "--arm", "a", "--store", secret),
        ):
            done = brigand(*arguments)
            assert "hidden" not in done.stdout + done.stderr
            assert "***" in done.stdout + done.stderr or arguments[0] == "ask"


# Mistakes.


MISTAKES = [
    (("ask", "shpo"), "unknown bandit 'shpo'. Did you mean 'shop'?"),
    (("ask", "shop", "--store", "no.db"), "there is no file"),
    (("list", "--store", "no/no.db"), "there is no folder"),
    (("list", "--store", "."), "it is a folder"),
    (("list", "--store", "text.txt"), "is not an SQLite database"),
    (("list", "--store", "mysql://u:secret@h/x"), "not 'mysql://u:***@h/x'"),
    (("ask", "shop", "-n", "0"), "n must be in [1, 1000000], not 0."),
    (("ask", "shop", "-n", "x"), "Invalid value for '-n'"),
    (("ask", "shop", "--among", "blue"), "unknown arm 'blue'."),
    (("create", "shop", "--arm", "a"), "a bandit named 'shop' is in"),
    (("create", "x"), "Missing option '--arm'"),
    (("create", "x", "--arm", "a", "--arm", "a"), "different names"),
    (("create", "x", "--arm", "a", "--policy", "FE-Lin"), "Did you mean 'FE-Linear'?"),
    (("create", "x", "--arm", "a", "--policy", "no.json"), "'no.json' cannot be read"),
    (("create", "x", "--arm", "a", "--policy", "latin.json"), "it is not UTF-8 text"),
    (("create", "x", "--arm", "a", "--policy", "text.txt"), "text.txt is no JSON"),
    (("create", "x", "--arm", "a", "--policy", "x" * 300), "unknown policy"),
    (("create", "x", "--arm", "a", "--policy", '{"type": "UCB1'), "the policy given is no JSON"),
    (("create", "x", "--arm", "a", "--policy", '{"type": "UCB"}'), "unknown type 'UCB'. Did you mean"),
    (
        ("create", "x", "--arm", "a", "--policy", '{"type": "UCB1", "lo": 1}'),
        "parameter of UCB1 'lo'. Did you mean 'low'?",
    ),
    (("create", "x", "--arm", "a", "--policy", '{"type": "Linear"}'), "the JSON form of a Policy"),
    (("create", "x", "--arm", "a", "--policy", "{}"), "the JSON form of a Policy"),
    (("create", "x", "--arm", "a", "--policy", '{"type": "no_such:P"}'), "there is no module 'no_such'"),
    (("create", "x", "--arm", "a", "--policy", "FE-Exp"), "depends on the horizon"),
    (("create", "x", "--arm", "a", "--seed", "-1"), "seed must be >= 0, not -1."),
    (("create", "x", "--arm", "a", "--reward-timeout", "1"), "are given together"),
    (("tell", "shop", "nonsense", "1"), "'nonsense' is no id of a decision of bandit 'shop'."),
    (("tell", "shop", "nonsense", "high"), "a reward is a number, not 'high'."),
    (("tell", "shop", "nonsense"), "give a decision's id and its reward, or --file"),
    (("tell", "shop"), "give a decision's id and its reward, or --file"),
    (("tell", "shop", "x", "1", "--file", "x.csv"), "give a decision's id and its reward, or --file"),
    (("tell", "shop", "--fle", "x.csv"), "no such option: '--fle'"),
    (("tell", "shop", "--file", "no.csv"), "'no.csv' cannot be read: No such file or directory."),
    (("add-arm", "shop", "red"), "has an arm 'red' already"),
    (("remove-arm", "shop", "rde"), "Did you mean 'red'?"),
    (("show", "shop", "--level", "1"), "level must be in (0, 1)"),
    (("show", "shop", "--watch", "0"), "watch must be in [0.05, 86400], not 0"),
    (("show", "shop", "--watch", "nan"), "watch must be finite"),
    (("show", "shop", "--support", "1", "0"), "support must be (low, high) with low < high"),
    (("export", "shop", "log.xlsx"), "must end in .csv or .parquet, not 'log.xlsx'"),
    (("export", "shop", "log"), "must end in .csv or .parquet"),
    (("import", "shop", "no.csv"), "'no.csv' cannot be read: No such file or directory."),
    (("import", "shop", "folder.csv"), "'folder.csv' cannot be read: Is a directory."),
    (("import", "shop", "text.txt"), "must end in .csv or .parquet"),
    (("import", "shop", "text.parquet"), "text.parquet is no Parquet file"),
    (("import", "shop", "empty.parquet"), "empty.parquet is no Parquet file"),
    (("copy", "shop", "--to", "brigand.db"), "a bandit named 'shop' is in"),
    (("copy", "shop", "--to", "no/x.db"), "there is no folder"),
    (("delete", "shpo", "--yes"), "Did you mean 'shop'?"),
    (("delete", "shop"), "Say so with --yes"),
    (("prune", "shop", "--before", "yesterday"), "'yesterday' is no time: give ISO 8601, or seconds since"),
    (("prune", "shop", "--before", "1"), "Say so with --yes"),
    (("lists",), "No such command 'lists'"),
]


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("arguments", "message"),
    MISTAKES,
    ids=lambda value: " ".join(value)[:60] if isinstance(value, tuple) else "",
)
def test_a_mistake_ends_in_one_clear_error(shop, arguments, message):
    Path("folder.csv").mkdir()
    Path("empty.parquet").touch()
    Path("latin.json").write_bytes(b'{"type": "\xe9"}')
    for name in ("text.txt", "text.parquet"):
        Path(name).write_text("some text, longer than the header of a database")
    before = sorted(os.listdir())
    done = shop(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert [file for file in sorted(os.listdir()) if not file.startswith("brigand.db")] == [
        file for file in before if not file.startswith("brigand.db")
    ]
    assert decided() == 0


def test_a_bandit_is_listed_though_its_policy_is_not_there(brigand, folder, monkeypatch):
    (folder / "their_policy.py").write_text(
        "import dataclasses, brigand as br\n"
        "@dataclasses.dataclass(frozen=True)\n"
        "class Mine(br.ForcedExploration):\n"
        "    pass\n"
    )
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    policy = '{"type": "their_policy:Mine", "sequence": {"type": "Linear"}}'
    assert "Mine(Linear())" in brigand("create", "shop", "--arm", "a", "--policy", policy).stdout
    monkeypatch.setattr(sys, "path", sys.path[1:])
    monkeypatch.delitem(sys.modules, "their_policy")
    assert "their_policy:Mine" in brigand("list").stdout
    assert "brigand bandit --allow their_policy" in brigand("ask", "shop").stderr
    assert "there is no module 'their_policy'" in brigand("--allow", "their_policy", "ask", "shop").stderr
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    assert brigand("--allow", "their_policy", "ask", "shop").stdout


def test_a_store_may_be_empty(brigand):
    open_store(STORE, create=True).close()
    assert brigand("list").stdout.startswith("There is no bandit in sqlite:///brigand.db; make one: ")


def test_bandits_are_listed_with_the_arms_in_service(shop):
    bandit = opened()
    bandit.remove_arm("red")
    bandit.add_arm("blue")
    bandit.remove_arm("green")
    bandit.add_arm("red")
    bandit.record([Past("red", 1.0), Past("blue", None)])
    (found,) = bandits(STORE)
    assert (found.name, found.arms, found.decisions) == ("shop", ["blue", "red"], 2)
    assert bandit.arms() == found.arms
    assert found.policy == br.CATALOGUE["FE-Linear"].to_json()
    assert found.created_at <= time.time()


# Propensities, and what it earns.


def test_gain_tells_what_the_policy_earns(brigand):
    made = brigand("create", "x", "--arm", "a", "--arm", "b", "--holdout", "0.2", "--policy", "TS-Beta")
    assert made.returncode == 0, made.stderr
    for line in brigand("ask", "x", "-n", 40).stdout.splitlines():
        decision, arm, _ = line.split("\t")
        brigand("tell", "x", decision, float(arm == "b"))
    said = brigand("gain", "x").stdout
    assert re.search(r"^gain  -?[\d.]+ a decision, 95 % interval \(exact\): -?[\d.]+ to [\d.]+\n", said)
    found = json.loads(brigand("gain", "x", "--json").stdout)
    assert found["decisions"] + found["holdout"] == 40
    assert f"{found['holdout']} reward" in said


def test_without_a_holdout_gain_says_how_to_have_one(shop):
    done = shop("gain", "shop")
    assert done.returncode == 2
    assert "holdout=0.05" in done.stderr


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_propensities_are_exported_and_imported(brigand, suffix):
    brigand("create", "x", "--arm", "a", "--arm", "b", "--floor", "0.1", "--policy", "TS-Beta", "--seed", "1")
    for line in brigand("ask", "x", "-n", 5).stdout.splitlines():
        brigand("tell", "x", line.split("\t")[0], 1)
    brigand("export", "x", f"x.{suffix}")
    brigand("create", "y", "--arm", "a", "--arm", "b")
    assert brigand("import", "y", f"x.{suffix}").returncode == 0
    found = opened("y").history()["propensity"]
    assert found.tolist() == opened("x").history()["propensity"].tolist()
    assert found.between(0.1, 0.9).all()


@pytest.mark.parametrize("cell", ["0", "1.1", "nan", "x", "-0.5"])
def test_a_propensity_that_is_none_has_its_line(shop, cell):
    Path("past.csv").write_text(f"arm,reward,propensity\nred,1,0.5\nred,1,\nred,1,{cell}\n")
    done = shop("import", "shop", "past.csv")
    assert done.returncode == 2
    assert f"line 4, column propensity: '{cell}' is no probability" in done.stderr
    assert decided() == 0


# What an experiment needs.


def test_units_requests_metrics_and_corrections(shop):
    first = shop("ask", "shop", "--unit", "ann").stdout.split("\t")[0]
    assert shop("ask", "shop", "--unit", "ann").stdout.split("\t")[0] == first
    second = shop("ask", "shop", "--request", "r").stdout.split("\t")[0]
    assert shop("ask", "shop", "--request", "r").stdout.split("\t")[0] == second
    assert shop("tell", "shop", first, "1").stdout == "learned\n"
    assert shop("tell", "shop", first, "0", "--replace").stdout.startswith("learned in the place")
    assert shop("tell", "shop", first, "1", "--metric", "signup").stdout.startswith("kept for history")
    assert shop("metrics", "shop").stdout == "signup\tred\t1\t1\t-inf\tinf\n"
    refused = shop("ask", "shop", "-n", 2, "--unit", "ann")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    Path("rewards.csv").write_text(f"decision,reward\n{second},1\n")
    assert shop("tell", "shop", "--file", "rewards.csv", "--replace").returncode == 2


def test_rewards_that_add_up(brigand):
    assert brigand("create", "x", "--arm", "a", "--accumulate", "3600").returncode == 0
    decision = brigand("ask", "x").stdout.split("\t")[0]
    for said in ("added to", "told before"):
        assert brigand("tell", "x", decision, "2.5", "--request", "order-17").stdout.startswith(said)


def test_pause_resume_end_and_the_audit(shop):
    assert shop("pause", "shop", "--by", "Ann", "--note", "sale").stdout == "shop is paused\n"
    paused = shop("ask", "shop")
    assert (paused.returncode, paused.stderr.count("\n")) == (2, 1)
    assert "paused" in paused.stderr
    assert shop("resume", "shop").stdout == "shop is serving\n"
    assert shop("end", "shop", "green").returncode == 2  # there is nobody who says yes
    assert shop("end", "shop", "green", "--yes").stdout == "shop is ended: every ask gets green\n"
    assert shop("ask", "shop").stdout.split("\t")[1] == "green"
    assert shop("note", "shop", "it was green", "--by", "Bob").returncode == 0
    rows = [line.split("\t")[1:] for line in shop("audit", "shop").stdout.splitlines()]
    assert rows == [
        ["", "add", "red", ""],
        ["", "add", "green", ""],
        ["Ann", "pause", "", "sale"],
        ["", "resume", "", ""],
        ["", "end", "green", ""],
        ["Bob", "note", "", "it was green"],
    ]
