"""What the summary of a calibrator says."""

from __future__ import annotations

import pytest

from caltest.calibrators import Identity, PlattScaling

pytestmark = pytest.mark.filterwarnings("ignore::caltest.errors.DegenerateDataWarning")


@pytest.mark.parametrize("kind", [Identity, PlattScaling])
def test_summary_of_one_observation_says_that_it_cannot_be_tested(kind):
    """Log loss and ECE are there, and the default test needs two."""
    text = str(kind().fit([[0.3, 0.7]], [1]).summary())
    assert "log loss:" in text
    assert "ECE (confidence):" in text
    assert "needs two observations" in text
    assert "p-value" not in text
