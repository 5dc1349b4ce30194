"""Shortcuts through the insides of NumPy and Numba, each beside the documented way to the same numbers.

A new release may change what is not documented. So nothing else in the package relies on it, and each
shortcut is tested when it is first needed: it must give the numbers of the documented way, and look at no
memory but the generator's own. Otherwise the documented way is taken, for the rest of the process and without
a warning: only time is lost. `in_use` says which shortcuts are taken.

================  ==========================================  =============================================
shortcut          what it relies on                           documented way
================  ==========================================  =============================================
`calls_directly`  a loop's entry point can be had and called  calling the loop: finds out all types, 2 µs
`packs`           the fields of Numba's generator             handing over the generator, 13 µs
`hashes`          the arithmetic of SeedSequence and PCG64    one SeedSequence after the other, 15 µs each
`winds`           where a PCG64 keeps its state               setting ``.state``, one call for each generator
`lends`           the fields of Numba's arrays                handing tables to kernels, 5 ns and more each
================  ==========================================  =============================================
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numba
import numpy as np
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from brigand import jit

Start = tuple[int, int]
"""The state and the increment of a PCG64."""


def in_use() -> dict[str, bool]:
    """Return whether each shortcut is in use; those that were not needed yet are tested now.

    Examples
    --------
    >>> from brigand import shortcuts
    >>> sorted(shortcuts.in_use())
    ['calls_directly', 'hashes', 'lends', 'packs', 'winds']
    """
    return {
        "calls_directly": calls_directly(),
        "packs": packs(),
        "hashes": hashes(),
        "winds": winds(),
        "lends": lends(),
    }


def _self_test(test: Callable[[], bool]) -> Callable[[], bool]:
    """Make of a test the answer to whether it passes, found once in a process; an exception means no.

    Any exception: nobody knows what another release raises, and the documented way still gives the numbers.
    The reason is logged at level DEBUG.
    """

    @functools.cache
    @functools.wraps(test)
    def passes() -> bool:
        try:
            return test()
        except Exception:
            logging.getLogger(__name__).debug("%s: not in use", test.__name__, exc_info=True)
            return False

    return passes


def _interface(bits: Any) -> Any:
    """Return NumPy's table of the addresses that C code needs."""
    return bits.ctypes


def _require_inside(bits: np.random.PCG64, address: int, size: int) -> None:
    """Raise unless memory is the object's own, where alone it is safe to look."""
    first = id(bits)
    if address % 4 or not first <= address <= first + type(bits).__basicsize__ - size:
        raise RuntimeError(f"NumPy {np.__version__} keeps the state of PCG64 where Brigand does not look.")


# Calling a compiled loop.


def direct(loop: Any, *arguments: Any) -> Callable[..., Any]:
    """Return a compiled loop for arguments of exactly these types: nothing is checked when it is called.

    One that runs as plain Python is returned as it is.
    """
    return _entry(loop, arguments) if hasattr(loop, "overloads") and calls_directly() else loop


@_self_test
def calls_directly() -> bool:
    """Return whether `direct` can go without Numba's dispatcher."""
    generator, twin = _twins()
    arguments = pack(generator), np.zeros(3)
    drawn = _entry(_probe(), arguments)(*arguments)
    return bool(drawn == 3 and np.array_equal(arguments[1], twin.random(3)))


