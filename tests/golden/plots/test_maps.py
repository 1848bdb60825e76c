"""Calibration maps: on the simplex, as curves, as parameters, by what they change."""

import numpy as np
import pytest

import caltest as ct
from caltest import calibrators as cal
from caltest.plots import (
    calibration_map,
    confusion_change,
    latent_function,
    parameter_heatmap,
    simplex_map,
)

NAMES = ["cat", "dog", "a class of a long name"]


def data_of(m, n=600):
    """Return predictions that are too sure of themselves, and lean to the first class."""
    rng = np.random.default_rng(m)
    logits = 2 * rng.normal(size=(n, m))
    wrong = logits / 2 + rng.gumbel(size=(n, m))
    wrong[:, 0] += 0.6
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    names = NAMES if m == 3 else [f"class {k}" for k in range(m)]
    return ct.Predictions(probs, wrong.argmax(axis=1), classes=names)


def test_map_on_the_simplex(assert_same_picture):
    data = data_of(3)
    ax = simplex_map(cal.DirichletCalibrator().fit(data), data, points=9)
    assert_same_picture(ax.figure, "simplex_map")


@pytest.mark.parametrize("m", [5, 45])
def test_parameters(assert_same_picture, m):
    """With numbers in the cells, and without."""
    ax = parameter_heatmap(cal.DirichletCalibrator().fit(data_of(m)))
    assert_same_picture(ax.figure, f"parameter_heatmap_{m}")


@pytest.mark.parametrize("m", [5, 45])
def test_change_of_the_confusion_matrix(assert_same_picture, m):
    """With numbers in the cells, and without."""
    data = data_of(m)
    ax = confusion_change(data, cal.DirichletCalibrator().fit(data))
    assert_same_picture(ax.figure, f"confusion_change_{m}")


@pytest.mark.parametrize(
    ("name", "calibrator", "m"),
    [
        ("venn_abers", cal.VennAbers(), 2),
        ("beta", cal.BetaCalibrator(), 2),
        ("one_vs_rest", cal.OneVsRest(cal.IsotonicCalibrator()), 5),
        ("spline", cal.SplineCalibrator(), 5),
    ],
)
def test_map_as_curves(assert_same_picture, name, calibrator, m):
    """One curve, or one for each class."""
    ax = calibration_map(calibrator.fit(data_of(m)))
    assert_same_picture(ax.figure, f"calibration_map_{name}")


@pytest.mark.filterwarnings("ignore:the latent mean falls")
def test_latent_function(assert_same_picture):
    ax = latent_function(cal.GPCalibrator(n_inducing=4).fit(data_of(3)))
    assert_same_picture(ax.figure, "latent_function")
