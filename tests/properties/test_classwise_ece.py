"""The classwise ECE is the mean of the ECE of every class."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caltest.measures import classwise_ece, ece
from caltest.testing import strategies

PREDICTIONS = strategies.predictions((1, 12), (2, 5)) | strategies.predictions((1, 12), 70)


@given(
    PREDICTIONS,
    st.integers(1, 12),
    st.sampled_from(["uniform", "quantile"]),
    st.sampled_from([1, 1.5, math.inf]),
)
def test_classwise_ece_is_the_mean_of_class_j_ece(predictions, bins, binning, p):
    """Those of the lens "classwise", for every binning, power and weights."""
    options = {"bins": bins, "binning": binning, "p": p}
    expected = np.mean(ece(predictions, lens="classwise", **options))
    assert classwise_ece(predictions, **options) == pytest.approx(expected, rel=1e-9, abs=1e-12)
