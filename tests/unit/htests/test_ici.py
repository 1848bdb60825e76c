"""The ICI test: its span is printed, and it finds what it is for."""

import numpy as np
import pytest

from caltest import Predictions
from caltest import test_calibration as calibration_test
from caltest.datasets import generative_model
from caltest.measures.smooth.ici import Emax


def test_span_is_printed():
    data = generative_model("M1", n=100, m=2, rng=0)
    result = calibration_test(None, data, test="ici", span=0.5, rng=0)
    assert result.parameters == {"smoother": "loess of degree 1", "span": 0.5}
    assert "span = 0.5" in str(result)


@pytest.mark.parametrize("test", ["ici", Emax()], ids=["ici", "Emax"])
@pytest.mark.parametrize("n", [500, 20_000])
def test_overconfident_predictions_are_rejected(test, n):
    """By the matrix of rows, and by moments."""
    rng = np.random.default_rng(0)
    p = rng.random(n)
    data = Predictions(p, rng.random(n) < 0.5 + 0.5 * (p - 0.5))
    assert calibration_test(None, data, test=test, rng=0, n_resamples=99).pvalue <= 0.02
