"""Small p-values of sums over rows, compared with very many resamples."""

from __future__ import annotations

import numpy as np
import pytest

import caltest as ct


def overconfident(m, power, n=250):
    """Return predictions that are more extreme than the labels."""
    rng = np.random.default_rng(m)
    probs = rng.dirichlet(np.ones(m), n)
    true = probs**power
    true /= true.sum(axis=1, keepdims=True)
    labels = (np.cumsum(true, axis=1) < rng.random((n, 1))).sum(axis=1)
    return ct.Predictions(probs, labels, classes=np.arange(m))


CASES = [
    ("brier", 2, 0.72),
    ("brier", 4, 0.72),
    ("log-loss", 2, 0.85),
    ("log-loss", 4, 0.85),
    ("spiegelhalter", 4, 0.72),
    ("calibration-in-the-large", 2, 0.5),
    ("binomial", 2, 0.5),
]


@pytest.mark.parametrize(
    "resamples", [10**5, pytest.param(10**7, marks=pytest.mark.slow)], ids=["short", "long"]
)
@pytest.mark.parametrize(("test", "m", "power"), CASES)
def test_saddlepoint_and_convolution_agree_with_very_many_resamples(test, m, power, resamples):
    """Within four standard errors of the count, and 2 % for the approximation."""
    data = overconfident(m, power)
    drawn = ct.test_calibration(data, test=test, null="exact", n_resamples=resamples, rng=1)
    sides = 2 if drawn.alternative == "two-sided" else 1
    nulls = [
        null for null in ("saddlepoint", "convolution") if null in ct.htests.REGISTRY[test].nulls
    ]
    for null in nulls:
        found = ct.test_calibration(data, test=test, null=null).pvalue
        count = max(found / sides * resamples, 1.0)
        error = 4 * sides * np.sqrt(count) / resamples + (0.02 * found if null == nulls[0] else 0)
        assert abs(found - drawn.pvalue) < error
