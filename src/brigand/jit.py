"""The only place that chooses how code is compiled.

Kernels stay plain Python functions: they can be read, called and stepped through without a compiler.
`kernel` marks them so that compiled code may call them, and has LLVM inline every one: without that, a
step spends more time on reference counts at calls than on the policy (27 against 16 ns for FE, K=10).

Compiled loops are closures over plain kernels, because Numba then finds them in its disk cache in a new
process; loops that take or close over *compiled* functions never hit it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic, register_jitable
from numpy.typing import NDArray

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


def compile_loop(loop: Callable[..., Any], *kernels: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop that closes over `kernels`, or find it where another process has left it.

    Compiled code is kept under the kernels' names and a hash of all that the loop is made of
    (`brigand.stamps.of_compiled`, `brigand.disk_cache`). Numba itself does not notice an edit in another
    file, nor a global that is another number today, and would run the old code.
    """
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
