"""How often the laws of the calibration belt and the confidence band reject calibrated models."""

import numpy as np
import pytest
from scipy.special import chdtrc, expit, logit
from scipy.stats import binom

from caltest import Predictions
from caltest.datasets import generative_model
from caltest.htests import REGISTRY
from caltest.measures import confidence_band_curve
from caltest.measures.recalibration.belt import CalibrationBelt
from caltest.measures.recalibration.binary_fit import maximise
from caltest.numerics.labels import resample_keys

LEVEL, BAND = 0.05, 0.999


def belt_rates(n, sets, m=2, **lens):
    """Return the shares of calibrated sets rejected by the law and by one without selection."""
    measure = CalibrationBelt()
    data = generative_model("M1", n=n, m=m, alpha=1.0, rng=0)
    bound = measure.bind(data)
    fit = bound.statistic.sums.fit(bound.redraw(resample_keys(1, sets)))
    pairs = list(zip(fit.statistic, fit.degree, strict=True))
    law = sum(measure.selection.sf(t, d) <= LEVEL for t, d in pairs)
    naive = sum(chdtrc(2, t) <= LEVEL for t, _ in pairs)
    return law, naive


@pytest.mark.parametrize(
    ("n", "sets"), [(1000, 2000), pytest.param(5000, 20_000, marks=pytest.mark.slow)]
)
def test_belt_law_holds_its_level_and_chi_squared_does_not(n, sets):
    """The law without selection rejects about twice as often."""
    low, high = binom.interval(BAND, sets, LEVEL)
    law, naive = belt_rates(n, sets)
    assert low <= law <= high
    assert naive > high


@pytest.mark.parametrize("sets", [300, pytest.param(3000, marks=pytest.mark.slow)])
def test_internal_belt_law_holds_its_level_for_fitted_predictions(sets):
    """Predictions are those of a logistic regression on the labels themselves."""
    measure, rejected = CalibrationBelt(internal=True), 0
    external = CalibrationBelt(max_degree=1)
    data = generative_model("M1", n=1000, m=2, alpha=1.0, rng=0)
    for seed in range(sets):
        drawn = data.simulate(seed)
        bound = external.bind(drawn)
        model = bound.statistic.sums
        fit = model.fit(drawn.labels[None].astype(np.uint8))
        beta = model.coefficients(fit)
        fitted = expit(beta[0] + beta[1] * logit(drawn.probs[:, 1]))
        rejected += measure.limit(Predictions(fitted, drawn.labels)).pvalue <= LEVEL
    low, high = binom.interval(BAND, sets, LEVEL)
    assert low <= rejected <= high


def test_score_is_standard_normal_under_calibration():
    """The sums from which the fit is made have mean 0 and the curvature as their variance."""
    bound = CalibrationBelt().bind(generative_model("M1", n=500, m=2, alpha=1.0, rng=0))
    model = bound.statistic.sums
    sums = model.sums(bound.redraw(resample_keys(0, 20_000)))
    h = bound.predictions.probs.prod(axis=1).sum()
    np.testing.assert_allclose(np.cov(sums.T) / h, np.eye(5), atol=0.05)
    value, _ = maximise(sums[0] * 1e-4, model._rows, np.zeros(5), separable=True)
    assert value == pytest.approx(1e-8 * sums[0] @ sums[0] / (2 * h), rel=1e-3)


@pytest.mark.parametrize("method", ["standard", "round", "yang-barber"])
def test_band_does_not_exceed_its_level(method):
    """It is conservative: the sum of error probabilities is above that of the union."""
    rejected = 0
    for seed in range(300):
        data = generative_model("M1", n=100, m=2, alpha=1.0, rng=seed)
        rejected += confidence_band_curve(data, method=method).pvalue <= LEVEL
    assert rejected <= binom.ppf(BAND, 300, LEVEL)


def test_band_holds_other_monotone_curves():
    """Its coverage is that of the true curve, whatever the predictions say."""
    rng, missed = np.random.default_rng(0), 0
    for _ in range(300):
        x = rng.random(100)
        band = confidence_band_curve(x, (rng.random(100) < x**3).astype(int))
        missed += ((band.lower > band.x**3) | (band.upper < band.x**3)).any()
    assert missed <= binom.ppf(BAND, 300, LEVEL)


def test_exact_null_of_the_band_reaches_its_level():
    measure = REGISTRY["confidence-band"].with_options({})
    data = generative_model("M1", n=100, m=2, alpha=1.0, rng=0)
    bound = measure.bind(data)
    values = bound.values(bound.redraw(resample_keys(0, 4000)))
    cut = np.quantile(values[:2000], 1 - LEVEL)
    low, high = binom.interval(BAND, 2000, LEVEL)
    assert low * 0.8 <= np.count_nonzero(values[2000:] >= cut) <= high * 1.2
    assert 10**-cut > 3 * LEVEL