def _entry(loop: Any, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    types = tuple(map(_typeof, arguments))
    loop.compile(types)
    found: Callable[..., Any] = loop.get_overload(types)
    return found


def _typeof(argument: Any) -> Any:
    """As `numba.typeof`, which finds the types of all fields of a table's rows again each time."""
    if type(argument) is np.ndarray:
        flags = argument.flags
        if flags.c_contiguous and flags.aligned and flags.writeable:
            return _typeof_table(argument.dtype, argument.ndim)
    return numba.typeof(argument)


@functools.cache
def _typeof_table(dtype: np.dtype[Any], dimensions: int) -> Any:
    return numba.typeof(np.empty((0,) * dimensions, dtype))


# Handing a generator to a compiled loop.


def pack(generator: np.random.Generator) -> Any:
    """Return a generator in the form in which a compiled loop takes it soonest. It must be kept alive."""
    return _addresses(generator) if packs() else generator


def unpack(packed: Any) -> Any:
    """Return, in compiled code, the generator of which `pack` was made."""
    return packed


@overload(unpack, jit_options={"forceinline": True}, strict=False)
def _unpack(packed: Any) -> Callable[[Any], Any]:
    generator_at: Any = _generator_at
    if isinstance(packed, numba.types.Array):
        return lambda packed: generator_at(packed)
    return lambda packed: packed


unpack.compiled = _unpack  # type: ignore[attr-defined]  # for `brigand.stamps`, which cannot see it otherwise


@_self_test
def packs() -> bool:
    """Return whether `pack` can make addresses of a generator."""
    generator, twin = _twins()
    bits: Any = generator.bit_generator
    found, addresses, drawn = _interface(bits), _addresses(generator), np.zeros(3)
    for address in (found.state_address, found.state.value, found.bit_generator.value):
        _require_inside(bits, address, ctypes.sizeof(ctypes.c_void_p))
    if not addresses.all() or found.state.value != found.state_address:
        return False
    functions = found.next_uint64, found.next_double, found.next_uint32
    numbers = twin.bit_generator.random_raw(), twin.random(), twin.integers(2**32, dtype=np.uint32)
    if [call(found.state) for call in functions] != [*numbers]:
        return False
    _probe()(addresses, drawn)
    return bool(np.array_equal(drawn, twin.random(3)) and bits.state == twin.bit_generator.state)


def _addresses(generator: np.random.Generator) -> NDArray[np.uintp]:
    """Return what `_generator_at` puts a generator together from."""
    found = _interface(generator.bit_generator)
    functions = (found.next_uint64, found.next_uint32, found.next_double)
    pointers = [ctypes.cast(function, ctypes.c_void_p).value for function in functions]
    return np.array([found.state_address, found.state.value, *pointers, found.bit_generator.value], np.uintp)


FIELDS = (
    "state_address",
    "state",
    "fnptr_next_uint64",
    "fnptr_next_uint32",
    "fnptr_next_double",
    "bit_generator",
)
"""Of Numba's bit generator: `_addresses`, in this order."""


@intrinsic
def _generator_at(context: Any, addresses: Any) -> Any:
    """Return, in compiled code, the generator with these addresses."""
    from numba.core import cgutils, types

    generator = types.NumPyRandomGeneratorType("NumPyRandomGeneratorType")
    bits = types.NumPyRandomBitGeneratorType("bit_generator")

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        models = context.data_model_manager
        if (set(models[bits]._fields), set(models[generator]._fields)) != (
            {"parent", *FIELDS},
            {"bit_generator", "meminfo", "parent"},
        ):
            raise NotImplementedError(f"Numba {numba.__version__} makes generators of something else.")
        array = context.make_array(addresses)(context, builder, arguments[0])
        inner = cgutils.create_struct_proxy(bits)(context, builder)
        inner.parent = context.get_constant_null(types.pyobject)
        for place, name in enumerate(FIELDS):
            pointer = cgutils.gep(builder, array.data, place)
            setattr(inner, name, builder.load(pointer))
        outer = cgutils.create_struct_proxy(generator)(context, builder)
        outer.bit_generator = inner._getvalue()
        outer.meminfo = context.get_constant_null(types.MemInfoPointer(types.voidptr))
        outer.parent = context.get_constant_null(types.pyobject)
        return outer._getvalue()

    return generator(addresses), build


def _twins() -> tuple[np.random.Generator, np.random.Generator]:
    """Return two generators in the same state: one to be tested, and one to be used as documented."""
    return np.random.Generator(np.random.PCG64(1)), np.random.Generator(np.random.PCG64(1))


@functools.cache
def _probe() -> Callable[..., int]:
    """Return a compiled loop that draws numbers."""

    def probe(packed: Any, drawn: NDArray[np.float64]) -> int:
        rng = unpack(packed)
        for i in range(len(drawn)):
            drawn[i] = rng.random()
        return len(drawn)

    return jit.compile_loop(probe, unpack)


# Handing tables to kernels.


def lend(table: Any) -> Any:
    """Return, in compiled code, an array to which no references are counted.

    Its owner must live on, as the arguments of a loop do. Numba counts references to every table at nearly
    every call of a kernel, and a step spends more time on that than on the policy.
    """
    return table


@overload(lend, jit_options={"forceinline": True}, strict=False)
def _lend(table: Any) -> Callable[[Any], Any]:
    lent: Any = _lent
    if lends():
        return lambda table: lent(table)
    return lambda table: table


lend.compiled = _lend  # type: ignore[attr-defined]  # for `brigand.stamps`, which cannot see it otherwise


OF_ARRAYS = {"meminfo", "parent", "nitems", "itemsize", "data", "shape", "strides"}
"""Fields of Numba's arrays; the first two say who owns one, and are null where nobody does."""


@_self_test
def lends() -> bool:
    """Return whether `lend` knows what an array is."""
    from numba.core import types
    from numba.core.datamodel.registry import default_manager

    return set(default_manager[types.Array(types.int64, 1, "C")]._fields) == OF_ARRAYS


@intrinsic
def _lent(context: Any, table: Any) -> Any:
    """Return, in compiled code, an array that has no owner, as one that C code handed over."""
    from numba.core import types

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(table)(context, builder, arguments[0])
        array.meminfo = context.get_constant_null(types.MemInfoPointer(types.voidptr))
        array.parent = context.get_constant_null(types.pyobject)
        return array._getvalue()

    return table(table), build


# From seeds to the states of generators.

FEW = 20
"""Up to here NumPy's own hash, one by one, is faster."""


def generator(seed: int, key: Sequence[int], number: int) -> np.random.Generator:
    """Return generator `number` of a stream: of a seed and a key of 32-bit words."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(*key, number))))


def starts(seed: int, key: tuple[int, ...], numbers: Sequence[int]) -> list[Start]:
    """Return the first states of some generators of a stream."""
    # NumPy makes two words of a number that does not fit into one.
    if len(numbers) < FEW or max(numbers) >= 2**32 or not hashes():
        return [_start(generator(seed, key, number)) for number in numbers]
    return _hashed(seed, key, numbers)


def keyed_starts(seed: int, key: tuple[int, ...], numbers: Sequence[int]) -> tuple[list[int], list[Start]]:
    """Return each generator's first ``integers(2**63)``, and its state after that."""
    if len(numbers) < FEW or max(numbers) >= 2**32 or not hashes():
        generators = [generator(seed, key, number) for number in numbers]
        return [int(one.integers(2**63)) for one in generators], [_start(one) for one in generators]
    return _keyed(_hashed(seed, key, numbers))


def seeded_starts(seeds: Sequence[int], key: tuple[int, ...]) -> tuple[list[int], list[Start]]:
    """Return `keyed_starts` of generator 0 of many seeds, each below 2^64."""
    if len(seeds) < FEW or not hashes():
        generators = [generator(seed, key, 0) for seed in seeds]
        return [int(one.integers(2**63)) for one in generators], [_start(one) for one in generators]
    return _keyed(_hashed_seeds(seeds, key))


@_self_test
def hashes() -> bool:
    """Return whether `starts` can hash all numbers at once, and step without NumPy."""
    seed, key, numbers = 2**130 + 7, (1, 0, 2**32 - 1, 5), (0, 2**32 - 1)
    generators = [generator(seed, key, number) for number in numbers]
    found = _hashed(seed, key, numbers)
    first = found == [_start(one) for one in generators]
    keys = [int(one.integers(2**63)) for one in generators]
    seeds = (0, 2**64 - 1)
    others = [_start(generator(seed, key, 0)) for seed in seeds]
    return (
        first
        and _keyed(found) == (keys, [_start(one) for one in generators])
        and _hashed_seeds(seeds, key) == others
    )


def _start(generator: np.random.Generator) -> Start:
    state: Any = generator.bit_generator.state
    return state["state"]["state"], state["state"]["inc"]


# NumPy's SeedSequence (its bit_generator.pyx, after M. E. O'Neill's randutils), on arrays of 32-bit words.
INIT_A, MULT_A = 0x43B0D7E5, 0x931E8875
INIT_B, MULT_B = 0x8B51F9DD, 0x58F38DED
MIX_LEFT, MIX_RIGHT = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
SHIFT = np.uint32(16)
Words = NDArray[np.uint32]


def _hashed(seed: int, key: tuple[int, ...], numbers: Sequence[int]) -> list[Start]:
    """Return `starts`: the numbers are the hash's last word, and all are hashed at once."""
    constant, pool = _pool(seed, key)
    _, mixed = _take_in(constant, pool, np.array(numbers, np.uint32))
    return _seeded_by(mixed)


def _hashed_seeds(seeds: Sequence[int], key: tuple[int, ...]) -> list[Start]:
    """Return the starts of generator 0 of many seeds."""
    words = np.array(seeds, np.uint64)
    entropy = [(words % 2**32).astype(np.uint32), (words >> np.uint64(32)).astype(np.uint32)]
    rest = [np.full(len(words), word, np.uint32) for word in (0, 0, *key, 0)]
    return _seeded_by(_mixed([*entropy, *rest])[1])


def _seeded_by(mixed: Sequence[Words]) -> list[Start]:
    constant = INIT_B
    words = []
    for i in range(8):
        hashed, constant = _hashmix(mixed[i % 4], constant, MULT_B)
        words.append(hashed.astype(np.uint64))
    seeds = [(words[2 * i] | words[2 * i + 1] << np.uint64(32)).tolist() for i in range(4)]
    return [_seeded(*four) for four in zip(*seeds, strict=True)]


@functools.lru_cache(1024)
def _pool(seed: int, key: tuple[int, ...]) -> tuple[int, list[Words]]:
    """Return the hash's constant and pool before the last word."""
    words = [seed % 2**32]
    while seed := seed >> 32:
        words.append(seed % 2**32)
    return _mixed([np.array([word], np.uint32) for word in (*words, *[0] * (4 - len(words)), *key)])


def _mixed(entropy: Sequence[Words]) -> tuple[int, list[Words]]:
    """Return the hash's constant and pool after some words."""
    constant, pool = INIT_A, []
    for word in entropy[:4]:
        hashed, constant = _hashmix(word, constant, MULT_A)
        pool.append(hashed)
    for source in range(4):
        for target in range(4):
            if source != target:
                hashed, constant = _hashmix(pool[source], constant, MULT_A)
                pool[target] = _mix(pool[target], hashed)
    for word in entropy[4:]:
        constant, pool = _take_in(constant, pool, word)
    return constant, pool


def _take_in(constant: int, pool: Sequence[Words], word: Words) -> tuple[int, list[Words]]:
    mixed = []
    for one in pool:
        hashed, constant = _hashmix(word, constant, MULT_A)
        mixed.append(_mix(one, hashed))
    return constant, mixed


def _hashmix(value: Words, constant: int, factor: int) -> tuple[Words, int]:
    value = value ^ np.uint32(constant)
    constant = constant * factor % 2**32
    value = value * np.uint32(constant)
    return value ^ value >> SHIFT, constant


def _mix(x: Words, y: Words) -> Words:
    result: Words = MIX_LEFT * x - MIX_RIGHT * y
    return result ^ result >> SHIFT


# PCG64: O'Neill's PCG XSL RR 128/64.
MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645
ALL = 2**128 - 1


def _step(state: int, inc: int) -> int:
    return (state * MULTIPLIER + inc) & ALL


def _seeded(high: int, low: int, inc_high: int, inc_low: int) -> Start:
    """Return state and increment of a PCG64 that was seeded with four words of 64 bits."""
    inc = ((inc_high << 64 | inc_low) << 1 | 1) & ALL
    return _step(inc + (high << 64 | low), inc), inc


def _output(state: int) -> int:
    """Return the 64 bits that a PCG64 gives out in a state: high and low half xored, and rotated."""
    value, turn = (state >> 64 ^ state) & (2**64 - 1), state >> 122
    return (value >> turn | value << (64 - turn)) & (2**64 - 1)


def _keyed(states: Sequence[Start]) -> tuple[list[int], list[Start]]:
    after = [(_step(state, inc), inc) for state, inc in states]
    return [_output(state) >> 1 for state, _ in after], after


# Winding a generator to a state.


class Tape(NamedTuple):
    """A generator with the memory of its state, so that compiled code can wind it: see `wind`.

    Attributes
    ----------
    generator : numpy.random.Generator
    state : uint64 array of shape (4,)
        The memory of its PCG64.
    half : uint32 array of shape (2,)
        Whether half of a word is left over, and that half.

    Notes
    -----
    Where that memory cannot be had (`winds`), the arrays stand for nothing: what is written there is lost.
    """

    generator: np.random.Generator
    state: NDArray[np.uint64]
    half: NDArray[np.uint32]

    @classmethod
    def of(cls, generator: np.random.Generator) -> Tape:
        """Return the tape of a generator with a PCG64."""
        memory = (
            _memory(generator.bit_generator) if winds() else (np.zeros(4, np.uint64), np.zeros(2, np.uint32))
        )
        return cls(generator, *memory)

    def mark(self) -> Any:
        """Return the generator's state, for `rewind`: for this process only."""
        return (self.state.copy(), self.half.copy()) if winds() else self.generator.bit_generator.state

    def rewind(self, mark: Any) -> None:
        """Put the generator into the state of a `mark`, maybe of another tape."""
        if winds():
            self.state[:], self.half[:] = mark
        else:
            self.generator.bit_generator.state = mark


def wind(*streams: Sequence[Start]) -> Iterator[tuple[slice, tuple[Any, ...]]]:
    """Yield what compiled loops take to run replications with generators in some states.

    Parameters
    ----------
    *streams : sequence of (state, increment)
        Where each replication's generator is to start. One to three streams.

    Yields
    ------
    tuple of (slice, tuple)
        Some replications, to be run in one call, and the loop's arguments: for each stream their states,
        uint64 of shape (replications, 4); then, for each stream, a `Tape`'s three. Before each replication
        the loop must write its row to ``state``, and zeros to ``half``. The tapes are this thread's, to be
        used at once.
    """
    n, tapes = len(streams[0]), _tapes()[: len(streams)]
    flat = tuple(itertools.chain(*tapes))
    if winds():
        yield slice(0, n), (*map(_in_memory, streams), *flat)
        return
    nowhere = [np.zeros((1, 4), np.uint64)] * len(streams)
    for i in range(n):
        for tape, states in zip(tapes, streams, strict=True):
            state, inc = states[i]
            tape.generator.bit_generator.state = {
                "bit_generator": "PCG64",
                "state": {"state": state, "inc": inc},
                "has_uint32": 0,
                "uinteger": 0,
            }
        yield slice(i, i + 1), (*nowhere, *flat)


_OF_THREAD = threading.local()


def _tapes() -> tuple[Tape, ...]:
    """Return this thread's three tapes.

    They are kept, because a generator costs compiled code 50 microseconds when it first meets it.
    """
    if not hasattr(_OF_THREAD, "tapes"):
        _OF_THREAD.tapes = tuple(Tape.of(np.random.Generator(np.random.PCG64(1))) for _ in range(3))
    found: tuple[Tape, ...] = _OF_THREAD.tapes
    return found


@_self_test
def winds() -> bool:
    """Return whether a generator can be wound by writing to its memory."""
    bits, other = np.random.PCG64(1), np.random.PCG64(2)
    np.random.Generator(other).integers(5, dtype=np.int32)  # half of a word is left over
    wanted: Any = other.state
    state, half = _memory(other)
    halves = [wanted["has_uint32"], wanted["uinteger"]]
    words = _in_memory([(wanted["state"]["state"], wanted["state"]["inc"])])[0]
    if not np.array_equal(state, words) or half.tolist() != halves:
        return False
    state, half = _memory(bits)
    state[:], half[:] = words, halves
    return bool(bits.state == wanted and bits.random_raw() == other.random_raw())


def _memory(bits: Any) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
    """Return a PCG64's state and half of a word, where they stand."""
    # NumPy's struct: a pointer to the 128-bit state and increment; two 32-bit numbers.
    address, size = _interface(bits).state_address, ctypes.sizeof(ctypes.c_size_t)
    _require_inside(bits, address, size + 8)
    state = ctypes.c_size_t.from_address(address).value
    _require_inside(bits, state, 32)
    return (
        np.ctypeslib.as_array((ctypes.c_uint64 * 4).from_address(state)),
        np.ctypeslib.as_array((ctypes.c_uint32 * 2).from_address(address + size)),
    )


def layout() -> list[int]:
    """Return in which order `in_words` gives low and high half of state and increment."""
    return _layout() if winds() else [0, 1, 2, 3]


def in_words(states: Sequence[Start]) -> NDArray[np.uint64]:
    """Return states and increments, shape (n, 4), each row as it is to be written to a `Tape`'s state."""
    return _in_order(states, layout())


def from_words(words: NDArray[np.uint64]) -> Start:
    """Return what `in_words` made a row of."""
    low, high, inc_low, inc_high = (int(words[layout().index(i)]) for i in range(4))
    return high << 64 | low, inc_high << 64 | inc_low


def _in_memory(states: Sequence[Start]) -> NDArray[np.uint64]:
    """Return states and increments as they stand in the memory of a PCG64, shape (n, 4)."""
    return _in_order(states, _layout())


def _in_order(states: Sequence[Start], order: Sequence[int]) -> NDArray[np.uint64]:
    low = 2**64 - 1
    words = [(state & low, state >> 64, inc & low, inc >> 64) for state, inc in states]
    # `take` keeps rows together: else Numba compiles one loop for one replication, and another for more.
    return np.take(np.array(words, np.uint64).reshape(-1, 4), order, axis=1)


@functools.cache
def _layout() -> list[int]:
    """Return where in memory low and high half of state and increment stand: it depends on the platform."""
    generator, _ = _twins()
    state, inc = _start(generator)
    found, words = (
        _memory(generator.bit_generator)[0].tolist(),
        [state % 2**64, state >> 64, inc % 2**64, inc >> 64],
    )
    if sorted(found) != sorted(words):
        raise RuntimeError(f"NumPy {np.__version__} keeps the state of PCG64 where Brigand does not look.")
    return [words.index(word) for word in found]
