"""How maps do on rows that they were not fitted to: one rule for every report, command and call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caltest import render, validation
from caltest.calibrators import Calibrator
from caltest.calibrators.base import CalibrationSet
from caltest.comparison.calibrators import facts_of, make_setup
from caltest.comparison.maps import held_out, resolve_calibrators, set_of
from caltest.comparison.outcomes import (
    CrossValidated,
    Setup,
    evaluate,
    make_calibration_tests,
    rows_of,
)
from caltest.comparison.scores import Codes, check_score
from caltest.predictions import Predictions
from caltest.render import Sheet
from caltest.results import ComparedCalibrator, HTest
from caltest.results.compared_calibrators import REFERENCE

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutOfFold:
    """What cross-validation finds of maps.

    Attributes
    ----------
    rows : tuple of ComparedCalibrator
        The uncalibrated model first ("identity"), then the maps.
    maps : dict of Calibrator
        By name, not fitted.
    predictions : dict of Predictions
        What the maps predict for the rows that were held out; a map that could not be fitted in a
        fold is not there.
    scores : dict of dict of arrays
        Proper scores of the held-out rows, by map and by name.
    tests : tuple of HTest
        Those of the uncalibrated model, on all held-out rows.
    weight, units : (n_held_out,) array
        Weights of the held-out rows, and their clusters or numbers.
    score, lens_of_measures, method, data_name, n, m, n_folds, n_fit, n_held_out, n_resamples, \
seed, correction, level, notes
        As in `CalibratorComparison`.
    """

    rows: tuple[ComparedCalibrator, ...]
    maps: Mapping[str, Calibrator]
    predictions: Mapping[str, Predictions]
    scores: Mapping[str, Mapping[str, Floats]]
    tests: tuple[HTest, ...]
    weight: Floats
    units: Codes
    score: str
    lens_of_measures: str
    method: str
    data_name: str
    n: int
    m: int
    n_folds: int
    n_fit: int
    n_held_out: int
    n_resamples: int
    seed: int
    correction: str | None
    level: float | None
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> ComparedCalibrator:
        """Return the row of a map."""
        return next(row for row in self.rows if row.name == name)

    def sheet(self) -> Sheet:
        """Return what is printed."""
        return render.sheet_out_of_fold(self)


def out_of_fold(
    predictions: Predictions,
    calibrators: object,
    *,
    data: CalibrationSet | None = None,
    score: str = "log-loss",
    cv: object = 5,
    rng: object = None,
    progress: Callable[[str], None] | None = None,
    **tests: Any,
) -> OutOfFold:
    """Score and test maps on rows that they were not fitted to, as `compare_calibrators` does.

    The folds, the test, the lens and the rule that combines the p-values of the folds are those of
    `compare_calibrators`: for the same rows and seed a map has the same p-value. Nothing is
    selected, so that there is no inner cross-validation.

    Parameters
    ----------
    predictions : Predictions
        Before the maps.
    calibrators : str, Calibrator, list or dict
        As in `compare_calibrators`.
    data : CalibrationSet, optional
        What the maps are fitted to where it is not the probabilities, as logits.
    score, cv, rng : optional
        As in `compare_calibrators`.
    progress : callable, optional
        Called with what is done next.
    **tests
        `test`, `lens`, `null`, `correction`, `level`, `n_resamples`, `n_jobs` and options of the
        measures, as in `compare_calibrators`.

    Returns
    -------
    OutOfFold
        A row for each map, the uncalibrated model first.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule, or there are fewer than 10 rows.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M2", n=200, m=3, rng=1)
    >>> found = out_of_fold(data, "temperature", n_resamples=99, rng=1)
    >>> result = ct.compare_calibrators(data, calibrators="temperature", n_resamples=99, rng=1)
    >>> found["temperature"].tests[0].pvalue == result["temperature"].tests[0].pvalue
    True
    """
    tests_of = make_calibration_tests(**tests)
    seed = validation.check_seed(rng)
    data = data or set_of(predictions)
    maps = resolve_calibrators(calibrators, predictions.m, from_logits=data.inputs.from_logits)
    setup = make_setup(
        predictions,
        data,
        folds=(cv, None),
        score=check_score(score),
        tests_of=tests_of,
        seed=seed,
    )
    every = range(len(setup.pairs))
    outcomes = {}
    for name, calibrator in maps.items():
        if progress is not None:
            progress(f"calibrator {name}")
        outcomes[name] = evaluate(calibrator, setup, every)
    return OutOfFold(
        rows=rows_of(maps, outcomes, setup),
        maps=maps,
        predictions=_predictions(outcomes, setup),
        scores={name: outcome.scores for name, outcome in outcomes.items()},
        tests=tuple(test for part in outcomes[REFERENCE].tests for test in part.tests),
        weight=setup.weight,
        units=setup.units,
        **facts_of(outcomes, setup, cv),
    )


def _predictions(outcomes: Mapping[str, CrossValidated], setup: Setup) -> dict[str, Predictions]:
    """Collect what each map predicts for the held-out rows, fold after fold."""
    found = {}
    for name, outcome in outcomes.items():
        probs = [part.probs for part in outcome.parts if part.probs is not None]
        if not outcome.reason:
            found[name] = held_out(setup.predictions, setup.rows, np.concatenate(probs))
    return found
