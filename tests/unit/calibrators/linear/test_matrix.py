import numpy as np
import pytest

from caltest.calibrators import MatrixScaling


def test_maps_of_logits_have_no_canonical_form(logits):
    fitted = MatrixScaling(from_logits=True).fit(*logits)
    assert not hasattr(fitted, "canonical_")
    with pytest.raises(AttributeError, match="must come from a map of probabilities"):
        fitted.interpretation_points()


@pytest.mark.parametrize("size", [1e6, 1e150])
def test_logits_of_any_size_are_fitted(size):
    logits = size * np.random.default_rng(0).normal(size=(60, 3))
    fitted = MatrixScaling(from_logits=True).fit(logits, np.arange(60) % 3)
    assert fitted.gradient_norm_ < 1e-8
    assert np.isfinite(fitted.predict_proba(logits)).all()


def test_standard_errors_have_the_unit_of_the_weights(logits):
    """Logits a million times as large have weights, and errors, a million times as small."""
    Z, y = logits
    plain, large = (
        MatrixScaling(from_logits=True, lam=0).fit(unit * Z, y).standard_errors_
        for unit in (1, 2.0**20)
    )
    assert large[:, :4] * 2.0**20 == pytest.approx(plain[:, :4], rel=1e-6)
    assert large[:, 4] == pytest.approx(plain[:, 4], rel=1e-6)
