"""What code is made of, as hashes: so that compiled code and results are used again, and never when stale.

Two kinds. `of_compiled` is for machine code: everything that a compiler freezes into it, as it is in memory
now. That is the bytecode of each function that is reached from a function through its globals, its closure
and the modules that it names; and the values of the globals there, which may have been read from a file or
the environment. Comments, docstrings and line numbers are no part of it.

`of_modules` is for numbers that Python code computes, and does not depend on Python's version: the syntax
trees of modules without docstrings and comments, and of what they import in turn. `of_values` adds the
values of the globals that functions read.

Both count installed packages by their version, and the functions that are reached in them.
"""

from __future__ import annotations

import ast
import enum
import functools
import hashlib
import importlib.metadata
import importlib.util
import inspect
import sys
import sysconfig
import textwrap
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numba
import numpy as np

OURS = __name__.split(".")[0]
_PARSING = threading.Lock()
_COMPILERS = f"numba {numba.__version__}, numpy {np.__version__}"
_HAS_DOCSTRING = 0x4000000
"""A flag of code objects, from Python 3.14 on."""
_LEFT_OUT = frozenset({"numba", "numpy", *sys.stdlib_module_names})
"""Packages that `_COMPILERS` speaks for, and Python's own: numbers do not hang on Python's version."""


def of_compiled(*functions: Callable[..., Any]) -> str:
    """Return a hash of all that compiled code of these functions is made of.

    A user's own modules are taken whole, with what they import: a function there may stand for another
    (`numba.extending.overload`), which cannot be seen from outside.
    """
    reached = _Reached(functions)
    parts = [_COMPILERS, *reached.code, *reached.values]
    return _digest([*parts, of_modules(*(name for name in reached.modules if _top(name) != OURS))])


def of_values(*functions: Any) -> str:
    """Return a hash of the globals that these functions read, and all functions that they reach.

    A function that is no longer what its file says, since that was edited, counts as it is in memory.
    """
    reached = _Reached(functions)
    edited = []
    for function in reached.functions:
        file = _file(function.__module__)
        if file == function.__code__.co_filename and _code_digest(function.__code__) not in _codes_in(file):
            edited.append(_code_digest(function.__code__))
    return _digest([*reached.values, *edited])


def of_modules(*names: str) -> str:
    """Return a hash of loaded modules' syntax trees, and of the modules that they import, in turn.

    Installed packages other than their own count by their version. What a module of this package imports
    within a function is left out: such imports wait until they are needed, and decide no numbers.
    """
    found: dict[str, str] = {}
    for name in names:
        _collect(name, _top(name), found)
    return _digest(f"{name}: {found[name]}" for name in sorted(found))


def of_source(*functions: Callable[..., Any]) -> str:
    """Return a hash of the functions' own syntax trees."""
    trees = [_parse(textwrap.dedent(inspect.getsource(function))) for function in functions]
    return _digest(ast.unparse(_without_docstrings(tree)) for tree in trees)


def joined(*stamps: str) -> str:
    """Return one hash for several."""
    return _digest(stamps)


class _Reached:
    """What is reached from functions.

    Attributes
    ----------
    code, values : list of str
        In the order in which they are met.
    functions : list of function
    """

    def __init__(self, functions: Iterable[Any]) -> None:
        self.code: list[str] = []
        self.values: list[str] = []
        self.functions: list[types.FunctionType] = []
        for function in functions:
            self._add("", function)

    @property
    def modules(self) -> list[str]:
        """The modules of the functions."""
        return list(dict.fromkeys(function.__module__ for function in self.functions))

    def _add(self, name: str, value: Any) -> None:
        text = _written(value)
        if text is not None:
            self.values.append(f"{name} = {text}")
            return
        value = _plain(value)
        if isinstance(value, types.FunctionType):
            self._add_function(value)
        elif isinstance(value, type):
            fields = getattr(value, "_fields", ""), getattr(value, "_field_defaults", "")
            self.values.append(f"{name} = {value.__module__}.{value.__qualname__}{fields}")
        module = getattr(value, "__module__", None)
        if (
            isinstance(module, str)
            and _top(module) != OURS
            and _top(module) not in _LEFT_OUT
            and _is_installed(module)
        ):
            self.values.append(_version(_top(module)))

    def _add_function(self, function: types.FunctionType) -> None:
        if function in self.functions or _top(function.__module__ or "") in _LEFT_OUT:
            return
        self.functions.append(function)
        self.code.append(_code_digest(function.__code__))
        for value in (*(function.__defaults__ or ()), *vars(function).values()):
            self._add("default", value)
        names = dict.fromkeys(_names(function.__code__))
        outer = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        known = function.__globals__ | {name: cell.cell_contents for name, cell in outer}
        self._add_named(known, [*names, *function.__code__.co_freevars], [*names], set())

    def _add_named(
        self, known: dict[str, Any], names: Sequence[str], attributes: Sequence[str], met: set[int]
    ) -> None:
        """Add what names stand for; of a module, what may be meant by the attributes that are named."""
        for name in names:
            value = known.get(name)
            if not isinstance(value, types.ModuleType):
                if name in known:
                    self._add(name, value)
            elif _top(value.__name__) not in _LEFT_OUT and id(value) not in met:
                met.add(id(value))
                self._add_named(vars(value), attributes, attributes, met)


def _plain(value: Any) -> Any:
    """Return the Python function behind a compiled or cached one, a method, or a property."""
    for way in ("py_func", "_defn", "__wrapped__", "fget", "func", "__func__"):
        inner = getattr(value, way, None)
        if isinstance(inner, types.FunctionType):
            return inner
    return value


