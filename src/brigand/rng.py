"""From one seed to independent streams of random numbers.

Replication i gets one stream for its rewards, which depends only on (seed, i, environment), and one for
each policy's choices, which depends only on (seed, i, the policy's JSON form). So results are the same
bits for any number of workers, any order of policies and any subset of replications, and adding a
policy changes nobody else's numbers. Nothing global is read or changed.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

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

    def reset(self, generator: np.random.Generator, replication: int) -> None:
        """Make a generator that `generator` returned that of another replication, at its beginning.

        A new one costs compiled code 50 microseconds when it first meets it.
        """
        generator.bit_generator.state = self._bits(replication).state

    def _bits(self, replication: int) -> np.random.PCG64:
        words: tuple[int, ...] = self._words  # type: ignore[attr-defined]
        return np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=(*words, replication)))
