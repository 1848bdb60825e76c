import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from caltest.measures.isotonic.corp import fits_at
from caltest.numerics.sorted_scores import step_ends

pytestmark = pytest.mark.loops


def test_fits_at_rows_are_those_of_scikit_learn():
    """Each row of labels has the isotonic fit of scikit-learn at the rows asked for."""
    rng = np.random.default_rng(1)
    score, weight = np.sort(rng.integers(0, 12, 50) / 12), rng.random(50)
    labels, rows = rng.integers(0, 2, (6, 50)).astype(np.uint8), np.array([0, 3, 20, 49])
    fits = fits_at(labels, weight, step_ends(score), rows)
    for row, fit in zip(labels, fits, strict=True):
        expected = IsotonicRegression().fit(score, row, weight).predict(score[rows])
        np.testing.assert_allclose(fit, expected, rtol=0, atol=1e-12)
