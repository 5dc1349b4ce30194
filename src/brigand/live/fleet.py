"""Many bandits at once, each independent of the others: an item, a user, a segment each.

A fleet is tables: a row a bandit, and for each the policy's state and that of its generator. Bandit i decides
as ``br.Bandit(arms, policy, seed=seed + i)`` does, decision by decision; in which order bandits are asked,
and how many at a time, does not matter. It keeps no decisions and no reasons: for these there is `Bandit`.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brigand import checks, jit, shortcuts
from brigand.errors import InvalidValueError, ResultFileError
from brigand.files import atomic
from brigand.live.possible import all_possible
from brigand.policies.base import Policy, Table, check_choices
from brigand.policies.given import policy_of
from brigand.rng import check_seed, first_of_seeds
from brigand.shortcuts import lend, unpack
from brigand.spec import importing_only

FORMAT = 1
NEEDS = "files of fleets need h5py: pip install h5py."
TABLES = ("headers", "arms", "memory", "last", "open", "states", "halves")
"""What a fleet's state is."""
PAGE = 4096
"""Bytes; tables begin at multiples of it in a file, so that they can be mapped."""
MAX_SEED = 2**63
MAX_ASKS = 2**31 - 1
"""Of one bandit."""


class Fleet:
    """Bandits of one definition, in tables.

    Parameters
    ----------
    n_bandits : int
    arms : int
        K, the number of arms of each.
    policy : Policy or str
        A policy, or the name of one in the catalogue.
    seed : int or None
        Bandit i decides as ``br.Bandit(arms, policy, seed=seed + i)``. None draws one.
    horizon : int, optional
        The most asks of one bandit, for policies that need it.

    Raises
    ------
    InvalidValueError
        A number is not allowed, or the policy needs the horizon.

    Notes
    -----
    A reward is that of the last decision for its arm whose reward has not come, where it matters which: for
    policies that forget.

    A decision takes time that grows with K, as it does for `Bandit`; for FE and SW-FE, with log K.

    Examples
    --------
    >>> import brigand as br
    >>> fleet = br.Fleet(1000, 3, br.ForcedExploration(br.Linear()), seed=0)
    >>> ids = [7, 999]
    >>> arms = fleet.ask(ids)
    >>> fleet.tell(ids, arms, [1.0, 0.0])
    >>> fleet.steps[ids].tolist()
    [1, 1]
    """

    def __init__(
        self,
        n_bandits: int,
        arms: int,
        policy: Policy | str,
        *,
        seed: int | None = 0,
        horizon: int | None = None,
    ) -> None:
        n = checks.integer("n_bandits", n_bandits, 0)
        n_arms = checks.integer("arms", arms, 1)
        seed = check_seed(seed) if seed is not None else check_seed(None) >> 1
        if seed + n > MAX_SEED:
            raise InvalidValueError(f"seed + n_bandits must be at most 2^63, not {seed + n}.")
        self._prepare(policy_of("policy", policy), n_arms, seed, horizon)
        self._tables = self._fresh(0, n)

    def _prepare(self, policy: Policy, n_arms: int, seed: int, horizon: int | None) -> None:
        self.policy, self.n_arms, self.seed = policy, n_arms, seed
        self.horizon = None if horizon is None else checks.steps("horizon", horizon)
        self._parameters = policy.parameters(n_arms, self.horizon)
        self._candidates = np.arange(n_arms)
        self._generator = np.random.Generator(np.random.PCG64(0))
        self._tape = shortcuts.Tape.of(self._generator)
        self._packed = shortcuts.pack(self._generator)
        self._asks: Callable[..., int] | None = None
        self._tells: Callable[..., int] | None = None

    @property
    def n_bandits(self) -> int:
        """The number of bandits."""
        return len(self._tables["headers"])

    @property
    def steps(self) -> NDArray[np.int64]:
        """The number of asks of each bandit, shape (n_bandits,)."""
        found: NDArray[np.int64] = self._tables["headers"]["step"].copy()
        return found

    @property
    def nbytes(self) -> int:
        """The size of the tables."""
        return sum(table.nbytes for table in self._tables.values())

    def ask(self, ids: ArrayLike) -> NDArray[np.int64]:
        """Return the arms to show, counted from 0: one for each id, in their order.

        Parameters
        ----------
        ids : array-like of int, shape (n,)
            Bandits, counted from 0. One that is there twice decides twice.

        Raises
        ------
        InvalidValueError
            An id is none, or was asked as often as can be; nothing has changed.
        PolicyError
            The policy chose an arm that is not there.
        """
        wanted = self._checked_ids(ids)
        chosen = np.empty(len(wanted), np.int64)
        most = MAX_ASKS if self.horizon is None else min(self.horizon, MAX_ASKS)
        if len(wanted):
            asked = self._tables["headers"]["step"][wanted]
            if int(asked.max()) + len(wanted) > most:  # or else there is no need to count
                self._check_asks(wanted, most)
        tables = map(self._tables.__getitem__, TABLES)
        state = (self._parameters, *tables, self._candidates)
        tape = (self._packed, self._tape.state, self._tape.half)
        if self._asks is None:
            self._asks = shortcuts.direct(ask_loop(self.policy), *state, wanted, chosen, *tape)
        if shortcuts.winds():
            check_choices(self.policy, self._asks(*state, wanted, chosen, *tape))
            return chosen
        for i in range(len(wanted)):  # the documented way to put a generator into a state
            self._wind(wanted[i])
            check_choices(self.policy, self._asks(*state, wanted[i : i + 1], chosen[i : i + 1], *tape))
            self._keep(wanted[i])
        return chosen

    def tell(self, ids: ArrayLike, arms: ArrayLike, rewards: ArrayLike) -> None:
        """Let bandits learn rewards of arms that they chose: all of them, or none.

        Parameters
        ----------
        ids, arms : array-like of int, shape (n,)
        rewards : array-like of float, shape (n,)

        Raises
        ------
        InvalidValueError
            An id or an arm is none, a reward is not finite, or there is no such decision without a reward;
            nothing has changed.
        UnsupportedRewardError
            The policy cannot work with a reward; nothing has changed.
        """
        wanted = self._checked_ids(ids)
        chosen = _integers("arms", arms, self.n_arms, "arm", len(wanted))
        values = np.asarray(rewards, float)
        if values.shape != wanted.shape:
            raise InvalidValueError(f"there are {len(wanted)} ids, and rewards of shape {values.shape}.")
        if not len(values):
            return
        if not np.isfinite(values).all():
            place = int(np.flatnonzero(~np.isfinite(values))[0])
            raise InvalidValueError(f"rewards must be finite, but rewards[{place}] is {values[place]}.")
        for place in (int(values.argmin()), int(values.argmax())):
            reward = float(values[place])
            self.policy.check_rewards(reward, reward, f"rewards[{place}]")
        tables = map(self._tables.__getitem__, ("headers", "arms", "memory", "last", "open"))
        arguments = (self._parameters, *tables, wanted, chosen, np.ascontiguousarray(values))
        if self._tells is None:
            self._tells = shortcuts.direct(tell_loop(self.policy), *arguments)
        wrong = self._tells(*arguments)
        if wrong:
            bandit, arm = wanted[wrong - 1], chosen[wrong - 1]
            raise InvalidValueError(
                f"row {wrong - 1}: bandit {bandit} has no decision for arm {arm} whose reward has not come."
            )

    def grow(self, n_bandits: int) -> None:
        """Add bandits after the last one."""
        n = checks.integer("n_bandits", n_bandits, 0)
        if self.seed + self.n_bandits + n > MAX_SEED:
            raise InvalidValueError("there are no seeds for so many bandits.")
        more = self._fresh(self.n_bandits, n)
        self._tables = {name: np.concatenate([table, more[name]]) for name, table in self._tables.items()}

    def save(self, path: str | Path) -> None:
        """Write the fleet to one HDF5 file, which is there only once it is whole.

        Raises
        ------
        MissingPackageError
            h5py is not installed.
        OSError
            It cannot be written.
        """
        h5py = checks.package("h5py", NEEDS)
        about = {
            "format": FORMAT,
            "policy": self.policy.to_json(),
            "n_arms": self.n_arms,
            "seed": self.seed,
            "horizon": self.horizon,
            "layout": shortcuts.layout(),
        }
        with (
            atomic(Path(path)) as part,
            h5py.File(part, "w", alignment_threshold=1, alignment_interval=PAGE) as file,
        ):
            file.attrs["brigand fleet"] = json.dumps(about)
            for name, table in self._tables.items():
                file.create_dataset(name, data=table, track_times=False)

    @classmethod
    def load(cls, path: str | Path, *, mapped: bool = False, allow: Iterable[str] = ()) -> Self:
        """Read a fleet that was saved.

        Parameters
        ----------
        path : str or Path
        mapped : bool
            Map the file into memory: what bandits need is read when they are asked, and what they learn goes
            to the file. A process that is killed leaves whole bandits only if the system lives on and no call
            was under way; `save` is for what must be safe.
        allow : iterable of str
            Modules that may be imported for the policy.

        Raises
        ------
        ResultFileError
            It is no fleet, holds no state that can be, or was saved by another version or kind of machine.
        """
        h5py = checks.package("h5py", NEEDS)
        path, shown = Path(path), repr(str(path))
        try:
            with h5py.File(path, "r") as file:
                about = json.loads(file.attrs["brigand fleet"])
                if about["format"] != FORMAT or about["layout"] != shortcuts.layout():
                    raise ResultFileError(f"{shown} was saved by another version or kind of machine.")
                with importing_only(allow):
                    policy = Policy.from_json(about["policy"])
                fleet = cls.__new__(cls)
                fleet._prepare(
                    policy,
                    checks.integer("arms", about["n_arms"], 1),
                    checks.integer("seed", about["seed"], 0, MAX_SEED),
                    about["horizon"],
                )
                likes = fleet._fresh(0, 0)
                fleet._tables = {name: _table(path, file[name], like, mapped) for name, like in likes.items()}
        except ResultFileError:
            raise
        except (OSError, LookupError, TypeError, ValueError, RuntimeError) as error:  # of h5py, for damage
            raise ResultFileError(f"{shown} holds no fleet: {error}") from error
        fleet._check(shown)
        return fleet

    def _check(self, shown: str) -> None:
        """Refuse tables that no asks and rewards can have made: compiled code would trust them."""
        tables = self._tables
        headers, arms, memory, last, open_ = (tables[name] for name in TABLES[:5])
        steps = headers["step"][:, None]
        if (
            len({len(table) for table in tables.values()}) != 1
            or not all_possible(headers, arms, memory)
            or (headers["step"] > MAX_ASKS).any()
            or (last < 0).any()
            or (last > steps).any()
            or (open_ < 0).any()
            or (open_ > steps).any()
        ):
            raise ResultFileError(f"{shown} is damaged: it holds a state that cannot be.")

    def _fresh(self, first: int, n: int) -> dict[str, Any]:
        """Return the tables of bandits that were never asked."""
        keys, starts = first_of_seeds(self.policy, range(self.seed + first, self.seed + first + n))
        state = self.policy.start(self.n_arms, self.horizon)
        headers = np.repeat(np.array([state.header]), n)
        if "key" in (headers.dtype.names or ()):
            headers["key"] = keys
        rows = _narrow(state.arms) if self.policy.narrow else state.arms
        return {
            "headers": headers,
            "arms": np.repeat(rows[None], n, axis=0),
            "memory": np.repeat(state.memory[None], n, axis=0),
            "last": np.zeros((n, self.n_arms), np.int32),
            "open": np.zeros((n, self.n_arms), np.int32),
            "states": shortcuts.in_words(starts),
            "halves": np.zeros((n, 2), np.uint32),
        }

    def _checked_ids(self, ids: ArrayLike) -> NDArray[np.int64]:
        return _integers("ids", ids, self.n_bandits, "bandit")

    def _check_asks(self, ids: NDArray[np.int64], most: int) -> None:
        numbers, counts = np.unique(ids, return_counts=True)
        over = np.flatnonzero(self._tables["headers"]["step"][numbers] + counts > most)
        if len(over):
            raise InvalidValueError(f"bandit {numbers[over[0]]} can be asked {most:,} times, and no more.")

    def _wind(self, bandit: int) -> None:
        state, inc = shortcuts.from_words(self._tables["states"][bandit])
        left, half = self._tables["halves"][bandit].tolist()
        self._generator.bit_generator.state = {
            "bit_generator": "PCG64",
            "state": {"state": state, "inc": inc},
            "has_uint32": left,
            "uinteger": half,
        }

    def _keep(self, bandit: int) -> None:
        state: Any = self._generator.bit_generator.state
        start = state["state"]["state"], state["state"]["inc"]
        self._tables["states"][bandit] = shortcuts.in_words([start])[0]
        self._tables["halves"][bandit] = state["has_uint32"], state["uinteger"]

    def __repr__(self) -> str:
        return f"<Fleet of {self.n_bandits:,} bandits with {self.n_arms} arms: {self.policy!r}>"


