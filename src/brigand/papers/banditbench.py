"""The table of github.com/DataWraith/banditbench, for Bernoulli rewards.

K = 10, T = 500, one run on each of 10,001 instances. In every run the program seeds the rewards of arm k
with k. So the n-th reward of arm k compares the arm's mean with the same random number in all 10,001 runs.
The published means are conditional on this one table of 10 x 500 numbers, and more instances do not average
that out: the mean regret of Thompson sampling is 28.9 with this table, 20 to 23 with four others, and 23.9
with independent rewards. Brigand therefore generates the same table (Rust's StdRng is ChaCha with 12 rounds)
and runs its policies on it.

Left out: ReBoot, which estimates sigma there, and WR-SDA, in which an arm there wins a comparison only with a
larger mean, and which forces by a decimal logarithm there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brigand import jit
from brigand.environments.instances import Floats
from brigand.papers.validation import Row, grid, printed
from brigand.policies.base import Header, Kernels, Policy, Table
from brigand.policies.forced.forced_exploration import ForcedExploration
from brigand.policies.forced.sequences import Power
from brigand.policies.randomised.giro import GIRO
from brigand.policies.randomised.npts import NPTS
from brigand.policies.randomised.phe import PHE
from brigand.policies.randomised.thompson import ThompsonBeta
from brigand.policies.ucb.kl_ucb import KLUCB
from brigand.policies.ucb.ucb1 import UCB1
from brigand.rng import Stream
from brigand.shortcuts import lend
from brigand.simulation.plan import check_workers

N_ARMS, HORIZON, RUNS = 10, 500, 10_001
NAME = "banditbench"
TABLE = """
 | means U(0, 1) | means U(1/4, 3/4) | means Beta(1, 8) | means Beta(8, 1)
