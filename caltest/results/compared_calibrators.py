"""The result of `compare_calibrators`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from caltest.results import compared_sheets
from caltest.results.codec import NEVER
from caltest.results.comparison import ComparedRow, Comparison, TestedPart
from caltest.results.printable import Summary

if TYPE_CHECKING:
    from caltest.render import Sheet

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
        return [self._record(row, complete) for row in self.rows]

    def _record(self, row: ComparedCalibrator, complete: ComparedCalibrator) -> dict[str, Any]:
        values: dict[str, Any] = {"name": row.name, "calibrator": row.calibrator}
        values |= {name: row.scores.get(name) for name in complete.scores}
        values |= {"difference": row.difference, "stderr": row.stderr}
        values |= {name: row.measures.get(name) for name in complete.measures}
        own = {(test.test, test.lens): test for test in row.tests}
        for test in complete.tests:
            key = f"{test.test}[{test.lens}]"
            found = own.get((test.test, test.lens))
            for name in ("estimate", "pvalue", "adjusted"):
                values[f"{key} {name}"] = None if found is None else getattr(found, name)
        return values | {"chosen": ", ".join(row.chosen), "reason": row.reason}

    def summary(self) -> Summary:
        """Return the print of all scores and calibration errors."""
        return Summary(compared_sheets.sheet_of_calibrators(self, long=True))

    def _sheet(self) -> Sheet:
        from caltest.measures.base import keys_offering

        return compared_sheets.sheet_of_calibrators(self, proper=keys_offering("is_proper_score"))
