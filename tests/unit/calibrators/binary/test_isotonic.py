"""Isotonic regression, centered isotonic regression and Venn-Abers prediction."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.isotonic import IsotonicRegression

from caltest.calibrators import CenteredIsotonicCalibrator, IsotonicCalibrator, VennAbers
from caltest.errors import InvalidInput

P = [0.1, 0.2, 0.3, 0.5, 0.6, 0.8]
Y = [0, 1, 0, 0, 1, 1]


def test_isotonic_merges_what_differs_by_rounding_as_scikit_learn_does():
    """Scores within 1e-15 of the first of them are equal, also in long chains."""
    rng = np.random.default_rng(1)
    p = np.repeat(rng.random(300), 20) + rng.integers(0, 30, 6000) * 1.1e-16
    y, weight = (rng.random(6000) < p).astype(int), rng.random(6000)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(p, y, weight)
    ours = IsotonicCalibrator().fit(p, y, weight)
    np.testing.assert_allclose(ours.predict_proba(p)[:, 1], theirs.predict(p), atol=1e-9)
    np.testing.assert_array_equal(ours.x_, theirs.X_thresholds_)


def test_isotonic_within_bounds_leaves_everything_possible():
    """By "auto" it keeps the share that Laplace gives to what was not seen in n rows."""
    whole = IsotonicCalibrator().fit(P, Y)
    kept = IsotonicCalibrator(bound="auto").fit(P, Y)
    assert kept.y_.tolist() == np.clip(whole.y_, 1 / 8, 7 / 8).tolist()
    for kind in (IsotonicCalibrator, CenteredIsotonicCalibrator):  # weights below 1 leave their n
        assert kind(bound="auto").fit(P, Y, np.full(6, 0.1)).y_.min() == pytest.approx(1 / 8)
    assert IsotonicCalibrator(bound=0.01).fit(P, Y).predict_proba([0.0])[0, 1] == 0.01
    for bound in (-0.1, 0.5, "some"):
        with pytest.raises(InvalidInput, match=r"bound (that is no number )?must"):
            IsotonicCalibrator(bound=bound).fit(P, Y)


def test_isotonic_of_tiny_scores_is_finite():
    """scikit-learn's own gives NaN at the edges of such data."""
    rng = np.random.default_rng(0)
    p = (rng.random(500) ** 40).astype(np.float32)
    isotonic = IsotonicCalibrator().fit(p, (rng.random(500) < p**0.1).astype(int))
    assert np.isfinite(isotonic.predict_proba(p)).all()
    assert np.isfinite(isotonic.predict_proba([0.0, 1e-45, 1.0])).all()
    isotonic = IsotonicCalibrator().fit([0.0, 2e-323], [0, 1])
    assert isotonic.predict_proba([1e-323])[0, 1] == 0.5


def plain(x, y, weight):
    """Pool the first pair that does not rise, but at 0 and 1, until none is left."""
    points = [
        (v, np.average(y[x == v], weights=weight[x == v]), weight[x == v].sum())
        for v in np.unique(x)
    ]
    while True:
        for i in range(len(points) - 1):
            (a, p, v), (b, q, w) = points[i], points[i + 1]
            if p > q or (p == q and 0 < p < 1):
                mean = ((a * v + b * w) / (v + w), (p * v + q * w) / (v + w), v + w)
                points[i : i + 2] = [mean]
                break
        else:
            return np.array(points)


@pytest.mark.parametrize("weighted", [False, True])
def test_centered_isotonic_is_the_algorithm_of_cir(weighted):
    rng = np.random.default_rng(5)
    x = rng.integers(1, 50, 150) / 50
    y = (rng.random(150) < x**2 * 1.2).astype(float)
    weight = rng.integers(1, 4, 150).astype(float) if weighted else np.ones(150)
    points = plain(x, y, weight)
    calibrator = CenteredIsotonicCalibrator().fit(x, y, weight if weighted else None)
    new = np.linspace(0, 1, 301)
    expected = np.interp(new, points[:, 0], points[:, 1])
    np.testing.assert_allclose(calibrator.predict_proba(new)[:, 1], expected, atol=1e-12)


RNG = np.random.default_rng(5)
SCORES = RNG.random(300)
LABELS = (RNG.random(300) < SCORES**2).astype(int)


def test_venn_abers_merges_for_the_brier_score():
    """The mean of the two, moved towards 1/2: m + (p1 - p0) (1/2 - m)."""
    venn = VennAbers(loss="brier").fit(SCORES, LABELS)
    low, high = venn.interval(SCORES).T
    middle = (low + high) / 2
    expected = middle + (high - low) * (1 / 2 - middle)
    assert venn.predict_proba(SCORES)[:, 1] == pytest.approx(expected)


@pytest.mark.parametrize("weight", [1e-300, 1e300])
def test_venn_abers_takes_weights_of_any_size(weight):
    """The new observation counts as one: it is all, or nothing."""
    venn = VennAbers().fit([0.2, 0.5, 0.9], [0, 1, 1], np.full(3, weight))
    expected = [0.0, 1.0] if weight < 1 else [1.0, 1.0]
    assert venn.interval([0.7])[0] == pytest.approx(expected)


def test_venn_abers_interval_needs_a_fit():
    with pytest.raises(NotFittedError, match="not fitted"):
        VennAbers().interval([0.5])


def test_venn_abers_reads_its_own_json_where_weights_differ_greatly():
    """The slopes of a minorant ascend, but for rounding."""
    weight = [73100.0, 1.82e-07, 2.91e-05, 1.84e-06, 4.18e-08]
    fitted = VennAbers().fit([0.1, 0.2, 0.3, 0.4, 0.5], [1, 0, 1, 1, 1], sample_weight=weight)
    assert (np.diff(fitted.values1_) > 0).all()
    assert (VennAbers.from_json(fitted.to_json()).values1_ == fitted.values1_).all()
