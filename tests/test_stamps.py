"""Compiled code and results are used again as long as they are right, and no longer."""

import json
import math
import os
import pickle
import shutil
import subprocess
import sys
import sysconfig
import types
from pathlib import Path

import numba
import numpy as np
import pytest

import brigand as br
from brigand import disk_cache, jit, stamps
from brigand.simulation.stamp import code_stamp
from strength import runs

PACKAGE = Path(br.__file__).parent
PROGRAM = """
import json, sys
from pathlib import Path
import brigand as br
from brigand.simulation.step import trace_loop
from brigand.studies.run import run_study

policies = {policies}
found = {{}}
for name, policy in policies.items():
    arms = br.trace(policy, [[0.25, 0.75]] * 60, seed=1).tolist()
    stats = trace_loop(policy.kernels).stats
    found[name] = [sum(stats.cache_hits.values()), sum(stats.cache_misses.values()), arms]
if Path("study.yaml").exists():
    load = run_study(Path("study.yaml"), Path("out"), workers=1)
    found["run"] = sorted({{piece.task["policy"]["type"] for piece in load.missing}})
print(json.dumps(found))
"""
STUDY = """\
name: two
horizon: 60
replications: 2
environments:
  - name: pair
    arms: [{type: Bernoulli, p: 0.25}, {type: Bernoulli, p: 0.75}]
policies:
"""


