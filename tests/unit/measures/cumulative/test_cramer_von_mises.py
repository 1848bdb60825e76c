"""The Cramer-von Mises error against sums that are written out, in every form of the rows."""

import numpy as np
import polars as pl
import pytest

from caltest import Predictions
from caltest import test_calibration as calibration_test
from caltest.measures import cramer_von_mises, ks_error


def brute_force(p, residuals, weight):
    """Return the sum over distinct scores of their share times the squared cumulative deviation."""
    shares = [(weight[p == s].sum() / weight.sum(), residuals[p <= s].sum()) for s in np.unique(p)]
    return sum(share * (total / weight.sum()) ** 2 for share, total in shares)


def simulated(n=60, seed=0):
    """Return tied predictions, labels and weights."""
    rng = np.random.default_rng(seed)
    p = np.round(rng.random(n), 1)
    return p, (rng.random(n) < p).astype(int), rng.exponential(size=n)


def test_value_is_that_of_sums_over_distinct_scores():
    """With weights and without, at most the square of the KS error."""
    p, y, w = simulated()
    value = cramer_von_mises(p, y)
    assert value == pytest.approx(brute_force(p, y - p, np.ones(p.size)), rel=1e-12)
    assert value <= ks_error(p, y) ** 2
    weighted = cramer_von_mises(Predictions(p, y, sample_weight=w))
    assert weighted == pytest.approx(brute_force(p, w * (y - p), w), rel=1e-12)


@pytest.mark.full
def test_cells_and_groups_have_the_value_of_their_rows():
    """To the rounding of probabilities in cells, one group or very many."""
    p, y, _ = simulated(6000)
    data = pl.DataFrame({"p": p, "y": y, "g": np.arange(p.size) % 600})
    asked = {"label": "y", "probs": "p", "test": "cramer-von-mises", "engine": "cells", "rng": 0}
    cells = calibration_test(None, data, n_resamples=9, **asked)
    assert cells.statistic == pytest.approx(cramer_von_mises(p, y), rel=1e-9)
    groups = calibration_test(None, data, by="g", **asked)
    own = [cramer_von_mises(p[g::600], y[g::600]) for g in range(600)]
    np.testing.assert_allclose(groups.statistics, own, rtol=1e-9)


def test_interval_holds_the_error_of_a_model_that_is_not_calibrated():
    """Predictions that are too low by 0.2 everywhere: the integral of (0.2 t)^2 over [0, 1]."""
    rng = np.random.default_rng(5)
    p = rng.uniform(0.1, 0.7, 2000)
    y = (rng.random(p.size) < p + 0.2).astype(int)
    result = calibration_test(p, y, test="cramer-von-mises", rng=0)
    interval = result.confidence_interval()
    assert result.pvalue == 0.001
    assert 0.0 < interval.low < 0.04 / 3 < interval.high < 0.03
