"""The shape of the package: imports run downwards and are quick, public names are listed and documented."""

import ast
import functools
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import brigand as br

PACKAGE = Path(br.__file__).parent
MODULES = sorted(path for path in PACKAGE.rglob("*.py"))

# A room may import itself and the rooms of all lower floors.
FLOORS = [
    {
        *("errors", "checks", "display", "files", "spec", "stamps", "disk_cache"),
        *("citations", "palette", "words", "client"),
    },
    {"jit"},
    {"shortcuts"},
    {"rng"},
    {"policies", "environments"},
    {"theory"},
    {"figures"},
    {"simulation"},
    {"testing", "storage", "logs"},
    {"papers", "tuning", "studies", "live"},
    {"dashboard"},
    {"service"},
    {"cli"},
    {"__main__"},
]


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@functools.cache
def parsed(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a file."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def called(path: Path) -> list[tuple[str, ast.Call]]:
    """Return what a file calls, as it is written there, and the calls."""
    return [(ast.unparse(node.func), node) for node in parsed(path) if isinstance(node, ast.Call)]


def imported_rooms(path: Path) -> set[str]:
    """Return the rooms that a file imports, in code that runs (not what is only there for type checkers)."""
    for_types = {
        inner
        for node in parsed(path)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    names = set()
    for node in parsed(path):
        if node in for_types:
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("brigand"):
            parts = (node.module or "").split(".")
            names |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {n.name.split(".")[1] for n in node.names if n.name.startswith("brigand.")}
    return names - {"__version__"}


def name_of(path: Path) -> str:
    return ".".join(("brigand", *path.relative_to(PACKAGE).with_suffix("").parts))


def imported_modules(path: Path) -> set[str]:
    """Return the modules of ours that a file imports, also those for type checkers."""
    names = set()
    for node in parsed(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


def upwards(path: Path) -> set[str]:
    """Return the rooms that a file imports and must not."""
    own = room(path)
    floor = next(i for i, rooms in enumerate(FLOORS) if own in rooms)
    allowed = {own}.union(*FLOORS[:floor])
    if own in FLOORS[0]:
        allowed = {"errors", "checks", "palette"} | {own}
    return imported_rooms(path) - allowed


def test_imports_run_downwards():
    found = {name_of(path): upwards(path) for path in MODULES if room(path) != "__init__"}
    assert {name: rooms for name, rooms in found.items() if rooms} == {}


def test_what_is_imported_by_string_is_no_module_of_ours():
    """Else the test above would not see it.

    What a user names, `spec.import_name` alone imports; what may not be installed, `checks.package`.
    """
    for path in MODULES:
        for function, node in called(path):
            if function.endswith(("import_module", "__import__", "checks.package")):
                name = node.args[0]
                if room(path) in ("spec", "checks"):
                    assert isinstance(name, ast.Name), path
                else:
                    assert isinstance(name, ast.Constant), path
                    assert not str(name.value).startswith(("brigand", ".")), path


def test_only_specs_know_the_package_by_its_public_names():
    """`import brigand` leads to every room: to the types that JSON names."""
    knowing = {
        room(path)
        for path in MODULES
        for node in parsed(path)
        if isinstance(node, ast.Import) and any(alias.name == "brigand" for alias in node.names)
    }
    assert knowing == {"spec"}


def test_no_two_modules_import_each_other():
    """Not even for type checkers."""
    imported = {name_of(path): imported_modules(path) for path in MODULES if path.stem != "__init__"}
    both = [(own, other) for own in imported for other in imported[own] if own in imported.get(other, ())]
    assert both == []


def test_policies_do_not_know_environments_nor_the_other_way_round():
    for own, other in (("policies", "environments"), ("environments", "policies")):
        for path in (PACKAGE / own).rglob("*.py"):
            assert other not in imported_rooms(path), path


def test_only_the_cli_prints_and_nothing_uses_a_global_generator():
    functions = {path: {function for function, _ in called(path)} for path in MODULES}
    assert [path for path in MODULES if room(path) != "cli" and "print" in functions[path]] == []
    drawn = [
        (path, name)
        for path, names in functions.items()
        for name in names
        if name.startswith("np.random.") and name.split(".")[2].islower()
    ]
    assert drawn == []


def test_all_lists_the_public_names_and_each_exists():
    assert br.__all__ == sorted(set(br.__all__))
    for name in br.__all__:
        assert getattr(br, name) is not None
    with pytest.raises(AttributeError, match="brigand attribute nonsense"):
        _ = br.nonsense


@pytest.mark.parametrize("name", [n for n in br.__all__ if n != "CATALOGUE"])
def test_public_names_are_documented(name):
    thing = getattr(br, name)
    assert inspect.getdoc(thing)
    assert (
        "Parameters" in inspect.getdoc(thing) or not inspect.isfunction(thing) or name in {"oracle", "load"}
    )


def test_importing_brigand_loads_nothing_heavy():
    heavy = ("numpy", "numba", "scipy", "xarray", "matplotlib")
    code = f"import sys, brigand; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_simulating_loads_no_plots_and_the_cli_help_loads_no_compiler():
    code = (
        "import sys, brigand as br\n"
        "br.simulate(br.random_environment('bernoulli', 2, 10), {'x': br.UCB1()}, 10, 1)\n"
        "print([m for m in ('matplotlib', 'typer', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    code = (
        "import sys, brigand.cli.paper, brigand.cli.catalogue\n"
        "print('numba' in sys.modules, 'matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


FAMILIES = sorted(
    path.name for path in (PACKAGE / "policies").iterdir() if path.is_dir() and path.name[0] not in "_."
)
FAMILIES.remove("kernels")


@pytest.mark.parametrize("family", [*FAMILIES, "kernels"])
def test_no_family_of_policies_imports_another(family):
    for path in (PACKAGE / "policies" / family).glob("*.py"):
        imported = {
            node.module.split(".")[2]
            for node in parsed(path)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("brigand.policies.")
        }
        assert imported <= {"base", "kernels", family}, path
