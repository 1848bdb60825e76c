"""The results of several tests, with adjusted p-values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from caltest.checks import check_light_bounds, check_schema, checks_values, read_only
from caltest.drawing import above, draw
from caltest.errors import invalid
from caltest.results import sheets, wording
from caltest.results.htest import HTest, record
from caltest.results.printable import Summary, Table, given, plain
from caltest.types import Flags, Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from caltest.render import Sheet
    from caltest.results.verdict import Verdict

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
    pvalues: Floats = field(init=False, compare=False)
    pvalue: float = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "notes", tuple(self.notes))
        object.__setattr__(self, "omnibus", tuple(self.omnibus))
        object.__setattr__(self, "columns", tuple(self.columns))
        if self.light_bounds is not None:
            object.__setattr__(self, "light_bounds", check_light_bounds(self.light_bounds))
        object.__setattr__(self, "rows", tuple(self.rows))
        if not self.rows:
            raise invalid("a table must have at least one test", "none", "name a test and a lens")
        object.__setattr__(self, "adjusted", read_only(np.array(self.adjusted, dtype=np.float64)))
        if self.correction == "none":
            object.__setattr__(self, "correction", None)
        pvalues = read_only(np.array([row.pvalue for row in self.rows]))
        object.__setattr__(self, "pvalues", pvalues)
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
        verdict: Verdict = above("verdicts.verdict_of", self)
        return verdict

    def plot(self, kind: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw the table; see `caltest.plots`.

        Parameters
        ----------
        kind : {"pvalues", "master-scale"}, optional
            The p-values of all rows; or default rates against PDs, the default for the tables of
            `test_master_scale`.
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
        """Return one dictionary of plain values per test, its adjusted p-value included."""
        adjusted = self.adjusted.tolist()
        records = [record(row, p) for row, p in zip(self.rows, adjusted, strict=True)]
        for values, row in zip(records, self.rows, strict=True):
            values |= {name: plain(row.parameters.get(name)) for name in self.columns}
        for values, light in zip(records, self.traffic_lights, strict=False):
            values["light"] = light
        return records

    def to_dict(self, *, include_null: bool = False) -> dict[str, Any]:
        """Return plain Python values that JSON can hold; see `HTest.to_dict`."""
        return {
            "rows": [row.to_dict(include_null=include_null) for row in self.rows],
            "correction": self.correction,
            "adjusted": plain(self.adjusted),
            "level": self.level,
            "notes": list(self.notes),
            "omnibus": [test.to_dict(include_null=include_null) for test in self.omnibus],
            "together": self.together,
            "light_bounds": plain(self.light_bounds),
            "columns": list(self.columns),
        }

    @classmethod
    @checks_values
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Rebuild the table from what `to_dict` or parsed JSON gave; see `HTest.from_dict`."""
        values = check_schema(values, cls.schema)
        tests = {k: tuple(map(HTest.from_dict, values.get(k, ()))) for k in ("rows", "omnibus")}
        return cls(**{**values, **tests})

    def _sheet(self) -> Sheet:
        return sheets.sheet_of_table(self)
