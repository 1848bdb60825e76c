"""The size of tests with an adaptive number of resamples, over many small data sets."""

import numpy as np
import pytest
from scipy.stats import binom

import caltest as ct

DATASETS = 1500


@pytest.mark.slow
@pytest.mark.parametrize("test", ["ks", "brier"])
def test_adaptive_pvalues_are_valid(test):
    """P(p <= a) <= a for calibrated data, one-sided and two-sided, within the binomial band."""
    pvalues = np.empty(DATASETS)
    for i in range(DATASETS):
        rng = np.random.default_rng([7, i])
        event = rng.beta(1.0, 2.0, 16)
        data = ct.Predictions(event, (rng.random(16) < event).astype(int), classes=[0, 1])
        pvalues[i] = ct.test_calibration(data, test=test, n_resamples="adaptive", rng=i).pvalue
    for level in (0.005, 0.01, 0.05, 0.1, 0.25, 0.5):
        most = binom.isf(0.001, DATASETS, level)
        assert np.count_nonzero(pvalues <= level) <= most


@pytest.mark.parametrize(("risk", "events"), [(0.1, 23), (0.3, 46)])
def test_adaptive_test_resolves_small_pvalues(risk, events):
    """P-values near 1e-5, within four standard errors of 10^6 resamples."""
    data = ct.Predictions(np.full(90, risk), np.arange(90) < events)
    options = {"test": "binomial", "rng": 1}
    exact = ct.test_calibration(data, null="convolution", **options).pvalue
    found = ct.test_calibration(data, null="exact", n_resamples="adaptive", **options)
    assert 2e-6 < exact < 5e-5
    assert abs(found.pvalue - exact) < 4 * np.sqrt(max(exact, found.pvalue) / found.n_resamples)
