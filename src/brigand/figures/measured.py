"""What figures ask of results: so they stand below the simulator, and its results can draw themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from brigand.environments.world import World
from brigand.policies.base import Policy

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


class Measured(Protocol):
    """Measured regret: `brigand.Results`, which says what each of these is."""

    @property
    def dataset(self) -> xr.Dataset: ...  # noqa: D102
    @property
    def environments(self) -> tuple[World, ...]: ...  # noqa: D102
    @property
    def policies(self) -> Mapping[str, Policy]: ...  # noqa: D102
    def statistics(self, *, realized: bool = False) -> pd.DataFrame: ...  # noqa: D102
