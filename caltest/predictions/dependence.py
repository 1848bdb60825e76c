"""Rows that depend on each other: clusters of rows, and blocks of time."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from caltest.checks import check_groups, check_integer, check_not_label
from caltest.checks.arrays import as_array, check_column, check_not_missing, is_missing
from caltest.errors import NotApplicable, invalid, shown
from caltest.predictions import tables
from caltest.types import Codes

if TYPE_CHECKING:
    from caltest.predictions.rows import Rows
    from caltest.predictions.tables import ColumnTable

CLUSTER = "cluster"
LONG, SHORT = 5, 2  # lengths of a block, in reaches of the dependence: wanted, and at least
FEWEST, MOST = 12, 50  # blocks for which they are shortened, or made longer


def cluster_codes(clusters: object, n: int, name: str = "clusters") -> Codes:
    """Number the clusters of n rows in sorted order, (n,); none may be missing."""
    return np.unique(check_groups(clusters, n, name), return_inverse=True)[1].astype(np.int64)


def time_steps(time: object, n: int) -> Codes:
    """Number the distinct times of n rows in their order, (n,); none may be missing."""
    values = as_array(time, "time")
    if values.dtype.kind in "mM":
        values = check_not_missing(check_column(values, n, "time"), "time")
        return np.unique(values, return_inverse=True)[1].astype(np.int64)
    items = values.tolist() if values.dtype.kind == "O" and values.ndim == 1 else []
    items = [None if is_missing(item) else item for item in items]
    if any(items) and all(item is None or isinstance(item, dt.date) for item in items):
        return time_steps(np.array([*map(_without_zone, items)], "datetime64[us]"), n)
    return cluster_codes(time, n, "time")


def _without_zone(moment: Any) -> Any:
    """Return a moment of a time zone as one of UTC, as those of NumPy are; others as they are."""
    if getattr(moment, "tzinfo", None) is None:
        return moment
    return moment.astimezone(dt.UTC).replace(tzinfo=None)


def block_length(steps: int, lag: int, series: int = 1) -> int:
    """Return how many time steps make a block, for rows that depend up to `lag` steps apart.

    The sums of neighbouring blocks depend on each other at their edge, which takes a share of
    about (lag + 1) / (3 length) from their variance: blocks are five times as long as the
    dependence reaches, longer where there are more than 50, and down to twice as long where there
    are fewer than 12.
    """
    if lag == 0:
        return 1
    reach, longest = lag + 1, -(-steps * series // MOST)
    return max(longest, min(LONG * reach, max(SHORT * reach, steps * series // FEWEST)))


Some = TypeVar("Some", bound="Rows")


@dataclass(frozen=True)
class Dependence:
    """Which rows may depend on each other, as the user said: columns are not read.

    Attributes
    ----------
    cluster : array_like or str, optional
        The cluster of each row, or the column of a data frame.
    time : array_like or str, optional
        The time of each row: numbers, dates or text in sorted order; rows of one time are in one
        step.
    lag : int, optional
        How many time steps apart rows may depend on each other.
    """

    cluster: object = None
    time: object = None
    lag: Any = None

    def __post_init__(self) -> None:
        if (self.time is None) != (self.lag is None):
            given = "time" if self.lag is None else "lag"
            remedy = "pass both; forecasts of the sum of the next h steps have lag=h-1"
            raise invalid("time and lag must be given together", f"{given} alone", remedy)
        if self.lag is not None:
            object.__setattr__(self, "lag", check_integer(self.lag, "lag", minimum=0))

    @property
    def columns(self) -> list[str]:
        """The columns of a data frame that are named."""
        return [value for value in (self.cluster, self.time) if isinstance(value, str)]

    def of_table(self, table: ColumnTable, label: str | None) -> Dependence:
        """Return the same with the values of the columns."""
        found: dict[str, object] = {"cluster": self.cluster, "time": self.time}
        for name, value in found.items():
            check_not_label(label, name, value)
            found[name] = tables.column_or_values(table, value, name)
        return replace(self, **found)

    def given_to(self, predictions: Some) -> Some:
        """Return the predictions with their clusters, or blocks of time.

        Raises
        ------
        InvalidInput
            If an argument breaks its rule.
        NotApplicable
            If the time steps are too few for two blocks.
        """
        for name, value in (("cluster", self.cluster), ("time", self.time)):
            if isinstance(value, str):
                remedy = "pass one value per row, or a data frame and the name of a column"
                raise invalid(f"{name} must be an array", shown(value), remedy)
        n, cluster = predictions.n, self.cluster
        if cluster is None and self.time is None:
            return predictions
        series = np.zeros(n, np.int64) if cluster is None else cluster_codes(cluster, n, "cluster")
        if self.time is None:
            return predictions.with_clusters(series)
        lag, steps = self.lag, time_steps(self.time, n)
        count, lines = int(steps.max()) + 1, int(series.max()) + 1
        length = block_length(count, lag, lines)
        blocks = max(1, count // length)
        if blocks * lines < 2:
            few = f"{count} time step{'s are' if count > 1 else ' is'} too few for two blocks"
            remedy = "collect more steps, or leave out rows so that none overlap"
            raise NotApplicable(f"{few} where rows depend up to lag {lag}", remedy)
        codes = series * blocks + np.minimum(steps * blocks // count, blocks - 1)
        if blocks == 1:  # of each cluster
            return predictions.with_clusters(series)
        unit = "time step" if length == 1 else f"block of about {-(-count // blocks)} time steps"
        unit += "" if cluster is None else " of a cluster"
        return predictions.with_clusters(codes, unit=unit)
