"""The isotonic map is scikit-learn's, keeps the order, and is calibrated on its own data."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from caltest.calibrators import IsotonicCalibrator
from caltest.errors import DegenerateDataWarning

# Farther apart than the 1e-15 within which scores are equal, also to scikit-learn's interpolation.
PROBS = st.integers(0, 10**6).map(lambda k: k / 10**6) | st.sampled_from([0.0, 0.1, 0.5, 1.0])


@st.composite
def data(draw, probs=PROBS):
    """Probabilities with ties, labels and weights or none."""
    n = draw(st.integers(1, 30))
    p = draw(st.lists(probs, min_size=n, max_size=n))
    y = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    weight = draw(st.none() | st.lists(st.sampled_from([0.0, 0.5, 1, 3]), min_size=n, max_size=n))
    if weight is not None and not any(weight):
        weight[0] = 1.0
    return np.array(p), np.array(y), None if weight is None else np.array(weight)


def fitted(p, y, weight, **options):
    """Fit without the warnings about degenerate data."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        return IsotonicCalibrator(classes=[0, 1], **options).fit(p, y, weight)


def as_one(p):
    """Scores within 1e-15 of the first of them as that one, which the map takes as equal."""
    order = np.argsort(p)
    firsts = p[order]
    for i in range(1, len(p)):
        if firsts[i] - firsts[i - 1] < 1e-15:
            firsts[i] = firsts[i - 1]
    return firsts[np.argsort(order)]


@given(data(), st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_isotonic_is_that_of_scikit_learn(data, new):
    """On its own data, between them and outside of them."""
    p, y, weight = data
    peer = IsotonicRegression(out_of_bounds="clip").fit(p, y.astype(float), weight)
    at = np.append(new, p)
    ours = fitted(p, y, weight).predict_proba(at)[:, 1]
    assert ours == pytest.approx(peer.predict(at), abs=1e-13)


@given(data(st.floats(0, 1)))
def test_isotonic_step_is_the_best_increasing_map(data):
    """By the minimax formula: the max over starts of the min over ends of the shares between."""
    p, y, weight = data
    w = np.ones(len(p)) if weight is None else weight
    p, y, w = p[w > 0], y[w > 0], w[w > 0]
    ours = fitted(p, y, w, interpolation="step").predict_proba(p)[:, 1]
    p = as_one(p)
    for score, value in zip(p, ours, strict=True):
        starts = [p >= low for low in p if low <= score]
        ends = [p <= high for high in p if high >= score]
        best = max(min(w[s & e] @ y[s & e] / w[s & e].sum() for e in ends) for s in starts)
        assert value == pytest.approx(best, abs=1e-13)


@given(
    data(st.floats(0, 1)),
    st.sampled_from(["linear", "step"]),
    st.lists(st.floats(0, 1), min_size=2, max_size=20),
)
def test_isotonic_keeps_the_order(data, interpolation, new):
    """Also where scores are tiny or next to each other."""
    isotonic = fitted(*data, interpolation=interpolation)
    out = isotonic.predict_proba(np.sort(np.append(new, data[0])))[:, 1]
    assert (np.diff(out) >= 0).all()
    assert ((out >= 0) & (out <= 1)).all()


@given(data(st.floats(0, 1)))
def test_isotonic_is_calibrated_on_its_own_data(data):
    """Each value of the map is the share of events among the rows that have it.

    Of scores within 1e-15 that is its value at the first: it climbs to the next block from there.
    """
    p, y, weight = data
    w = np.ones(len(p)) if weight is None else weight
    p, y, w = p[w > 0], y[w > 0], w[w > 0]
    out = fitted(p, y, w).predict_proba(as_one(p))[:, 1]
    for value in np.unique(out):
        rows = np.isclose(out, value, rtol=0, atol=1e-13)
        assert value == pytest.approx(w[rows] @ y[rows] / w[rows].sum(), abs=1e-13)


@given(data(st.floats(0, 1)))
def test_weights_of_one_change_no_bit(data):
    p, y, _ = data
    plain, weighted = fitted(p, y, None), fitted(p, y, np.ones(len(p)))
    assert (plain.x_ == weighted.x_).all()
    assert (plain.y_ == weighted.y_).all()
