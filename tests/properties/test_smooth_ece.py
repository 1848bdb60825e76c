"""The smooth ECE is a fixed point of its definition; the errors of the ICI are ordered."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caltest.measures import e50, e90, emax, ici, smooth_ece
from caltest.testing import strategies

PREDICTIONS = strategies.predictions((1, 15), 2)


def residuals(data):
    """Return w (y - p) / sum w."""
    weight = np.ones(data.n) if data.sample_weight is None else data.sample_weight
    return weight * (data.labels - data.probs[:, 1]) / weight.sum()


def definition(data, s):
    """Add up the kernels of all points and their mirror images on a fine grid."""
    t, p = np.linspace(0, 1, 4001), data.probs[:, 1]
    images = [sign * p + 2 * j for j in range(-4, 5) for sign in (1, -1)]
    z = (t[:, None, None] - np.array(images)) / s
    density = np.exp(-(z**2) / 2).sum(axis=1) / (s * np.sqrt(2 * np.pi))
    return np.trapezoid(np.abs(density @ residuals(data)), t)


@given(PREDICTIONS, st.floats(0.02, 0.5))
@settings.get_profile("some")
def test_value_at_a_bandwidth_is_the_integral(data, s):
    expected = definition(data, s)
    assert smooth_ece(data, bandwidth=s, method="exact") == pytest.approx(expected, abs=2e-5)
    assert smooth_ece(data, bandwidth=s) == pytest.approx(expected, abs=4e-5)


@given(PREDICTIONS)
@settings.get_profile("some")
def test_smooth_ece_is_the_fixed_point(data):
    """The value at the bandwidth that is the value, unless it is too small to be resolved."""
    s = smooth_ece(data, method="exact")
    if s > 1e-3:
        again = smooth_ece(data, bandwidth=s, method="exact")
        assert again == pytest.approx(s, rel=1e-7)
    assert smooth_ece(data) == pytest.approx(s, rel=2e-4, abs=2.0**-15)


@given(PREDICTIONS)
def test_smooth_ece_lies_between_mean_and_mean_absolute_residual(data):
    """Smoothing neither creates residuals nor cancels their sum."""
    r = residuals(data)
    assert abs(r.sum()) - 1e-12 <= smooth_ece(data) <= np.abs(r).sum() + 1e-12


PROBS = st.one_of(st.sampled_from([0.0, 0.1, 0.5, 1 / 3, 1.0]), st.floats(0, 1))
ROWS = st.lists(st.tuples(PROBS, st.integers(0, 1)), min_size=1, max_size=40)
SPANS = st.floats(0.05, 1)


@given(ROWS, SPANS)
def test_errors_are_ordered_and_defined(rows, span):
    """E50 <= E90 <= Emax, and the ICI is a mean of the same errors."""
    p, y = np.array(rows).T
    values = [measure(p, y.astype(int), span=span) for measure in (e50, e90, emax, ici)]
    assert np.isfinite(values).all()
    assert 0 <= values[0] <= values[1] + 1e-12
    assert values[1] <= values[2] + 1e-12
    assert values[3] <= values[2] + 1e-12
