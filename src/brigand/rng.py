"""From one seed to independent streams of random numbers.

Replication i gets one stream for its rewards, which depends only on (seed, i, environment), and one for
each policy's choices, which depends only on (seed, i, the policy's JSON form). So results are the same
bits for any number of workers, any order of policies and any subset of replications, and adding a
policy changes nobody else's numbers. Each thread keeps scratch of its own (`tapes`).
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from brigand import checks
from brigand.spec import Spec, canonical

FEW = 20
"""Up to here NumPy's own hash, one by one, is faster."""


def check_seed(seed: object) -> int:
    """Return `seed` as an int; ``None`` draws one from the operating system.

    Raises
    ------
    InvalidValueError
        The seed is negative or no integer.
    """
    if seed is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    return checks.integer("seed", seed, 0)


@dataclass(frozen=True)
class Stream:
    """The streams of one spec: one generator for each replication.

    Parameters
    ----------
    seed : int
        The seed of the whole simulation.
    spec : Spec
        An environment (its rewards) or a policy (its choices).
    """

    seed: int
    spec: Spec

    def __post_init__(self) -> None:
        digest = hashlib.sha256(canonical(self.spec).encode()).digest()[:16]
        object.__setattr__(self, "_words", tuple(np.frombuffer(digest, "<u4").tolist()))

    def generator(self, replication: int) -> np.random.Generator:
        """Return the generator of one replication (0, 1, ...), at its beginning."""
        return np.random.Generator(self._bits(replication))

    def tape(self, replication: int) -> Tape:
        """Return the generator of one replication as a tape."""
        return Tape.of(self._bits(replication))

    def states(self, replications: Sequence[int]) -> NDArray[np.uint64]:
        """Return the first states of some replications' generators, shape (replications, 4), for a `Tape`."""
        return _in_memory(self._started(replications))

    def keyed_states(self, replications: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Return each generator's first ``integers(2**63)``, and its state after that, as `states`."""
        after = [(_step(state, inc), inc) for state, inc in self._started(replications)]
        return np.array([_output(state) >> 1 for state, _ in after], np.int64), _in_memory(after)

    def _started(self, replications: Sequence[int]) -> list[tuple[int, int]]:
        """Return state and increment of each replication's PCG64, as `_bits` would have them.

        NumPy takes 15 microseconds for one, most of them for the hash of its `SeedSequence`. Here the hash,
        which is specified for good, is taken of all replications at once: they differ in its last word alone.
        """
        # NumPy makes two words of a number that does not fit into one.
        if len(replications) < FEW or max(replications) >= 2**32:
            return [_words(self._bits(i)) for i in replications]
        constant, pool = self._pool
        last = np.array(replications, np.uint32)
        mixed = []
        for word in pool:
            hashed, constant = _hashmix(last, constant, MULT_A)
            mixed.append(_mix(np.full_like(last, word), hashed))
        constant = INIT_B
        words = []
        for i in range(8):
            hashed, constant = _hashmix(mixed[i % 4], constant, MULT_B)
            words.append(hashed.astype(np.uint64))
        seeds = [(words[2 * i] | words[2 * i + 1] << np.uint64(32)).tolist() for i in range(4)]
        return [_seeded(*four) for four in zip(*seeds, strict=True)]

    @functools.cached_property
    def _pool(self) -> tuple[int, list[np.uint32]]:
        """Return the hash's constant and pool before the last word, that of the replication."""
        seed = _to_words(self.seed)
        words: tuple[int, ...] = self._words  # type: ignore[attr-defined]
        entropy = [*seed, *[0] * (4 - len(seed)), *(word for part in words for word in _to_words(part))]
        constant, pool = INIT_A, []
        for word in entropy[:4]:
            hashed, constant = _hashmix(np.array([word], np.uint32), constant, MULT_A)
            pool.append(hashed)
        for source in range(4):
            for target in range(4):
                if source != target:
                    hashed, constant = _hashmix(pool[source], constant, MULT_A)
                    pool[target] = _mix(pool[target], hashed)
        for word in entropy[4:]:
            for target in range(4):
                hashed, constant = _hashmix(np.array([word], np.uint32), constant, MULT_A)
                pool[target] = _mix(pool[target], hashed)
        return constant, [word[0] for word in pool]

    def _bits(self, replication: int) -> np.random.PCG64:
        words: tuple[int, ...] = self._words  # type: ignore[attr-defined]
        return np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=(*words, replication)))


