"""The tests of recalibration: exact and asymptotic, estimates, both directions."""

import numpy as np
import pytest
from scipy.stats import chi2

from caltest import DegenerateDataWarning, InvalidInput, Predictions
from caltest import test_calibration as calibration_test
from caltest.datasets import generative_model
from caltest.measures import calibration_intercept, calibration_slope

KEYS = ("cox", "calibration-in-the-large", "calibration-slope", "unreliability")
TESTED = ("calibration-in-the-large", "calibration-slope", "cox")


def changed(intercept=0.0, slope=1.0, n=1500):
    """Return predictions whose recalibration has this intercept and slope, roughly."""
    data = generative_model("M1", n=n, m=2, alpha=1.0, rng=0)
    log_odds = (np.log(data.probs[:, 1] / data.probs[:, 0]) - intercept) / slope
    return Predictions(1 / (1 + np.exp(-log_odds)), data.labels)


@pytest.mark.parametrize(
    ("intercept", "slope", "keys"),
    [
        (0.5, 1.0, ("cox", "calibration-in-the-large", "unreliability")),
        (-0.5, 1.0, ("cox", "calibration-in-the-large", "unreliability")),
        (0.0, 0.5, ("cox", "calibration-slope", "unreliability")),
        (0.0, 1.5, ("cox", "calibration-slope", "unreliability")),
    ],
)
def test_each_test_sees_its_own_parameter(intercept, slope, keys):
    """Too high, too low, overconfident and underconfident predictions."""
    data = changed(intercept, slope)
    pvalues = {key: calibration_test(data, test=key, null="asymptotic").pvalue for key in KEYS}
    assert all(pvalue < 1e-4 for key, pvalue in pvalues.items() if key in keys)
    assert all(pvalue > 1e-4 for key, pvalue in pvalues.items() if key not in keys)


def test_estimates_are_the_parameters():
    """Printed with the kind of intercept; Cox's test names both among its parameters."""
    data = changed(0.2, 0.8)
    large, slope, both = (calibration_test(data, test=key, rng=0, n_resamples=9) for key in TESTED)
    assert large.estimate == calibration_intercept(data)
    assert "intercept (slope 1) = " in str(large)
    assert slope.estimate == calibration_slope(data)
    assert both.parameters["slope"] == slope.estimate
    assert both.parameters["intercept"] == calibration_intercept(data, slope="estimated")


def test_limit_of_several_classes_states_its_degrees_of_freedom():
    """One slope and m - 1 intercepts, or two for each class but the reference."""
    data = generative_model("M1", n=400, m=4, alpha=1.0, rng=0)
    for slopes, df in (("common", 4), ("reference", 6)):
        result = calibration_test(data, test="cox", slopes=slopes, null="asymptotic")
        assert f"{df} degrees of freedom" in result.null_text
        assert result.pvalue == pytest.approx(chi2.sf(result.statistic, df))


def test_one_impossible_label_is_found_at_any_size():
    """One of 2,000 rows, by every test and null; a printed statistic is infinite."""
    data = changed(n=2000)
    probs, labels = data.probs[:, 1].copy(), data.labels.copy()
    probs[3], labels[3] = 0.0, 1
    for key in KEYS:
        for null in ("exact", "asymptotic"):
            with (
                pytest.warns(DegenerateDataWarning, match=r"row 3"),
                pytest.warns(DegenerateDataWarning, match="no log odds"),
            ):
                result = calibration_test(probs, labels, test=key, null=null, n_resamples=99, rng=0)
            assert result.pvalue <= 0.01


def test_sparse_events_are_tested_exactly():
    """Few events in few rows: the limit is off, the exact test is not."""
    data = Predictions(np.full(30, 0.01), np.arange(30) == 0)
    with pytest.warns(DegenerateDataWarning, match="no slope can be estimated"):
        result = calibration_test(data, test="cox", rng=0)
    assert result.pvalue == pytest.approx(1 - 0.99**30, abs=0.05)


def test_options_of_one_test_are_refused_by_the_others():
    """`slopes=` belongs to Cox's test of both parameters."""
    with pytest.raises(InvalidInput, match="options must be taken by a test"):
        calibration_test(changed(), test="calibration-slope", slopes="common")
