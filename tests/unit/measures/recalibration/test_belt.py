"""The statistic of the calibration belt at its extremes, and its nulls."""

import math

import numpy as np
import pytest

from caltest import DegenerateDataWarning, NotApplicable, Predictions
from caltest.datasets import generative_model
from caltest.measures import brier_score, calibration_belt
from caltest.measures.recalibration.belt import CalibrationBelt

MEASURE = CalibrationBelt()


def predictions(n=300, seed=0):
    """Return calibrated predictions of two classes."""
    return generative_model("M1", n=n, m=2, alpha=1.0, rng=seed)


def test_statistic_grows_with_the_largest_degree_up_to_the_selected_one():
    """More of the selection, never a smaller likelihood."""
    p = np.linspace(0.02, 0.98, 400)
    labels = (np.abs(p - 0.5) > 0.25).astype(int)
    values = [calibration_belt(p, labels, max_degree=d) for d in (1, 2, 3, 4)]
    assert values == sorted(values)
    assert values[1] > values[0] + 100


def test_many_rows_are_fitted_as_few_are():
    """Predictions repeated a hundred times are fitted on nodes, and the statistic is 100 times."""
    data = predictions(400)
    many = Predictions(np.tile(data.probs, (100, 1)), np.tile(data.labels, 100))
    assert MEASURE.bind(many).statistic.sums._nodes is not None
    few = CalibrationBelt(max_degree=1)
    value = few.bind(many).value()
    assert value == pytest.approx(100 * few.bind(data).value(), rel=1e-9)


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


def test_constant_predictions_are_fitted_by_their_rate():
    """There is no slope; the law with two degrees of freedom is not theirs."""
    value = calibration_belt([0.25] * 8, [1, 1, 0, 0, 1, 0, 1, 0])
    half, given = 8 * math.log(0.5), 4 * math.log(0.25) + 4 * math.log(0.75)
    assert value == pytest.approx(2 * (half - given), rel=1e-12)
    with pytest.raises(NotApplicable, match=r"at least 2 distinct .* there is 1; use null='exact'"):
        MEASURE.limit(Predictions([0.25] * 8, [1, 1, 0, 0, 1, 0, 1, 0]))


def test_certain_predictions_are_left_out_unless_contradicted():
    """0 and 1 have no log odds."""
    data = predictions(50)
    for wrong, expected in ((0, calibration_belt(data)), (1, math.inf)):
        probs = np.vstack([data.probs, [[1.0, 0.0], [0.0, 1.0]]])
        with pytest.warns(DegenerateDataWarning, match="2 of 52 predictions are 0 or 1"):
            value = calibration_belt(probs, np.append(data.labels, [wrong, 1]))
        assert value == pytest.approx(expected)


def test_development_sample_has_the_asymptotic_null_only():
    """Predictions fitted to the labels are not those from which labels are drawn."""
    internal = CalibrationBelt(internal=True)
    assert internal.nulls == ("asymptotic",)
    assert MEASURE.nulls == ("exact", "consistency", "asymptotic")
    assert internal.limit(predictions()).parameters["degree"] >= 2


def test_equal_sums_bring_a_note_on_the_development_sample():
    """As givitiR warns: observed and expected events agree to 1e-4."""
    data = Predictions([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1])
    assert "pass internal=True" in MEASURE.bind(data).notes[0]
    assert not CalibrationBelt(internal=True).bind(data).notes


def test_infinite_statistic_has_the_least_p_value():
    data = predictions(50)
    probs = np.vstack([data.probs, [[1.0, 0.0]]])
    limit = MEASURE.limit(Predictions(probs, np.append(data.labels, 1)))
    assert limit.statistic == math.inf
    assert 0 < limit.pvalue < 1e-300


def test_family_gives_an_array():
    """One value for each class; the score of the same predictions is finite too."""
    data = generative_model("M1", n=50, m=3, rng=0)
    values = calibration_belt(data, lens="classwise")
    assert values[2] == calibration_belt(data, lens="classwise[2]")
    assert values.shape == brier_score(data, lens="classwise").shape
