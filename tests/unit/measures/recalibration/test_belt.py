"""The statistic of the calibration belt at its extremes, and its nulls."""

import math

import numpy as np
import polars as pl
import pytest

import caltest as ct
from caltest import DegenerateDataWarning, NotApplicable, Predictions
from caltest.datasets import generative_model
from caltest.measures import calibration_belt, calibration_belt_curve
from caltest.measures.recalibration.belt import CalibrationBelt, _intervals

MEASURE = CalibrationBelt()


def predictions(n=300, seed=0):
    """Return calibrated predictions of two classes."""
    return generative_model("M1", n=n, m=2, alpha=1.0, rng=seed)


def test_steep_polynomial_is_fitted_on_all_rows():
    """Where labels follow the predictions too closely for the nodes."""
    p = np.linspace(0.01, 0.99, 20_000)
    labels = (np.random.default_rng(0).random(p.size) < 1 / (1 + np.exp(-200 * (p - 0.5)))).astype(
        int
    )
    bound = MEASURE.bind(Predictions(p, labels))
    model = bound.statistic.sums
    fit = model.fit(labels[None].astype(np.uint8))
    assert model._is_steep(fit.gamma[0])
    model._nodes = None
    again = model.fit(labels[None].astype(np.uint8))
    assert fit.statistic[0] == pytest.approx(again.statistic[0], rel=1e-12)


def test_one_class_and_separated_classes_have_a_supremum():
    """The likelihood of the fit approaches 1."""
    p = np.array([0.1, 0.2, 0.3, 0.7, 0.8])
    for labels in ([0] * 5, [0, 0, 0, 1, 1]):
        log_likelihood = np.log(np.where(labels, p, 1 - p)).sum()
        value = calibration_belt(p, labels)
        assert value == pytest.approx(-2 * log_likelihood, rel=1e-8)
        with pytest.raises(NotApplicable, match=r"separates the classes.*; use null='exact'"):
            MEASURE.limit(Predictions(p, labels))


@pytest.mark.parametrize("separated", ["all", "some"])
def test_cells_have_the_supremum_of_their_rows(separated):
    """Also where a polynomial separates the classes, or a part of the rows."""
    p = np.array([0.3, 1 / 21, 0.9, 0.8, 0.1, 0.1, 20 / 21, 0.6, 0.9, 0.5, 0.1, 0.3])
    labels = (p > 0.6).astype(int)
    if separated == "some":
        p = np.repeat([0.001, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7], [7, 5, 3, 2, 2, 3, 2, 2])
        labels = np.isin(np.arange(p.size), [17, 19, 20, 21, 23]).astype(int)
    frame = pl.DataFrame({"y": labels, "p": p})
    options = {"test": "calibration-belt", "label": "y", "probs": "p", "n_resamples": 99, "rng": 1}
    rows, cells = (ct.test_calibration(None, frame, engine=e, **options) for e in ("rows", "cells"))
    assert cells.statistic == pytest.approx(rows.statistic, abs=1e-7)
    assert cells.null_distribution.max() < 100


def test_constant_predictions_are_fitted_by_their_rate():
    """There is no slope; the law with two degrees of freedom is not theirs."""
    value = calibration_belt([0.25] * 8, [1, 1, 0, 0, 1, 0, 1, 0])
    half, given = 8 * math.log(0.5), 4 * math.log(0.25) + 4 * math.log(0.75)
    assert value == pytest.approx(2 * (half - given), rel=1e-12)
    with pytest.raises(NotApplicable, match=r"at least 2 distinct .* there is 1; use null='exact'"):
        MEASURE.limit(Predictions([0.25] * 8, [1, 1, 0, 0, 1, 0, 1, 0]))


def test_development_sample_has_the_asymptotic_null_only():
    """Equal sums bring a note, as givitiR warns."""
    internal = CalibrationBelt(internal=True)
    assert internal.nulls == ("asymptotic",)
    assert MEASURE.nulls == ("exact", "consistency", "asymptotic")
    assert internal.limit(predictions()).parameters["degree"] >= 2
    data = Predictions([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1])
    assert "pass internal=True" in MEASURE.bind(data).notes[0]
    assert not CalibrationBelt(internal=True).bind(data).notes


def test_infinite_statistic_has_the_least_p_value():
    data = predictions(50)
    probs = np.vstack([data.probs, [[1.0, 0.0]]])
    limit = MEASURE.limit(Predictions(probs, np.append(data.labels, 1)))
    assert limit.statistic == math.inf
    assert 0 < limit.pvalue < 1e-300


# ---- the calibration belt -----------------------------------------------------------------------


