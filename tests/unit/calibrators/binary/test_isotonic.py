import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from caltest.calibrators import IsotonicCalibrator
from caltest.errors import DegenerateDataWarning, InvalidInput

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
    assert IsotonicCalibrator(bound=0.01).fit(P, Y).predict_proba([0.0])[0, 1] == 0.01
    for bound in (-0.1, 0.5, "some"):
        with pytest.raises(InvalidInput, match="bound must"):
            IsotonicCalibrator(bound=bound).fit(P, Y)


def test_isotonic_of_tiny_single_precision_scores_is_finite():
    """scikit-learn's own gives NaN at the edges of such data."""
    rng = np.random.default_rng(0)
    p = (rng.random(500) ** 40).astype(np.float32)
    isotonic = IsotonicCalibrator().fit(p, (rng.random(500) < p**0.1).astype(int))
    assert np.isfinite(isotonic.predict_proba(p)).all()
    assert np.isfinite(isotonic.predict_proba([0.0, 1e-45, 1.0])).all()


def test_isotonic_is_linear_in_a_gap_between_the_smallest_numbers():
    """Where the slope of the line would overflow."""
    isotonic = IsotonicCalibrator().fit([0.0, 2e-323], [0, 1])
    assert isotonic.predict_proba([1e-323])[0, 1] == 0.5


def test_isotonic_of_one_class_is_constant():
    """0 or 1 is what was observed."""
    with pytest.warns(DegenerateDataWarning, match="every label"):
        isotonic = IsotonicCalibrator().fit([0.2, 0.7], [1, 1])
    assert isotonic.predict_proba([0.0, 0.5])[:, 1].tolist() == [1, 1]


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_isotonic_does_not_depend_on_the_scale_of_weights(scale):
    weight = np.array([1.0, 2, 3, 2, 1, 3])
    scaled, plain = (IsotonicCalibrator().fit(P, Y, w) for w in (scale * weight, weight))
    assert scaled.y_ == pytest.approx(plain.y_, rel=1e-14)
