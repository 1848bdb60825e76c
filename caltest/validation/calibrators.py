"""Checks of what calibrators are fitted to, and of their options."""

from __future__ import annotations

from typing import TypeVar

from caltest.errors import invalid

Kind = TypeVar("Kind")


def check_calibrator(calibrator: object, kind: type[Kind], name: str = "calibrator") -> Kind:
    """Check that `calibrator` is an object of the class `kind`."""
    if isinstance(calibrator, kind):
        return calibrator
    rule = f"{name} must be a calibrator"
    if isinstance(calibrator, type):
        raise invalid(rule, f"the class {calibrator.__name__}", "add parentheses")
    remedy = "pass one, such as caltest.calibrators.Identity()"
    raise invalid(rule, f"a {type(calibrator).__name__}", remedy)
