"""A tolerance, and what goes with it."""

from caltest.checks import check_tolerance


def test_tolerance_is_a_positive_number_or_none():
    """None stands for the hypothesis of calibration."""
    assert check_tolerance(0.5, equivalence=True, null=None) == 0.5
    assert check_tolerance(None, equivalence=False, null="exact") is None
