"""Sums with flipped signs."""

from itertools import product

import numpy as np
import pytest

from caltest.comparison.pairs import flipped_sums

pytestmark = pytest.mark.loops


def sums(values, count=200, seed=1, n_jobs=None):
    return flipped_sums(np.asarray(values, float), n_resamples=count, seed=seed, n_jobs=n_jobs)


def test_sums_are_among_all_that_signs_allow():
    """Each draw is one of the 2^5 sums, and each of these occurs about as often."""
    values = np.array([[1.0], [2.0], [4.0], [8.0], [16.0]])
    every = {float(np.dot(signs, values[:, 0])) for signs in product([-1, 1], repeat=5)}
    found, counts = np.unique(sums(values, 6400), return_counts=True)
    assert set(found.tolist()) == every
    assert np.square((counts - 200) / np.sqrt(200)).sum() < 61.1  # chi^2 of 31 df, 99.9 %


def test_draws_do_not_depend_on_n_jobs():
    """The batches have seeds of their own, the last one a part."""
    values = np.arange(12.0).reshape(6, 2)
    assert np.array_equal(sums(values, 150, n_jobs=2), sums(values, 150))
    assert not np.array_equal(sums(values, 150, seed=2), sums(values, 150))
