"""J^2 is the sum with the factor phi, and that of exact variances."""

import numpy as np
import pytest

from caltest.measures import hosmer_lemeshow, pigeon_heyse


def test_factor_and_exact_variances_are_the_same():
    """Both forms of the docstring, on unequal predictions."""
    rng = np.random.default_rng(0)
    p, y = np.sort(rng.random(200)), rng.integers(2, size=200)
    with_phi = exact = 0.0
    for rows in np.array_split(np.arange(200), 10):
        o, e, n = y[rows].sum(), p[rows].sum(), rows.size
        variance = (p[rows] * (1 - p[rows])).sum()
        phi = variance / (e * (1 - e / n))
        with_phi += (o - e) ** 2 / (phi * e) + (o - e) ** 2 / (phi * (n - e))
        exact += (o - e) ** 2 / variance
    assert pigeon_heyse(p, y) == pytest.approx(with_phi, rel=1e-12)
    assert pigeon_heyse(p, y) == pytest.approx(exact, rel=1e-12)


def test_equal_predictions_within_groups_give_hosmer_lemeshow():
    p, y = np.repeat([0.2, 0.5, 0.7], 40), np.arange(120) % 2
    expected = hosmer_lemeshow(p, y, groups=3)
    assert pigeon_heyse(p, y, groups=3) == pytest.approx(expected, rel=1e-12)
