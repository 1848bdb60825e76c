"""Checks of what Gaussian processes take."""

import pytest

from caltest import InvalidInput
from caltest.calibrators.gp.calibrator import check_scores
from caltest.calibrators.gp.fit import check_interval


def test_interval_is_two_ascending_positive_numbers():
    assert check_interval([1, 2], "bounds") == (1.0, 2.0)


@pytest.mark.parametrize("value", [(2, 1), (1, 1), (1,), (1, 2, 3), "12", None, 3])
def test_interval_of_another_shape_is_refused(value):
    with pytest.raises(InvalidInput, match="bounds must be two ascending numbers; got"):
        check_interval(value, "bounds")


@pytest.mark.parametrize("value", [(0, 1), (-1, 1), (1, float("inf")), (1, "2")])
def test_interval_has_positive_finite_ends(value):
    with pytest.raises(InvalidInput, match="each end of bounds must be a positive number"):
        check_interval(value, "bounds")


def test_scores_are_read_as_floats():
    """Logits may be anything finite; the result is read-only."""
    values = check_scores([-3, 4], "z", probabilities=False)
    assert values.tolist() == [-3.0, 4.0]
    assert not values.flags.writeable


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_logits_must_be_finite(value):
    with pytest.raises(InvalidInput, match=r"z must be finite; got .* at row 1"):
        check_scores([0.0, value], "z", probabilities=False)