def overconfident(n=2000, seed=0):
    """Return predictions with log odds twice those of the labels."""
    rng = np.random.default_rng(seed)
    z = rng.normal(0, 1.5, n)
    labels = rng.random(n) < 1 / (1 + np.exp(-z))
    return Predictions(1 / (1 + np.exp(-2 * z)), labels.astype(int))


def test_belt_of_overconfident_predictions_crosses_the_diagonal_once():
    """Small predictions are too low, large ones too high, at both levels."""
    belt = calibration_belt_curve(overconfident())
    for above, below in zip(belt.above, belt.below, strict=True):
        assert above[0][0] == belt.grid[0]
        assert below[0][1] == belt.grid[-1]
        assert above[0][1] < 0.5 < below[0][0]


def test_belt_holds_its_fit_and_grows_with_the_level():
    """The curve lies inside; the belt of 80 % inside that of 95 %."""
    belt = calibration_belt_curve(overconfident(), confidence=(0.95, 0.8))
    z = np.log(belt.grid) - np.log1p(-belt.grid)
    eta = np.vander(z, belt.degree + 1, increasing=True) @ belt.coefficients
    curve = 1 / (1 + np.exp(-eta))
    edges = [belt.lower[1], belt.lower[0], curve, belt.upper[0], belt.upper[1]]
    assert belt.levels == (0.8, 0.95)
    assert (np.diff(edges, axis=0) > 0).all()


@pytest.mark.full
@pytest.mark.parametrize("internal", [False, True])
def test_belt_says_what_its_test_says(internal):
    """Degree, statistic and p-value are those of the asymptotic test."""
    data = generative_model("M2", n=300, m=2, pi=0.2, rng=1)
    belt = calibration_belt_curve(data, internal=internal)
    limit = CalibrationBelt(internal=internal).limit(data)
    assert belt.degree == limit.parameters["degree"]
    assert (belt.statistic, belt.pvalue) == (limit.statistic, limit.pvalue)
    assert (belt.internal, belt.n) == (internal, 300)


def test_diagonal_is_inside_at_levels_at_which_the_test_does_not_reject():
    """Just above one minus its p-value; calibrated predictions."""
    for seed in range(8):
        data = generative_model("M1", n=200, m=2, alpha=1.0, rng=seed)
        belt = calibration_belt_curve(data)
        inside = calibration_belt_curve(data, confidence=max(0.5, 1 - belt.pvalue / 1.02))
        assert inside.above == inside.below == ((),)
        assert inside.pvalue == belt.pvalue


def test_grid_covers_the_range_of_the_predictions():
    """In ascending order, of the size that is asked for, read-only."""
    data = overconfident(300)
    belt = calibration_belt_curve(data, points=51)
    assert belt.grid.size == 51
    assert (np.diff(belt.grid) > 0).all()
    event = data.probs[:, 1]
    np.testing.assert_allclose(belt.grid[[0, -1]], [event.min(), event.max()], rtol=1e-12)
    for array in (belt.grid, belt.lower, belt.upper, belt.coefficients):
        assert not array.flags.writeable


def test_intervals_end_where_the_line_between_points_is_zero():
    """And at the ends of the grid."""
    grid = np.array([0.1, 0.2, 0.4, 0.5, 0.9])
    excess = np.array([1.0, -1.0, 3.0, 1.0, -1.0])
    first, second = _intervals(grid, excess)
    assert first == pytest.approx((0.1, 0.15))
    assert second == pytest.approx((0.25, 0.7))
    assert _intervals(grid, -np.ones(5)) == ()
    assert _intervals(grid, np.ones(5)) == ((0.1, 0.9),)


def test_certain_predictions_are_left_out_with_a_warning():
    data = overconfident(200)
    probs = np.append(data.probs[:, 1], [0.0, 1.0])
    with pytest.warns(DegenerateDataWarning, match="predictions of 0 or 1, 2 of 202"):
        belt = calibration_belt_curve(probs, np.append(data.labels, [0, 1]))
    np.testing.assert_array_equal(belt.lower, calibration_belt_curve(data).lower)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (Predictions([0.3, 0.6], [0, 1], sample_weight=[1, 2]), "takes no sample weights; use"),
        (Predictions([0.3, 0.6], [0, 1]), "separates the classes"),
        (Predictions([0.3, 0.3], [0, 1]), "at least 2 distinct predictions"),
        (generative_model("M1", n=9, m=3, rng=0), "the calibration belt takes one-dimensional"),
    ],
)
def test_belt_that_does_not_exist_is_not_applicable(data, message):
    with pytest.raises(NotApplicable, match=message):
        calibration_belt_curve(data)
