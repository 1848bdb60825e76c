import numpy as np

import caltest as ct
from caltest.plots import decision_curve

DATA = ct.datasets.generative_model("M2", n=400, m=2, alpha=1.0, rng=1)


def lines_of(ax):
    """Return what is drawn by its name."""
    return {line.get_label(): line.get_ydata() for line in ax.lines}


def test_curves_are_net_benefits():
    """The model beside treating all and none."""
    lines = lines_of(decision_curve(DATA, thresholds=[0.1, 0.3, 0.5]))
    found = ct.measures.net_benefit(DATA, thresholds=[0.1, 0.3, 0.5])
    np.testing.assert_allclose(lines["model"], found.model)
    np.testing.assert_allclose(lines["treat all"], found.treat_all)
    assert "treat none" in lines


def test_recalibrated_predictions_are_drawn_beside():
    """From a fitted map, or as they are."""
    platt = ct.calibrators.PlattScaling().fit(DATA)
    lines = lines_of(decision_curve(DATA, platt))
    after = ct.Predictions(platt.predict_proba(DATA.probs), DATA.labels)
    np.testing.assert_allclose(
        lines["after recalibration"], lines_of(decision_curve(DATA, after))["after recalibration"]
    )
    result = ct.test_calibration(DATA, test="ece", n_resamples=19, rng=1)
    assert set(lines_of(decision_curve(result, platt))) == set(lines)
