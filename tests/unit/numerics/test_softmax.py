"""The softmax of scaled logits is SciPy's, and finite for logits of any size."""

import numpy as np
import pytest
from scipy.special import softmax as softmax_of_scipy

from caltest.numerics.softmax import bounded, softmax

pytestmark = pytest.mark.loops


def test_softmax_is_that_of_scipy():
    """Certain for huge logits; its input stays."""
    rng = np.random.default_rng(0)
    z, w, b = rng.normal(size=(20, 4)), rng.normal(size=4), rng.normal(size=4)
    np.testing.assert_allclose(softmax(z, w, b), softmax_of_scipy(z * w + b, axis=1), rtol=1e-14)
    z = np.array([[1e308, -1e308, 0.0], [-1e308, -1e308, -1e308]])
    np.testing.assert_array_equal(softmax(z, 1e6), [[1, 0, 0], [1 / 3, 1 / 3, 1 / 3]])
    z = np.array([[1.0, -1e200]])
    softmax(z, 2.0)
    np.testing.assert_array_equal(z, [[1.0, -1e200]])


def test_bounded_keeps_the_largest_logit_of_a_row():
    """And copies huge logits only."""
    z = np.array([[1.0, 2.0]])
    assert bounded(z) is z
    np.testing.assert_array_equal(bounded(np.array([[1e200, -1e200]])), [[1e100, -1e100]])
    z = np.array(
        [[1e300, 1e200, 0.0], [-1e300, -1e200, -2e200], [1e308, 5.0, -np.inf], [-1e308, 1.0, 2.0]]
    )
    rows = bounded(z)
    assert np.abs(rows).max() <= 1e100
    np.testing.assert_array_equal(rows.argmax(axis=1), z.argmax(axis=1))
    assert rows[0, 2] == 0
    np.testing.assert_allclose(softmax(z, 1.0), softmax_of_scipy(z, axis=1), atol=1e-15)
