"""Small p-values of sums over rows, compared with very many resamples."""

import numpy as np
import pytest

import caltest as ct


def miscalibrated(m, power, shift, n=250):
    """Return predictions, and labels of their powers with more or fewer of the class 1."""
    rng = np.random.default_rng(m)
    probs = rng.dirichlet(np.ones(m), n)
    true = probs**power * np.exp(shift * (np.arange(m) == 1))
    true /= true.sum(axis=1, keepdims=True)
    labels = (np.cumsum(true, axis=1) < rng.random((n, 1))).sum(axis=1)
    return ct.Predictions(probs, labels, classes=np.arange(m))


CASES = [
    ("brier", 2, 1.8, 0.0),
    ("brier", 4, 1.5, 0.0),
    ("log-loss", 2, 1.8, 0.0),
    ("log-loss", 4, 0.55, 0.0),
    ("spiegelhalter", 4, 0.55, 0.0),
    ("calibration-in-the-large", 2, 1.0, -0.6),
    ("binomial", 2, 1.0, 0.6),
]


@pytest.mark.parametrize(
    "resamples", [10**5, pytest.param(10**7, marks=pytest.mark.slow)], ids=["short", "long"]
)
@pytest.mark.parametrize(("test", "m", "power", "shift"), CASES)
def test_saddlepoint_and_convolution_agree_with_very_many_resamples(
    test, m, power, shift, resamples
):
    """Within four standard errors of the count, and 2 % for the approximation."""
    data = miscalibrated(m, power, shift)
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
