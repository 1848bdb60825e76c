"""Venn-Abers predictions are isotonic regressions with the new observation in the set."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from caltest import DegenerateDataWarning
from caltest.calibrators import VennAbers
from caltest.testing import strategies

ROUNDING = 1e-14  # of sums of relative weights

SETS = strategies.predictions((1, 12), 2).map(
    lambda data: (data.probs[:, 1], data.labels, data.sample_weight)
)

SCORES = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), st.floats(0, 1, width=32))


def fitted(scores, labels, weight=None, **options):
    """Fit, whether or not there is a single class."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        return VennAbers(**options).fit(scores, labels, weight)


def definition(scores, labels, weight, new, label):
    """Fit isotonic regression with the new observation in the set."""
    weight = np.ones(len(scores)) if weight is None else weight
    # Ranks, since scikit-learn takes scores that differ by less than 1e-16 for equal.
    ranks = np.unique(np.append(scores, new), return_inverse=True)[1]
    fit = IsotonicRegression().fit(ranks, np.append(labels, label) * 1.0, np.append(weight, 1.0))
    return fit.predict(ranks[-1:])[0]


@given(SETS, SCORES)
def test_venn_abers_is_isotonic_regression_with_the_new_observation(data, new):
    """At scores of the set, between them and beyond."""
    points = np.unique(np.append(data[0], new))
    expected = [[definition(*data, x, label) for label in (0, 1)] for x in points]
    assert fitted(*data).interval(points) == pytest.approx(np.array(expected), abs=1e-12)


@given(SETS)
def test_venn_abers_does_not_fall_and_is_never_certain(data):
    """Both probabilities rise with the score; the merged one is inside (0, 1)."""
    venn = fitted(*data)
    grid = np.unique(np.concatenate([np.linspace(0, 1, 21), data[0]]))
    low, high = venn.interval(grid).T
    merged = venn.predict_proba(grid)[:, 1]
    assert (low <= high + ROUNDING).all()
    assert (np.diff(low) >= -ROUNDING).all()
    assert (np.diff(high) >= -ROUNDING).all()
    assert (np.diff(merged) >= -ROUNDING).all()
    assert (merged > 0).all()
    assert (merged < 1).all()


@given(SETS)
def test_swapping_the_classes_swaps_the_probabilities(data):
    """The second class of the mirrored problem is the first of this one."""
    scores, labels, weight = np.round(data[0] * 1024) / 1024, data[1], data[2]
    venn, mirrored = fitted(scores, labels, weight), fitted(1 - scores, 1 - labels, weight)
    mirror = 1 - mirrored.interval(1 - scores)[:, ::-1]
    assert venn.interval(scores) == pytest.approx(mirror, abs=1e-12)


@given(SETS, st.floats(0.001, 0.999), st.floats(0, 1))
def test_log_loss_merge_has_the_smallest_worst_regret(data, other, score):
    """Regret: log loss beyond that of the probability that belongs to the label."""
    venn = fitted(*data)
    (low, high), merged = venn.interval([score])[0], venn.predict_proba([score])[0, 1]
    regret = [max(np.log((1 - low) / (1 - p)), np.log(high / p)) for p in (merged, other)]
    assert regret[0] <= regret[1] + 1e-12
