"""The result of `compare_models`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

from caltest.checks import check_schema, checks_values
from caltest.results import compared_sheets
from caltest.results.comparison import ComparedRow, Comparison, ScoreDifference, values_of
from caltest.results.htest import HTest, Parameters
from caltest.results.printable import Summary, plain
from caltest.results.table import HTestTable

if TYPE_CHECKING:
    from caltest.render import Sheet


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedModel(ComparedRow):
    """A model on the rows that all models share.

    Attributes
    ----------
    name : str
        Name of the model.
    scores : Mapping
        Proper scores by name, means over rows.
    measures : Mapping
        Calibration errors by name.
    parts : Mapping
        "miscalibration", "discrimination" and "uncertainty", where they are defined: the score is
        the first less the second plus the third.
    difference : ScoreDifference or None
        From the reference; None for the reference itself.
    """

    parts: Mapping[str, float] = field(default_factory=dict, hash=False)
    difference: ScoreDifference | None = None

    def __post_init__(self) -> None:
        super(ComparedModel, self).__post_init__()
        parts = {name: float(value) for name, value in self.parts.items()}
        object.__setattr__(self, "parts", Parameters(parts))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ModelComparison(Comparison):
    """Models compared on the same rows; `compare_models` returns it.

    Attributes
    ----------
    rows : tuple of ComparedModel
        The models, in the order in which they were given.
    score : str
        Name of the proper score that is compared.
    best : str
        Name of the model with the least score.
    reference : str
        Name of the model that the others are compared with.
    pairs : tuple of ScoreDifference
        All comparisons: of each model with a reference that was named, else of all pairs.
    tests : HTestTable
        The tests of calibration, of each model in turn (`data_name`), adjusted together.
    decomposed : str
        Name of the score that `parts` decompose, or nothing.
    lens_of_measures : str
        Lens of the reported ECE and KS error.
    confidence : float
        Level of the intervals, each by itself.
    n, m : int
        Numbers of rows and of classes.
    n_resamples, seed : int
        Of the sign flips.
    correction, level : str or None, float or None
        As in `test_calibration`.
    notes : tuple of str
        What a reader should see.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M1", n=200, m=2, rng=1)
    >>> models = {"as it is": data.probs, "cautious": (data.probs + 0.5) / 2}
    >>> ct.compare_models(models, data.labels, n_resamples=99, rng=1).best
    'as it is'
    """

    schema: ClassVar[str] = "caltest/model-comparison/3"

    rows: tuple[ComparedModel, ...]
    score: str
    best: str
    reference: str
    pairs: tuple[ScoreDifference, ...]
    tests: HTestTable
    decomposed: str
    lens_of_measures: str
    confidence: float
    n: int
    m: int
    n_resamples: int
    seed: int
    correction: str | None = None
    level: float | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("rows", "pairs", "notes"):
            object.__setattr__(self, name, tuple(getattr(self, name)))

    def tests_of(self, name: str) -> list[tuple[HTest, float]]:
        """Return the tests of a model, each with its adjusted p-value.

        Parameters
        ----------
        name : str
            The model.

        Returns
        -------
        list of (HTest, float)
            In the order of the tests and lenses.
        """
        pairs = zip(self.tests.rows, self.tests.adjusted.tolist(), strict=True)
        return [(test, p) for test, p in pairs if test.data_name == name]

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary of plain values per model; None where there is no value."""
        return [self._record(row) for row in self.rows]

    def _record(self, row: ComparedModel) -> dict[str, Any]:
        values: dict[str, Any] = {"name": row.name, **row.scores, **row.measures, **row.parts}
        for name in ("difference", "stderr", "low", "high", "pvalue", "adjusted"):
            values[name] = None if row.difference is None else getattr(row.difference, name)
        for test, adjusted in self.tests_of(row.name):
            key = f"{test.test}[{test.lens}]"
            values[f"{key} estimate"] = test.estimate
            values[f"{key} pvalue"], values[f"{key} adjusted"] = test.pvalue, adjusted
        return values

    def summary(self) -> Summary:
        """Return the print of all scores, their parts, and the calibration errors."""
        return Summary(compared_sheets.sheet_of_models(self, long=True))

    def to_dict(self, *, include_null: bool = False) -> dict[str, Any]:
        """Return plain Python values that JSON can hold.

        Parameters
        ----------
        include_null : bool
            Whether to include the null distributions of the tests of calibration.
        """
        others = {"rows", "pairs", "tests"}
        names = [f.name for f in fields(self) if f.name not in others]
        return {
            "rows": [values_of(row) for row in self.rows],
            "pairs": [values_of(pair) for pair in self.pairs],
            "tests": self.tests.to_dict(include_null=include_null),
            **{name: plain(getattr(self, name)) for name in names},
        }

    @classmethod
    @checks_values
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Rebuild the comparison from what `to_dict` or parsed JSON gave."""
        values = check_schema(values, cls.schema)
        rows = [dict(row) for row in values["rows"]]
        for row in rows:
            if row["difference"] is not None:
                row["difference"] = ScoreDifference(**row["difference"])
        made = {
            "rows": tuple(ComparedModel(**row) for row in rows),
            "pairs": tuple(ScoreDifference(**pair) for pair in values["pairs"]),
            "tests": HTestTable.from_dict(values["tests"]),
        }
        comparison = cls(**{**values, **made})
        for show in (comparison.summary, comparison._sheet):
            show()  # the names of models, tests and parts must fit together
        return comparison

    def _sheet(self) -> Sheet:
        return compared_sheets.sheet_of_models(self)
