"""The code of README.md and of the pages, run as a reader would: files in one folder, blocks in order."""

import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import brigand as br
from brigand.studies.run import plan_study, run_study
from cli.command import PROGRAM, brigand
from pages import STRICT, blocks, run_page
from strength import some

PAGE = Path(__file__).parents[1] / "docs" / "new_policy.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files of the page; blocks of Python without a name are script_1.py, ..."""
    made = tmp_path_factory.mktemp("page")
    scripts = 0
    for language, name, content in blocks(PAGE.read_text(encoding="utf-8")):
        if name is None and language == "python":
            scripts += 1
            name = f"script_{scripts}.py"
        if name is not None:
            (made / name).write_text(content, encoding="utf-8")
    return made


def python(folder, *arguments):
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, cwd=folder, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_page_has_the_files_that_it_speaks_of(folder):
    names = {path.name for path in folder.iterdir()}
    assert names == {"my_policy.py", "script_1.py", "test_my_policy.py", "study.yaml"}


@pytest.mark.full
def test_the_policy_runs_and_prints_what_the_page_shows(folder):
    printed = python(folder, *STRICT, "script_1.py")
    lines = "\n".join(line.rstrip() for line in printed.splitlines())
    assert lines in PAGE.read_text(encoding="utf-8")
    assert (folder / "first.png").stat().st_size > 10_000


