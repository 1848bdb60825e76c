"""The normal test of a rating grade."""

import numpy as np
import pytest
from scipy import stats

from caltest import Predictions
from caltest import test_calibration as calibration_test


def grade(pd, n, defaults):
    return Predictions(np.full(n, pd), (np.arange(n) < defaults).astype(int))


@pytest.mark.parametrize("alternative", ["greater", "two-sided"])
def test_limit_is_a_z_test(alternative):
    """That of R's prop.test without correction for continuity, whose X^2 is z^2."""
    data = grade(0.05, 1000, 62)
    options = {"test": "normal", "null": "asymptotic", "alternative": alternative}
    result = calibration_test(data, **options)
    z = 12 / np.sqrt(1000 * 0.05 * 0.95)
    assert result.statistic == pytest.approx(z, rel=1e-12)
    sides = 2 if alternative == "two-sided" else 1
    assert result.pvalue == pytest.approx(sides * stats.norm.sf(z), rel=1e-12)
    assert (result.estimate_name, result.estimate) == ("default rate", 0.062)


@pytest.mark.parametrize(("pd", "kind"), [(0.001, "defaults"), (0.999, "survivors")])
def test_sparse_grade_is_noted(pd, kind):
    """Below ten expected defaults, or survivors, the limit is rough."""
    result = calibration_test(grade(pd, 100, 3), test="normal", null="asymptotic")
    assert f"fewer than ten {kind} are expected, 0.1: " in result.notes[0]
