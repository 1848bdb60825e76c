"""The print of a fitted calibrator: its parameters, and the errors before and after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

from caltest.calibrators.inputs import SMALLEST
from caltest.htests import test_calibration
from caltest.measures import ece, log_loss
from caltest.predictions import Predictions
from caltest.render import Sheet, number, pvalue
from caltest.results import HTest, Summary
from caltest.validation import check_seed, listing

if TYPE_CHECKING:
    from caltest.calibrators.base import CalibrationSet, Calibrator, Coefficient

Facts = list[tuple[str, str]]

LEVEL = 0.95
MOST_ROWS = 40  # of coefficients that are printed


def summary_of(
    calibrator: Calibrator,
    data: CalibrationSet | None,
    *,
    held_out: bool,
    n_resamples: int = 999,
    rng: object = None,
    n_jobs: int | None = None,
) -> Summary:
    """Return the printable summary; without data it shows the parameters alone."""
    names = calibrator.classes_.tolist()
    facts = [("calibrator", " ".join(repr(calibrator).split()))]
    facts += [("classes (m)", f"{len(names)}: {listing(names)}")]
    if data is not None:
        source = "held out" if held_out else "those of the fit"
        facts += [("observations (n)", f"{data.inputs.n}, {source}")]
        facts += _before_and_after(calibrator, data, n_resamples, check_seed(rng), n_jobs)
    coefficients = calibrator.coefficients()
    if len(coefficients) > MOST_ROWS:
        facts += [("parameters", f"{len(coefficients)}, see the attributes that end with _")]
        coefficients = ()
    # The labels have shaped the map: redrawing them from it is no null distribution of theirs.
    text = "after the fit, errors on its own data are too small and p-values too large"
    notes = [("note", f"{text}; pass data that were held out")]
    return Summary(
        Sheet(
            title=calibrator.title,
            facts=tuple(facts),
            header=_header(coefficients),
            rows=tuple(_row(coefficient, coefficients) for coefficient in coefficients),
            closing=tuple(notes if data is not None and not held_out else ()),
            listing=True,
        )
    )


def _before_and_after(
    calibrator: Calibrator,
    data: CalibrationSet,
    n_resamples: int,
    seed: int,
    n_jobs: int | None,
) -> Facts:
    """Log loss, ECE and the default test, of the inputs and of the calibrated probabilities."""
    pair = [
        Predictions(probs, data.codes, sample_weight=data.weight, classes=np.arange(data.inputs.m))
        for probs in (data.inputs.probs, calibrator.calibrate(data.inputs))
    ]
    losses = [number(float(log_loss(p, eps=SMALLEST))) for p in pair]
    errors = [number(float(ece(p, lens="confidence"))) for p in pair]
    lines = {"log loss": losses, "ECE (confidence)": errors}
    if data.inputs.n > 1:
        lines |= _tests(pair, n_resamples, seed, n_jobs)
    rows = [(name, f"{before} before, {after} after") for name, (before, after) in lines.items()]
    return rows if data.inputs.n > 1 else [*rows, ("default test", "needs two observations")]


def _tests(
    pair: Sequence[Predictions], n_resamples: int, seed: int, n_jobs: int | None
) -> dict[str, list[str]]:
    """Estimate and p-value of the default test, before and after."""
    tests = [
        test_calibration(None, p, n_resamples=n_resamples, rng=seed, n_jobs=n_jobs) for p in pair
    ]
    first = next(test for test in tests if isinstance(test, HTest))
    estimates = [number(test.estimate) for test in tests if isinstance(test, HTest)]
    pvalues = [pvalue(test.pvalue) for test in tests if isinstance(test, HTest)]
    null = f"{first.null}, B = {n_resamples}, seed = {seed}"
    return {first.estimate_name: estimates, f"p-value ({null})": pvalues}


def _header(coefficients: Sequence[Coefficient]) -> tuple[str, ...]:
    """The columns of statsmodels, where the likelihood gives standard errors.

    H0 is the value of the map that changes nothing: a temperature or slope of 1, not 0.
    """
    fitted = [coefficient for coefficient in coefficients if coefficient.stderr is not None]
    if not fitted:
        return ("", "coef")
    tested = any(coefficient.neutral is not None for coefficient in fitted)
    low, high = (1 - LEVEL) / 2, (1 + LEVEL) / 2
    test = ("H0", "z", "P>|z|") if tested else ()
    return ("", "coef", "std err", *test, f"[{low:g}", f"{high:g}]")


def _row(coefficient: Coefficient, coefficients: Sequence[Coefficient]) -> tuple[str, ...]:
    first = (coefficient.name, number(coefficient.value))
    error, header = coefficient.stderr, _header(coefficients)
    if error is None:
        return first + ("",) * (len(header) - 2)
    half = float(ndtri((1 + LEVEL) / 2)) * error
    bounds = (number(coefficient.value - half), number(coefficient.value + half))
    test = _z_test(coefficient, error) if "H0" in header else ()
    return (*first, number(error), *test, *bounds)


def _z_test(coefficient: Coefficient, error: float) -> tuple[str, ...]:
    """The neutral value, z and its p-value; blank where the parameter has none."""
    if coefficient.neutral is None:
        return ("", "", "")
    z = (coefficient.value - coefficient.neutral) / error
    return (number(coefficient.neutral), number(z), pvalue(float(2 * ndtr(-abs(z)))))
