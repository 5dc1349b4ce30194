"""A policy in a module of the user's, beside the study: compiled and cached like ours, and kept apart."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import brigand as br
import own_policy
from brigand.studies.run import plan_study
from studies.packed import blocks

STUDY = """\
name: mine and another
horizon: 500
replications: 3
checkpoints: 5
environments:
  - name: pair
    arms: [{type: Gaussian, mu: 0, sigma: 1}, {type: Gaussian, mu: 0.5, sigma: 1}]
policies:
  - {policy: "mine:Mine", name: mine, sweep: {scale: [0.5, 1]}}
  - UCB1-sigma
"""
MINE = """\
from dataclasses import dataclass

import brigand as br
from brigand.policies.kernels import argmax  # so that a module of Brigand's is among the imports

import rules


@dataclass(frozen=True)
class Mine(rules.AuthorsUCB1):
    \"\"\"The rules are in another file of the user's.\"\"\"
"""
PROGRAM = """
import json, sys
from pathlib import Path

{first}
from brigand.simulation.step import simulation_loop
from brigand.studies.run import run_study

load = run_study(Path("study.yaml"), Path(sys.argv[1]), workers=1)
from mine import Mine

stats = simulation_loop(Mine.kernels).stats
names = {{piece.key: piece.task["policy"]["type"] for piece in load.missing}}
print(json.dumps({{
    "keys": {{cell["policy"]: [cell["key"]] for cell in load.cells}},
    "run": sorted(names.values()),
    "unused": load.unused,
    "hits": sum(stats.cache_hits.values()),
    "misses": sum(stats.cache_misses.values()),
}}))
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A place for compiled code that has nothing of an earlier run of these tests."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def folder(tmp_path):
    """A study and its modules; their source is like that of no other test."""
    rules = Path(own_policy.__file__).read_text(encoding="utf-8")
    (tmp_path / "study.yaml").write_text(STUDY, encoding="utf-8")
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    (tmp_path / "rules.py").write_text(f"{rules}\n# {tmp_path}\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(folder, cache):
    """Return a function that runs the study in a new process and returns what that did."""

    def run_it(out, first=""):
        """Put the results into the folder `out`; before all else run the statement `first`."""
        done = subprocess.run(
            [sys.executable, "-B", "-c", PROGRAM.format(first=first), str(folder / out)],
            capture_output=True,
            text=True,
            cwd=folder,
            # Its modules are found because they lie beside the study, not because it is the current folder.
            env=os.environ | {"PYTHONSAFEPATH": "1", "NUMBA_CACHE_DIR": str(cache)},
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run_it


def pieces(folder, out):
    return blocks(folder / out)


@pytest.mark.full
def test_a_second_process_does_not_compile_again_and_writes_the_same_bytes(folder, run):
    first, second = run("a"), run("b")
    assert (first["hits"], first["misses"]) == (0, 1)
    assert (second["hits"], second["misses"]) == (1, 0)
    assert pieces(folder, "a") == pieces(folder, "b")
    assert list(first["keys"]) == ["mine (scale = 0.5)", "mine (scale = 1)", "UCB1-sigma"]


@pytest.mark.full
@pytest.mark.parametrize("edited", ["mine.py", "rules.py"])
def test_an_edit_of_the_module_or_what_it_imports_makes_its_pieces_new_and_no_others(folder, run, edited):
    before = run("out")
    assert before["run"] == ["UCB1", "mine:Mine", "mine:Mine"]
    again = run("out")
    assert again["run"] == []
    assert again["keys"] == before["keys"]
    text = (folder / edited).read_text(encoding="utf-8")
    (folder / edited).write_text(text + "\nVERSION = 2\n", encoding="utf-8")
    after = run("out")
    assert after["run"] == ["mine:Mine", "mine:Mine"]
    assert after["unused"] == 2
    assert after["misses"] == (edited == "rules.py")  # the kernels are there
    assert after["keys"]["UCB1-sigma"] == before["keys"]["UCB1-sigma"]
    for name in ("mine (scale = 0.5)", "mine (scale = 1)"):
        assert not set(after["keys"][name]) & set(before["keys"][name])


@pytest.mark.full
def test_an_edit_of_the_rule_is_what_runs(folder, run):
    """Numba does not look at the source: old code must not run under a new key."""
    run("old")
    rules = folder / "rules.py"
    text = rules.read_text(encoding="utf-8")
    assert "value > highest" in text
    rules.write_text(text.replace("value > highest", "value >= highest + 1"), encoding="utf-8")
    run("new")
    old, new = pieces(folder, "old"), pieces(folder, "new")
    assert len(set(old.values()) & set(new.values())) == 1  # UCB1's


@pytest.mark.full
def test_keys_and_compiled_code_do_not_depend_on_what_else_is_loaded(run):
    first = run("a")
    second = run("b", "import brigand.figures.regret, brigand.testing, brigand.cli.paper")
    assert first["keys"] == second["keys"]
    assert (second["hits"], second["misses"]) == (1, 0)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("nowhere:Mine", "line 9: 'nowhere:Mine' cannot be imported"),
        ("own_policy:Nothing", "line 9: 'own_policy:Nothing' cannot be imported"),
        ("own_policy:AuthorsUCB1Parameters", "line 9: .* is no policy: give a subclass of brigand.Policy"),
    ],
)
def test_a_policy_that_is_not_there_is_an_error_that_names_the_line(tmp_path, monkeypatch, policy, message):
    monkeypatch.setattr(sys, "path", [*sys.path])
    path = tmp_path / "study.yaml"
    path.write_text(STUDY.replace("mine:Mine", policy), encoding="utf-8")
    with pytest.raises(br.InvalidValueError, match=message):
        plan_study(path, None)


def test_a_parameter_that_it_does_not_have_is_an_error_that_names_those_it_has(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    path = tmp_path / "study.yaml"
    text = STUDY.replace("mine:Mine", "own_policy:AuthorsUCB1").replace("scale:", "scal:")
    path.write_text(text, encoding="utf-8")
    with pytest.raises(br.InvalidValueError, match=r"line 9: unknown parameter of AuthorsUCB1 'scal'. Did"):
        plan_study(path, None)
