"""Several tests as one result: a table, and very many groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from caltest.checks import check_integer, check_light_bounds, read_only
from caltest.drawing import above, draw
from caltest.errors import invalid
from caltest.render import Sheet, named
from caltest.results import sheets, wording
from caltest.results.base import IF_GIVEN, Summary, Table, given, plain, settle
from caltest.results.htest import HTest, record
from caltest.types import Axes, Flags, Floats, Ints

if TYPE_CHECKING:
    from caltest.measures.gap import Gap
    from caltest.results.verdict import Verdict

GAP = ("predicted", "observed", "gap", "low", "high")  # columns of groups
FIRST = ("n", *GAP, "statistic", "pvalue", "adjusted")  # those that come after the groups
LIGHTS = ("green", "yellow", "orange", "red")


@dataclass(frozen=True, slots=True, repr=False)
class HTestTable(Table[HTest]):
    """Several tests of calibration with p-values adjusted for their number.

    Attributes
    ----------
    rows : tuple of HTest
        The tests, in the order in which they print.
    correction : str or None
        Key of the adjustment as in `statsmodels.stats.multitest.multipletests`; "none" is None.
    adjusted : (len(rows),) array
        The adjusted p-values, read-only.
    level : float or None
        The significance level, if the caller gave one.
    notes : tuple of str
        Remarks on the table as a whole, such as what is left out of it.
    omnibus : tuple of HTest
        Tests of all rows together, such as that of all groups, for each test and lens.
    together : float or None
        The p-value of all groups, of the tests in `omnibus` and the smallest one of a group, where
        these are ranks among resamples.
    light_bounds : (3,) tuple of float or None
        Where given, each row has a traffic light; see `traffic_lights`.
    columns : tuple of str
        Parameters of the rows that stand beside the numbers in prints and data frames.
    difference : HTest or None
        Of groups: the test that all have the same error at the same predictions, 0 or not. With
        clusters it rejects too often where events are rare, up to 10 % at 5 %.
    by : tuple of str or None
        Of groups: the columns that they are made of.
    values : tuple of tuple or None
        What these columns hold in the group of each row.
    pvalues : (len(rows),) array
        The p-values before adjustment, read-only.
    pvalue : float
        That of the table as a whole: of groups that of all, of tests within a tolerance the largest
        one, else the least adjusted one.

    Examples
    --------
    >>> import caltest as ct
    >>> predictions = ct.datasets.generative_model("M2", rng=1)
    >>> lenses = ["strong", "confidence"]
    >>> table = ct.test_calibration(None, predictions, lens=lenses, n_resamples=99, rng=1)
    >>> [row.lens for row in table]
    ['strong', 'confidence']
    >>> table.adjusted.tolist()
    [0.01, 0.01]
    """

    schema: ClassVar[str] = "caltest/htest-table/3"

    rows: tuple[HTest, ...]
    correction: str | None
    adjusted: Floats = field(compare=False)
    level: float | None = None
    notes: tuple[str, ...] = ()
    omnibus: tuple[HTest, ...] = ()
    together: float | None = None
    light_bounds: tuple[float, float, float] | None = None
    columns: tuple[str, ...] = ()
    difference: HTest | None = field(default=None, metadata=IF_GIVEN)
    by: tuple[str, ...] | None = field(default=None, metadata=IF_GIVEN)
    values: tuple[tuple[Any, ...], ...] | None = field(default=None, metadata=IF_GIVEN)
    pvalues: Floats = field(init=False, compare=False)
    pvalue: float = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if self.light_bounds is not None:
            object.__setattr__(self, "light_bounds", check_light_bounds(self.light_bounds))
        settle(self)
        if not self.rows:
            raise invalid("a table must have at least one test", "none", "name a test and a lens")
        if self.correction == "none":
            object.__setattr__(self, "correction", None)
        object.__setattr__(self, "pvalues", read_only(np.array([row.pvalue for row in self.rows])))
        object.__setattr__(self, "pvalue", wording.pvalue_of_table(self))

    @property
    def tests(self) -> tuple[HTest, ...]:
        """The tests that it holds one by one; none where there are arrays of them."""
        return self.rows

    @property
    def n(self) -> int:
        """The number of observations; of groups or grades that of all together."""
        if wording.noun_of(self.rows) in {"groups", "grades"}:
            return sum(row.n for row in self.rows)
        return self.rows[0].n

    @property
    def noun(self) -> str:
        """What the rows are, such as "groups"."""
        return wording.noun_of(self.rows)

    @property
    def order(self) -> Ints:
        """The numbers of the rows, the worst first."""
        return np.array(wording.worst_first(self))

    def worst(self, count: int = 10) -> tuple[Gap, ...]:
        """Return the gaps of the worst rows, the worst first; none where rows have no gap.

        Parameters
        ----------
        count : int, default 10
            How many.

        Returns
        -------
        tuple of Gap
            Each with its adjusted p-value, and an interval that holds for all rows at once.

        Raises
        ------
        InvalidInput
            If the count is no whole number from 0 on.
        """
        some = self.order[: check_integer(count, "count", 0)].tolist()
        return tuple(wording.places_of(self, some))

    @property
    def group_sizes(self) -> tuple[Gap, ...]:
        """The gap of each row of a table by groups, grades aside; else empty."""
        return sheets.sizes_of(self.rows)

    @property
    def row_counts(self) -> Ints:
        """The number of observations of each row."""
        return np.array([row.n for row in self.rows])

    @property
    def n_rejected(self) -> int:
        """How many adjusted p-values are at most the level."""
        return int(np.count_nonzero(self.rejected))

    @property
    def rejected(self) -> Flags:
        """Where the adjusted p-value is at most the level; asks for a level if none was given."""
        return np.asarray(self.adjusted <= given(self.level))

    @property
    def traffic_lights(self) -> tuple[str, ...]:
        """A colour for each row, by its p-value before adjustment; empty without `light_bounds`.

        With the bounds (0.05, 0.01, 0.001): green above 0.05, yellow above 0.01, orange above
        0.001, red at or below 0.001. A one-sided test, the default of grades, gives a colour other
        than green only where there are more defaults than predicted.
        """
        if self.light_bounds is None:
            return ()
        passed = np.subtract.outer(self.pvalues, self.light_bounds) <= 0
        return tuple(LIGHTS[k] for k in passed.sum(axis=1))

    def summary(self) -> Summary:
        """Return the longer print: sizes, statistics and parameters as columns."""
        return Summary(sheets.sheet_of_table(self, long=True))

    def verdict(self) -> Verdict:
        """Return what a person can act on; see `HTest.verdict`.

        With groups it is the answer on all of them together, and names those that are rejected.

        Returns
        -------
        Verdict
            Its print begins with the first line of the print of the table.
        """
        return cast("Verdict", above("verdicts.verdict_of", ("whole", self)))

    def plot(self, kind: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw the table; see `caltest.plots`.

        Parameters
        ----------
        kind : str, optional
            "pvalues", the p-values of all rows; "master-scale", default rates against PDs, the
            default for the tables of `test_master_scale`; or of tests of the same forecasts "pit",
            the default, "coverage", "quantiles" and "spread", as for `HTest.plot`.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Examples
        --------
        >>> import caltest as ct
        >>> table = ct.test_master_scale([0.001, 0.01, 0.05], [1, 30, 55], [1000, 2000, 1000])
        >>> table.plot().get_xlabel()
        'grade'
        """
        return draw("htests.plot_table", self, kind, ax)

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary of plain values per test, its adjusted p-value included.

        Of groups these are the columns that they are made of, under their own names, then rows,
        gap, statistic and p-values, then the settings of the test.
        """
        return [{name: plain(value) for name, value in row.items()} for row in self._columns()]

    def _columns(self) -> Any:
        """Return one dictionary per test; those of groups keep the types of their columns."""
        records = list(map(record, self.rows, self.adjusted.tolist()))
        for values, row in zip(records, self.rows, strict=True):
            values |= {name: plain(row.parameters.get(name)) for name in self.columns}
        for values, size in zip(records, self.group_sizes, strict=False):
            values |= {name: getattr(size, name) for name in GAP}
        for values, light in zip(records, self.traffic_lights, strict=False):
            values["light"] = light
        if self.by is None or self.values is None:
            return records
        return [_in_order(self.by, key, row) for key, row in zip(self.values, records, strict=True)]

    def _sheet(self) -> Sheet:
        return sheets.sheet_of_table(self)


def _in_order(by: Sequence[str], key: Iterable[Any], values: dict[str, Any]) -> dict[str, Any]:
    """Put groups first, then what was measured of them, then settings; of a row or of columns."""
    # A column of the data that is called as one of the others comes with its kind.
    named = (f"group {one}" if one in values.keys() - {"group"} else one for one in by)
    first = {name: values[name] for name in FIRST if name in values}
    rest = {name: value for name, value in values.items() if name != "group" and name not in first}
    return dict(zip(named, key, strict=True)) | first | rest


# ---- The result of a test of very many groups: arrays, not a test object for each ---------------

MEASURED = ("sizes", "events", "predicted", "low", "high", "deviation")
ARRAYS = (*MEASURED, "statistics", "pvalues", "adjusted")


class GroupRows(Sequence[HTest]):
    """The tests of very many groups, each made when it is asked for.

    Parameters
    ----------
    test : GroupsTest
        Their arrays.
    """

    def __init__(self, test: GroupsTest) -> None:
        self.test = test

    def __len__(self) -> int:
        return self.test.sizes.size

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self[g] for g in range(len(self))[index])
        test, g = self.test, range(len(self))[index]
        is_value = len(test.by) == 1 and not test.overlap
        statistic, p, n = float(test.statistics[g]), float(test.pvalues[g]), int(test.sizes[g])
        about: dict[str, Any] = {"size": test.gap_of(g)}
        about["group"] = test.values[g][0] if is_value else test.name(g)
        return replace(test.row, statistic=statistic, estimate=statistic, pvalue=p, n=n, **about)


@dataclass(frozen=True, kw_only=True, repr=False)
class GroupsTest(HTestTable):
    """A table of the tests of very many groups: arrays, whose rows become tests when asked for.

    `test_calibration` returns it for `by=` with more than 500 groups that are tested in one pass,
    and for `segments=`, where the rows are counted in cells.

    Attributes
    ----------
    by : tuple of str
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
    pvalue, together : float
        That the predictions are calibrated in every group, by the tests in `omnibus`.
    rows : sequence of HTest
        The test of each group, made when it is asked for.
    light_bounds : None
        There are no traffic lights.
    omnibus : tuple of HTest
        The tests of all groups together: Fisher's and Simes' of their p-values, and that of the
        dispersion of their numbers of events; of segments, which overlap, the least p-value.
    row : HTest
        What the tests of all groups share: that of one of them.
    correction : str or None
        Key of the adjustment.
    overlap : bool
        Whether a row may be in several groups.
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
    ...     None, frame, label="y", probs="p", by="shop", test="ks", engine="cells", level=0.05
    ... )
    >>> len(result), result.n_rejected, result.worst(1)[0].name
    (600, 1, '17')
    """

    schema: ClassVar[str] = "caltest/groups/2"

    rows: Sequence[HTest] = field(init=False, compare=False)  # type: ignore[assignment]
    light_bounds: None = field(init=False, default=None)
    columns: tuple[str, ...] = field(init=False, default=())
    by: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    sizes: Ints = field(compare=False)
    events: Ints = field(compare=False)
    predicted: Floats = field(compare=False)
    low: Floats = field(compare=False)
    high: Floats = field(compare=False)
    deviation: Floats = field(compare=False)
    statistics: Floats = field(compare=False)
    pvalues: Floats = field(compare=False)
    row: HTest
    together: float
    overlap: bool = False

    def __post_init__(self) -> None:
        settle(self)
        if self.row.size is None:
            raise invalid("a test of groups must have the gap of a row", "none", "pass row.size")
        object.__setattr__(self, "rows", GroupRows(self))
        object.__setattr__(self, "pvalue", self.together)

    @property
    def tests(self) -> tuple[HTest, ...]:
        """None: the numbers of all groups are arrays."""
        return ()

    @property
    def n(self) -> int:
        """The number of rows of all groups; where these overlap, that of the largest."""
        return int(self.sizes.max() if self.overlap else self.sizes.sum())

    @property
    def row_counts(self) -> Ints:
        """The number of observations of each group, (G,)."""
        return self.sizes

    @property
    def observed(self) -> Floats:
        """The share of events of each group, (G,)."""
        return np.asarray(self.events / self.sizes)

    @property
    def gap(self) -> Floats:
        """The share of events less the mean prediction of each group, (G,)."""
        return self.observed - self.predicted

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
        pairs = zip(self.by, self.values[group], strict=True)
        if not self.overlap:
            return ", ".join(named(value) for _, value in pairs)
        conditions = [f"{column} = {named(value)}" for column, value in pairs if value is not None]
        return " & ".join(conditions) or "all rows"

    @property
    def kind(self) -> str:
        """What a group is: "group", or "segment" where they overlap."""
        return "segment" if self.overlap else "group"

    @property
    def noun(self) -> str:
        """What the rows are: "groups", or "segments" where they overlap."""
        return f"{self.kind}s"

    @cached_property
    def order(self) -> Ints:
        """The numbers of the groups, the worst first: by p-value, then by standardised gap."""
        sd = np.where(self.deviation > 0, self.deviation, 1.0)
        return np.lexsort((-np.abs(self.gap) / sd, self.pvalues))

    def gap_of(self, g: int) -> Gap:
        """Return the gap of a group by its number, with a 95 % interval of its own.

        Parameters
        ----------
        g : int
            The number.

        Returns
        -------
        Gap
            As a test of the group has it.
        """
        from caltest.measures.gap import Gap

        shared, n = cast("Gap", self.row.size), int(self.sizes[g])
        values = map(float, (self.predicted[g], self.events[g] / n, self.deviation[g]))
        numbers = dict(zip(("predicted", "observed", "deviation"), values, strict=True))
        measured = Gap.of(kind=shared.kind, name=shared.name, n=n, **numbers)
        return replace(measured, low=float(self.low[g]), high=float(self.high[g]))

    def plot(self, kind: str | None = "funnel", *, rows: int = 20, ax: Axes | None = None) -> Axes:
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
        return draw("places.groups", self, kind=kind or "funnel", rows=rows, ax=ax)

    def _columns(self) -> dict[str, list[Any]]:
        """Return the columns of the data frame; those of groups keep their types."""
        groups = zip(*self.values, strict=True) if self.values else [()] * len(self.by)
        numbers = {name: getattr(self, name) for name in GAP}
        numbers |= {"n": self.sizes, "statistic": self.statistics, "estimate": self.statistics}
        numbers |= {"pvalue": self.pvalues, "adjusted": self.adjusted}
        settings = {name: [value] * len(self) for name, value in record(self.rows[0], 1.0).items()}
        settings |= {name: column.tolist() for name, column in numbers.items()}
        return _in_order(self.by, map(list, groups), settings)

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary of plain values per group."""
        table = self._columns()
        rows = zip(*table.values(), strict=True)
        return [dict(zip(table, map(plain, row), strict=True)) for row in rows]
