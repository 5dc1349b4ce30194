"""Declared packages, what the package index shows, and serving with few packages installed."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
import venv
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "brigand"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
BACKENDS = {"httptools", "uvloop"}  # uvicorn imports them


def requirements(lines):
    found = map(Requirement, lines)
    return {canonicalize_name(one.name): one for one in found if one.name != "brigand"}


DECLARED = requirements(PROJECT["project"]["dependencies"])
EXTRAS = PROJECT["project"]["optional-dependencies"]
SERVING = requirements(
    line.partition("#")[0]
    for line in (ROOT / "requirements-serve.txt").read_text(encoding="utf-8").splitlines()
    if line.partition("#")[0].strip()
)


def imported():
    """Yield the owners of each module that the source imports, by name or by `checks.package`."""
    modules = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                modules.add(node.module)
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "checks.package":
                modules.add(node.args[0].value)
    names = {module.partition(".")[0] for module in modules} - set(sys.stdlib_module_names) - {"brigand"}
    owners = packages_distributions()
    for name in names:
        yield {canonicalize_name(owner) for owner in owners[name]}


def test_what_is_imported_is_declared_and_what_is_declared_is_imported():
    used = [name for name in EXTRAS if name not in ("docs", "test", "dev")]
    optional = requirements([line for name in used for line in EXTRAS[name]])
    declared = DECLARED.keys() | optional.keys()
    owners = list(imported())
    assert [names for names in owners if not names & declared] == []
    assert declared - set().union(*owners) == BACKENDS


def test_serving_needs_a_part_of_the_declared_packages_with_the_same_lower_bounds():
    for name, needed in SERVING.items():
        lower, declared = (
            [bound for bound in one.specifier if bound.operator == ">="] for one in (needed, DECLARED[name])
        )
        assert lower == declared, name


def test_the_lock_pins_every_declared_package_within_its_bounds():
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    pinned = [Requirement(line) for line in lines if not line.lstrip().startswith("#")]
    for name, needed in (
        DECLARED | requirements(line for lines in EXTRAS.values() for line in lines)
    ).items():
        versions = [
            next(iter(one.specifier)).version for one in pinned if canonicalize_name(one.name) == name
        ]
        assert versions, name
        assert all(needed.specifier.contains(version) for version in versions), name


def test_the_readme_of_the_package_index_has_no_link_into_the_repository():
    hook = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    text = "".join(
        (ROOT / part["path"]).read_text(encoding="utf-8") if "path" in part else part["text"]
        for part in hook["fragments"]
    )
    for change in hook["substitutions"]:
        text = re.sub(change["pattern"], change["replacement"], text)
    links = re.findall(r"\]\(([^)\s]*)\)", text)
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    assert "docs/live.md" in text


def test_the_package_is_run_as_the_command():
    done = subprocess.run([sys.executable, "-m", "brigand", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", done.stdout)


# Serving.

ABSENT = [
    "scipy",
    "pandas",
    "xarray",
    "matplotlib",
    "pydantic",
    "h5netcdf",
    "h5py",
    "jinja2",
    "markupsafe",
    "ruamel",
    "pyarrow",
    "dask",
    "distributed",
]
WITHOUT = """
import sys

class Absent:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {absent}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent)
"""
SERVE = """
import json
import brigand as br

with br.Bandit(["a", "b"], br.ForcedExploration(br.Linear()), store="sqlite:///x.db", name="x", seed=0) as x:
    first = x.ask()
    x.tell(first.id, 0.25)
    pending = x.ask()
with br.Bandit.open("sqlite:///x.db", "x") as x:
    history, summary = x.history(), x.summary(support=(0, 1))
    assert x.arms() == ["a", "b"]
