"""The clip of probabilities before their logarithm is an option of each map that takes one."""

import numpy as np
import pytest
from scipy.special import log_softmax

from caltest.calibrators import (
    BetaCalibrator,
    DirichletCalibrator,
    MatrixScaling,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
)

SEVERAL = (TemperatureScaling, VectorScaling, MatrixScaling, DirichletCalibrator)
BINARY = (PlattScaling, BetaCalibrator)
CASES = [*((each, 3) for each in SEVERAL), *((each, 2) for each in BINARY)]


def sure(m):
    """Log-probabilities, many of them below the default clip, and labels."""
    rng = np.random.default_rng(0)
    logits = 40 * rng.normal(size=(400, m))
    y = (logits + 30 * rng.gumbel(size=logits.shape)).argmax(axis=1)
    logs = log_softmax(logits, axis=1)
    assert (np.exp(logs) < 1e-16).mean() > 0.1
    return logs, y


@pytest.mark.parametrize(("calibrator", "m"), CASES)
def test_with_a_small_clip_the_fit_is_that_of_the_logarithms(calibrator, m):
    """Given as logits they are not clipped; the default is another fit, and JSON keeps the clip."""
    logs, y = sure(m)
    whole = calibrator(from_logits=True).fit(logs, y).predict_proba(logs)
    fitted = calibrator(clip=1e-300).fit(np.exp(logs), y)
    found = fitted.predict_proba(np.exp(logs))
    usual = calibrator().fit(np.exp(logs), y).predict_proba(np.exp(logs))
    np.testing.assert_allclose(found, whole, atol=1e-6)
    assert np.abs(usual - whole).max() > 1e-3
    again = calibrator.from_json(fitted.to_json())
    np.testing.assert_array_equal(again.predict_proba(np.exp(logs)), found)
