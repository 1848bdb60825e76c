"""Ensemble temperature scaling against SciPy's constrained minimum."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize
from scipy.special import softmax

from caltest.calibrators import EnsembleTemperatureScaling, TemperatureScaling


def drawn(seed, scale, noise):
    """Logits that are `scale` times too large, and labels of which some are pure noise."""
    rng = np.random.default_rng(seed)
    z = rng.normal(0, 2, (400, 5))
    y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    return scale * z, np.where(rng.random(400) < noise, rng.integers(0, 5, 400), y)


@pytest.mark.parametrize(
    ("case", "zeros"), [((0, 1.0, 0.3), 1), ((1, 3.0, 0.0), 2), ((1, 0.4, 0.0), 2), ((2, 3, 1), 1)]
)
def test_ensemble_temperature_has_the_weights_that_scipy_finds(case, zeros):
    z, y = drawn(*case)
    weight = np.arange(400) % 4
    calibrator = EnsembleTemperatureScaling(from_logits=True).fit(z, y, weight)
    first = TemperatureScaling(from_logits=True).fit(z, y, weight)
    parts = np.stack([first.predict_proba(z), softmax(z, axis=1), np.full(z.shape, 0.2)])
    own = parts[:, np.arange(400), y]

    def both(w):
        return -np.average(np.log(w @ own), weights=weight), -np.average(
            own / (w @ own), axis=1, weights=weight
        )

    simplex = LinearConstraint(np.ones(3), 1, 1)
    options = {"gtol": 1e-12, "xtol": 1e-14, "barrier_tol": 1e-12, "maxiter": 3000}
    found = minimize(
        both,
        np.full(3, 1 / 3),
        jac=True,
        bounds=[(0, 1)] * 3,
        constraints=simplex,
        method="trust-constr",
        options=options,
    )
    w = calibrator.weights_
    assert both(w)[0] <= found.fun + 1e-10
    # Where each part with a weight has the slope -1 and no other a lower one, nothing is better.
    slope = both(w)[1]
    assert abs(slope[w > 0] + 1).max() < 1e-8
    assert slope.min() > -1 - 1e-8
    assert (w == 0).sum() == zeros
    np.testing.assert_allclose(calibrator.predict_proba(z), np.tensordot(w, parts, 1), rtol=1e-12)


def test_ensemble_temperature_keeps_the_order_of_classes():
    z, y = drawn(0, 2.0, 0.2)
    p = EnsembleTemperatureScaling(from_logits=True).fit(z, y).predict_proba(z)
    np.testing.assert_array_equal(p.argsort(axis=1), z.argsort(axis=1))
