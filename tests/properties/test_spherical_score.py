"""The spherical score is the mean cosine of prediction and one-hot label."""

import numpy as np
import pytest
from hypothesis import given

from caltest.measures import spherical_score
from caltest.testing import strategies


@given(strategies.predictions())
def test_spherical_score_is_a_mean_cosine(data):
    rows = zip(data.probs, data.labels, strict=True)
    cosines = [p[y] / np.sqrt(np.sum(p**2)) for p, y in rows]
    expected = np.average(cosines, weights=data.sample_weight)
    assert spherical_score(data) == pytest.approx(expected, rel=1e-12)
    assert 0 <= spherical_score(data) <= 1 + 1e-12
