"""Checks of a tolerance and what goes with it."""

from __future__ import annotations

from caltest.errors import invalid, shown
from caltest.validation.calibrators import check_flag
from caltest.validation.options import check_positive


def check_tolerance(tolerance: object, *, equivalence: object, null: object) -> float | None:
    """Check a tolerance, that equivalence has one, and that no null is named beside it."""
    wants_equivalence = check_flag(equivalence, "equivalence")
    if tolerance is None:
        if wants_equivalence:
            rule = "equivalence must come with a tolerance"
            raise invalid(rule, "tolerance=None", "pass tolerance=0.02, say")
        return None
    if null is not None:
        rule = "null must be left out where a tolerance is given, which has laws of its own"
        raise invalid(rule, shown(null), "leave out null or tolerance")
    return check_positive(tolerance, "tolerance")