class Tape(NamedTuple):
    """A generator that compiled code can wind to any state, since a new one costs it 50 microseconds.

    Writing a row of `Stream.states` to `state`, and zeros to `half`, makes `generator` start there.

    Attributes
    ----------
    generator : numpy.random.Generator
    state : uint64 array of shape (4,)
        The memory of its PCG64.
    half : uint32 array of shape (2,)
        Whether half of a word is left over, and that half.
    """

    generator: np.random.Generator
    state: NDArray[np.uint64]
    half: NDArray[np.uint32]

    @classmethod
    def new(cls) -> Tape:
        """Return a tape of its own memory."""
        return cls.of(np.random.PCG64(0))

    @classmethod
    def of(cls, bits: np.random.PCG64) -> Tape:
        """Return the tape of a PCG64."""
        # NumPy's struct: a pointer to the 128-bit state and increment; two 32-bit numbers.
        address = bits.ctypes.state_address
        state = ctypes.c_size_t.from_address(address).value
        half = address + ctypes.sizeof(ctypes.c_size_t)
        return cls(
            np.random.Generator(bits),
            np.ctypeslib.as_array((ctypes.c_uint64 * 4).from_address(state)),
            np.ctypeslib.as_array((ctypes.c_uint32 * 2).from_address(half)),
        )


_OF_THREAD = threading.local()


def tapes() -> tuple[Tape, Tape]:
    """Return this thread's two tapes: for rewards, and for choices. Wind them before use.

    They are kept, because a generator costs compiled code 50 microseconds when it first meets it.
    """
    if not hasattr(_OF_THREAD, "tapes"):
        _OF_THREAD.tapes = (Tape.new(), Tape.new())
    found: tuple[Tape, Tape] = _OF_THREAD.tapes
    return found


def _words(bits: np.random.PCG64) -> tuple[int, int]:
    """Return the state and the increment of a PCG64."""
    state = bits.state["state"]
    return state["state"], state["inc"]


def _in_memory(states: Sequence[tuple[int, int]]) -> NDArray[np.uint64]:
    """Return states and increments as they stand in the memory of a PCG64, shape (n, 4)."""
    low = 2**64 - 1
    words = [(state & low, state >> 64, inc & low, inc >> 64) for state, inc in states]
    return np.array(words, np.uint64).reshape(-1, 4)[:, _layout()]


# NumPy's SeedSequence (its bit_generator.pyx, after M. E. O'Neill's randutils), on arrays of 32-bit words.
INIT_A, MULT_A = 0x43B0D7E5, 0x931E8875
INIT_B, MULT_B = 0x8B51F9DD, 0x58F38DED
MIX_LEFT, MIX_RIGHT = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
SHIFT = np.uint32(16)
Words = NDArray[np.uint32]


def _hashmix(value: Words, constant: int, factor: int) -> tuple[Words, int]:
    value = value ^ np.uint32(constant)
    constant = constant * factor % 2**32
    value = value * np.uint32(constant)
    return value ^ value >> SHIFT, constant


def _mix(x: Words, y: Words) -> Words:
    result: Words = MIX_LEFT * x - MIX_RIGHT * y
    return result ^ result >> SHIFT


def _to_words(number: int) -> list[int]:
    """Return a number as 32-bit words, the lowest first; 0 as one word."""
    words = [number % 2**32]
    while number := number >> 32:
        words.append(number % 2**32)
    return words


# PCG64: O'Neill's PCG XSL RR 128/64.
MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645
ALL = 2**128 - 1


def _step(state: int, inc: int) -> int:
    return (state * MULTIPLIER + inc) & ALL


def _seeded(high: int, low: int, inc_high: int, inc_low: int) -> tuple[int, int]:
    """Return state and increment of a PCG64 that was seeded with four words of 64 bits."""
    inc = ((inc_high << 64 | inc_low) << 1 | 1) & ALL
    return _step(inc + (high << 64 | low), inc), inc


def _output(state: int) -> int:
    """Return the 64 bits that a PCG64 gives out in a state: high and low half xored, and rotated."""
    value, turn = (state >> 64 ^ state) & (2**64 - 1), state >> 122
    return (value >> turn | value << (64 - turn)) & (2**64 - 1)


@functools.cache
def _layout() -> list[int]:
    """Return where in memory low and high half of state and increment stand: it depends on the platform.

    Raises
    ------
    RuntimeError
        This version of NumPy keeps them elsewhere.
    """
    tape = Tape.new()
    state, inc = _words(tape.generator.bit_generator)  # type: ignore[arg-type]
    found, words = tape.state.tolist(), [state % 2**64, state >> 64, inc % 2**64, inc >> 64]
    if sorted(found) != sorted(words):
        raise RuntimeError(f"NumPy {np.__version__} keeps the state of PCG64 where Brigand does not look.")
    return [words.index(word) for word in found]
