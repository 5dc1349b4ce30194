"""The only place that chooses how code is compiled.

Kernels stay plain Python functions: they can be read, called and stepped through without a compiler.
`kernel` marks them so that compiled code may call them, and has LLVM inline every one: without that, a
step spends more time on reference counts at calls than on the policy (27 against 16 ns for FE, K=10).

Compiled loops are closures over plain kernels, because Numba then finds them in its disk cache in a new
process; loops that take or close over *compiled* functions never hit it.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.extending import register_jitable

Function = TypeVar("Function", bound=Callable[..., Any])

_PACKAGE = Path(__file__).parent
_INSTALLED = {sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
_COMPILED_ROOMS = ("jit.py", "shortcuts.py", "policies", "environments", "simulation", "live/loop.py")


def kernel(function: Function) -> Function:
    """Mark a module-level function as usable from compiled code; it stays plain Python.

    Parameters
    ----------
    function : callable
        Written in the subset of Python that Numba compiles.

    Returns
    -------
    callable
        The same function.
    """
    return register_jitable(forceinline=True)(function)


def compile_loop(loop: Callable[..., Any], *kernels: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop that closes over `kernels`, with the disk cache where it can hit.

    The cache lies beside this package's source, or in the user's cache folder where that is not writable.
    Each set of kernels has an index file of its own, named after it and a hash of its source: Numba does
    not notice an edit in another file and would run the old code, and an index that mentioned a user's
    module could not be read where that module is missing.
    """
    # A function of a script or notebook is pickled by value: its entry would never be found again.
    if all(function.__module__ != "__main__" for function in kernels):
        owner = f"{kernels[0].__module__}.{kernels[0].__qualname__}"
        loop.__qualname__ = f"{loop.__module__}.{loop.__name__}.{owner}.{_source_stamp(kernels)}"
        try:
            return numba.njit(cache=True, nogil=True, error_model="numpy")(loop)
        except RuntimeError:  # no folder to cache in
            pass
    return numba.njit(nogil=True, error_model="numpy")(loop)


def _source_stamp(kernels: Sequence[Callable[..., Any]]) -> str:
    """Return a hash of the source behind compiled code: this package's, and that of a user's kernels."""
    digest = hashlib.sha256(_package_source())
    for function in kernels:
        digest.update(_user_source(function))
    return digest.hexdigest()[:16]


def package_stamp() -> str:
    """Return a hash of the source behind this package's compiled code."""
    return _package_source().hex()


def module_stamp(*names: str) -> str:
    """Return a hash of loaded modules' source, with what of their own package they import in turn."""
    modules: dict[str, bytes] = {"brigand": b""}  # the package's list of names
    for name in names:
        _collect(name, name.split(".")[0], modules)
    return hashlib.sha256(b"".join(modules[name] for name in sorted(modules))).hexdigest()


@functools.cache
def _package_source() -> bytes:
    digest = hashlib.sha256(numba.__version__.encode())
    for room in _COMPILED_ROOMS:
        path = _PACKAGE / room
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.digest()


def _user_source(function: Callable[..., Any]) -> bytes:
    """Return the source behind a user's kernel: its module, and what of theirs that imports."""
    if function.__module__.split(".")[0] == "brigand":
        return b""
    modules: dict[str, bytes] = {}
    _collect(function.__module__, function.__module__.split(".")[0], modules)
    # Typed in by hand: there is no file, only the function itself.
    return b"".join(modules.values()) or function.__code__.co_code


def _collect(name: str, package: str, modules: dict[str, bytes]) -> None:
    """Add a module's source and, in turn, that of the modules it imports, unless they are installed ones."""
    file = getattr(sys.modules.get(name), "__file__", None)
    if name in modules or file is None:
        return
    if name.split(".")[0] == "brigand" != package:
        return  # `_package_source` has it; which of its modules are loaded is chance
    installed = any(Path(file).is_relative_to(folder) for folder in _INSTALLED)
    if installed and name.split(".")[0] != package:
        return
    modules[name] = Path(file).read_bytes()
    if file.endswith(".py"):
        for imported in _imports(ast.parse(modules[name]), name):
            _collect(imported, package, modules)


def _imports(tree: ast.AST, name: str) -> Iterator[str]:
    """Yield the names of what may be modules among the imports of the module `name`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = getattr(sys.modules[name], "__package__", None)
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
