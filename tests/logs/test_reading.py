"""Logs from every source: the same rows give the same log, and each bad row is told by its number."""

import collections
import contextlib
import datetime
import decimal
import gzip
import io
import pickle
import sys
from pathlib import Path

import hypothesis
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import strategies as st

import brigand as br
from brigand.logs import log as log_module, reading
from strength import runs

UTC = datetime.UTC
CSV = """\
time,arm,reward,propensity,told,segment,available,unit
2026-01-01T00:00:00Z,red,1,0.5,2026-01-01T00:00:01Z,se,red|blue,7
2026-01-01T02:00:00+01:00,blue,0,0.25,2026-01-01T01:00:00Z,no,blue|red,8
2026-01-01T02:00:00.5Z,"a, b",0.5,1,2026-01-02T00:00:00Z,se,"a, b",7
"""
TIMES = [1767225600_000000, 1767229200_000000, 1767232800_500000]


def columns():
    return {
        "time": np.array(TIMES, "datetime64[us]"),
        "arm": ["red", "blue", "a, b"],
        "reward": [1, 0, 0.5],
        "propensity": [0.5, 0.25, 1],
        "told": np.array(["2026-01-01T00:00:01", "2026-01-01T01:00:00", "2026-01-02"], "datetime64[s]"),
        "segment": ["se", "no", "se"],
        "available": [["red", "blue"], ["blue", "red"], ["a, b"]],
        "unit": [7, 8, 7],
    }


def frame():
    return pd.DataFrame(columns())


def records():
    return frame().to_dict("records")


Row = collections.namedtuple("Row", list(columns()))


def written(path, text=CSV):
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_bytes(text.encode())
    return path


def parquet(tmp_path):
    table = pa.Table.from_pandas(frame(), preserve_index=False)
    pq.write_table(table, tmp_path / "log.parquet")
    return tmp_path / "log.parquet"


