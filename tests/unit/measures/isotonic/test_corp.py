"""The CORP miscalibration, curve and band."""

import math

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from caltest import DegenerateDataWarning, Predictions
from caltest.measures import corp_band, corp_curve, corp_miscalibration, score_decomposition
from caltest.numerics.labels import resample_keys


def test_infinite_log_loss_is_infinite():
    """With a warning that says where from."""
    with pytest.warns(DegenerateDataWarning, match="probability 0 in 1 row"):
        assert corp_miscalibration([0.0, 0.5], [1, 0], score="log-loss") == math.inf


RNG = np.random.default_rng(1)
P = RNG.integers(0, 40, 300) / 40
Y = (RNG.random(300) < P**2).astype(int)


def test_curve_is_the_isotonic_regression():
    """That of scikit-learn; the Brier score of the fit is score - miscalibration."""
    expected = IsotonicRegression().fit(P, Y).predict(P)
    np.testing.assert_allclose(corp_curve(P, Y).at(P), expected, atol=1e-12)
    parts = score_decomposition(P, Y)
    fitted = np.mean(np.square(corp_curve(P, Y).at(P) - Y))
    assert fitted == pytest.approx(parts.score - parts.miscalibration, rel=1e-12)


def test_band_is_that_of_plain_code():
    """The limits are the quantiles of the fits of labels redrawn with the same seeds."""
    band = corp_band(P, Y, confidence=0.9, n_resamples=99, rng=5)
    data = Predictions(P, Y)
    redrawn = data.redrawing.labels(resample_keys(5, 99))
    fits = [IsotonicRegression().fit(P, labels).predict(band.x) for labels in redrawn]
    expected = np.quantile(fits, [0.05, 0.95], axis=0)
    np.testing.assert_allclose([band.lower, band.upper], expected, atol=1e-12)


def test_band_does_not_depend_on_n_jobs():
    first, second = (corp_band(P, Y, rng=1, n_resamples=199, n_jobs=k) for k in (1, 3))
    assert np.array_equal(first.lower, second.lower)


@pytest.mark.filterwarnings("ignore::caltest.SuspectInputWarning")
def test_band_of_many_predictions_has_few_points():
    """At most 512, with the smallest and the largest prediction."""
    score = np.random.default_rng(1).random(5000)
    band = corp_band(score, np.zeros(5000, int) | (score > 0.5), n_resamples=99, rng=1)
    assert band.x.size <= 512
    assert [band.x[0], band.x[-1]] == [score.min(), score.max()]
    assert (np.diff(band.x) > 0).all()
