"""The multinomial bootstrap of the unbiased SKCE; its formula is in tests/properties."""

import numpy as np
import pytest

from caltest.nulls.resampled import _multinomial_counts


@pytest.mark.parametrize("n", [2, 255, 1000])
def test_counts_are_multinomial(n):
    """Every row has n draws, and the counts of one observation have mean 1, variance 1 - 1/n."""
    counts = _multinomial_counts(n, np.random.default_rng(0), 2000)
    assert (counts.sum(axis=1) == n).all()
    assert counts[:, 0].mean() == pytest.approx(1.0, abs=5 / np.sqrt(2000))
    assert counts[:, 0].var() == pytest.approx(1 - 1 / n, abs=0.2)