def slowly(path, **options):
    """Read CSV as where Arrow is not installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pyarrow", None)
        return br.Log.read(path, **options)


SOURCES = {
    "columns": lambda folder: br.Log.from_columns(columns()),
    "arrays": lambda folder: br.Log.from_columns(columns() | {"arm": np.array(columns()["arm"])}),
    "pandas": lambda folder: br.Log.from_pandas(frame()),
    "pandas, zones and categories": lambda folder: br.Log.from_pandas(
        frame().assign(
            time=lambda f: f.time.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
            arm=lambda f: f.arm.astype(pd.CategoricalDtype(["red", "never", "blue", "a, b"])),
            unit=lambda f: f.unit.astype("Int64"),
            reward=lambda f: f.reward.astype("float64[pyarrow]"),
        )
    ),
    "pandas, objects": lambda folder: br.Log.from_pandas(frame().astype(object)),
    "Arrow": lambda folder: br.Log.from_arrow(pa.table(columns())),
    "batch": lambda folder: br.Log.from_arrow(pa.table(columns()).to_batches()[0]),
    "dicts": lambda folder: br.Log.from_records(iter(records())),
    "tuples": lambda folder: br.Log.from_records(Row(**record) for record in records()),
    "CSV": lambda folder: br.Log.read(written(folder / "log.csv")),
    "CSV, slowly": lambda folder: slowly(written(folder / "log.csv")),
    "CSV of a spreadsheet": lambda folder: br.Log.read(written(folder / "log.csv", "\ufeff" + CSV)),
    "CSV of Windows": lambda folder: br.Log.read(written(folder / "log.csv", CSV.replace("\n", "\r\n"))),
    "gzip": lambda folder: br.Log.read(written(folder / "log.csv.gz")),
    "gzip, slowly": lambda folder: slowly(str(written(folder / "log.csv.gz"))),
    "Parquet": lambda folder: br.Log.read(parquet(folder)),
    "again": lambda folder: br.Log.from_pandas(SOURCES["CSV"](folder).to_pandas()),
    "pickled": lambda folder: pickle.loads(pickle.dumps(SOURCES["CSV"](folder))),
}


def same(one, other):
    assert (one.arms, one.segments, dict(one.skipped)) == (other.arms, other.segments, dict(other.skipped))
    for name, kind in log_module.TYPES.items():
        a, b = getattr(one, name), getattr(other, name)
        assert (a is None) == (b is None), name
        if a is not None:
            assert a.dtype == b.dtype == kind
            np.testing.assert_array_equal(a, b, name)
    if one.sets is not None:
        np.testing.assert_array_equal(one.sets, other.sets)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("piece", [1 << 17, 2])
def test_every_source_gives_the_same_log(source, piece, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "PIECE", piece)
    log = SOURCES[source](tmp_path)
    assert log.arms == ("a, b", "blue", "red")
    assert log.arm.tolist() == [2, 1, 0]
    assert log.reward.tolist() == [1, 0, 0.5]
    assert log.propensity.tolist() == [0.5, 0.25, 1]
    assert log.time.tolist() == TIMES
    assert log.told.tolist() == [TIMES[0] + 1_000_000, TIMES[1], 1767312000_000000]
    assert log.segments == ("no", "se")
    assert log.segment.tolist() == [1, 0, 1]
    assert log.sets.tolist() == [[False, True, True], [True, False, False]]
    assert log.available.tolist() == [0, 0, 1]
    assert log.unit.tolist() == [7, 8, 7]
    assert log.skipped == {}
    assert len(log) == 3
    assert repr(log) == ("<Log: 3 rows, 3 arms, with propensity, time, told, segment, available, unit>")
    same(log, SOURCES["columns"](tmp_path))


@pytest.mark.parametrize("kind", ["s", "ms", "us", "ns", "D", "h"])
def test_dates_of_every_unit(kind):
    times = np.array(["2026-01-01", "2026-01-02"], f"datetime64[{kind}]")
    for column in (
        times,
        pa.array(times) if kind not in ("h",) else times,
        times.astype("datetime64[s]").tolist(),
    ):
        log = br.Log.from_columns({"arm": [1, 2], "reward": [0, 1], "time": column})
        assert log.time.tolist() == [TIMES[0], TIMES[0] + 86_400_000_000]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-01-01", 0),
        ("20260101", 0),
        ("2026-01-01 01:00", 3600),
        ("2026-01-01T01:00:00+05:30", 3600 - 19800),
        ("2026-01-01T00:00:00.25-00:00", 0.25),
        ("2026-01-01T00:00:00.123456789Z", 0.123456),
        (" 2026-01-01 ", 0),
        ("2026-W01-4", 0),
    ],
)
def test_times_in_iso_8601(text, seconds, tmp_path):
    expected = TIMES[0] + round(seconds * 1e6)
    path = written(tmp_path / "log.csv", f"arm,reward,time\na,1,{text}\n")
    for log in (
        br.Log.read(path),
        slowly(path),
        br.Log.from_columns({"arm": ["a"], "reward": [1], "time": [text]}),
        br.Log.from_arrow(pa.table({"arm": ["a"], "reward": [1], "time": [text]})),
    ):
        assert log.time.tolist() == [expected]


@pytest.mark.parametrize(("unit", "factor"), [("s", 1), ("ms", 1000), ("us", 1_000_000)])
def test_numbers_are_times_if_a_unit_is_given(unit, factor, tmp_path):
    times = [1_767_225_600 * factor, 1_767_225_601 * factor]
    text = "".join(f"a,1,{time}\n" for time in times)
    path = written(tmp_path / "log.csv", f"arm,reward,time\n{text}")
    table = {"arm": ["a", "a"], "reward": [1, 1], "time": times}
    for read in (
        lambda **given: br.Log.read(path, **given),
        lambda **given: slowly(path, **given),
        lambda **given: br.Log.from_columns(table, **given),
        lambda **given: br.Log.from_columns(table | {"time": np.array(times, float)}, **given),
        lambda **given: br.Log.from_arrow(pa.table(table), **given),
        lambda **given: br.Log.from_records(
            [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)], **given
        ),
    ):
        assert read(time_unit=unit).time.tolist() == [TIMES[0], TIMES[0] + 1_000_000]
        with pytest.raises(
            br.InvalidValueError,
            match=r"2 time a bare number\). .* 1: time .*time_unit|2 time a bare.*[Ll]ine 2: ",
        ):
            read()
        with pytest.raises(br.InvalidValueError, match="time_unit must be one of"):
            read(time_unit="h")
    if unit != "s":
        with pytest.raises(br.InvalidValueError, match=r"time out of range.*not between 1900 and 2200"):
            br.Log.from_columns(table, time_unit="s")


# What is wrong with a row: a cell, and what is said of it.
WRONG = [
    ("arm", "", "arm missing", "arm is missing"),
    ("arm", "green", "unknown arm", "unknown arm 'green'"),
    ("reward", "", "reward missing", "reward is missing"),
    ("reward", "nan", "reward missing", "reward is missing"),
    ("reward", "inf", "reward not finite", "reward .*inf.* is not finite"),
    ("reward", "much", "reward no number", "reward 'much' is no number"),
    ("reward", "1_0", "reward no number", "reward '1_0' is no number"),
    ("propensity", "0", "propensity 0", "propensity is 0"),
    ("propensity", "1.5", "propensity above 1", "propensity is 1.5"),
    ("propensity", "-0.5", "propensity below 0", "propensity is -0.5"),
    ("propensity", "inf", "propensity above 1", "propensity is inf"),
    ("propensity", "", "propensity missing", "propensity is missing"),
    ("propensity", "nan", "propensity missing", "propensity is missing"),
    ("propensity", "half", "propensity no number", "propensity 'half' is no number"),
    ("time", "", "time missing", "time is missing"),
    ("time", "monday", "time no time", "time 'monday' is no time in ISO 8601"),
    ("time", "2026-13-01", "time no time", "no time in ISO 8601"),
    ("time", "1767225601", "time a bare number", "a number, and time_unit"),
    ("time", "1712010112345", "time a bare number", "a number, and time_unit"),
    ("time", "2926-01-01", "time out of range", "not between 1900 and 2200"),
    ("time", "2025-12-31", "time goes back", "from 2026-01-01T00:00:00.000000Z to 2025-12-31"),
    ("told", "2025-12-31", "told before asked", "told at 2025-12-31.*, before it was asked at 2026"),
    ("told", "", "told missing", "told is missing"),
    ("segment", "", "segment missing", "segment is missing"),
    ("available", "", "available missing", "available is missing"),
    ("available", "blue", "arm not available", "arm 'red' is not among those available"),
    ("available", "red|green", "unknown arm available", "available 'red|green' has an unknown arm"),
    ("available", "red||blue", "available no arms", "is no list of arms"),
    ("unit", "", "unit missing", "unit is missing"),
    ("unit", "u7", "unit no number", "unit 'u7' is no integer"),
]


def a_table(n, role=None, cell=None):
    """Return columns of text, with one bad cell in the row before the last."""
    good = {
        "arm": "red",
        "reward": "1",
        "propensity": "0.5",
        "time": "2026-01-01T00:00:00",
        "told": "2026-01-01T00:00:05",
        "segment": "se",
        "available": "red|blue",
        "unit": "7",
    }
    table = {name: [value] * n for name, value in good.items()}
    if role:
        table[role][n - 2] = cell
    return table


def as_csv(table):
    file = io.StringIO()
    pd.DataFrame(table).to_csv(file, index=False)
    return file.getvalue()


@pytest.mark.every(3)
@pytest.mark.parametrize(("role", "cell", "kind", "said"), WRONG)
def test_a_bad_row_is_told_by_its_number(role, cell, kind, said, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "PIECE", 3)
    table = a_table(8, role, cell)
    path = written(tmp_path / "log.csv", as_csv(table))
    pq.write_table(pa.table(table), tmp_path / "log.parquet")
    readers = {
        "Line 8": [lambda **given: br.Log.read(path, **given), lambda **given: slowly(path, **given)],
        "Row 7": [
            lambda **given: br.Log.read(tmp_path / "log.parquet", **given),
            lambda **given: br.Log.from_columns(table, **given),
            lambda **given: br.Log.from_arrow(pa.table(table), **given),
            lambda **given: br.Log.from_pandas(pd.DataFrame(table), **given),
            lambda **given: br.Log.from_records(pd.DataFrame(table).to_dict("records"), **given),
        ],
    }
    for place, several in readers.items():
        for read in several:
            with pytest.raises(br.InvalidValueError) as raised:
                read(arms=["red", "blue"])
            assert f"1 of 8 rows is bad (1 {kind}). {place}: " in str(raised.value)
            raised.match(said.replace("|", r"\|"))
            log = read(arms=["red", "blue"], errors="skip")
            assert len(log) == 7
            assert log.skipped == {kind: 1}
            assert len(log.propensity) == len(log.time) == len(log.unit) == 7


@pytest.mark.parametrize("wrong", [0.0, -0.1, 1.0001, np.nan, np.inf])
def test_bad_propensities_as_numbers(wrong):
    table = {"arm": np.zeros(5, int), "reward": np.zeros(5), "propensity": np.array([1, 1, 1, wrong, 1])}
    with pytest.raises(br.InvalidValueError, match="Row 4: propensity"):
        br.Log.from_columns(table)


def test_a_million_bad_rows_are_one_line():
    n = 10**6
    table = {"arm": np.arange(n) % 3, "reward": np.ones(n), "propensity": np.zeros(n)}
    table["propensity"][:10] = 0.5
    table["reward"][20:1020] = np.inf
    with pytest.raises(br.InvalidValueError) as raised:
        br.Log.from_columns(table)
    assert str(raised.value) == (
        "the table: 999,990 of 1,000,000 rows are bad (998,990 propensity 0, 1,000 reward not finite). "
        "Row 11: propensity is 0; row 12: propensity is 0; row 13: propensity is 0; and 999,987 more."
    )


def test_lines_are_those_of_the_file_where_fields_have_lines_and_lines_are_empty(tmp_path):
    text = 'arm,reward\n\n"a\nb",1\n\n\nc,1\n"d\n\n",x\n'
    path = written(tmp_path / "log.csv", text)
    for read in (br.Log.read, slowly):
        with pytest.raises(br.InvalidValueError, match=r"1 of 3 rows is bad .*\. Line 8: reward 'x'"):
            read(path)


def test_a_row_with_more_or_fewer_fields_is_a_bad_row(tmp_path):
    path = written(tmp_path / "log.csv", "arm,reward,x\na,1,\nb,1\nc,1,,\nd,0,\n")
    for read in (br.Log.read, slowly):
        with pytest.raises(br.InvalidValueError, match=r"2 wrong number of fields\). Line 3: has 2 fields"):
            read(path)
        log = read(path, errors="skip")
        assert (log.arms, dict(log.skipped)) == (("a", "d"), {"wrong number of fields": 2})


@pytest.mark.parametrize("piece", [1 << 17, 2])
def test_missing_cells_are_bad_unless_all_are_missing(piece, monkeypatch):
    monkeypatch.setattr(reading, "PIECE", piece)
    nothing = [None] * 4
    table = {"arm": list("aaba"), "reward": [1, 0, 1, 0]}
    log = br.Log.from_columns(table | dict.fromkeys(["propensity", "time", "segment", "unit"], nothing))
    assert log.propensity is log.time is log.segment is log.unit is None
    table |= {"propensity": [None, None, None, 0.5], "segment": [None, "x", "x", "x"]}
    with pytest.raises(
        br.InvalidValueError, match=r"\(3 propensity missing\). Row 1: propensity is missing; row 2"
    ):
        br.Log.from_columns(table)
    log = br.Log.from_columns(table, errors="skip")
    assert (log.arms, log.segments, log.arm.tolist()) == (("a",), ("x",), [0])
    log = br.Log.from_columns(table, propensity=None, errors="skip")
    assert log.propensity is None
    assert log.skipped == {"segment missing": 1}


def test_rows_are_left_out_before_time_is_looked_at():
    table = {
        "arm": ["a"] * 4,
        "reward": [1, np.nan, 1, 1],
        "time": np.array(["2026-01-01", "2030-01-01", "2026-01-02", "2026-01-01"], "datetime64[s]"),
    }
    log = br.Log.from_columns(table, errors="skip")
    assert log.skipped == {"reward missing": 1, "time goes back": 1}
    assert len(log) == 2


def test_arms():
    def arms(column, **given):
        log = br.Log.from_columns({"arm": column, "reward": np.zeros(len(column))}, **given)
        return [log.arms[k] for k in log.arm], log.arms

    assert arms([10, 9, 9]) == (["10", "9", "9"], ("9", "10"))
    assert arms(["b 10", "b 9"]) == (["b 10", "b 9"], ("b 9", "b 10"))
    assert arms(np.array([1.0, 2.0])) == (["1", "2"], ("1", "2"))
    assert arms(["1", "2"], arms=[3, 2, 1]) == (["1", "2"], ("3", "2", "1"))
    for wrong in (np.array([1.5, 1]), [True, False], [b"a", b"b"], [decimal.Decimal(1), "a"], [("a",), "b"]):
        with pytest.raises(br.InvalidValueError, match="arm no name"):
            arms(wrong)
    with pytest.raises(br.InvalidValueError, match="two arms 'a'"):
        arms(["a"], arms=["a", "a"])
    for wrong in ("ab", 7, [], [None], [""]):
        with pytest.raises(br.InvalidValueError, match="arms must be"):
            arms(["a"], arms=wrong)


def test_too_many_arms_are_another_column(monkeypatch):
    monkeypatch.setattr(reading, "MOST_ARMS", 10)
    with pytest.raises(br.InvalidValueError, match="more than 10 arms"):
        br.Log.from_columns({"arm": range(11), "reward": np.zeros(11)})


def test_an_arm_that_was_available_and_never_shown_is_there():
    log = br.Log.from_columns({"arm": ["a", "a"], "reward": [0, 1], "available": ["a|c", "a|b|c"]})
    assert log.arms == ("a", "b", "c")
    assert sorted(log.sets[log.available].tolist()) == [[True, False, True], [True, True, True]]


def test_units_that_are_texts_are_numbered():
    log = br.Log.from_columns({"arm": [1] * 4, "reward": [0] * 4, "unit": ["x", "007", "x", "7"]})
    assert log.unit.tolist() == [0, 1, 0, 2]


def test_rewards_that_are_booleans(tmp_path):
    path = written(tmp_path / "log.csv", "arm,reward\na,True\na,false\n")
    for log in (
        br.Log.read(path),
        br.Log.from_columns({"arm": ["a", "a"], "reward": [True, False]}),
        br.Log.from_arrow(pa.table({"arm": ["a", "a"], "reward": [True, False]})),
    ):
        assert log.reward.tolist() == [1, 0]


def test_names_of_columns():
    table = frame().rename(columns={"arm": "item", "reward": "click"})
    log = br.Log.from_pandas(table, arm="item", reward="click", time=None)
    assert log.time is None
    assert log.propensity is not None
    with pytest.raises(
        br.UnknownNameError, match=r"the data frame: unknown column 'arm'. .*Known: available, click"
    ):
        br.Log.from_pandas(table)
    with pytest.raises(br.UnknownNameError, match=r"unknown column 'propensty'\. Did you mean 'propensity'"):
        br.Log.from_pandas(table, arm="item", reward="click", propensity="propensty")
    with pytest.raises(br.InvalidValueError, match="2 columns 'arm'"):
        br.Log.from_pandas(pd.concat([frame(), frame()[["arm"]]], axis=1))
    with pytest.raises(br.InvalidValueError, match="the column of arm is needed"):
        br.Log.from_pandas(frame(), arm=None)
    with pytest.raises(TypeError, match="unexpected keyword argument 'propensities'"):
        br.Log.from_pandas(frame(), propensities="p")
    assert br.Log.from_columns({7: ["a"], "reward": [1]}, arm=7).arms == ("a",)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: br.Log.from_columns({"arm": [], "reward": []}), "the table has no rows"),
        (lambda: br.Log.from_records([]), "there are no records"),
        (lambda: br.Log.from_records([3]), "a record is a mapping or a named tuple"),
        (lambda: br.Log.from_records(3), "records are iterated over"),
        (lambda: br.Log.from_pandas({"arm": [1]}), "a data frame of pandas is needed, not dict"),
        (lambda: br.Log.from_arrow(frame()), "a table of Arrow's is needed, not DataFrame"),
        (lambda: br.Log.from_columns({"arm": ["a"], "reward": [1, 2]}), "1 rows of arm and 2 of reward"),
        (lambda: br.Log.from_columns({"arm": "a", "reward": [1]}), "arm must be a column"),
        (lambda: br.Log.from_columns({"arm": ["a"], "reward": np.ones((1, 1))}), "one-dimensional"),
        (lambda: br.Log.from_columns({"arm": ["a"], "reward": [1]}, errors="no"), "errors must be one of"),
        (lambda: br.Log.from_columns({"arm": ["a"], "reward": [1]}, separator=""), "separator must be"),
        (lambda: br.Log.from_columns({"arm": ["a"], "reward": [None]}, errors="skip"), "1 of 1 rows is bad"),
        (lambda: br.Log.read("log.txt"), r"must end in \.csv, \.csv\.gz or \.parquet"),
    ],
)
def test_what_is_no_log(make, said):
    with pytest.raises(br.InvalidValueError, match=said):
        make()


def test_masked_cells_are_missing():
    reward = np.ma.masked_array([1.0, 2.0], [False, True])
    with pytest.raises(br.InvalidValueError, match="Row 2: reward is missing"):
        br.Log.from_columns({"arm": ["a", "b"], "reward": reward})


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("log.csv", b"", "is empty: its first line names the columns arm and reward"),
        ("log.csv", b"arm,reward\n", "has no rows"),
        ("log.csv", b"arm,reward\na,1\nb\xff,1\n", "line 3: this is not UTF-8 text"),
        ("log.csv", b'arm,reward\na,1\nb,"1\nc,1\n', "line 3: this is no CSV"),
        ("log.csv.gz", b"arm,reward\na,1\n", "no whole gzip file"),
        ("log.csv.gz", gzip.compress(CSV.encode(), mtime=0)[:-20], "no whole gzip file"),
        ("log.csv.gz", b"", "is empty"),
        ("log.parquet", b"", "is no Parquet file"),
        ("log.parquet", b"PAR1 and no more PAR1", "is no Parquet file"),
    ],
)
def test_files_that_are_damaged(name, data, said, tmp_path):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(br.InvalidValueError, match=said):
        br.Log.read(tmp_path / name)
    if name != "log.parquet":
        with pytest.raises(br.InvalidValueError, match=said):
            slowly(tmp_path / name)


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    for name in ("folder.csv", "nothing.csv", "nothing.parquet", "nothing.csv.gz"):
        with pytest.raises(br.ResultFileError, match="cannot be read"):
            br.Log.read(tmp_path / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(br.MissingPackageError, match="Parquet files need pyarrow"):
            br.Log.read(tmp_path / "nothing.parquet")


def test_a_log_needs_no_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    log = br.Log.from_columns(columns())
    same(log, SOURCES["columns"](None))
    assert "3 rows" in str(log.summary())


def test_parts_of_a_log():
    log = br.Log.from_columns(columns())
    for rows in (slice(1, None), [1, 2], np.array([False, True, True])):
        part = log[rows]
        assert len(part) == 2
        assert part.arms == log.arms
        assert part.available.tolist() == [0, 1]
        assert part.time.tolist() == TIMES[1:]
    assert len(log[[]]) == len(log[:0]) == 0
    for wrong in ([2, 1], [0, 0], [3], [-1], [0.5], "a", [[1]], [True]):
        with pytest.raises(br.InvalidValueError, match="rows"):
            log[wrong]
    with pytest.raises(br.InvalidValueError, match="a step must be positive"):
        log[::-1]
    with pytest.raises(br.InvalidValueError, match="no rows"):
        log[:0].summary()


def test_a_log_cannot_be_changed_and_leaves_what_it_was_made_of_as_it_is():
    table = {"arm": np.array([0, 1]), "reward": np.array([0.0, 1.0]), "propensity": np.array([0.5, 0.5])}
    log = br.Log.from_columns(table)
    table["reward"][0] = 7.0
    assert log.reward[0] == 0
    for one in (log, log[:1], pickle.loads(pickle.dumps(log))):
        with pytest.raises(ValueError, match="read-only"):
            one.reward[0] = 1.0
    given = np.array([0.0, 1.0])
    br.Log(("a",), np.zeros(2, np.int32), given)
    given[0] = 1.0


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"arm": np.array([0, 3], np.int32)}, r"arm must have places in \[0, 3\)"),
        ({"arm": np.array([-1, 0], np.int32)}, r"arm must have places in \[0, 3\)"),
        ({"arm": np.array([0, 2**32])}, "arm must be of int32; there are larger numbers"),
        ({"arm": np.array([0.0, 1.0])}, "arm must be of int32, not float64"),
        ({"reward": np.array([0.0, np.nan])}, "rewards must be finite"),
        ({"reward": np.array([0.0])}, r"reward must have shape \(2,\)"),
        ({"propensity": np.array([0.0, 1.0])}, r"propensities must be in \(0, 1\]"),
        ({"segment": np.array([0, 0], np.int32)}, r"segment must have places in \[0, 0\)"),
        ({"available": np.array([0, 0], np.int32)}, r"available must have places in \[0, 0\)"),
        ({"sets": np.ones((1, 2), bool)}, r"sets must be booleans of shape \(m, 3\)"),
    ],
)
def test_columns_that_are_no_log(changed, said):
    given = {"arms": ("a", "b", "c"), "arm": np.array([0, 1], np.int32), "reward": np.zeros(2)}
    with pytest.raises(br.InvalidValueError, match=said):
        br.Log(**(given | changed))


def test_rows_by_the_piece_are_the_same_log(monkeypatch):
    rng = np.random.default_rng(0)
    n = 1000
    table = {
        "arm": rng.choice(["x", "y", "z", ""], n, p=[0.4, 0.3, 0.2, 0.1]),
        "reward": rng.choice([0, 1, np.nan], n, p=[0.5, 0.4, 0.1]),
        "propensity": rng.choice([0.5, 0.2, 0, np.nan], n),
        "time": TIMES[0] + np.cumsum(rng.integers(-1, 10, n)),
        "unit": rng.integers(0, 50, n),
    }
    whole = br.Log.from_columns(table, errors="skip", time_unit="us")
    for piece in (1, 7, 100):
        monkeypatch.setattr(reading, "PIECE", piece)
        same(br.Log.from_columns(table, errors="skip", time_unit="us"), whole)
    assert sum(whole.skipped.values()) + len(whole) == n


FILES = {
    "log.csv": CSV.encode(),
    "quoted.csv": CSV.replace("red", '"red"').encode() + b'2026-01-02,"x\ny",1,1,2026-01-02,"""",x,1\n',
    "log.csv.gz": gzip.compress(CSV.encode()),
}
PIECES = st.sampled_from(
    [b'"', b",", b"\n", b"\r", b"\0", b"\xff", b"|", b"-", b"9", b"nan", b" ", b'""', "é".encode()]
)