def _narrow(table: Table) -> Table:
    """Return a table with integers of 32 bits, which stand after the floats."""
    kinds = {name: table.dtype[name].kind for name in table.dtype.names or ()}
    floats = [(name, np.float64) for name, kind in kinds.items() if kind == "f"]
    integers = [(name, np.int32) for name, kind in kinds.items() if kind == "i"]
    found = np.empty(len(table), np.dtype([*floats, *integers], align=True))
    for name in kinds:
        found[name] = table[name]
    return found


def _table(path: Path, found: Any, like: NDArray[Any], mapped: bool) -> Any:
    if found.dtype != like.dtype or found.shape[1:] != like.shape[1:]:
        raise ValueError(f"its table {found.name!r} is not this policy's")
    offset = found.id.get_offset()
    if not mapped or offset is None or not found.size:
        return np.ascontiguousarray(found[()], like.dtype)
    return np.memmap(path, like.dtype, "r+", offset, found.shape).view(np.ndarray)


def _integers(
    name: str, given: ArrayLike, below: int, what: str, length: int | None = None
) -> NDArray[np.int64]:
    found = np.asarray(given)
    if not found.size:
        found = found.astype(np.int64)
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise InvalidValueError(
            f"{name} must be a list of integers, not of shape {found.shape} and type {found.dtype}."
        )
    if length is not None and len(found) != length:
        raise InvalidValueError(f"there are {length} ids and {len(found)} {name}.")
    if len(found) and not (int(found.min()) >= 0 and int(found.max()) < below):
        place = int(np.flatnonzero((found < 0) | (found >= below))[0])
        raise InvalidValueError(
            f"{name}[{place}] is {found[place]}, and there is no such {what}: there are {below:,}."
        )
    return np.ascontiguousarray(found, np.int64)