@pytest.fixture
def run(tmp_path):
    """Return a function that runs policies in a new process and returns what was compiled, and its output."""

    def run_it(policies, *folders, python=sys.executable):
        paths = os.pathsep.join(map(str, (tmp_path, *folders)))
        done = subprocess.run(
            [python, "-B", "-c", PROGRAM.format(policies=policies)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": paths, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run_it


def outcomes(found):
    """Return what each policy did: "hit" or "miss"."""
    return {name: "hit" if value[0] else "miss" for name, value in found.items() if name != "run"}


def edit(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.full
def test_an_edit_of_this_package_recompiles_and_runs_again_what_uses_it(tmp_path, run):
    """A comment: nothing. A policy's kernel: that policy. A shared kernel: those that call it."""
    copy = tmp_path / "copy" / "brigand"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "study.yaml").write_text(STUDY + "  - MOSS\n  - Random\n")
    moss = copy / "policies" / "ucb" / "moss.py"
    policies = "{'MOSS': br.MOSS(), 'Random': br.UniformRandom()}"

    first = run(policies, tmp_path / "copy")
    assert outcomes(first) == {"MOSS": "miss", "Random": "miss"}
    assert first["run"] == ["MOSS", "UniformRandom"]
    kept = sorted(path.name for path in (tmp_path / "cache").rglob("*.nb?"))

    edit(moss, '"""MOSS: an', '"""About MOSS: an')
    edit(moss, "    ratio = share / count\n", "    # A comment.\n\n    ratio = (share / count)\n")
    second = run(policies, tmp_path / "copy")
    assert outcomes(second) == {"MOSS": "hit", "Random": "hit"}
    assert second["run"] == []

    edit(moss, "math.log(ratio) / count", "1000.0 * math.log(ratio) / count")
    third = run(policies, tmp_path / "copy")
    assert outcomes(third) == {"MOSS": "miss", "Random": "hit"}
    assert third["run"] == ["MOSS"]
    assert third["MOSS"][2] != first["MOSS"][2]
    now = sorted(path.name for path in (tmp_path / "cache").rglob("*.nb?"))
    assert len(now) == len(kept)  # the old version is gone
    assert now != kept

    edit(copy / "policies" / "kernels" / "choices.py", "uniform *= ties", "uniform *= 1.0 * ties")
    fourth = run(policies, tmp_path / "copy")
    assert outcomes(fourth) == {"MOSS": "miss", "Random": "hit"}
    # Whose module does not use the kernel, but imports that of the other baseline, which does.
    assert "MOSS" in fourth["run"]


MINE = """\
import json
from dataclasses import dataclass
from pathlib import Path

import brigand as br

{first}

def select(parameters, header, arms, memory, candidates, rng):
    return candidates[{choice}]


@dataclass(frozen=True)
class Mine(br.UniformRandom):
    \"\"\"Always the same arm.\"\"\"

    kernels = br.UniformRandom.kernels._replace(select=select)
"""
OUTSIDE = 'json.loads((Path(__file__).parent / "choice.json").read_text())["choice"]'
STALE = {
    "a_global": (f"CHOICE = {OUTSIDE}", "CHOICE"),
    "a_global_of_another_module": ("import other", "other.SETTINGS[0]"),
    "a_function_of_another_module": ("from other import choice", "choice()"),
    "a_function_behind_two_modules": ("import other", "other.inner.choice()"),
}


STALE = runs({name: STALE[name] for name in ("a_global", "a_function_behind_two_modules")}, STALE)


def write_policies(folder, definitions):
    """Write a module with a policy for each name, and a study of all; return code that makes them."""
    names = []
    for name, (first, choice) in definitions.items():
        (folder / f"{name}.py").write_text(MINE.format(first=first, choice=choice))
        names.append(f"{name!r}: __import__({name!r}).Mine()")
    lines = "".join(f'  - "{name}:Mine"\n' for name in definitions)
    (folder / "study.yaml").write_text(STUDY + lines)
    return f"{{{', '.join(names)}}}"


@pytest.mark.full
def test_what_a_kernel_reads_when_its_module_is_loaded_is_never_stale(tmp_path, run):
    policies = write_policies(tmp_path, STALE)
    (tmp_path / "other.py").write_text(
        "import json\nfrom pathlib import Path\nimport brigand as br\nimport inner\n\n"
        f"SETTINGS = ({OUTSIDE},)\n\n"
        "@br.kernel\ndef choice():\n    return SETTINGS[0]\n"
    )
    (tmp_path / "inner.py").write_text(
        "import json\nfrom pathlib import Path\nimport brigand as br\n\n"
        f"CHOICE = {OUTSIDE}\n\n"
        "@br.kernel\ndef choice():\n    return CHOICE\n"
    )
    for choice in (0, 1):
        (tmp_path / "choice.json").write_text(json.dumps({"choice": choice, "unused": choice}))
        found = run(policies, PACKAGE.parent)
        assert found["run"] == sorted(f"{name}:Mine" for name in STALE)
        assert {name: set(found[name][2]) for name in STALE} == {name: {choice} for name in STALE}
    (tmp_path / "choice.json").write_text(json.dumps({"choice": choice, "unused": "changed"}))
    again = run(policies, PACKAGE.parent)
    assert outcomes(again) == dict.fromkeys(STALE, "hit")
    assert again["run"] == []


HELPERS = runs(("metadata",), ("metadata", "attribute", "nothing"))


def upgrade(site, told, choice):
    """Install a helper package that says its version in its metadata, in an attribute, or not at all."""
    package = site / f"helper_{told}"
    package.mkdir(exist_ok=True)
    attribute = f'__version__ = "{choice}.0"\n' if told == "attribute" else f'"""Version {choice}."""\n'
    (package / "__init__.py").write_text(f"{attribute}from helper_{told}.rules import choice\n")
    # What runs stands for the function that is called, which stays the same.
    (package / "rules.py").write_text(
        "from numba.extending import overload\n\n"
        f"def choice():\n    return TABLE[0]\n\nTABLE = [{choice}]\n\n"
        f"@overload(choice)\ndef implementation():\n    return lambda: {choice}\n"
    )
    if told == "metadata":
        for old in site.glob(f"helper_{told}-*.dist-info"):
            shutil.rmtree(old)
        information = site / f"helper_{told}-{choice}.0.dist-info"
        information.mkdir()
        (information / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: helper_{told}\nVersion: {choice}.0\n"
        )


@pytest.mark.full
def test_a_helper_package_that_is_upgraded_changes_what_runs(tmp_path, run):
    """In an environment of its own, which finds the rest where this one does."""
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    scheme = {"base": str(environment), "platbase": str(environment)}
    site = Path(sysconfig.get_path("purelib", vars=scheme))
    (site / "rest.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = next(path for path in environment.rglob("python*") if path.stem == "python")
    names = [f"with_{told}" for told in HELPERS]
    helpers = {f"with_{told}": (f"import helper_{told}", f"helper_{told}.choice()") for told in HELPERS}
    policies = write_policies(tmp_path, helpers)
    for choice in (0, 1):
        for told in HELPERS:
            upgrade(site, told, choice)
        found = run(policies, PACKAGE.parent, python=str(python))
        assert found["run"] == sorted(f"{name}:Mine" for name in names)
        assert {name: set(found[name][2]) for name in names} == {name: {choice} for name in names}


def module(tmp_path, name, text):
    """Return a module that was loaded from a file with this text."""
    path = tmp_path / f"{name}.py"
    path.write_text(text)
    made = types.ModuleType(name)
    made.__file__ = str(path)
    exec(compile(text, str(path), "exec"), vars(made))
    return made


def variants(tmp_path, monkeypatch, first, second):
    """Return the two stamps of the function `f` of a module with two texts."""
    found = []
    for folder, text in (("a", first), ("b", second)):
        (tmp_path / folder).mkdir()
        made = module(tmp_path / folder, "made", text)
        monkeypatch.setitem(sys.modules, "made", made)
        found.append((stamps.of_compiled(made.f), stamps.of_modules("made"), stamps.of_values(made.f)))
    return found


SAME = {
    "a comment": ("def f(x):\n    return x\n", "# first\ndef f(x):  # here\n\n    return x\n"),
    "a docstring": (
        'def f(x):\n    """One."""\n    return x\n',
        '"""A."""\ndef f(x):\n    """Two."""\n    return x\n',
    ),
    "layout": ("def f(x):\n    return (x + 1) * 2\n", "def f(\n    x,\n):\n    return ((x + 1) * 2)\n"),
}
OTHER = {
    "a constant": ("def f(x):\n    return x + 1\n", "def f(x):\n    return x + 2\n"),
    "an operation": ("def f(x):\n    return x + 1\n", "def f(x):\n    return x - 1\n"),
    "a default": ("def f(x=1):\n    return x\n", "def f(x=2):\n    return x\n"),
    "a function within": (
        "def f(x):\n    return [y + 1 for y in x]\n",
        "def f(x):\n    return [y + 2 for y in x]\n",
    ),
    "what it calls": (
        "def g():\n    return 1\ndef f():\n    return g()\n",
        "def g():\n    return 2\ndef f():\n    return g()\n",
    ),
    "what it takes from a module": (
        "import math\ndef f(x):\n    return math.sin(x)\n",
        "import math\ndef f(x):\n    return math.cos(x)\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", SAME)
def test_comments_docstrings_and_layout_leave_the_stamps_as_they_are(tmp_path, monkeypatch, kind):
    first, second = variants(tmp_path, monkeypatch, *SAME[kind])
    assert first == second


@pytest.mark.parametrize("kind", OTHER)
def test_other_code_has_another_stamp(tmp_path, monkeypatch, kind):
    first, second = variants(tmp_path, monkeypatch, *OTHER[kind])
    assert first[0] != second[0]
    assert first[1] != second[1]


VALUES = (
    1,
    2,
    1.0,
    True,
    "1",
    (1,),
    (1, 2),
    [1],
    {1: 2},
    frozenset({1}),
    np.array([1.0]),
    np.array([1]),
    None,
)


def test_each_value_of_a_global_has_its_own_stamp(tmp_path, monkeypatch):
    made = module(tmp_path, "made", "def f():\n    return VALUE\n")
    monkeypatch.setitem(sys.modules, "made", made)
    found = []
    for value in VALUES:
        made.VALUE = value
        found.append((stamps.of_compiled(made.f), stamps.of_values(made.f)))
    assert len({compiled for compiled, _ in found}) == len({values for _, values in found}) == len(VALUES)


STAMPS = """
import brigand as br
from brigand import stamps
from brigand.live import loop
from brigand.simulation import step
stamped, stamps.of_compiled = stamps.of_compiled, lambda *functions: print(stamped(*functions)) or ""
for policy in br.CATALOGUE.values():
    step.trace_loop(policy.kernels), step.simulation_loop(policy.kernels), loop.live_loop(policy)
"""


@pytest.mark.full
def test_another_process_has_the_same_stamps():
    """Sets are in another order there, those among the constants of a function, too."""
    found = [
        subprocess.run(
            [sys.executable, "-c", STAMPS],
            env=os.environ | {"PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in (1, 2, 3)
    ]
    assert len(set(found)) == 1


def test_modules_that_name_each_other_are_walked_once(tmp_path, monkeypatch):
    first = module(tmp_path, "first", "def f():\n    return second.first.second.NUMBER\n")
    second = module(tmp_path, "second", "NUMBER = 3\n")
    first.second, second.first = second, first
    monkeypatch.setitem(sys.modules, "first", first)
    before = stamps.of_compiled(first.f)
    second.NUMBER = 4
    assert stamps.of_compiled(first.f) != before


def test_a_function_whose_file_was_edited_counts_as_it_is_in_memory(tmp_path, monkeypatch):
    made = module(tmp_path, "made", "def f():\n    return 1\n")
    monkeypatch.setitem(sys.modules, "made", made)
    before = stamps.of_values(made.f)
    stamps._codes_in.cache_clear()
    Path(made.__file__).write_text("def f():\n    return 2\n")
    assert stamps.of_values(made.f) != before


def test_pieces_know_the_code_of_a_policy_and_of_no_other():
    """The modules behind MOSS: its own, what all share, the simulator; no other policy."""
    found = {}
    stamps._collect("brigand.policies.ucb.moss", "brigand", found)
    stamps._collect("brigand.simulation.step", "brigand", found)
    policies = {name for name in found if name.startswith("brigand.policies.")}
    kernels = {f"brigand.policies.kernels.{name}" for name in ("choices", "arithmetic")}
    shared = {"brigand.policies.base", "brigand.policies.given", *kernels}
    assert policies == {"brigand.policies.ucb.moss", *shared}
    assert "brigand.environments.draw" in found
    assert len({code_stamp(policy, "step") for policy in (br.MOSS(), br.UCB1(), br.KLUCB())}) == 3
    assert code_stamp(br.MOSS(), "step") == code_stamp(br.MOSS(anytime=True), "step")


def doubled(x):
    return 2.0 * x


def compiled_twice():
    """Return the same small function, compiled by two dispatchers, as two processes would have it."""

    def make():
        def loop(x):
            return doubled(x) + 1.0

        return jit.compile_loop(loop, jit.kernel(doubled))

    return make(), make()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "compiled"
    monkeypatch.setattr(disk_cache, "folder", lambda: folder)
    return folder


def misses(dispatcher):
    return sum(dispatcher.stats.cache_misses.values())


def test_compiled_code_that_is_damaged_is_compiled_again(cache):
    first, second = compiled_twice()
    assert first(1.0) == 3.0
    for path in cache.iterdir():
        path.write_bytes(path.read_bytes()[:20])
    assert second(1.0) == 3.0
    assert (misses(first), misses(second)) == (1, 1)
    third, _ = compiled_twice()
    assert third(1.0) == 3.0
    assert misses(third) == 0


@pytest.mark.every(4)
@pytest.mark.parametrize("kind", [".nbi", ".nbc", ".nb?"])
@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: bytes(range(256)) * 20,
        lambda content: content[:-1] + bytes([content[-1] ^ 1]),
        lambda content: content[: len(content) // 2] + bytes(len(content) - len(content) // 2),
        lambda content: pickle.dumps("another thing"),
    ],
    ids=["empty", "garbage", "a bit", "zeros", "another"],
)
def test_any_damage_is_noticed_and_mended(cache, kind, damage):
    first, second = compiled_twice()
    assert first(1.0) == 3.0
    for path in cache.glob(f"*{kind}"):
        path.write_bytes(damage(path.read_bytes()))
    assert second(1.0) == 3.0
    third, _ = compiled_twice()
    assert third(1.0) == 3.0
    assert misses(third) == 0


@pytest.mark.parametrize("kind", [".nbi", ".nbc"])
def test_damage_that_cannot_be_mended_is_no_reason_to_fail(cache, kind, monkeypatch):
    first, second = compiled_twice()
    assert first(1.0) == 3.0
    for path in cache.glob(f"*{kind}"):
        path.unlink()
        path.mkdir()  # can be neither read nor removed, as a file of another user
    assert second(1.0) == 3.0


def test_a_user_without_a_home_keeps_nothing(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_: Path("~/.cache"))  # nobody knows the user
    first, _ = compiled_twice()
    assert first(1.0) == 3.0
    assert not list(tmp_path.iterdir())


def test_where_nothing_can_be_kept_all_works(cache):
    cache.write_text("a file, where a folder should be")
    first, second = compiled_twice()
    assert first(1.0) == second(1.0) == 3.0


def test_where_numba_is_not_as_expected_its_own_cache_serves(cache, monkeypatch, tmp_path):
    import numba
    from numba.core import caching

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "numba"))
    monkeypatch.delattr(caching, "_CacheLocator")
    first, second = compiled_twice()
    assert first(1.0) == second(1.0) == 3.0
    assert (misses(first), misses(second)) == (1, 0)
    assert not cache.exists()


def test_old_versions_are_removed_and_those_of_other_pythons_are_not(cache):
    first, _ = compiled_twice()
    cache.mkdir()
    place = Path(first._cache._cache_file._index_path).name
    name, _, rest = place.rpartition("-")
    old = [
        f"{name}-{'0' * 32}.{tag}{kind}" for tag in ("py2", rest.split(".")[1]) for kind in (".nbi", ".1.nbc")
    ]
    for file in [*old, "another-0.nbi"]:
        (cache / file).write_bytes(b"")
    assert first(1.0) == 3.0
    assert {path.name for path in cache.iterdir()} >= {*old[:2], "another-0.nbi", place}
    assert not {path.name for path in cache.iterdir()} & {*old[2:]}


UNCOMPILED = """
import brigand as br
env = br.Environment.stationary([br.Bernoulli(0.4), br.Bernoulli(0.6)])
policy = br.ForcedExploration(br.Linear())
for method in ("step", "skip"):
    res = br.simulate(env, {"FE": policy}, 50, 2, method=method)
    print(res.dataset["regret"].to_numpy()[:, :, -1].round(6).tolist())
bandit = br.Bandit(["a", "b"], policy, seed=0)
for i in range(4):
    bandit.tell(bandit.ask().id, i)
print(bandit.summary().told.to_list(), br.trace(policy, [[0.0, 1.0]] * 9).tolist())
"""


@pytest.mark.full
def test_without_a_compiler_the_numbers_are_the_same(tmp_path):
    printed = [
        subprocess.run(
            [sys.executable, "-W", "error", "-c", UNCOMPILED],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"NUMBA_DISABLE_JIT": disabled},
        ).stdout
        for disabled in "01"
    ]
    assert printed[0] == printed[1] != ""


def test_functions_of_a_script_are_not_kept(cache, monkeypatch):
    monkeypatch.setattr(doubled, "__module__", "__main__")
    first, _ = compiled_twice()
    assert first(1.0) == 3.0
    assert math.isclose(first(2.0), 5.0)
    assert not cache.exists()
