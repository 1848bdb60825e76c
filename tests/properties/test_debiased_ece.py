"""The debiased ECE is the plug-in less an unbiased estimate of its bias."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import caltest as ct
from caltest.measures import debiased_ece


@st.composite
def data(draw, classes=(2, 3, 5)):
    """Draw predictions of which at least two are equal, labels and perhaps weights."""
    n, m = draw(st.integers(2, 12)), draw(st.sampled_from(classes))
    counts = st.lists(st.integers(0, 4), min_size=m, max_size=m).filter(any)
    rows = draw(st.lists(counts, min_size=n - 1, max_size=n - 1))
    probs = np.array([np.divide(row, sum(row)) for row in [rows[0], *rows]])
    labels = draw(st.lists(st.integers(0, m - 1), min_size=n, max_size=n))
    weight = st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=n, max_size=n)
    return ct.Predictions(
        probs, labels, classes=np.arange(m), sample_weight=draw(st.none() | weight)
    )


def plain_error(predictions, bins):
    """Return the sum over bins, with (sum w)^2 / sum w^2 as the size of a bin."""
    p, y = predictions.probs, np.eye(predictions.m)[predictions.labels]
    w = np.ones(len(p)) if predictions.sample_weight is None else predictions.sample_weight
    columns = p[:, 1:] if predictions.m == 2 else p
    cells = np.maximum(np.searchsorted(np.arange(bins + 1) / bins, columns) - 1, 0)
    total = 0.0
    for cell in np.unique(cells, axis=0):
        inside = (cells == cell).all(axis=1)
        if inside.sum() < 2:
            continue
        share = w[inside] / w[inside].sum()
        size = 1 / np.square(share).sum()
        py, pp = share @ y[inside], share @ p[inside]
        errors = (py - pp) ** 2 - py * (1 - py) / (size - 1)
        total += w[inside].sum() / w.sum() * (errors[1] if predictions.m == 2 else errors.sum())
    return total


@given(data(), st.integers(1, 12))
def test_debiased_ece_is_the_sum_of_its_definition(predictions, bins):
    expected = plain_error(predictions, bins)
    value = debiased_ece(predictions, bins=bins)
    assert value == pytest.approx(expected, rel=1e-9, abs=1e-12)
    root = debiased_ece(predictions, bins=bins, root=True)
    assert root == pytest.approx(math.sqrt(max(expected, 0.0)), rel=1e-6, abs=1e-6)