assert [row["decision"] for row in history] == [first.id, pending.id]
assert [row["reward"] for row in history] == [0.25, None]
assert history[0]["asked_at"].utcoffset().total_seconds() == 0
assert [row["arm"] for row in summary] == ["a", "b"]
assert [row["told"] for row in summary] == [1, 0]
assert 0 <= summary[0]["lower"] < 0.25 < summary[0]["upper"] <= 1
for policy in (br.FixedBudgetETC(gap=0.1, sigma=1.0), br.ExtendedRobustUCB(C=3.0, p=4, q=2)):
    try:
        br.Bandit(["a", "b"], policy, horizon=100)
        raise AssertionError
    except br.MissingPackageError as error:
        assert "pip install scipy" in str(error)
"""
COMMAND = "import sys\nfrom brigand.cli import main\nsys.argv = ['brigand', *{arguments}]\nmain()"


def python(folder, code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder)


@pytest.mark.full
def test_a_bandit_serves_without_the_packages_of_research(tmp_path):
    done = python(tmp_path, WITHOUT.format(absent=set(ABSENT)) + SERVE)
    assert done.returncode == 0, done.stderr


@pytest.mark.full
def test_the_command_serves_without_the_packages_of_research(tmp_path):
    without = WITHOUT.format(absent=set(ABSENT) - {"pydantic"})  # which typer needs from 0.29 on

    def brigand(*arguments):
        return python(tmp_path, without + COMMAND.format(arguments=list(arguments)))

    assert brigand("--help").returncode == 0
    assert brigand("bandit", "create", "x", "--arm", "a", "--arm", "b", "--policy", "UCB1").returncode == 0
    asked = json.loads(brigand("bandit", "ask", "x", "--json").stdout)
    assert brigand("bandit", "tell", "x", asked["id"], "0.5").stdout == "learned\n"
    assert "a" in brigand("bandit", "show", "x", "--once").stdout
    assert brigand("bandit", "export", "x", "x.csv").returncode == 0
    assert brigand("bandit", "import", "x", "x.csv").returncode == 0
    assert "MOSS" in brigand("policies").stdout
    for arguments, module in (
        (("bandit", "export", "x", "x.parquet"), "pyarrow"),
        (("paper",), "matplotlib"),
        (("run", "study.yaml"), "pydantic|ruamel"),
    ):
        done = brigand(*arguments)
        assert done.returncode == 2
        assert re.search(f"Error: .*({module}).*pip install", done.stderr), done.stderr


@pytest.mark.full
def test_the_dashboard_and_its_reports_need_no_packages_of_research(tmp_path):
    """But Jinja2, which the extra of the service brings, and pydantic, which FastAPI does."""
    without = WITHOUT.format(absent=set(ABSENT) - {"jinja2", "markupsafe", "pydantic"})
    command = without + COMMAND.format(arguments=["bandit", "create", "x", "--arm", "a", "--arm", "b"])
    assert python(tmp_path, command).returncode == 0
    done = python(tmp_path, without + COMMAND.format(arguments=["bandit", "report", "x"]))
    assert done.returncode == 0, done.stderr
    done = python(
        tmp_path, without + "from brigand.service.app import create_dashboard as make; make('brigand.db')"
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.full
def test_serving_needs_no_more_than_its_requirements_and_is_uninstalled_without_a_trace(tmp_path):
    """In an environment of its own, from the package index."""
    venv.create(tmp_path / "venv", with_pip=True)
    executable = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["XDG_CACHE_HOME"] = str(tmp_path / "cache")

    def run(*arguments):
        done = subprocess.run(
            [executable, *arguments], capture_output=True, text=True, cwd=tmp_path, env=environment
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("-m", "pip", "install", "--requirement", ROOT / "requirements-serve.txt")
    run("-m", "pip", "install", "--no-deps", ROOT)
    there = run("-c", f"from importlib.util import find_spec\nprint([n for n in {ABSENT} if find_spec(n)])")
    assert there == "[]\n"
    run("-W", "error", "-c", SERVE)
    assert "FE-Linear" in run("-m", "brigand", "bandit", "list", "--store", "x.db")
    run("-m", "pip", "uninstall", "--yes", "brigand")
    assert list((tmp_path / "venv").rglob("*brigand*")) == []
