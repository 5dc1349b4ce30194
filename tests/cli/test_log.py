"""``brigand log check``: what it prints, and how it ends with a file that is bad."""

import pytest

from cli.command import brigand

ROWS = """\
when,item,click,p
2026-01-01T00:00:00Z,red,1,0.5
2026-01-01T00:00:01Z,blue,0,0.5
2026-01-01T00:00:02Z,red,0,0.5
"""
GIVEN = ["--arm", "item", "--reward", "click", "--time", "when", "--propensity", "p"]


def check(folder, text, *given, name="log.csv"):
    (folder / name).write_text(text, encoding="utf-8")
    return brigand("log", "check", name, *given, cwd=folder)


def test_a_good_log(tmp_path):
    done = check(tmp_path, ROWS, *GIVEN)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(
        "3 rows, 2 arms, 2026-01-01 00:00:00 to 2026-01-01 00:00:02 UTC; mean reward"
    )
    assert "mean of 1/propensity 2 +- 0, where 2 arms were available" in done.stdout
    assert "queue replay: yes: no change of rates is seen" in done.stdout


@pytest.mark.parametrize(
    ("text", "given", "status", "said"),
    [
        (
            ROWS.replace(",0.5", ",0"),
            GIVEN,
            1,
            "3 of 3 rows are bad (3 propensity 0). Line 2: propensity is 0",
        ),
        (ROWS + "2026-01-01T00:00:03Z,red\n", GIVEN, 1, "1 wrong number of fields"),
        (ROWS, ["--arm", "when", *GIVEN[2:], "--time", "p"], 1, "time_unit"),
        ("", GIVEN, 1, "is empty"),
        (ROWS, [*GIVEN, "--time-unit", "h"], 1, "time_unit must be one of 's', 'ms', 'us'"),
        (ROWS, [], 2, "unknown column 'arm'"),
        (ROWS, [*GIVEN, "--unit", "user"], 2, "unknown column 'user'"),
    ],
)
def test_a_bad_log_is_one_line(text, given, status, said, tmp_path):
    done = check(tmp_path, text, *given)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.startswith("Error: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_bad_rows_are_left_out_and_counted(tmp_path):
    done = check(tmp_path, ROWS.replace("blue,0", "blue,"), *GIVEN, "--skip")
    assert done.returncode == 0
    assert "left out: 1 reward missing" in done.stdout


def test_files_that_are_none(tmp_path):
    assert brigand("log", "check", "nothing.csv", cwd=tmp_path).returncode == 2
    done = check(tmp_path, ROWS, name="log.txt")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "must end in .csv, .csv.gz or .parquet" in done.stderr
