"""With which probabilities a bandit would choose its arms now."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from brigand import checks, jit
from brigand.live import report
from brigand.live.bandit import MOST_AT_ONCE, Bandit
from brigand.live.engine import Engine
from brigand.live.holdout import mixed
from brigand.live.names import listed
from brigand.policies.base import Table
from brigand.rng import check_seed
from brigand.shortcuts import lend

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = {"arm": "object", "propensity": "float64", "error": "float64", "estimated": "bool"}


def propensities(
    bandit: Bandit, draws: int | None = None, *, among: Iterable[str] | None = None, seed: int | None = None
) -> pd.DataFrame:
    """Return the probability with which each arm would be chosen by the next ask, by what is known now.

    Parameters
    ----------
    bandit : Bandit
    draws : int, optional
        Where the policy's probabilities cannot be computed, estimate them by so many choices, a million at
        most; the bandit's own state and generator stay as they are.
    among : iterable of str, optional
        The arms that are available; by default all in service.
    seed : int, optional
        Of these choices. By default drawn.

    Returns
    -------
    pandas.DataFrame
        Index ``arm``; columns ``propensity`` (NaN if it cannot be computed, and no draws are made), ``error``
        (the standard error of an estimate, else 0) and ``estimated``. Where pandas is not installed: a list
        of dicts.

    Raises
    ------
    InvalidValueError
        `draws` is no number of draws.
    UnknownNameError
        An arm is not in service.

    Examples
    --------
    >>> import brigand as br
    >>> bandit = br.Bandit(["a", "b"], br.ThompsonBeta(), seed=0, holdout=0.1)
    >>> bandit.tell(bandit.record([("a", None)])[0], 1)
    <Told.LEARNED: 'learned'>
    >>> br.propensities(bandit)["propensity"].round(6).to_dict()
    {'a': 0.65, 'b': 0.35}
    """
    if draws is not None:
        draws = checks.integer("draws", draws, 1, MOST_AT_ONCE)
    names = None if among is None else listed(among)
    with bandit._session.reading() as session:
        engine = session.engine
        rows = bandit._rows(engine, names)
        candidates = np.array(sorted(engine.row_of.values()) if rows is None else rows, np.int64)
        found, errors = _of_policy(engine, candidates), np.zeros(len(candidates))
        estimated = draws is not None and bool(np.isnan(found).any())
        if draws is not None and estimated:
            found = _frequencies(engine, candidates, draws, check_seed(seed))
            errors = np.sqrt(found * (1.0 - found) / draws)
        arms = [engine.names[row] for row in candidates]
    settings, n = engine.settings, len(candidates)
    mix = [mixed(p, settings.holdout, settings.floor, n) for p in found.tolist()]
    even = mixed(0.0, settings.holdout, settings.floor, n) * n
    columns = (arms, mix, (errors * (1.0 - even)).tolist(), [estimated] * n)
    return report.table([dict(zip(COLUMNS, row, strict=True)) for row in zip(*columns, strict=True)], COLUMNS)


def _of_policy(engine: Engine, candidates: NDArray[np.int64]) -> NDArray[np.float64]:
    found = np.empty(len(candidates))
    _exact_loop(engine.settings.policy.kernels)(*_state(engine), candidates, found)
    return found


def _frequencies(engine: Engine, candidates: NDArray[np.int64], draws: int, seed: int) -> NDArray[np.float64]:
    counts = np.zeros(len(engine.arms), np.int64)
    generator = np.random.Generator(np.random.PCG64(seed))
    _drawing_loop(engine.settings.policy.kernels)(*_state(engine), candidates, draws, generator, counts)
    frequencies: NDArray[np.float64] = counts[candidates] / draws
    return frequencies


def _state(engine: Engine) -> tuple[Any, ...]:
    return engine._parameters, engine.header, engine.arms, engine.memory


@functools.cache
def _exact_loop(kernels: Any) -> Callable[..., None]:
    """Return the compiled loop that fills in each candidate's propensity."""
    propensity = jit.kernel(kernels.propensity)

    def exact(
        parameters: Any, header: Table, arms: Table, memory: Table, candidates: Any, found: Any
    ) -> None:
        arms, memory, candidates = lend(arms), lend(memory), lend(candidates)
        for i in range(len(candidates)):
            found[i] = propensity(parameters, header[0], arms, memory, candidates, candidates[i])

    return jit.compile_loop(exact, *kernels)


@functools.cache
def _drawing_loop(kernels: Any) -> Callable[..., None]:
    """Return the compiled loop that counts how often each arm is chosen."""
    select = jit.kernel(kernels.select)

    def draw(
        parameters: Any,
        header: Table,
        arms: Table,
        memory: Table,
        candidates: Any,
        draws: int,
        rng: np.random.Generator,
        counts: Any,
    ) -> None:
        arms, memory, candidates = lend(arms), lend(memory), lend(candidates)
        for _ in range(draws):
            arm = select(parameters, header[0], arms, memory, candidates, rng)
            if 0 <= arm < len(counts):
                counts[arm] += 1

    return jit.compile_loop(draw, *kernels)
