"""The only place that chooses how code is compiled.

Kernels stay plain Python functions: they can be read, called and stepped through without a compiler.
`kernel` marks them so that compiled code may call them, and has LLVM inline every one: without that, a
step spends more time on reference counts at calls than on the policy (27 against 16 ns for FE, K=10).

Compiled loops are closures over plain kernels, because Numba then finds them in its disk cache in a new
process; loops that take or close over *compiled* functions never hit it.
"""

from __future__ import annotations

import ast
import ctypes
import functools
import hashlib
import importlib.util
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic, register_jitable
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])

_PACKAGE = Path(__file__).parent
_INSTALLED = {sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
_COMPILED_ROOMS = ("jit.py", "policies", "environments", "simulation", "live/loop.py")


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


def kernel_beside(source: Callable[..., Any], name: str) -> Callable[[Function], Function]:
    """Mark a function that closes over the kernel `source`, as `kernel` does, and place it beside `source`.

    That one's module assigns it to `name`. So it is stamped with the code of that module, and not with that
    of the function that made it; and pickles find it.
    """

    def decorate(function: Function) -> Function:
        function.__module__ = source.__module__
        function.__name__ = function.__qualname__ = name
        return kernel(function)

    return decorate


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


def direct(loop: Any, *arguments: Any) -> Callable[..., Any]:
    """Return a compiled loop for arguments of exactly these types: nothing is checked when it is called.

    Finding out the types of ten arguments costs a call 2 microseconds.
    """
    types_ = tuple(numba.typeof(argument) for argument in arguments)
    loop.compile(types_)
    found: Callable[..., Any] = loop.get_overload(types_)
    return found


def addresses(generator: np.random.Generator) -> NDArray[np.uintp]:
    """Return what `generator_at` puts a generator together from. The generator must be kept alive."""
    found = generator.bit_generator.ctypes
    functions = (found.next_uint64, found.next_uint32, found.next_double)
    pointers = [ctypes.cast(function, ctypes.c_void_p).value for function in functions]
    return np.array([found.state_address, found.state.value, *pointers, found.bit_generator.value], np.uintp)


@intrinsic
def generator_at(context: Any, address: Any) -> Any:
    """Return, in compiled code, the generator with these `addresses`.

    To be given the generator itself costs compiled code 13 microseconds a call.
    """
    generator = types.NumPyRandomGeneratorType("NumPyRandomGeneratorType")
    bits = types.NumPyRandomBitGeneratorType("bit_generator")
    fields = ("state_address", "state", "fnptr_next_uint64", "fnptr_next_uint32", "fnptr_next_double")

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(address)(context, builder, arguments[0])
        inner = cgutils.create_struct_proxy(bits)(context, builder)
        inner.parent = context.get_constant_null(types.pyobject)
        for place, name in enumerate((*fields, "bit_generator")):
            pointer = cgutils.gep(builder, array.data, place)
            setattr(inner, name, builder.load(pointer))
        outer = cgutils.create_struct_proxy(generator)(context, builder)
        outer.bit_generator = inner._getvalue()
        outer.meminfo = context.get_constant_null(types.MemInfoPointer(types.voidptr))
        outer.parent = context.get_constant_null(types.pyobject)
        return outer._getvalue()

    return generator(address), build


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