@pytest.mark.full
def test_the_policy_passes_its_checks(folder):
    printed = python(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", *STRICT, "test_my_policy.py")
    assert "3 passed" in printed


@pytest.mark.full
def test_what_the_page_shows_of_a_failed_check_is_what_is_said(folder):
    right = (folder / "my_policy.py").read_text(encoding="utf-8")
    careful = 'math.inf if needs_pull(arms[arm]["pulls"], 1.0, header["step"]) else math.nan'
    assert careful in right
    (folder / "faulty.py").write_text(right.replace(careful, "math.inf"), encoding="utf-8")
    code = (
        "from brigand.testing import check_policy\nfrom faulty import UCBTuned\n"
        "try: check_policy(UCBTuned())\nexcept AssertionError as error: print(error)"
    )
    printed = python(folder, "-c", code)
    assert " ".join(printed.split()) in " ".join(PAGE.read_text(encoding="utf-8").split())


@pytest.mark.full
def test_the_study_runs_and_is_right_at_once(folder, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    study, _, load = plan_study(folder / "study.yaml", None)
    assert [named.name for named in study.policies[:3]] == [
        f"UCB1-tuned (scale = {scale})" for scale in (0.25, 0.5, 1)
    ]
    assert load.runs == 5 * 21 * 50
    text = (folder / "study.yaml").read_text(encoding="utf-8")
    small = folder / "small.yaml"
    small.write_text(text.replace("10_000", "500").replace("instances: 20", "instances: 2"), encoding="utf-8")
    run_study(small, folder / "out")
    _, _, again = plan_study(small, folder / "out")
    assert again.missing == []
    results = br.load(folder / "out")
    regret = [results.final(*names).mean() for names in itertools.product(results.problems, results.policies)]
    assert all(0 < mean < 250 for mean in regret)


@pytest.mark.full
def test_the_first_code_of_the_page_on_live_bandits_runs(tmp_path):
    page = (PAGE.parent / "live.md").read_text(encoding="utf-8")
    _, _, code = next(block for block in blocks(page) if block[0] == "python")
    reason = re.search(r'decision.reason +# "(.*)"', code)[1]
    (tmp_path / "live.py").write_text(f"{code}\nprint(decision.reason, bandit.history().status.to_list())\n")
    assert python(tmp_path, *STRICT, "live.py") == f"{reason} ['learned']\n"
    assert (tmp_path / "shop.db").exists()
    assert python(tmp_path, *STRICT, "live.py").endswith(" ['learned', 'learned']\n")  # the same bandit


@pytest.mark.full
@pytest.mark.parametrize("name", ["late", "results"])
def test_a_page_on_simulations_runs_and_prints_what_it_shows(tmp_path, name):
    found = list(blocks((PAGE.parent / f"{name}.md").read_text(encoding="utf-8")))
    code = "".join(block for language, _, block in found if language == "python")
    (tmp_path / "page.py").write_text(code.replace("print(late.summary())\n", ""), encoding="utf-8")
    shown = "".join(block for language, _, block in found if language == "text")
    assert python(tmp_path, *STRICT, "page.py") == shown


@pytest.mark.full
def test_the_page_on_logs_runs_in_order_and_prints_what_it_shows(tmp_path):
    page = (PAGE.parent / "logs.md").read_text(encoding="utf-8")
    found = list(blocks(page))
    code = "".join(block for language, _, block in found if language == "python")
    (tmp_path / "logs.py").write_text(code, encoding="utf-8")
    lines = ["python -W error logs.py", *shell_lines("docs/logs.md")]
    shown = "".join(block for language, _, block in found if language == "text")
    assert shell(tmp_path, *lines) == shown


@pytest.mark.full
def test_the_code_of_the_page_on_figures_runs(tmp_path):
    page = (PAGE.parent / "figures.md").read_text(encoding="utf-8")
    (code,) = (block for language, _, block in blocks(page) if language == "python")
    (tmp_path / "figures.py").write_text(code, encoding="utf-8")
    python(tmp_path, *STRICT, "figures.py")
    assert {path.name for path in tmp_path.glob("*.pdf")} == {"both.pdf", "column.pdf", "own.pdf"}


ROOT = PAGE.parents[1]
TUTORIALS = sorted(path.stem for path in (ROOT / "docs" / "tutorials").glob("*.md") if path.stem != "index")
GALLERY = sorted(path.stem for path in (ROOT / "docs" / "gallery").glob("*.py"))
PORTS = (("8765", "8771"), ("8000", "8772"))  # the usual ones may be in use
LONG = ("paper", "tune", "bounds", "validate")
"""Commands that take a minute or more; tests of their own run them."""


@pytest.mark.parametrize(
    "name", some([*TUTORIALS, "../coming_from", "../index", "../worlds"], ["first_simulation"])
)
def test_a_tutorial_runs_in_order_in_an_empty_folder_and_prints_what_it_shows(tmp_path, name):
    for printed, shown in run_page(ROOT / "docs" / "tutorials" / f"{name}.md", tmp_path, PORTS):
        if shown is not None:
            assert [line.rstrip() for line in printed.splitlines()] == shown.splitlines()


@pytest.mark.parametrize("name", some(GALLERY, ["forced_pulls"]))
def test_a_script_of_the_gallery_draws_its_figure(tmp_path, name):
    script = ROOT / "docs" / "gallery" / f"{name}.py"
    environ = os.environ | {"MPLBACKEND": "agg"}
    subprocess.run([sys.executable, *STRICT, script], check=True, cwd=tmp_path, env=environ)
    assert [path.name for path in tmp_path.iterdir()] == [f"{name}.png"]
    assert (tmp_path / f"{name}.png").stat().st_size > 10_000
    assert script.with_suffix(".png").exists()


def shell_lines(path):
    """Return the lines of a page's shell blocks, as they are typed."""
    text = (ROOT / path).read_text(encoding="utf-8")
    lines = [
        line for language, _, block in blocks(text) if language == "console" for line in block.splitlines()
    ]
    return [line.removeprefix("$ ") for line in lines]


def shell(folder, *lines):
    """Run lines in one shell that ends with the first error, and return what they print."""
    path = os.pathsep.join([str(PROGRAM.parent), os.environ["PATH"]])
    environ = os.environ | {"PATH": path}
    done = subprocess.run(
        ["bash", "-e", "-c", "\n".join(lines)], capture_output=True, text=True, cwd=folder, env=environ
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.full
def test_the_shell_lines_on_live_bandits_run_in_order_in_an_empty_folder(tmp_path):
    lines = [line for line in shell_lines("docs/live.md") if "pip" not in line]
    printed = shell(tmp_path, *lines)
    assert "learned" in printed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["brigand.db", "button.csv", "monday.db"]


@pytest.mark.full
def test_the_shell_lines_on_the_service_run_in_order_in_an_empty_folder(tmp_path):
    lines = [line for line in shell_lines("docs/service.md") if "pip" not in line]
    lines = [line.replace("8765", "8768") for line in lines]  # the usual port may be in use
    printed = shell(tmp_path, *lines)
    assert '"told":"learned"' in printed
    assert '{"status":"paused"}' in printed
    assert (tmp_path / "button.csv").read_text(encoding="utf-8").count("\n") == 2


@pytest.mark.full
def test_the_shell_lines_on_the_dashboard_run_in_order_in_an_empty_folder(tmp_path):
    lines = [line for line in shell_lines("docs/dashboard.md") if "pip" not in line]
    shell(tmp_path, *[line.replace("8766", "8769") for line in lines])
    assert ">button</bdi>" in (tmp_path / "list.html").read_text(encoding="utf-8")
    assert "even split" in (tmp_path / "button.html").read_text(encoding="utf-8")
    assert (tmp_path / "key.txt").read_text(encoding="utf-8").splitlines()[-1].startswith("brg_")


@pytest.mark.full
def test_the_code_on_the_dashboard_prints_what_it_shows(tmp_path):
    page = (ROOT / "docs" / "dashboard.md").read_text(encoding="utf-8")
    found = {language: block for language, _, block in blocks(page)}
    (tmp_path / "verdict.py").write_text(found["python"], encoding="utf-8")
    assert python(tmp_path, *STRICT, "verdict.py") == found["text"]


def study_lines(path):
    return [line for line in shell_lines(path) if re.match("brigand (run|compare|plot|report|schema) ", line)]


@pytest.mark.full
def test_the_shell_lines_on_studies_run_in_order(tmp_path):
    page = (ROOT / "docs/studies.md").read_text(encoding="utf-8")
    (text,) = (block for language, _, block in blocks(page) if language == "yaml")
    (tmp_path / "study.yaml").write_text(text, encoding="utf-8")
    lines = study_lines("docs/studies.md")
    assert len(lines) >= 4
    shell(tmp_path, *lines)
    assert (tmp_path / "out" / "report.html").exists()


DEAR = ("brigand paper --figure horizon", "brigand tune --family gaussian", "brigand validate --quick")
"""Lines of the README that take a quarter of an hour together; tests of the commands run them smaller."""


@pytest.mark.long
@pytest.mark.full
def test_the_readme_runs_in_order_in_an_empty_folder(tmp_path):
    """All code and every shell line, but for those that are dear or need the clone: CI runs the latter."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    page = ROOT / "README.md"
    lines = page.read_text(encoding="utf-8").splitlines()
    out = [line for line in lines if line.startswith(("make ", *DEAR))]
    assert [line.split("#")[0].strip() for line in out] == ["make demo", "make test", *DEAR]
    printed = [text for text, _ in run_page(page, tmp_path, [(line, "") for line in out], seconds=3600)]
    assert [bool(text) for text in printed] == [False, False, True, False, False]
    for name in ("x.nc", "x.pdf", "out/report.html", "shop.db"):
        assert (tmp_path / name).stat().st_size > 1_000


@pytest.mark.every(3)
@pytest.mark.parametrize("path", ["docs/studies.md", "docs/cluster.md", "docs/new_policy.md", "README.md"])
def test_every_command_of_a_page_has_the_options_that_are_given(path, tmp_path):
    for line in shell_lines(path):
        if not line.startswith("brigand "):
            continue
        words = shlex.split(line, comments=True)[1:]
        words = [word for word in words if word not in (">", "study.schema.json")]
        long = words[0] in LONG or words[0] in ("run", "status", "compare", "plot", "report")
        done = brigand(*words, *(["--help"] if long else []), cwd=tmp_path)
        assert done.returncode == 0, (line, done.stderr)
