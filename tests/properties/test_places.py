"""Places have the rows that a reader finds by what is printed, whatever the predictions are."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import caltest as ct
from caltest.htests.places import find_places

SHAPES = {
    "spread": lambda rng, n: rng.random(n),
    "ties": lambda rng, n: np.round(rng.random(n), 1),
    "hundredths": lambda rng, n: np.round(rng.beta(0.5, 3, n), 2),
    "extreme": lambda rng, n: rng.beta(0.05, 0.05, n),
    "crowded": lambda rng, n: 1 - 10.0 ** -rng.uniform(1, 9, n),
    "rare": lambda rng, n: rng.beta(0.5, 50, n),
}


@pytest.mark.filterwarnings("ignore::caltest.SuspectInputWarning")
@settings(max_examples=40)
@given(st.sampled_from(sorted(SHAPES)), st.integers(20, 400), st.integers(0, 10**6))
def test_printed_ends_select_the_rows(shape, n, seed):
    """Of two classes, with the ends included or not; and no other than the mask has."""
    rng = np.random.default_rng(seed)
    p = SHAPES[shape](rng, n)
    data = ct.Predictions(p, (rng.random(n) < 1 - p).astype(int), classes=[0, 1])
    for place in find_places(data, lens="strong", n_resamples=99, seed=1, level=0.2):
        ends = [float(end) / 100 for end in re.findall(r"([\d.]+) %", place.name)]
        low = ends[0] if "above" in place.name or "between" in place.name else -1.0
        high = ends[-1] if "below" in place.name or "between" in place.name else 2.0
        rows = place.mask(data)
        assert ((p > low) & (p < high) == rows).all()
        assert ((p >= low) & (p <= high) == rows).all()
        assert rows.sum() == place.n


@settings(max_examples=20)
@given(st.integers(3, 30), st.integers(20, 300), st.floats(0.1, 3), st.integers(0, 10**6))
def test_places_of_several_classes_are_of_their_rows(m, n, alpha, seed):
    """Confidence, classes, ranges of classes and pairs: number, prediction and share."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(m, alpha), n).clip(1e-9)
    p /= p.sum(axis=1, keepdims=True)
    data = ct.Predictions(p, rng.integers(0, m, n), classes=list(range(m)))
    for place in find_places(data, lens="strong", n_resamples=99, seed=1, level=0.2):
        rows, event = place.mask(data), place.where.event
        k = data.predicted if event is None else np.full(n, int(event))
        assert place.n == rows.sum() >= 20
        assert place.predicted == pytest.approx(p[np.arange(n), k][rows].mean())
        assert place.observed == pytest.approx((data.labels == k)[rows].mean())
