"""What the summary of a calibrator says."""

from __future__ import annotations

import pytest

from caltest.calibrators import Identity, PlattScaling

pytestmark = pytest.mark.filterwarnings("ignore::caltest.errors.DegenerateDataWarning")


@pytest.mark.parametrize("kind", [Identity, PlattScaling])
def test_summary_of_one_observation_says_that_it_cannot_be_tested(kind):
    """Log loss and ECE are there, and the default test needs two."""
    text = str(kind().fit([[0.3, 0.7]], [1]).summary([[0.3, 0.7]], [1]))
    assert "log loss:" in text
    assert "ECE (confidence):" in text
    assert "needs two observations" in text
    assert "p-value" not in text


def test_summary_of_the_calibration_set_says_that_it_flatters():
    """A p-value on the data of the fit is not one of a test; the print says so."""
    calibrator = Identity().fit([[0.3, 0.7], [0.6, 0.4], [0.5, 0.5]], [1, 0, 1])
    text = " ".join(str(calibrator.summary(n_resamples=19, rng=0)).split())
    assert "errors on its own data are too small and p-values too large" in text
