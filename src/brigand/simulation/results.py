"""Results of a simulation: labelled arrays with their provenance, saved as NetCDF."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import io
import json
import math
import os
import platform
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brigand import checks, display
from brigand.environments.world import World
from brigand.errors import InvalidValueError, ResultFileError
from brigand.files import atomic
from brigand.policies.base import Policy
from brigand.simulation.plan import Plan

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes

FORMAT = 1
LEVEL = 0.95
MEANS = 60
"""Steps at which means are shown in a notebook."""


class Results:
    """Regret and pulls of several policies in one environment.

    Attributes
    ----------
    dataset : xarray.Dataset
        ``regret`` (policy, replication, step): cumulative pseudo-regret, in units of reward.
        ``realized_regret``, likewise, if it was asked for: what the best arm of each step pays in the mean,
        less the rewards that were earned.
        ``pulls`` (policy, replication, step, arm): cumulative pulls.
        ``forced`` (policy, replication, arm): forced pulls by the last step; NaN for policies that do not
        count them. Coordinates: names of policies with the ``method`` by which they were run
        (``"step"``, ``"skip"``, or ``"late"``), numbers of replications, steps (from 1), arms (from 0).
        Attributes: ``environments``, ``conditions`` and ``policies`` as JSON, ``seed``, ``horizon``,
        versions, date.
    """

    def __init__(self, dataset: xr.Dataset | Callable[[], xr.Dataset]) -> None:
        self._given = dataset

    @functools.cached_property
    def dataset(self) -> xr.Dataset:
        """The labelled arrays; made when they are first asked for, because xarray takes long to load."""
        return self._given() if callable(self._given) else self._given

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle holds: the labelled arrays, made if they have not been asked for."""
        return {"_given": self.dataset}

    @classmethod
    def from_arrays(
        cls,
        plan: Plan,
        methods: Sequence[str],
        regret: NDArray[np.float64],
        pulls: NDArray[np.int64],
        forced: NDArray[np.float64],
        realized: NDArray[np.float64] | None = None,
    ) -> Results:
        """Label the arrays that `simulate` filled; shapes as in the class's docstring."""
        provenance = _provenance(plan)

        def label() -> xr.Dataset:
            import xarray as xr

            labelled = xr.Dataset(
                {
                    "regret": (
                        ("policy", "replication", "step"),
                        regret,
                        {"units": "reward", "kind": plan.environment.regret_kind},
                    ),
                    "pulls": (("policy", "replication", "step", "arm"), pulls),
                    "forced": (("policy", "replication", "arm"), forced),
                },
                {
                    "policy": list(plan.policies),
                    "method": ("policy", list(methods)),
                    "replication": list(plan.replications),
                    "step": plan.checkpoints,
                    "arm": np.arange(plan.environment.n_arms),
                },
                provenance,
            )
            if realized is not None:
                labelled["realized_regret"] = labelled["regret"].copy(data=realized)
            return labelled

        return cls(label)

    @functools.cached_property
    def environments(self) -> tuple[World, ...]:
        """The environments that were simulated: one, or one for each instance."""
        return tuple(World.from_json(data) for data in json.loads(self.dataset.attrs["environments"]))

    @functools.cached_property
    def policies(self) -> dict[str, Policy]:
        """The policies that were simulated, by name."""
        data = json.loads(self.dataset.attrs["policies"])
        return {name: Policy.from_json(policy) for name, policy in data.items()}

    @property
    def configuration(self) -> str | None:
        """A hash of what was asked for; None for results that are older, or were joined."""
        found = self.dataset.attrs.get("configuration")
        return None if found is None else str(found)

    @property
    def seed(self) -> int:
        """The seed, also where it was drawn."""
        return int(self.dataset.attrs["seed"])

    def summary(self, step: int | None = None, *, realized: bool = False) -> pd.DataFrame:
        """Return statistics of the regret at a checkpoint, one row a policy.

        Parameters
        ----------
        step : int, optional
            A checkpoint; by default the last.
        realized : bool
            Of the realized regret, which `simulate` must have been asked for. Its interval is Student's
            alone: there is no largest realized regret.

        Returns
        -------
        pandas.DataFrame
            ``mean``; ``low`` and ``high``, its 95 % interval (NaN for one replication); ``unseen``, the part
            of the interval that is for runs too rare to have been seen; ``top``, the share of the total
            regret that the worst 1 % of the replications carry; ``median``, ``q10``, ``q90``, ``sd``,
            ``replications``. See `regret_statistics`.
        """
        steps = self.dataset["step"].to_numpy()
        step = int(steps[-1]) if step is None else checks.integer("step", step, 1)
        if step not in steps:
            raise InvalidValueError(f"step {step} is no checkpoint of these results: {steps.tolist()}.")
        return self.statistics(realized=realized).xs(step, level="step")

    def statistics(self, *, realized: bool = False) -> pd.DataFrame:
        """Return the columns of `summary` for every policy and checkpoint, indexed by both.

        Raises
        ------
        InvalidValueError
            The realized regret was not recorded.
        """
        steps = self.dataset["step"].to_numpy()
        if realized:
            if "realized_regret" not in self.dataset:
                raise InvalidValueError(
                    "realized regret was not recorded: ask for it, br.simulate(..., realized=True)."
                )
            return statistics_of(self.dataset["realized_regret"], np.zeros(len(steps)))
        worst = np.max([environment.worst_regret(steps) for environment in self.environments], axis=0)
        return statistics_of(self.dataset["regret"], worst)

    @classmethod
    def over_instances(cls, results: Sequence[Results]) -> Results:
        """Join results of the same policies in several environments along a new dimension ``instance``.

        Statistics are then over instances, each of which counts with its mean over replications. All have the
        same number of replications, numbered from 0 in the joined results.
        """
        import xarray as xr

        count = results[0].dataset.sizes["replication"]
        numbered = [part.dataset.assign_coords(replication=range(count)) for part in results]
        joined = xr.concat(numbered, "instance", combine_attrs="override")
        joined.attrs.pop("configuration", None)
        joined.attrs["environments"] = json.dumps(
            [environment.to_json() for part in results for environment in part.environments]
        )
        return cls(joined.transpose("policy", "instance", ...))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the results as NetCDF; the file is whole or not there at all.

        Raises
        ------
        ResultFileError
            The file cannot be written.
        """
        return write_netcdf(self.dataset, checks.path("the file", path))

    def plot(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        policies: str | Sequence[str] | None = None,
        panels: str | Sequence[str] | None = None,
        ax: Axes | Sequence[Axes] | None = None,
        figsize: tuple[float, float] | None = None,
        bounds: bool = False,
        realized: bool = False,
        title: str = "",
    ) -> Any:
        """Draw regret against steps: the mean on linear, the median on logarithmic axes.

        How is said in `brigand.figures.curves.curves`. In a notebook the picture is shown once, at the end of
        the cell.

        Parameters
        ----------
        path : path, optional
            Write the figure there, too: a name that ends in .png, .svg or .pdf.
        policies : str or sequence of str, optional
            Which are drawn. Each has the colour that it has among all.
        panels : {"mean", "median"} or sequence of them, optional
            By default both; into one given axes the mean.
        ax : matplotlib.axes.Axes or sequence of them, optional
            Draw into these, one for each panel, and not into a new figure.
        figsize : (float, float), optional
            Width and height in inches: 3.3 for one column of a page, 6.9 for two.
        bounds : bool
            Whether to show the policies' smallest proved upper bounds, see `brigand.figures.regret`.
        realized : bool
            Draw the realized regret, which `simulate` must have been asked for, on linear axes.
        title : str

        Returns
        -------
        matplotlib.axes.Axes or array of them
            The axes of one panel, or of each; ``axes.figure`` is the figure.

        Raises
        ------
        InvalidValueError
            The name ends otherwise; bounds are asked for, and the results are over several instances; the
            realized regret was not recorded; or there are not as many axes as panels.
        UnknownNameError
            There is no such policy, or panel.
        ResultFileError
            The file cannot be written.
        """
        from brigand.figures import regret, style

        target = style.file_of(path)
        given = None if ax is None else list(np.atleast_1d(np.asarray(ax, object)).ravel())
        figure = regret.regret(
            self,
            title,
            self.environments[0].breakpoints,
            bounds,
            realized,
            policies=policies,
            panels=panels,
            figsize=figsize,
            axes=given,
            make=style.shown_figure,
        )
        if target is not None:
            style.save(figure, target.parent, target.stem, [target.suffix[1:]])
        return style.axes_of(figure, given)

    @display.html_repr
    def _repr_html_(self) -> str:
        """Return a table of regret at the last step, and a small figure of the means, for notebooks."""
        regret = self.dataset["regret"]
        steps = regret["step"].to_numpy()
        last = [len(steps) - 1]
        worst = np.max([one.worst_regret(steps[last]) for one in self.environments], axis=0)
        table = statistics_of(regret.isel(step=last), worst).reset_index("step", drop=True)
        columns = ("mean", "low", "high", "median", "q10", "q90")
        rows = [(name, *(float(row[column]) for column in columns)) for name, row in table.iterrows()]
        # Few of the steps, so that it is quick for large results, too.
        few = np.unique(np.linspace(0, len(steps) - 1, min(len(steps), MEANS)).astype(int))
        means = regret.isel(step=few).mean([dim for dim in regret.dims if dim not in ("policy", "step")])
        curves = zip(table.index, means.transpose("policy", "step").to_numpy(), strict=True)
        return display.block(
            repr(self),
            display.table(
                ("policy", "mean regret at T", "95 % from", "to", "median", "10 %", "90 %"), rows, 1, True
            ),
            display.lines(
                ((str(name), steps[few].tolist(), curve.tolist()) for name, curve in curves),
                f"Mean regret of each policy up to step {steps[-1]:,}",
            ),
        )

    def __repr__(self) -> str:
        sizes = self.dataset.sizes
        instances = f"{sizes['instance']} instances, " if "instance" in sizes else ""
        return (
            f"Results: {', '.join(self.dataset['policy'].to_numpy())}; {sizes['arm']} arms, {instances}"
            f"{int(self.dataset['step'][-1])} steps, {sizes['replication']} replications, seed {self.seed}"
        )


def write_netcdf(dataset: xr.Dataset, target: Path) -> Path:
    """Write a dataset as compressed NetCDF; the file is whole or not there at all.

    Raises
    ------
    ResultFileError
        The file cannot be written.
    """
    import h5netcdf
    import xarray as xr

    # Made in memory: an HDF5 file whose write failed half-way crashes the process when it is closed.
    # (`Dataset.to_netcdf` returns bytes of this format since xarray 2025.9 only.)
    compressed = {name: {"zlib": True, "complevel": 1} for name in dataset.data_vars}
    content = io.BytesIO()
    with h5netcdf.File(content, "w") as file:
        dataset.dump_to_store(xr.backends.H5NetCDFStore(file), encoding=compressed)
    with atomic(target) as temporary:
        temporary.write_bytes(content.getvalue())
    return target


def load(path: str | os.PathLike[str]) -> Results:
    """Read results that `Results.save` wrote.

    Raises
    ------
    ResultFileError
        There is no such file, it is damaged, or it does not hold results.
    """
    import xarray as xr

    path = checks.path("the file", path)
    if not path.is_file():
        if path.exists():
            raise ResultFileError(f"{str(path)!r} is not a file.")
        raise ResultFileError(f"there is no file {str(path)!r}.")
    try:
        dataset = xr.load_dataset(path, engine="h5netcdf")
    except Exception as error:  # h5py raises OSError, RuntimeError, KeyError ... for damaged files
        raise ResultFileError(f"{str(path)!r} is damaged or no NetCDF file: {error}") from error
    if "brigand_format" not in dataset.attrs or "regret" not in dataset:
        raise ResultFileError(f"{str(path)!r} is a NetCDF file, but not one of Brigand's results.")
    if int(dataset.attrs["brigand_format"]) > FORMAT:
        raise ResultFileError(
            f"{str(path)!r} was written in format {dataset.attrs['brigand_format']} by Brigand "
            f"{dataset.attrs['brigand_version']}; this version reads up to format {FORMAT}."
        )
    return Results(dataset)


def statistics_of(regret: xr.DataArray, worst: NDArray[np.float64]) -> pd.DataFrame:
    """Return `Results.statistics` of regret; `worst`: the largest that can be, for each step."""
    if "instance" in regret.dims:
        # The instances are the independent draws: their average over replications is what varies.
        regret = regret.mean("replication").rename(instance="replication")
    largest = regret["step"].astype(float).copy(data=worst)
    table = regret_statistics(regret, largest).to_dataframe(dim_order=["policy", "step"])
    return table.assign(replications=regret.sizes["replication"])


def regret_statistics(regret: xr.DataArray, worst: xr.DataArray | float = 0.0) -> xr.Dataset:
    """Summarise regret over replications: mean with a 95 % interval, median, quantiles, sd.

    The interval is Student's, and above it ``unseen``: an event that n replications have not shown may have a
    probability of up to 1 - 0.05^(1/n), about 3 / n, and cost the worst regret each time. Without that the
    interval of FE-Exp's mean misses it in most samples of 100 runs (``docs/statistics.md``).

    Parameters
    ----------
    regret : xarray.DataArray
        With a dimension ``replication``; all others are kept.
    worst : xarray.DataArray or float
        The largest regret that can be; 0 leaves Student's interval.

    References
    ----------
    J. A. Hanley, A. Lippman-Hand, "If nothing goes wrong, is everything all right?", JAMA 249 (1983): 3 / n.
    """
    import xarray as xr

    array = regret.transpose(..., "replication")
    found = array_statistics(array.to_numpy(), np.asarray(worst))
    mean = array.isel(replication=0, drop=True)
    return xr.Dataset({name: mean.copy(data=values) for name, values in found.items()})


def array_statistics(regret: NDArray[np.float64], worst: ArrayLike = 0.0) -> dict[str, NDArray[np.float64]]:
    """Return `regret_statistics` of an array, of which the last axis is that of replications."""
    from scipy import special

    n = regret.shape[-1]
    mean = regret.mean(axis=-1)
    # Relative to the largest, so that the squares of very large or small regrets neither overflow nor vanish.
    scale = float(np.abs(regret).max()) or 1.0
    sd = scale * (regret / scale).std(axis=-1, ddof=1) if n > 1 else np.full_like(mean, math.nan)
    half = float(special.stdtrit(n - 1, (1 + LEVEL) / 2)) * sd / math.sqrt(n) if n > 1 else sd
    unseen = np.zeros_like(mean) + np.asarray(worst) * (1.0 - (1.0 - LEVEL) ** (1.0 / n))
    ordered = np.sort(regret / scale)
    few = ordered[..., -max(1, n // 100) :].sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        top = np.where(few > 0, few / ordered.sum(axis=-1), 0.0)
    q10, median, q90 = np.quantile(regret, [0.1, 0.5, 0.9], axis=-1)
    return {
        "mean": mean,
        "low": mean - half,
        "high": mean + half + unseen,
        "unseen": unseen,
        "top": top,
        "median": median,
        "q10": q10,
        "q90": q90,
        "sd": sd,
    }


def configuration_of(plan: Plan) -> str:
    """Return a hash of what was asked for: environment, policies, horizon, runs, seed and checkpoints."""
    asked = [
        plan.environment.to_json(),
        {name: policy.to_json() for name, policy in plan.policies.items()},
        plan.horizon,
        plan.replications,
        plan.seed,
        plan.checkpoints.tolist(),
        *([] if plan.conditions.is_plain else [plan.conditions.to_json()]),
    ]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def _provenance(plan: Plan) -> dict[str, Any]:
    versions = {name: importlib.metadata.version(name) for name in ("numpy", "numba", "scipy", "xarray")}
    return {
        "brigand_format": FORMAT,
        "brigand_version": importlib.metadata.version("brigand"),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "environments": json.dumps([plan.environment.to_json()]),
        "conditions": json.dumps(plan.conditions.to_json()),
        "policies": json.dumps({name: policy.to_json() for name, policy in plan.policies.items()}),
        "horizon": plan.horizon,
        "seed": str(plan.seed),
        "configuration": configuration_of(plan),
        "python": platform.python_version(),
        "versions": json.dumps(versions),
    }