def _names(code: types.CodeType) -> Iterator[str]:
    """Yield the names of globals and attributes in a function, and in functions within it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _code_digest(code: types.CodeType) -> str:
    """Return a hash of bytecode, without docstrings and where it stands."""
    constants = [
        _code_digest(c) if isinstance(c, types.CodeType) else _written(c) or repr(c) for c in code.co_consts
    ]
    if _has_docstring(code):
        constants[0] = "None"
    shape = (code.co_argcount, code.co_kwonlyargcount, code.co_flags & ~_HAS_DOCSTRING)
    names = (code.co_name, code.co_names, code.co_varnames, code.co_freevars)
    return _digest([code.co_code.hex(), repr(constants), repr(shape), repr(names)])


def _has_docstring(code: types.CodeType) -> bool:
    if sys.version_info >= (3, 14):
        return bool(code.co_flags & _HAS_DOCSTRING)
    # Up to Python 3.13 a function's first constant is its docstring or None.
    return not code.co_name.startswith("<") and bool(code.co_consts) and isinstance(code.co_consts[0], str)


@functools.cache
def _codes_in(file: str) -> frozenset[str]:
    """Return the hashes of all functions that a file defines."""
    waiting, found = [compile(Path(file).read_bytes(), file, "exec", dont_inherit=True)], set()
    while waiting:
        code = waiting.pop()
        found.add(_code_digest(code))
        waiting += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return frozenset(found)


def _written(value: Any) -> str | None:
    """Return plain data as text, the same for equal data; None for what is no plain data."""
    if isinstance(value, (enum.Enum, bool, int, float, complex, str, bytes, types.NoneType, np.dtype)):
        return repr(value)
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        return f"{array.dtype}{array.shape}{_digest([array.tobytes().hex()])}"
    if not isinstance(value, (tuple, list, set, frozenset, dict)):
        return None
    items = [item for pair in value.items() for item in pair] if isinstance(value, dict) else value
    texts = [text for item in items if (text := _written(item)) is not None]
    if isinstance(value, (set, frozenset)):
        texts.sort()
    return f"{type(value).__name__}{texts}" if len(texts) == len(items) else None


def _collect(name: str, package: str, found: dict[str, str]) -> None:
    """Add a module and, in turn, the modules that it imports; `package` is that of the first of them."""
    if name in found or _top(name) in (*sys.builtin_module_names, *sys.stdlib_module_names):
        return
    if name == OURS or (_top(name) == OURS != package):
        return  # loads its names when they are used; a user's policy counts what it takes from here apart
    if _top(name) != package and _is_installed(name):
        found[_top(name)] = _version(_top(name))
        return
    file = _file(name)
    if file is None:
        return
    found[name] = _tree_digest(file)
    for imported in _imported(name, file, package != OURS):
        _collect(imported, package, found)


@functools.cache
def _imported(name: str, file: str, everywhere: bool) -> tuple[str, ...]:
    """Return the modules that a module imports when it is loaded; or `everywhere`, in functions too."""
    tree = _tree(file)
    return tuple(_imports(tree, name, everywhere)) if tree is not None else ()


def _imports(tree: ast.Module, name: str, everywhere: bool) -> Iterator[str]:
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = sys.modules.get(name)
            base = "." * node.level + (node.module or "")
            if node.level:
                base = importlib.util.resolve_name(base, getattr(module, "__package__", None) or name)
            parts = [f"{base}.{alias.name}" for alias in node.names]
            yield from (part if _file(part) else base for part in parts)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += node.orelse
        elif everywhere or not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            waiting += ast.iter_child_nodes(node)


def _file(name: str) -> str | None:
    """Return where a module's code lies, None if there is no such module."""
    module = sys.modules.get(name)
    if module is not None:
        return getattr(module, "__file__", None)
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return None
    return spec.origin if spec is not None and spec.has_location else None


@functools.cache
def _tree(file: str) -> ast.Module | None:
    """Return a module's syntax tree as it was when first asked for, without docstrings; None if compiled."""
    if not file.endswith(".py"):
        return None
    return _without_docstrings(_parse(Path(file).read_bytes()))


def _parse(source: str | bytes) -> ast.Module:
    """Parse Python, in one thread at a time: Python 3.11 counts all threads' recursion together."""
    with _PARSING:
        return ast.parse(source)


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                del node.body[0]
    return tree


@functools.cache
def _tree_digest(file: str) -> str:
    tree = _tree(file)
    return _digest([ast.unparse(tree)] if tree is not None else [Path(file).read_bytes().hex()])


@functools.cache
def _version(package: str) -> str:
    """Return an installed package's name and version; without one, a hash of its file."""
    version = getattr(sys.modules.get(package), "__version__", None)
    try:
        version = version or importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        file = _file(package)
        version = _digest([Path(file).read_bytes().hex()]) if file else "unknown"
    return f"{package} {version}"


@functools.cache
def _is_installed(name: str) -> bool:
    """Return whether a module was installed, here or in an environment that this one looks into."""
    file = _file(name)
    if file is None:
        return False
    library = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    return not {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts) or any(
        Path(file).is_relative_to(folder) for folder in library
    )


def _top(name: str) -> str:
    return name.partition(".")[0]


def _digest(parts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode("utf-8", "surrogatepass"))
        digest.update(b"\0")
    return digest.hexdigest()[:32]
