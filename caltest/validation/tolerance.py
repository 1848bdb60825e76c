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
    bound = check_positive(tolerance, "tolerance")
    if bound < 1:
        return bound
    percent = bound if 1 < bound < 100 else 5.0
    remedy = f"pass {percent / 100:g} for {percent:g} %"
    raise invalid("tolerance must be below 1, as errors are", shown(tolerance), remedy)
