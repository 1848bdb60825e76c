"""A tolerance, and what goes with it."""

import pytest

from caltest import InvalidInput
from caltest.checks import check_tolerance


def test_tolerance_is_a_positive_number_or_none():
    """None stands for the hypothesis of calibration."""
    assert check_tolerance(0.5, equivalence=True, null=None) == 0.5
    assert check_tolerance(None, equivalence=False, null="exact") is None


@pytest.mark.parametrize(
    ("tolerance", "equivalence", "null", "message"),
    [
        (0.0, False, None, "tolerance must be a positive number; got 0.0"),
        (float("nan"), False, None, "tolerance must be a positive number; got nan"),
        (5, True, None, "tolerance must be below 1, as errors are; got 5; pass 0.05 for 5 %"),
        (None, True, None, "equivalence must come with a tolerance; .*; pass tolerance=0.02"),
        (0.1, "yes", None, "equivalence must be True or False; got 'yes'"),
        (0.1, False, "exact", "null must be left out where a tolerance is given"),
    ],
)
def test_other_tolerances_are_refused(tolerance, equivalence, null, message):
    """With the rule, the value and the remedy."""
    with pytest.raises(InvalidInput, match=message):
        check_tolerance(tolerance, equivalence=equivalence, null=null)
