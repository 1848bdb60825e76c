"""GP calibration gives probabilities for any data, and rows without weight say nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caltest.calibrators import GPCalibrator

pytestmark = [
    pytest.mark.filterwarnings("ignore:the latent mean falls"),
    pytest.mark.filterwarnings("ignore::caltest.errors.DegenerateDataWarning"),
]

few = settings.get_profile("fewest")


@st.composite
def data(draw):
    """Up to 8 rows of two or three classes, with zeros, ones and ties, and their labels."""
    m, n = draw(st.integers(2, 3)), draw(st.integers(1, 8))
    share = st.sampled_from([0.0, 0.25, 1.0]) | st.floats(0.001, 1)
    rows = [draw(st.lists(share, min_size=m, max_size=m)) for _ in range(n)]
    probs = np.array([[1.0] * m if sum(row) == 0 else row for row in rows])
    codes = np.array(draw(st.lists(st.integers(0, m - 1), min_size=n, max_size=n)))
    return probs / probs.sum(axis=1, keepdims=True), codes, range(m)


@few
@given(data(), st.booleans(), st.sampled_from(["full", "diagonal"]))
def test_map_gives_probabilities_and_comes_back_from_json(example, monotone, covariance):
    probs, codes, classes = example
    calibrator = GPCalibrator(
        n_inducing=4, monotone=monotone, covariance=covariance, classes=list(classes)
    )
    calibrated = calibrator.fit(probs, codes).predict_proba(probs)
    assert calibrated.min() >= 0
    assert calibrated.sum(axis=1) == pytest.approx(1, abs=1e-12)
    again = GPCalibrator.from_json(calibrator.to_json())
    assert (again.predict_proba(probs) == calibrated).all()
