import numpy as np
import pytest

from caltest.calibrators import MatrixScaling


def sample(n=300, m=3):
    """Logits and labels."""
    rng = np.random.default_rng(0)
    logits = 2 * rng.normal(size=(n, m))
    return logits, (logits / 2 + rng.gumbel(size=(n, m))).argmax(axis=1)


def test_map_is_the_softmax_of_linear_scores():
    logits, y = sample()
    fitted = MatrixScaling(from_logits=True).fit(logits, y)
    W, b = fitted.linear_
    odds = fitted.predict_proba(logits[:1])[0]
    assert np.log(odds[1:] / odds[0]) == pytest.approx(
        ((W[1:] - W[0]) @ logits[0] + b[1:] - b[0]), abs=1e-12
    )


def test_maps_of_logits_have_no_canonical_form():
    fitted = MatrixScaling(from_logits=True).fit(*sample())
    assert not hasattr(fitted, "canonical_")
    with pytest.raises(AttributeError, match="must come from a map of probabilities"):
        fitted.interpretation_points()


@pytest.mark.parametrize("size", [1e6, 1e150])
def test_logits_of_any_size_are_fitted(size):
    logits = size * np.random.default_rng(0).normal(size=(60, 3))
    fitted = MatrixScaling(from_logits=True).fit(logits, np.arange(60) % 3)
    assert fitted.gradient_norm_ < 1e-8
    assert np.isfinite(fitted.predict_proba(logits)).all()


def test_one_dimension_is_the_log_odds_of_two_classes():
    """Whose first logit is 0, so that its weights do not matter."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=200)
    y = (z / 2 + rng.logistic(size=200) > 0).astype(int)
    fitted = MatrixScaling(from_logits=True, lam=0).fit(z, y)
    assert fitted.gradient_norm_ < 1e-9
    assert np.abs(fitted.linear_[0]).max() < 5


def test_standard_errors_have_the_unit_of_the_weights():
    """Logits a million times as large have weights, and errors, a million times as small."""
    logits, y = sample()
    plain, large = (
        MatrixScaling(from_logits=True, lam=0).fit(unit * logits, y).standard_errors_
        for unit in (1, 2.0**20)
    )
    assert large[:, :3] * 2.0**20 == pytest.approx(plain[:, :3], rel=1e-6)
    assert large[:, 3] == pytest.approx(plain[:, 3], rel=1e-6)
