"""The CRPS of quantiles, whose forecasts say nothing of what lies beyond the outer ones."""

import caltest as ct


def test_outcomes_beyond_the_outer_quantiles_are_alike():
    """They count as equal to these, as those that are redrawn are."""
    near, far = (
        ct.measures.crps(ct.Forecasts([y], quantiles=[[0.0, 1.0]], levels=[0.1, 0.9]))
        for y in (1.0, 100.0)
    )
    assert near == far
