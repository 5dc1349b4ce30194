"""From one seed to independent streams of random numbers.

Replication i gets one stream for its rewards, which depends only on (seed, i, environment), and one for
each policy's choices, which depends only on (seed, i, the policy's JSON form). So results are the same
bits for any number of workers, any order of policies and any subset of replications, and adding a
policy changes nobody else's numbers. Nothing global is read or changed.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from brigand import checks
from brigand.spec import Spec, canonical


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

    def states(self, replications: Sequence[int]) -> NDArray[np.uint64]:
        """Return the first states of some replications' generators, shape (replications, 4), for a `Tape`."""
        return np.array([_words(self._bits(i)) for i in replications], np.uint64)[:, _layout()]

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
        bits = np.random.PCG64(0)
        # NumPy's struct: a pointer to the 128-bit state and increment; two 32-bit numbers.
        address = bits.ctypes.state_address
        state = ctypes.c_size_t.from_address(address).value
        half = address + ctypes.sizeof(ctypes.c_size_t)
        return cls(
            np.random.Generator(bits),
            np.ctypeslib.as_array((ctypes.c_uint64 * 4).from_address(state)),
            np.ctypeslib.as_array((ctypes.c_uint32 * 2).from_address(half)),
        )


def _words(bits: np.random.PCG64) -> tuple[int, int, int, int]:
    """Return the state and the increment of a PCG64, low halves first."""
    state = bits.state["state"]
    low = 2**64 - 1
    return state["state"] & low, state["state"] >> 64, state["inc"] & low, state["inc"] >> 64


@functools.cache
def _layout() -> list[int]:
    """Return where in memory each of `_words` stands, which depends on the platform.

    Raises
    ------
    RuntimeError
        This version of NumPy keeps them elsewhere.
    """
    tape = Tape.new()
    found, words = tape.state.tolist(), _words(tape.generator.bit_generator)  # type: ignore[arg-type]
    if sorted(found) != sorted(words):
        raise RuntimeError(f"NumPy {np.__version__} keeps the state of PCG64 where Brigand does not look.")
    return [words.index(word) for word in found]
