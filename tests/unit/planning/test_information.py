"""The variance of a logistic recalibration for large n."""

import numpy as np
import pytest
from scipy.special import expit, logit

from caltest.planning.precision import recalibration_variance

pytestmark = pytest.mark.loops

P = np.linspace(0.05, 0.6, 12)
X = np.column_stack([np.ones(12), logit(P)])
ONES = np.ones(12)


def test_limit_of_a_logistic_truth_is_that_truth():
    """Slope and intercept are found, weights counted as rows."""
    q = expit(0.3 + 0.6 * logit(P))
    weights = np.arange(1.0, 13.0)
    beta, covariance = recalibration_variance(X, np.zeros(12), q, weights)
    np.testing.assert_allclose(beta, [0.3, 0.6], atol=1e-9)
    rows = np.repeat(np.arange(12), np.arange(1, 13))
    repeated = recalibration_variance(X[rows], np.zeros(78), q[rows], np.ones(78))
    np.testing.assert_allclose(covariance, repeated[1])


@pytest.mark.parametrize(("q", "rows"), [(np.ones(12), slice(None)), (P, slice(3, 4))])
def test_no_finite_limit_is_an_error(q, rows):
    """Labels that are all events, or predictions of one value."""
    with pytest.raises(np.linalg.LinAlgError):
        recalibration_variance(X[rows], ONES[rows] * 0, q[rows], ONES[rows])