FE, r^2 | 46.67 | 33.17 | 31.41 | 13.99
TS | 28.93 | 40.54 | 37.71 | 12.42
KL-UCB | 29.63 | 42.71 | 37.98 | 11.68
UCB1 | 86.85 | 68.09 | 69.61 | 36.12
NPTS | 33.80 | 43.69 | 39.35 | 13.60
PHE, a = 1.1 | 37.89 | 42.30 | 42.79 | 24.86
PHE, a = 2.1 | 56.54 | 52.22 | 53.71 | 30.40
PHE, a = 5.1 | 83.35 | 65.85 | 67.65 | 35.48
GIRO, a = 0.1 | 38.73 | 42.09 | 35.13 | 23.95
GIRO, a = 1/3 | 49.27 | 48.15 | 45.19 | 28.01
GIRO, a = 1 | 66.48 | 57.73 | 58.33 | 32.46
"""
# Its FE counts the first pulls of all arms as round 1: shift 1 (docs/decisions.md).
POLICIES: dict[str, Policy] = {
    "FE, r^2": ForcedExploration(Power(2, shift=1)),
    "TS": ThompsonBeta(),
    "KL-UCB": KLUCB(),
    "UCB1": UCB1(0, 1),
    "NPTS": NPTS(),
    "PHE, a = 1.1": PHE(1.1),
    "PHE, a = 2.1": PHE(2.1),
    "PHE, a = 5.1": PHE(5.1),
    "GIRO, a = 0.1": GIRO(0.1),
    "GIRO, a = 1/3": GIRO(1 / 3),
    "GIRO, a = 1": GIRO(1.0),
}
MEANS: dict[str, Callable[[np.random.Generator], Floats]] = {
    "means U(0, 1)": lambda rng: rng.random(N_ARMS),
    "means U(1/4, 3/4)": lambda rng: rng.uniform(0.25, 0.75, N_ARMS),
    "means Beta(1, 8)": lambda rng: rng.beta(1, 8, N_ARMS),
    "means Beta(8, 1)": lambda rng: rng.beta(8, 1, N_ARMS),
}


def rows() -> Iterator[Row]:
    """Yield all rows."""
    problems = {name: SharedNumbers(name, means) for name, means in MEANS.items()}
    for name, cells in grid(TABLE).items():
        for label, cell in cells.items():
            yield Row(NAME, problems[label], name, POLICIES[name], {HORIZON: printed(cell, RUNS)}, RUNS)


@dataclass(frozen=True)
class SharedNumbers:
    """Random means, and rewards from one table of random numbers that all runs share."""

    name: str
    means: Callable[[np.random.Generator], Floats]

    def regret(self, policy: Policy, steps: Sequence[int], runs: int, workers: int | None) -> Floats:
        """Return the regret, see `Problem`; instance i is drawn with seed i."""
        loop, parameters = stack_loop(policy.kernels), policy.parameters(N_ARMS, HORIZON)
        numbers, choices = random_numbers(), Stream(0, policy)

        def one(i: int) -> float:
            means = self.means(np.random.Generator(np.random.PCG64(i)))
            rng = choices.generator(i)
            state = policy.start(N_ARMS, HORIZON, int(rng.integers(2**63)))
            counts = np.zeros(N_ARMS, np.int64)
            loop(parameters, *state, np.arange(N_ARMS), numbers < means[:, None], rng, counts)
            return float((counts * (means.max() - means)).sum())

        with ThreadPoolExecutor(check_workers(workers)) as pool:
            return np.array(list(pool.map(one, range(runs))))[:, None]


@functools.cache
def stack_loop(kernels: Kernels) -> Callable[..., None]:
    """Return the compiled loop ``loop(parameters, header, arms, memory, candidates, rewards, rng, counts)``.

    The n-th pull of arm k pays ``rewards[k, n]``. It changes the state, and counts the pulls.
    """
    select, pull, learn = jit.kernel(kernels.select), jit.kernel(kernels.pull), jit.kernel(kernels.learn)

    def stack(
        parameters: Any,
        header: Header,
        arms: Table,
        memory: Table,
        candidates: NDArray[np.int64],
        rewards: NDArray[np.bool_],
        rng: np.random.Generator,
        counts: NDArray[np.int64],
    ) -> None:
        arms, memory, candidates = lend(arms), lend(memory), lend(candidates)
        for step in range(1, rewards.shape[1] + 1):
            arm = select(parameters, header, arms, memory, candidates, rng)
            pull(parameters, header, arms, memory, arm)
            reward = 1.0 if rewards[arm, counts[arm]] else 0.0
            learn(parameters, header, arms, memory, arm, reward, step)
            counts[arm] += 1

    return jit.compile_loop(stack, *kernels)


@functools.cache
def random_numbers() -> Floats:
    """Return the table's random numbers, shape (arms, pulls): those of Rust's StdRng, seeded 1, 2, ..."""
    rows = []
    for arm in range(1, N_ARMS + 1):
        words = np.concatenate([chacha(_key(arm), block, 12) for block in range(2 * HORIZON // 16 + 1)])
        low, high = words[: 2 * HORIZON].reshape(-1, 2).astype(np.uint64).T
        rows.append((low | high << np.uint64(32)) / 2.0**64)
    return np.array(rows)


def _key(seed: int) -> list[int]:
    """Return the key that rand 0.8 makes of a seed: eight words of a PCG32."""
    words = []
    for _ in range(8):
        seed = (seed * 6364136223846793005 + 11634580027462260723) % 2**64
        word, turn = (((seed >> 18) ^ seed) >> 27) % 2**32, seed >> 59
        words.append((word >> turn | word << (32 - turn)) % 2**32)
    return words


def chacha(key: Sequence[int], block: int, rounds: int) -> NDArray[np.uint32]:
    """Return the 16 words of a block of ChaCha (Bernstein 2008; RFC 8439) with a nonce of 0."""
    constants = np.frombuffer(b"expand 32-byte k", "<u4")
    start = np.array([*constants, *key, block % 2**32, block >> 32, 0, 0], np.uint32)
    x = start.reshape(4, 4).copy()
    for i in range(rounds):
        for row in (1, 2, 3) if i % 2 else ():  # odd rounds work on diagonals
            x[row] = np.roll(x[row], -row)
        for a, b, c, turn in ((0, 1, 3, 16), (2, 3, 1, 12), (0, 1, 3, 8), (2, 3, 1, 7)):
            x[a] += x[b]
            mixed = x[c] ^ x[a]
            x[c] = mixed << np.uint32(turn) | mixed >> np.uint32(32 - turn)
        for row in (1, 2, 3) if i % 2 else ():
            x[row] = np.roll(x[row], row)
    return x.ravel() + start
