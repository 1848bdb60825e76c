"""The KS and Kuiper tests under both nulls."""

import numpy as np
import pytest

from caltest import NotApplicable, Predictions
from caltest import test_calibration as calibration_test
from caltest.datasets import generative_model
from caltest.measures import ks_error, kuiper_error


@pytest.mark.parametrize(("test", "measure"), [("ks", ks_error), ("kuiper", kuiper_error)])
def test_exact_and_asymptotic_agree_on_many_rows(test, measure):
    data = generative_model("M1", n=5000, m=2, rng=1)
    exact = calibration_test(None, data, test=test, rng=0, n_resamples=1999)
    limit = calibration_test(None, data, test=test, null="asymptotic")
    assert exact.estimate == limit.estimate == measure(data)
    assert limit.pvalue == pytest.approx(exact.pvalue, abs=0.05)


@pytest.mark.parametrize("test", ["ks", "kuiper"])
def test_limit_is_positive_far_out(test):
    """The peer's 1 - cdf is 0 or negative there."""
    data = Predictions(np.full(3000, 0.001), np.ones(3000, int))
    assert 0 < calibration_test(None, data, test=test, null="asymptotic").pvalue < 1e-300


@pytest.mark.parametrize("test", ["ks", "kuiper"])
@pytest.mark.parametrize("null", ["exact", "asymptotic"])
def test_perfectly_calibrated_constant_has_p_value_one(test, null):
    """Half of the events at 0.5: the deviation is 0, the least there is."""
    data = Predictions(np.full(100, 0.5), np.arange(100) % 2)
    assert calibration_test(None, data, test=test, null=null, rng=0).pvalue == 1.0


@pytest.mark.parametrize("test", ["ks", "kuiper"])
def test_scaled_has_the_same_exact_p_value(test):
    """The scale depends on the predictions alone."""
    data = generative_model("M3", n=60, m=2, rng=0)
    plain, scaled = (calibration_test(None, data, test=test, scaled=s, rng=0) for s in (0, 1))
    assert plain.pvalue == scaled.pvalue


@pytest.mark.parametrize("test", ["ks", "kuiper"])
def test_certain_predictions_have_an_exact_p_value_only(test):
    """1 where all are right, the smallest where one is wrong."""
    right, wrong = (Predictions([0.0, 1.0, 1.0], labels) for labels in ([0, 1, 1], [0, 1, 0]))
    assert calibration_test(None, right, test=test, rng=0).pvalue == 1.0
    assert calibration_test(None, wrong, test=test, rng=0).pvalue == 0.001
    with pytest.raises(NotApplicable, match="no variance"):
        calibration_test(None, right, test=test, null="asymptotic")


@pytest.mark.parametrize("lens", ["top-2", "within-top-2", "confidence", "classwise"])
def test_lenses_of_two_classes_have_a_p_value(lens):
    data = generative_model("M1", n=80, m=3, rng=0)
    result = calibration_test(None, data, test="ks", lens=lens, rng=0, n_resamples=99)
    rows = result if lens == "classwise" else [result]
    assert all(0 < row.pvalue <= 1 for row in rows)