def ask_loop(policy: Policy) -> Callable[..., int]:
    """Return the compiled loop over asks; it returns the step at which an arm was none, or 0."""
    return _ask_loop(policy.kernels.select, policy.kernels.pull)


@functools.cache
def _ask_loop(selects: Callable[..., Any], pulls: Callable[..., None]) -> Callable[..., int]:
    select, pull = jit.kernel(selects), jit.kernel(pulls)

    def ask(
        parameters: Any,
        headers: Table,
        arms: Table,
        memory: Table,
        last: NDArray[np.int32],
        waiting: NDArray[np.int32],
        states: NDArray[np.uint64],
        halves: NDArray[np.uint32],
        candidates: NDArray[np.int64],
        ids: NDArray[np.int64],
        chosen: NDArray[np.int64],
        packed: Any,
        state: NDArray[np.uint64],
        half: NDArray[np.uint32],
    ) -> int:
        rng = unpack(packed)
        candidates = lend(candidates)
        for i in range(len(ids)):
            b = ids[i]
            mine, kept = lend(arms[b]), lend(memory[b])
            state[:] = states[b]
            half[:] = halves[b]
            arm = select(parameters, headers[b], mine, kept, candidates, rng)
            if not 0 <= arm < len(candidates):
                return int(headers[b]["step"]) + 1
            pull(parameters, headers[b], mine, kept, arm)
            states[b] = state
            halves[b] = half
            last[b, arm] = headers[b]["step"]
            waiting[b, arm] += 1
            chosen[i] = arm
        return 0

    return jit.compile_loop(ask, selects, pulls)


def tell_loop(policy: Policy) -> Callable[..., int]:
    """Return the compiled loop over rewards; it returns the number, from 1, of one for no decision, or 0."""
    return _tell_loop(policy.kernels.learn)


@functools.cache
def _tell_loop(learns: Callable[..., None]) -> Callable[..., int]:
    learn = jit.kernel(learns)

    def tell(
        parameters: Any,
        headers: Table,
        arms: Table,
        memory: Table,
        last: NDArray[np.int32],
        waiting: NDArray[np.int32],
        ids: NDArray[np.int64],
        chosen: NDArray[np.int64],
        rewards: NDArray[np.float64],
    ) -> int:
        for i in range(len(ids)):
            if waiting[ids[i], chosen[i]] == 0:
                for j in range(i):
                    waiting[ids[j], chosen[j]] += 1
                return i + 1
            waiting[ids[i], chosen[i]] -= 1
        for i in range(len(ids)):
            b, arm = ids[i], chosen[i]
            mine, kept = lend(arms[b]), lend(memory[b])
            learn(parameters, headers[b], mine, kept, arm, rewards[i], last[b, arm])
        return 0

    return jit.compile_loop(tell, learns)
