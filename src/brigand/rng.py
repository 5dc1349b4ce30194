"""From one seed to independent streams of random numbers.

Replication i gets one stream for its rewards, which depends only on (seed, i, environment), and one for
each policy's choices, which depends only on (seed, i, the policy's JSON form). So results are the same
bits for any number of workers, any order of policies and any subset of replications, and adding a
policy changes nobody else's numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from brigand import checks, shortcuts
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


def first_of_seeds(spec: Spec, seeds: Sequence[int]) -> tuple[list[int], list[shortcuts.Start]]:
    """Return, for streams of many seeds below 2^64, `Stream.keyed_starts` of their replication 0."""
    return shortcuts.seeded_starts(seeds, Stream(0, spec)._key)


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
    _key: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        digest = hashlib.sha256(canonical(self.spec).encode()).digest()[:16]
        object.__setattr__(self, "_key", tuple(np.frombuffer(digest, "<u4").tolist()))

    def generator(self, replication: int) -> np.random.Generator:
        """Return the generator of one replication (0, 1, ...), at its beginning."""
        return shortcuts.generator(self.seed, self._key, replication)

    def starts(self, replications: Sequence[int]) -> list[shortcuts.Start]:
        """Return the first states of some replications' generators, for `shortcuts.wind`."""
        return shortcuts.starts(self.seed, self._key, replications)

    def keyed_starts(self, replications: Sequence[int]) -> tuple[list[int], list[shortcuts.Start]]:
        """Return each generator's first ``integers(2**63)``, and its state after that, as `starts`."""
        return shortcuts.keyed_starts(self.seed, self._key, replications)
