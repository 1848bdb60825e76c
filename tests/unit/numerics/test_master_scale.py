"""Statistics of all grades: the values of the formulas, and of the rows they stand for."""

import numpy as np
import pytest

from caltest.measures import spiegelhalter_z
from caltest.measures.grades.hosmer_lemeshow import grade_deviations
from caltest.measures.scores.spiegelhalter import spiegelhalter_score

pytestmark = pytest.mark.loops

PD, DEFAULTS, N = np.array([0.01, 0.2]), np.array([3, 15]), np.array([100, 50])


def test_sums_over_grades_are_those_of_the_rows():
    chi2, df, sparse = grade_deviations(PD, DEFAULTS, N)
    assert chi2 == pytest.approx(4 / 0.99 + 25 / 8, rel=1e-12)
    assert (df, sparse) == (2, 1)
    labels = np.concatenate([np.arange(100) < 3, np.arange(50) < 15])
    expected = spiegelhalter_z(np.repeat(PD, N), labels.astype(int))
    assert spiegelhalter_score(PD, DEFAULTS, N) == pytest.approx(expected, rel=1e-12)


def test_certain_grades_add_nothing_or_infinity():
    """PD 0 without a default is as predicted, with one impossible."""
    pd, n = np.array([0.0, 0.5]), np.array([10, 10])
    assert grade_deviations(pd, np.array([0, 5]), n) == (0.0, 1, 0)
    assert grade_deviations(pd, np.array([1, 5]), n)[0] == np.inf
    assert spiegelhalter_score(pd, np.array([0, 5]), n) is None
    assert spiegelhalter_score(pd, np.array([1, 5]), n) == np.inf
