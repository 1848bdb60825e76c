"""The result of `compare_models`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

from caltest.checks import checks_values
from caltest.results import compared_sheets
from caltest.results.comparison import ComparedRow, Comparison, ScoreDifference
from caltest.results.htest import HTest
from caltest.results.printable import Summary
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
    pairs: tuple[ScoreDifference, ...]
    tests: HTestTable
    score: str
    best: str
    reference: str
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

    @classmethod
    @checks_values
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Rebuild the comparison from what `to_dict` or parsed JSON gave."""
        comparison = super(ModelComparison, cls).from_dict(values)
        for show in (comparison.summary, comparison.to_latex):
            show()  # the names of models, tests and parts must fit together
        return comparison

    def _sheet(self) -> Sheet:
        return compared_sheets.sheet_of_models(self)