@st.composite
def damages(draw):
    """Yield places, how many bytes are cut out there, and what is put in."""
    place = st.floats(0, 1, exclude_max=True)
    return draw(
        st.lists(st.tuples(place, st.integers(0, 12), st.one_of(PIECES, st.binary(max_size=3))), max_size=4)
    )


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("errors", ["raise", "skip"])
def test_damaged_files_end_in_an_error_of_ours_or_in_a_log(name, errors, tmp_path):
    """And where Arrow reads a file as `csv` does not, `csv` calls it damaged."""
    path = Path(tmp_path / name)

    @hypothesis.settings(max_examples=runs(50, 3000), deadline=None)
    @hypothesis.given(damages())
    def check(several):
        data = FILES[name]
        for place, cut, put in several:
            at = int(place * len(data))
            data = data[:at] + put + data[at + cut :]
        path.write_bytes(data)
        found = []
        for read in (br.Log.read, slowly):
            try:
                found.append(read(path, errors=errors))
            except br.BrigandError as error:
                found.append(str(error))
        fast, slow = found
        if isinstance(slow, str):
            assert slow == fast or "this is no CSV" in slow, (fast, slow)
        else:
            same(fast, slow)

    check()


def test_damaged_parquet_ends_in_an_error_of_ours_or_in_a_log(tmp_path):
    path = parquet(tmp_path)
    data = path.read_bytes()

    @hypothesis.settings(max_examples=runs(100, 3000), deadline=None)
    @hypothesis.given(st.floats(0, 1, exclude_max=True), st.binary(min_size=1, max_size=4))
    def check(place, put):
        at = int(place * len(data))
        path.write_bytes(data[:at] + put + data[at + len(put) :])
        with contextlib.suppress(br.BrigandError):
            br.Log.read(path, errors="skip")

    check()
