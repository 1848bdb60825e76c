"""BBQ is the average of equal-mass binnings by their closed-form marginal likelihood."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caltest import DegenerateDataWarning
from caltest.calibrators import BBQ

SCORES = st.one_of(st.sampled_from([0.0, 0.1, 0.2, 0.5, 0.8, 1.0]), st.floats(0, 1, width=32))


@st.composite
def sets(draw):
    """Scores with ties, and labels."""
    n = draw(st.integers(1, 30))
    scores = draw(st.lists(SCORES, min_size=n, max_size=n))
    return np.array(scores), np.array(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))


def fitted(scores, labels, weight=None, **options):
    """Fit, whether or not there is a single class."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        return BBQ(**options).fit(scores, labels, weight)


def binning(scores, bins):
    """Cuts midway between the smallest score that reaches k / B of the rows and the next."""
    ordered = np.sort(scores)
    last = [ordered[math.ceil(k * len(scores) / bins) - 1] for k in range(1, bins)]
    last = sorted({x for x in last if x < ordered[-1]})
    return np.array([(x + ordered[ordered > x][0]) / 2 for x in last])


def model(scores, labels, bins, size):
    """Return cuts, posterior means and the log of the product of gamma functions."""
    cuts = binning(scores, bins)
    ends = [0.0, *cuts, 1.0]
    at = np.array([np.sum(cuts < p) for p in scores])
    means, score = [], 0.0
    for b in range(len(cuts) + 1):
        p = min(max((ends[b] + ends[b + 1]) / 2, 2.0**-52), 1 - 2.0**-52)
        prior = size / (len(cuts) + 1)
        m, n = np.sum(labels[at == b] == 1), np.sum(labels[at == b] == 0)
        score += math.lgamma(prior) - math.lgamma(m + n + prior)
        score += math.lgamma(m + prior * p) - math.lgamma(prior * p)
        score += math.lgamma(n + prior * (1 - p)) - math.lgamma(prior * (1 - p))
        means.append((m + prior * p) / (m + n + prior))
    return cuts, np.array(means), score


@given(sets(), st.sampled_from([0.5, 2.0, 40.0]), st.integers(1, 9))
def test_bbq_is_the_average_of_its_models(data, size, most):
    """Every model from its definition, at the scores of the set and between."""
    bbq = fitted(*data, prior_size=size, min_bins=1, max_bins=most)
    models = [model(*data, bins, size) for bins in range(1, most + 1)]
    scores = np.array([score for *_, score in models])
    weight = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
    points = np.unique(np.concatenate([data[0], np.linspace(0, 1, 12)]))
    fits = [[means[np.sum(cuts < p)] for p in points] for cuts, means, _ in models]
    assert bbq.log_scores_ == pytest.approx(scores, abs=1e-9)
    assert bbq.predict_proba(points)[:, 1] == pytest.approx(weight @ np.array(fits), abs=1e-9)


@given(sets(), st.integers(1, 9))
def test_bbq_without_averaging_is_the_best_model(data, most):
    """The smallest of those with the highest score."""
    bbq = fitted(*data, averaging=False, min_bins=1, max_bins=most)
    best = int(np.argmax(bbq.log_scores_)) + 1
    cuts, means, _ = model(*data, best, 2.0)
    assert bbq.cuts_ == pytest.approx(cuts)
    assert bbq.values_ == pytest.approx(means, abs=1e-12)


@given(sets())
def test_bbq_is_never_certain(data):
    """The prior has both classes in every bin."""
    probs = fitted(*data).predict_proba(np.linspace(0, 1, 33))
    assert (probs[:, 1] > 0).all()
    assert (probs <= 1).all()
