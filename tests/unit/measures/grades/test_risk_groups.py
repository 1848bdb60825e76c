"""Groups are those of R's cut and type 7 quantiles, computed exactly."""

from fractions import Fraction

import numpy as np
import pytest

from caltest.measures.grades.hosmer_lemeshow import group_starts
from caltest.numerics.sorted_scores import step_ends

pytestmark = pytest.mark.loops


def exact_sizes(ordered, groups):
    """Return the sizes of the occupied groups by exact quantiles of type 7."""
    values = [Fraction(float(value)) for value in ordered]
    breaks = set()
    for k in range(groups + 1):
        place = Fraction(k * (len(values) - 1), groups)
        low = int(place)
        high = min(low + 1, len(values) - 1)
        breaks.add(values[low] + (place - low) * (values[high] - values[low]))
    inner = sorted(breaks)[1:-1]
    codes = [sum(value > cut for cut in inner) for value in values]
    return [codes.count(code) for code in sorted(set(codes))]


def starts(ordered, groups):
    n, one = ordered.size, np.zeros(1, bool)
    return group_starts(step_ends(ordered), np.ones(n), np.array([0, n]), one, groups)


def test_groups_are_those_of_exact_quantiles():
    """With ties, breaks on scores that close a group, more groups than rows, and one row."""
    rng = np.random.default_rng(0)
    for _ in range(500):
        n, groups = rng.integers(1, 40), rng.integers(2, 15)
        ordered = np.sort(rng.integers(0, rng.integers(2, 50), n) / 64)
        start = starts(ordered, int(groups))
        assert np.diff(start).tolist() == exact_sizes(ordered, int(groups))
    assert np.diff(starts(np.arange(11) / 10, 10)).tolist() == [2] + [1] * 9


def test_no_more_groups_than_rows_are_made():
    """Breaks are not made one by one where there are a billion."""
    assert starts(np.array([0.1, 0.2, 0.2, 0.4]), 10**12).tolist() == [0, 1, 3, 4]
