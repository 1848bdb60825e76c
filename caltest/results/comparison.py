"""What comparisons of calibrators and of models return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from caltest.checks import check_choice, checks_values
from caltest.drawing import draw
from caltest.results import compared_sheets
from caltest.results.codec import NEVER, settle
from caltest.results.htest import HTest
from caltest.results.printable import Summary, Table
from caltest.results.table import HTestTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from caltest.render import Sheet


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreDifference:
    """The mean difference of two scores on the same rows, the first minus the second.

    Attributes
    ----------
    name, other : str
        The two that are compared; a negative difference says that `name` is better.
    difference : float
        The mean over rows, in the units of the score.
    stderr, low, high : float or None
        Its standard error and the ends of its interval; None where a score is infinite.
    pvalue, adjusted : float or None
        The larger one of sign flips and of redrawn labels, and adjusted for the number of
        comparisons.
    """

    name: str
    other: str
    difference: float
    stderr: float | None = None
    low: float | None = None
    high: float | None = None
    pvalue: float | None = None
    adjusted: float | None = None

    def __post_init__(self) -> None:
        settle(self)

    def reversed(self) -> ScoreDifference:
        """Return the same comparison with the two in the other order."""
        ends = [None if end is None else -end for end in (self.high, self.low)]
        turned = {"name": self.other, "other": self.name, "low": ends[0], "high": ends[1]}
        return replace(self, difference=0.0 - self.difference, **turned)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class TestedPart:
    """A test of calibration of the held-out rows, its p-values combined.

    Parts whose maps agree are tested together, each other part by itself.

    Attributes
    ----------
    test, lens : str
        Keys.
    estimate_name : str
        Symbol of the calibration error.
    estimate : float
        Mean of the estimates of the tests, each by its share of the rows.
    pvalue, adjusted : float
        The combined p-value, before and after the adjustment for the number of tests.
    fold_pvalues : tuple of float
        The p-values that are combined: one where all maps agree, as for the uncalibrated model.
    """

    test: str
    lens: str
    estimate_name: str
    estimate: float
    pvalue: float
    adjusted: float
    fold_pvalues: tuple[float, ...]

    def __post_init__(self) -> None:
        settle(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRow:
    """What rows of both comparisons have.

    Attributes
    ----------
    name : str
        As it prints.
    scores : Mapping
        Proper scores by name, means over rows; they may be optimised.
    measures : Mapping
        Calibration errors by name; to be reported only.
    """

    name: str
    scores: Mapping[str, float] = field(default_factory=dict, hash=False)
    measures: Mapping[str, float] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        settle(self)


class Comparison(Table[Any]):
    """Prints and tables of a comparison."""

    __slots__ = ()
    score: str
    lens_of_measures: str

    def __getitem__(self, key: str | int | slice) -> Any:
        """Return a row by its name or its place."""
        if not isinstance(key, str):
            return self.rows[key]
        names = [row.name for row in self.rows]
        return self.rows[names.index(check_choice(key, names, "name"))]

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the differences of the scores with their standard errors or intervals.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        return draw("score_plots.score_differences", self, ax=ax)


# ---- The result of `compare_calibrators` --------------------------------------------------------

SELECTED = "selected"
REFERENCE = "identity"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedCalibrator(ComparedRow):
    """A calibrator, or the procedure that selects one, on rows that it was not fitted to.

    Attributes
    ----------
    name : str
        As it prints: a key, a name that the caller gave, or "selected".
    calibrator : str
        The calibrator with its options, or the rule of selection.
    scores : Mapping
        Proper scores by name, means over the held-out rows: these may be optimised. Empty where
        the calibrator could not be fitted.
    measures : Mapping
        Calibration errors by name, of all held-out rows together: these are reported only.
    difference, stderr : float or None
        Mean over the held-out rows of the score less that of the uncalibrated model, None where
        both are infinite in the same row, and its standard error, None where the mean is infinite.
    tests : tuple of TestedPart
        The tests of calibration of the held-out rows.
    chosen : tuple of str
        What the selection chose in the training rows of each fold; empty for a calibrator.
    reason : str
        Why there are no scores, or nothing.
    """

    calibrator: str
    difference: float | None = None
    stderr: float | None = None
    tests: tuple[TestedPart, ...] = ()
    chosen: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CalibratorComparison(Comparison):
    """Calibrators compared by cross-validation; `compare_calibrators` returns it.

    Attributes
    ----------
    rows : tuple of ComparedCalibrator
        The uncalibrated model first ("identity"), the calibrators, and last "selected": the
        procedure that takes the calibrator with the least score.
    score : str
        Name of the proper score that is optimised.
    selected : str
        Name of the calibrator with the least score.
    best : Calibrator or None
        That calibrator, fitted to all rows. Neither compared nor written to JSON, for it has a
        `to_json` of its own.
    data_name : str
        What was calibrated.
    n, m : int
        Numbers of rows and of classes.
    n_folds : int
        Number of held-out parts.
    n_fit, n_held_out : int or None
        Rows that each map was fitted to, the least over the folds, and rows that were held out and
        tested.
    method : str
        The tests and their null, in words.
    lens_of_measures : str
        Lens of the reported ECE and KS error.
    n_resamples, seed : int
        How to repeat it.
    correction, level : str or None, float or None
        As in `test_calibration`.
    notes : tuple of str
        What a reader should see.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M2", n=200, m=2, rng=1)
    >>> result = ct.compare_calibrators(data, calibrators=["platt"], n_resamples=99, rng=1)
    >>> [row.name for row in result.rows], result.selected
    (['identity', 'platt', 'selected'], 'platt')
    """

    schema: ClassVar[str] = "caltest/calibrator-comparison/1"

    rows: tuple[ComparedCalibrator, ...]
    score: str
    selected: str
    best: Any = field(default=None, compare=False, metadata=NEVER)
    data_name: str
    n: int
    m: int
    n_folds: int
    method: str
    lens_of_measures: str
    n_resamples: int
    seed: int
    correction: str | None = None
    level: float | None = None
    notes: tuple[str, ...] = ()
    n_fit: int | None = None
    n_held_out: int | None = None

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary of plain values per calibrator; None where there is no value."""
        complete = max(self.rows, key=lambda row: (len(row.tests), len(row.measures)))
        records = []
        for row in self.rows:
            values: dict[str, Any] = {"name": row.name, "calibrator": row.calibrator}
            values |= {name: row.scores.get(name) for name in complete.scores}
            values |= {"difference": row.difference, "stderr": row.stderr}
            values |= {name: row.measures.get(name) for name in complete.measures}
            own = {(test.test, test.lens): test for test in row.tests}
            for test in complete.tests:
                found = own.get((test.test, test.lens))
                for name in ("estimate", "pvalue", "adjusted"):
                    values[f"{test.test}[{test.lens}] {name}"] = getattr(found, name, None)
            records.append(values | {"chosen": ", ".join(row.chosen), "reason": row.reason})
        return records

    def summary(self) -> Summary:
        """Return the print of all scores and calibration errors."""
        return Summary(compared_sheets.sheet_of_calibrators(self, long=True))

    def _sheet(self) -> Sheet:
        from caltest.measures.base import keys_offering

        return compared_sheets.sheet_of_calibrators(self, proper=keys_offering("is_proper_score"))


# ---- The result of `compare_models` -------------------------------------------------------------


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
        records = []
        for row in self.rows:
            values: dict[str, Any] = {"name": row.name, **row.scores, **row.measures, **row.parts}
            for name in ("difference", "stderr", "low", "high", "pvalue", "adjusted"):
                values[name] = getattr(row.difference, name, None)
            for test, adjusted in self.tests_of(row.name):
                key = f"{test.test}[{test.lens}]"
                values[f"{key} estimate"] = test.estimate
                values[f"{key} pvalue"], values[f"{key} adjusted"] = test.pvalue, adjusted
            records.append(values)
        return records

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
