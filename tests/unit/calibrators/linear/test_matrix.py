import numpy as np
import pytest

from caltest.calibrators import MatrixScaling


def sample(n=300, m=3):
    rng = np.random.default_rng(0)
    logits = 2 * rng.normal(size=(n, m))
    return logits, (logits / 2 + rng.gumbel(size=(n, m))).argmax(axis=1)


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


def test_standard_errors_have_the_unit_of_the_weights():
    """Logits a million times as large have weights, and errors, a million times as small."""
    logits, y = sample()
    plain, large = (
        MatrixScaling(from_logits=True, lam=0).fit(unit * logits, y).standard_errors_
        for unit in (1, 2.0**20)
    )
    assert large[:, :3] * 2.0**20 == pytest.approx(plain[:, :3], rel=1e-6)
    assert large[:, 3] == pytest.approx(plain[:, 3], rel=1e-6)
