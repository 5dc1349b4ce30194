"""The only place that chooses how code is compiled.

Kernels stay plain Python functions: they can be read, called and stepped through without a compiler.
`kernel` marks them so that compiled code may call them, and has LLVM inline every one: without that, a
step spends more time on reference counts at calls than on the policy (27 against 16 ns for FE, K=10). What
counts were left are gone where a loop lends its tables to the kernels (`brigand.shortcuts.lend`).

Compiled loops are closures over plain kernels, because Numba then finds them in its disk cache in a new
process; loops that take or close over *compiled* functions never hit it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.extending import register_jitable

from brigand import disk_cache, stamps

Function = TypeVar("Function", bound=Callable[..., Any])


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
    """Compile a loop that closes over `kernels`, or find it where another process has left it.

    Compiled code is kept under the kernels' names and a hash of all that the loop is made of
    (`brigand.stamps.of_compiled`, `brigand.disk_cache`). Numba itself does not notice an edit in another
    file, nor a global that is another number today, and would run the old code. Where Numba is told not to
    compile (``NUMBA_DISABLE_JIT=1``), the loop runs as plain Python.
    """
    if vars(numba.config)["DISABLE_JIT"]:  # by the user, in NUMBA_DISABLE_JIT, to step through kernels
        vars(loop)["py_func"] = loop
        return loop
    disk_cache.load_compiler()
    owner = f"{kernels[0].__module__}.{kernels[0].__qualname__}"
    name = f"{loop.__module__}.{loop.__name__}.{owner}"
    stamp = stamps.of_compiled(loop, *kernels)
    loop.__qualname__ = f"{name}.{stamp}"  # Numba's own cache would go by it
    compiled = numba.njit(nogil=True, error_model="numpy")(loop)
    # A function of a script or notebook is pickled by value: it would never be found again.
    if all(function.__module__ != "__main__" for function in kernels):
        parts = [f"{function.__name__} {function.__code__.co_filename}" for function in (loop, *kernels)]
        disk_cache.enable(compiled, name, stamp, "\n".join(parts))
    return compiled
