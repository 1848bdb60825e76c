"""Calibration maps as curves: of two classes, of each class, of splines."""

import numpy as np
import pytest

import caltest as ct
from caltest import InvalidInput
from caltest.calibrators import (
    BetaCalibrator,
    Identity,
    IsotonicCalibrator,
    OneVsRest,
    SplineCalibrator,
    TemperatureScaling,
    VectorScaling,
    VennAbers,
)
from caltest.plots import calibration_map

TWO = ct.datasets.generative_model("M2", 200, 2, rng=1)
FIVE = ct.datasets.generative_model("M2", 500, 5, rng=1)


def names_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("kind", [Identity, IsotonicCalibrator, BetaCalibrator, VennAbers])
@pytest.mark.parametrize("from_logits", [False, True])
def test_curve_of_two_classes_is_what_the_map_predicts(kind, from_logits):
    event = np.clip(TWO.probs[:, 1], 1e-9, 1 - 1e-9)
    given = np.log(event) - np.log1p(-event) if from_logits else event
    calibrator = kind(from_logits=from_logits).fit(given, TWO.labels)
    p, q = calibration_map(calibrator).lines[1].get_data()
    inside = (p > 0) & (p < 1)
    at = np.log(p[inside]) - np.log1p(-p[inside]) if from_logits else p[inside]
    np.testing.assert_allclose(q[inside], calibrator.predict_proba(at)[:, 1], rtol=1e-9)


def test_venn_abers_shows_its_interval():
    ax = calibration_map(VennAbers().fit(TWO))
    assert names_of(ax) == ["$p_0$ to $p_1$"]
    assert len(ax.collections) == 1


def test_class_curves_are_the_maps_before_normalisation():
    """One-vs-rest has a map for each class."""
    calibrator = OneVsRest(IsotonicCalibrator()).fit(FIVE)
    ax = calibration_map(calibrator)
    p, q = ax.lines[1].get_data()
    rows = np.column_stack([p, *[(1 - p) / 4] * 4])
    np.testing.assert_allclose(q, calibrator.maps(rows)[:, 0])
    assert names_of(ax) == ["0", "1", "2", "3", "4"]
    assert "before normalisation" in ax.get_ylabel()


def test_curves_of_other_maps_have_all_other_classes_equal():
    calibrator = VectorScaling().fit(FIVE)
    p, q = calibration_map(calibrator).lines[3].get_data()
    rows = np.column_stack([(1 - p) / 4, (1 - p) / 4, p, (1 - p) / 4, (1 - p) / 4])
    np.testing.assert_allclose(q, calibrator.predict_proba(rows)[:, 2])


def test_curves_that_are_equal_are_one():
    ax = calibration_map(TemperatureScaling().fit(FIVE))
    assert names_of(ax) == ["every class"]
    assert len(ax.lines) == 2


@pytest.mark.filterwarnings("ignore:the likelihood has no single maximum")
def test_many_classes_name_those_that_change_most():
    """Seven are coloured and at most 60 drawn; title and legend count them."""
    data = ct.datasets.generative_model("M2", 900, 80, rng=1)
    ax = calibration_map(VectorScaling().fit(data))
    assert len(ax.lines) == 1 + 60
    assert len(names_of(ax)) == 8
    assert names_of(ax)[-1] == "53 others"
    assert ax.get_title(loc="left") == "Vector scaling (60 of 80 classes)"


@pytest.mark.parametrize(("mode", "n_lines"), [("top-1", 1), ("class-wise", 5)])
def test_splines_show_the_score_they_recalibrate(mode, n_lines):
    """One curve for a rank, one for each class otherwise, through the fitted points."""
    calibrator = SplineCalibrator(mode=mode).fit(FIVE)
    ax = calibration_map(calibrator)
    p, q = ax.lines[1].get_data()
    expected = np.interp(p, calibrator.scores_[0], calibrator.recalibrated_[0])
    np.testing.assert_allclose(q, expected)
    assert len(ax.lines) == 1 + n_lines


def test_what_is_no_fitted_calibrator_is_refused():
    """A class, another object, a calibrator before its fit."""
    from sklearn.exceptions import NotFittedError

    with pytest.raises(InvalidInput, match="calibrator must be a calibrator"):
        calibration_map(Identity)
    with pytest.raises(NotFittedError, match="not fitted"):
        calibration_map(BetaCalibrator())
