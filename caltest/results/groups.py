"""The result of a test of very many groups: arrays, not a test object for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, overload

import numpy as np
from numpy.typing import NDArray

from caltest import render
from caltest.drawing import draw
from caltest.results.frames import Frame, data_frame
from caltest.results.printable import Summary, given, plain
from caltest.validation import check_integer, check_schema, checks_values, read_only
from caltest.validation.schemas import parse_json

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from matplotlib.axes import Axes

    from caltest.measures.gap import Gap
    from caltest.render import Sheet
    from caltest.results.verdict import Verdict

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WHOLE = ("sizes", "events")
ARRAYS = (
    *WHOLE,
    "predicted",
    "low",
    "high",
    "deviation",
    "statistics",
    "pvalues",
    "adjusted",
)


@dataclass(frozen=True, kw_only=True, repr=False)
class GroupsTest(Frame):
    """The test of calibration in each of very many groups, counted in cells.

    `test_calibration` returns it for `by=` with more than 500 groups, and for `segments=`, where
    the rows are counted in cells.

    Attributes
    ----------
    columns : tuple of str
        The columns that the groups are made of.
    values : tuple of tuple
        What each column holds in a group; None where the group has any value of it.
    sizes, events : (G,) array
        Rows and events of each group.
    predicted : (G,) array
        Mean prediction.
    low, high : (G,) array
        Ends of the 95 % interval of observed - predicted, each by itself.
    deviation : (G,) array
        Standard deviation of observed - predicted if the predictions are calibrated.
    statistics, pvalues, adjusted : (G,) array
        Of the test; p-values before and after adjustment.
    pvalue : float
        That the predictions are calibrated in every group.
    omnibus : dict
        The p-values it is made of, by name, each with what it says in words.
    test, title, statistic_name : str
        Key, title and symbol of the test.
    lens, claim : str
        The lens, and the null hypothesis in words.
    m : int
        Number of classes.
    correction : str or None
        Key of the adjustment.
    null_text : str
        Where p-values come from.
    parameters : dict
        Settings of the test, for print.
    overlap : bool
        Whether a row may be in several groups.
    seed : int
        Of what was redrawn.
    data_name : str
        What was tested.
    level : float or None
        The significance level, if the caller gave one.
    notes : tuple of str
        What a reader of the p-values should see.

    Examples
    --------
    >>> import caltest as ct
    >>> import numpy as np
    >>> import polars as pl
    >>> rng = np.random.default_rng(1)
    >>> shop, p = np.arange(60_000) % 600, rng.uniform(0.1, 0.4, 60_000)
    >>> y = rng.random(60_000) < p + 0.3 * (shop == 17)
    >>> frame = pl.DataFrame({"shop": shop, "p": p, "y": y})
    >>> result = ct.test_calibration(
    ...     None, frame, label="y", probs="p", by="shop", engine="cells", level=0.05, rng=1
    ... )
    >>> len(result), result.n_rejected, result.worst(1)[0].name
    (600, 1, '17')
    """

    schema: ClassVar[str] = "caltest/groups/1"

    columns: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    sizes: Ints = field(compare=False)
    events: Ints = field(compare=False)
    predicted: Floats = field(compare=False)
    low: Floats = field(compare=False)
    high: Floats = field(compare=False)
    deviation: Floats = field(compare=False)
    statistics: Floats = field(compare=False)
    pvalues: Floats = field(compare=False)
    adjusted: Floats = field(compare=False)
    pvalue: float
    omnibus: Mapping[str, tuple[float, str]]
    test: str
    title: str
    statistic_name: str
    lens: str
    claim: str
    m: int
    correction: str | None
    null_text: str
    parameters: Mapping[str, Any]
    overlap: bool
    seed: int
    data_name: str
    level: float | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ARRAYS:
            kind = np.int64 if name in WHOLE else np.float64
            object.__setattr__(self, name, read_only(np.array(getattr(self, name), dtype=kind)))
        for name in ("columns", "notes"):
            object.__setattr__(self, name, tuple(getattr(self, name)))

    def __len__(self) -> int:
        return self.sizes.size

    @property
    def least_pvalue(self) -> float:
        """The smallest p-value that there can be."""
        return 0.0

    @property
    def n(self) -> int:
        """The number of rows of all groups; where these overlap, that of the largest."""
        return int(self.sizes.max() if self.overlap else self.sizes.sum())

    @property
    def observed(self) -> Floats:
        """The share of events of each group, (G,)."""
        return np.asarray(self.events / self.sizes)

    @property
    def gap(self) -> Floats:
        """The share of events less the mean prediction of each group, (G,)."""
        return self.observed - self.predicted

    @property
    def rejected(self) -> NDArray[np.bool_]:
        """Where the adjusted p-value is at most the level; asks for a level if none was given."""
        return np.asarray(self.adjusted <= given(self.level))

    @property
    def n_rejected(self) -> int:
        """How many groups have an adjusted p-value of at most the level."""
        return int(np.count_nonzero(self.rejected))

    def name(self, group: int) -> str:
        """Say which rows a group has: the values of its columns.

        Parameters
        ----------
        group : int
            Its number.

        Returns
        -------
        str
            Such as "north, 2", or where groups overlap "region = north & age = 2".
        """
        pairs = zip(self.columns, self.values[group], strict=True)
        if not self.overlap:
            return ", ".join(str(value) for _, value in pairs)
        told = [f"{column} = {value}" for column, value in pairs if value is not None]
        return " & ".join(told) or "all rows"

    @cached_property
    def order(self) -> Ints:
        """The numbers of the groups, the worst first: by p-value, then by standardised gap."""
        sd = np.where(self.deviation > 0, self.deviation, 1.0)
        return np.lexsort((-np.abs(self.gap) / sd, self.pvalues))

    def worst(self, count: int = 10) -> tuple[Gap, ...]:
        """Return the gaps of the worst groups, the worst first.

        Parameters
        ----------
        count : int, default 10
            How many.

        Returns
        -------
        tuple of Gap
            Each with its adjusted p-value.

        Raises
        ------
        InvalidInput
            If the count is no whole number from 0 on.
        """
        some = self.order[: check_integer(count, "count", 0)]
        return tuple(self._gap_of(int(g)) for g in some)

    def _gap_of(self, g: int) -> Gap:
        from caltest.measures.gap import Gap, Where

        name = self.name(g)
        measured = Gap.of(
            kind="segment" if self.overlap else "group",
            name=name,
            n=int(self.sizes[g]),
            predicted=float(self.predicted[g]),
            observed=float(self.events[g] / self.sizes[g]),
            deviation=float(self.deviation[g]),
            pvalue=float(self.adjusted[g]),
            where=Where(
                group=None if self.overlap else name,
                segment=name if self.overlap else None,
                lens=self.lens,
            ),
        )
        return measured.one_of(len(self))

    def plot(self, kind: str = "funnel", *, rows: int = 20, ax: Axes | None = None) -> Axes:
        """Draw the gaps of all groups in a funnel, or those of the worst; see `plots.groups`.

        Parameters
        ----------
        kind : {"funnel", "gaps"}, default "funnel"
            Which.
        rows : int, default 20
            The most groups that "gaps" shows.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        return draw("groups.groups", self, kind=kind, rows=rows, ax=ax)

    def summary(self) -> Summary:
        """Return the longer print: a hundred groups, with statistics and p-values."""
        return Summary(render.sheet_of_groups(self, long=True))

    def verdict(self) -> Verdict:
        """Return what a person can act on; see `HTest.verdict`.

        Returns
        -------
        Verdict
            Its print begins with the first line of the print of the groups.
        """
        from caltest.results.verdict import verdict_of_groups

        return verdict_of_groups(self)

    def _table(self) -> dict[str, list[Any]]:
        """Return the columns of the data frame; those of groups keep their types."""
        groups = zip(*self.values, strict=True) if self.values else [()] * len(self.columns)
        # A column of the data that is called as one of the numbers comes with its kind.
        taken = {"n", "predicted", "observed", "gap", "low", "high", "statistic", "pvalue"}
        named = (f"group {one}" if one in {*taken, "adjusted"} else one for one in self.columns)
        columns = {name: list(column) for name, column in zip(named, groups, strict=True)}
        numbers: Sequence[tuple[str, NDArray[Any]]] = (
            ("n", self.sizes),
            ("predicted", self.predicted),
            ("observed", self.observed),
            ("gap", self.gap),
            ("low", self.low),
            ("high", self.high),
            ("statistic", self.statistics),
            ("pvalue", self.pvalues),
            ("adjusted", self.adjusted),
        )
        return columns | {name: column.tolist() for name, column in numbers}

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary of plain values per group."""
        table = self._table()
        return [
            {name: plain(value) for name, value in zip(table, row, strict=True)}
            for row in zip(*table.values(), strict=True)
        ]

    @overload
    def to_frame(self, *, backend: Literal["polars"] = "polars") -> pl.DataFrame: ...
    @overload
    def to_frame(self, *, backend: Literal["pandas"]) -> pd.DataFrame: ...
    def to_frame(self, *, backend: str = "polars") -> pl.DataFrame | pd.DataFrame:
        """Return one row per group as a data frame, whose first columns are those of the groups.

        Parameters
        ----------
        backend : {"polars", "pandas"}
            Which data frame to build. pandas has to be installed for the second.
        """
        frame: pl.DataFrame | pd.DataFrame = data_frame(self._table(), backend)
        return frame

    def to_dict(self, *, include_null: bool = False) -> dict[str, Any]:
        """Return plain Python values that JSON can hold; there is no null distribution."""
        return {f.name: plain(getattr(self, f.name)) for f in fields(self)}

    @classmethod
    @checks_values
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Rebuild the result from what `to_dict` or parsed JSON gave."""
        values = check_schema(values, cls.schema)
        arrays = {name: [float(value) for value in values[name]] for name in ARRAYS}
        groups = tuple(tuple(row) for row in values["values"])
        omnibus = {name: (float(p), text) for name, (p, text) in values["omnibus"].items()}
        return cls(**{**values, **arrays, "values": groups, "omnibus": omnibus})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Rebuild the result from the text that `to_json` gave.

        Parameters
        ----------
        text : str
            JSON.

        Returns
        -------
        GroupsTest
            The result.

        Raises
        ------
        InvalidInput
            If the text is no JSON, or that of something else.
        """
        rule = "a test of groups must be read from JSON"
        return cls.from_dict(parse_json(text, rule, "pass what its to_json() gave"))

    def _sheet(self) -> Sheet:
        return render.sheet_of_groups(self)
