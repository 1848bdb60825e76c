"""The CRPS of quantiles, whose forecasts say nothing of what lies beyond the outer ones."""

import numpy as np
import pytest
from scipy import stats

import caltest as ct


def test_narrow_quantiles_gain_nothing_by_outcomes_beyond_them():
    """The value is the one by which models are compared: outcomes stay where they are."""
    y, levels = stats.norm.ppf((np.arange(200) + 0.5) / 200), np.array([0.05, 0.5, 0.95])
    right, narrow = (
        ct.Forecasts(y, quantiles=np.tile(s * stats.norm.ppf(levels), (200, 1)), levels=levels)
        for s in (1.0, 0.2)
    )
    found = ct.compare_models({"right": right, "narrow": narrow}, n_resamples=19, rng=1)
    for forecasts, row in zip((right, narrow), found.rows, strict=True):
        assert ct.measures.crps(forecasts) == pytest.approx(row.scores["CRPS"])
    assert ct.measures.crps(right) < ct.measures.crps(narrow)
