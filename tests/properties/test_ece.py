"""Binned errors are means over their bins; the classwise one is the mean over classes."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import caltest as ct
from caltest.measures import classwise_ece, ece, mce
from caltest.testing import strategies

WEIGHTS = (1.0, 0.5, 2.0, 0.0)
PREDICTIONS = strategies.predictions((1, 12), (2, 5), weighted=WEIGHTS)
BINARY = strategies.predictions((1, 12), 2, weighted=WEIGHTS)

DISTANCES = {
    "tv": lambda p, y: np.abs(p - y).sum() / 2,
    "cityblock": lambda p, y: np.abs(p - y).sum(),
    "sqeuclidean": lambda p, y: np.square(p - y).sum(),
}
POWERS = [1, 1.5, 2, math.inf]


def bin_means(predictions, cells):
    """Yield mass, mean prediction and mean label of each bin."""
    p, y = predictions.probs, np.eye(predictions.m)[predictions.labels]
    w = np.ones(len(p)) if predictions.sample_weight is None else predictions.sample_weight
    for cell in sorted(set(cells)):
        inside = np.array([c == cell for c in cells]) * w
        if inside.any():
            yield inside.sum(), inside @ p / inside.sum(), inside @ y / inside.sum()


def plain_error(predictions, cells, distance, power):
    """Return the power mean over the bins."""
    rows = list(bin_means(predictions, cells))
    mass = np.array([row[0] for row in rows])
    distances = np.array([distance(*row[1:]) for row in rows])
    if power == math.inf:
        return distances.max()
    return (mass / mass.sum() @ distances**power) ** (1 / power)


def grid(predictions, bins):
    """Return the cell of each row among right-closed bins with the doubles k / bins as edges."""
    p = predictions.probs[:, 1:] if predictions.m == 2 else predictions.probs
    edges = np.arange(bins + 1) / bins
    return [tuple(row) for row in np.maximum(np.searchsorted(edges, p) - 1, 0)]


def quantiles(predictions, bins):
    """Return the bins (q_(k-1), q_k], with q_k the smallest value that k/B of the mass is up to."""
    p, n = predictions.probs[:, 1], predictions.n
    w = np.ones(n) if predictions.sample_weight is None else predictions.sample_weight
    mass = np.array([w[p <= x].sum() for x in p]) / w.sum()
    cuts = [p[mass >= k / bins - 1e-12].min() for k in range(1, bins)]
    return [int(np.searchsorted(np.unique(cuts), x)) for x in p]


@given(PREDICTIONS, st.integers(1, 12), st.sampled_from(list(DISTANCES)), st.sampled_from(POWERS))
def test_uniform_ece_is_the_mean_over_a_grid(predictions, bins, distance, p):
    """Any number of classes, distance, power and weights."""
    expected = plain_error(predictions, grid(predictions, bins), DISTANCES[distance], p)
    value = ece(predictions, bins=bins, distance=distance, p=p)
    assert value == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(BINARY, st.integers(1, 12), st.sampled_from(POWERS))
def test_quantile_ece_is_the_mean_over_bins_of_equal_mass(predictions, bins, p):
    expected = plain_error(predictions, quantiles(predictions, bins), DISTANCES["tv"], p)
    value = ece(predictions, binning="quantile", bins=bins, p=p)
    assert value == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(PREDICTIONS, st.integers(1, 12), st.sampled_from(list(DISTANCES)), st.sampled_from(POWERS))
def test_distance_may_be_a_function(predictions, bins, distance, p):
    """The named ones, given as functions of two rows."""
    named = ece(predictions, bins=bins, distance=distance, p=p)
    given_as_function = ece(predictions, bins=bins, distance=DISTANCES[distance], p=p)
    assert given_as_function == pytest.approx(named, rel=1e-9, abs=1e-12)


@given(PREDICTIONS, st.integers(1, 12))
def test_mce_is_the_limit_of_ece_p(predictions, bins):
    """The largest distance; ECE_p grows towards it."""
    largest = mce(predictions, bins=bins)
    assert largest == ece(predictions, bins=bins, p=math.inf)
    errors = [ece(predictions, bins=bins, p=p) for p in (1, 2, 5, 300, 1e4)]
    assert (np.diff([*errors, largest]) >= -1e-12).all()


OPTIONS = [
    {"binning": "median-variance", "min_size": 2},
    {"binning": "median-variance", "min_size": 1, "max_bins": 3},
    {"binning": "sweep"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@given(data=BINARY, order=st.randoms(use_true_random=False))
def test_order_of_the_rows_does_not_matter(options, data, order):
    data = ct.Predictions(data.probs, data.labels, classes=data.classes)
    if data.n < options.get("min_size", 1):
        return
    rows = list(range(data.n))
    order.shuffle(rows)
    expected = ece(data, **options)
    assert ece(data.subset(rows), **options) == pytest.approx(expected, rel=1e-9, abs=1e-12)


PREDICTIONS_CLASSWISE = strategies.predictions((1, 12), (2, 5)) | strategies.predictions(
    (1, 12), 70
)


@given(
    PREDICTIONS_CLASSWISE,
    st.integers(1, 12),
    st.sampled_from(["uniform", "quantile"]),
    st.sampled_from([1, 1.5, math.inf]),
)
def test_classwise_ece_is_the_mean_of_class_j_ece(predictions, bins, binning, p):
    """Those of the lens "classwise", for every binning, power and weights."""
    options = {"bins": bins, "binning": binning, "p": p}
    expected = np.mean(ece(predictions, lens="classwise", **options))
    assert classwise_ece(predictions, **options) == pytest.approx(expected, rel=1e-9, abs=1e-12)
