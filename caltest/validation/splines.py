"""Checks of spline calibration: its mode, the class of a curve, fractiles."""

from __future__ import annotations

import re

import numpy as np

from caltest.errors import invalid, shown
from caltest.validation.arrays import AnyArray, Floats, as_numbers
from caltest.validation.labels import check_class, listing
from caltest.validation.lenses import check_rank

MODE = re.compile(r"(top|within-top)-([1-9][0-9]*)")


def check_spline_mode(mode: object, m: int) -> tuple[str, int]:
    """Check what a spline recalibrates, and return "top", "within-top" or "class-wise" and r."""
    if mode == "class-wise":
        return "class-wise", 0
    match = MODE.fullmatch(mode) if isinstance(mode, str) else None
    if match is None:
        rule = "mode must be 'top-r' or 'within-top-r' with an r from 1, or 'class-wise'"
        raise invalid(rule, shown(mode), "pass 'top-1', 'top-2', 'within-top-2', ...")
    kind, r = match[1], int(match[2])
    check_rank(r, m if kind == "top" else m - 1, match[0])
    return kind, r


def check_spline_class(k: object, classes: AnyArray, splines: int) -> int:
    """Check the class whose spline is asked for, and return its position among the splines."""
    if splines > 1 and k is None:
        rule = "k must name a class where each has its own spline"
        raise invalid(rule, "None", f"pass one of {listing(classes.tolist())}")
    if splines == 1 and k is not None:
        raise invalid("k must be None where there is one spline", shown(k), "leave it out")
    return 0 if k is None else check_class(k, classes)


def check_fractiles(t: object) -> Floats:
    """Check fractiles, numbers in [0, 1] in one dimension."""
    values = np.atleast_1d(as_numbers(t, "t")).astype(np.float64)
    if values.ndim != 1:
        raise invalid("t must have one dimension", f"shape {values.shape}", "pass t.ravel()")
    bad = ~((values >= 0) & (values <= 1))
    if bad.any():
        place = int(np.argmax(bad))
        got = f"{values[place]:.8g} at position {place}"
        raise invalid("t must lie in [0, 1]", got, "pass shares of the calibration set")
    return values
