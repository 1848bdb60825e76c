"""Checks of the options of calibration belts and confidence bands."""

import numpy as np
import pytest

from caltest.errors import InvalidInput
from caltest.measures.isotonic.confidence_band import check_digits
from caltest.measures.recalibration.belt import CalibrationBelt, check_levels

NAMES = ("internal", "threshold", "max_degree")


@pytest.mark.parametrize("max_degree", [2, 3, 4, np.int64(4)])
def test_belt_takes_degrees_up_to_four(max_degree):
    """From 2 in the development sample, from 1 else."""
    CalibrationBelt(internal=True, threshold=0.95, max_degree=max_degree)
    CalibrationBelt(internal=False, threshold=0.9, max_degree=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            (False, 0.95, 5),
            "max_degree must be at most 4, up to which the null distribution is known; got 5",
        ),
        ((True, 0.95, 1), "max_degree must be an integer of at least 2; got 1"),
        ((False, 1.0, 4), "threshold must lie strictly between 0 and 1; got 1.0"),
        (("external", 0.95, 4), "internal must be True or False; got 'external'"),
    ],
)
def test_belt_refuses_options(options, message):
    with pytest.raises(InvalidInput, match=f"^{message}; pass "):
        CalibrationBelt(**dict(zip(NAMES, options, strict=True)))


def test_levels_are_sorted():
    """A number, a list or an array."""
    assert check_levels(0.9) == (0.9,)
    assert check_levels([0.95, 0.8]) == (0.8, 0.95)
    assert check_levels(np.array([0.95, 0.8])) == (0.8, 0.95)


@pytest.mark.parametrize("levels", [(), "0.95", (0.8, 95), None])
def test_levels_that_are_none_are_refused(levels):
    with pytest.raises(InvalidInput, match="confidence must"):
        check_levels(levels)


def test_digits_may_be_missing():
    assert check_digits(None) is None
    assert check_digits(3) == 3


@pytest.mark.parametrize("digits", [0, 16, 2.0, True])
def test_digits_are_those_of_a_double(digits):
    with pytest.raises(InvalidInput, match="digits must be"):
        check_digits(digits)
