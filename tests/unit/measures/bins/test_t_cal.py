"""T-Cal: its scales, degenerate data, print and errors."""

import numpy as np
import pytest

import caltest as ct
from caltest.errors import NotApplicable
from caltest.measures import TCal, t_cal
from caltest.sources import count_rows


@pytest.mark.parametrize(("n", "scales"), [(2, 2), (50, 9), (1000, 17), (10_000, 23)])
def test_number_of_scales_is_that_of_the_authors(n, scales):
    """The integer part of 2 log2(n / sqrt(log n))."""
    assert TCal().limit_of_scales(n) == scales


def test_scales_without_a_pair_are_left_out():
    """0.1 and 0.2 share cells of width 1/2 and 1/4 only; without any there is no error."""
    data = ct.Predictions([0.1, 0.2, 0.9], [0, 1, 1])
    assert TCal(scales=10).bind(data).parameters == {"scales": 2, "bins": "2 to 2^2"}
    for probs, labels in (([0.1], [0]), ([0.1, 0.9], [0, 1])):
        with pytest.raises(NotApplicable, match=r"two predictions in one half.*use the test 'ks'"):
            t_cal(probs, labels)


def test_certain_predictions_that_are_wrong_have_a_huge_error():
    """Nothing varies, so that no deviation is possible under calibration."""
    assert t_cal(np.zeros(10), np.ones(10, int)) > 1e6


def test_t_cal_of_cells_is_that_of_rows():
    """Where a bin is one cell of one, two or more rows, of which all or none are events."""
    p = np.repeat(np.arange(1, 16, 2) / 16, [1, 2, 2, 2, 3, 2, 9, 2])
    for y, decides in (((16 * p).astype(int) % 4 == 1, 3), (p > 0.5, 1)):  # which of the scales
        cells = count_rows(p, y, (8,))
        found, expected = TCal(scales=3).bind_cells(cells).value(), t_cal(p, y, scales=3)
        assert found == pytest.approx(expected, rel=1e-6)
        assert expected == t_cal(p, y, scales=decides)
        assert decides == 1 or expected > 2 * t_cal(p, y, scales=2)
