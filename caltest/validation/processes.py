"""Checks of what Gaussian processes take."""

from __future__ import annotations

from caltest.errors import invalid, shown
from caltest.validation.arrays import Floats, as_numbers, read_only
from caltest.validation.options import check_positive


def check_interval(value: object, name: str, *, least: float = 0.0) -> tuple[float, float]:
    """Check two positive numbers, the first below the second and not below `least`."""
    items = list(value) if isinstance(value, tuple | list) else []
    if len(items) == 2:
        low, high = (check_positive(item, f"each end of {name}") for item in items)
        if low < least:
            rule = f"each end of {name} must be at least {least:g}"
            raise invalid(rule, shown(value), f"pass {least:g} or more")
        if low < high:
            return low, high
    rule = f"{name} must be two ascending numbers"
    raise invalid(rule, shown(value), "pass (low, high)")


def check_scores(values: object, name: str, *, probabilities: bool) -> Floats:
    """Check scores in one dimension: probabilities in [0, 1], or finite logits."""
    array = as_numbers(values, name)
    if array.ndim != 1:
        got = f"shape {array.shape}"
        raise invalid(f"{name} must have one dimension", got, "pass .ravel()")
    scores = array.astype("float64")
    low, high = (0.0, 1.0) if probabilities else (-1.7e308, 1.7e308)
    bad = ~((scores >= low) & (scores <= high))
    if bad.any():
        rule = "lie in [0, 1]" if probabilities else "be finite"
        row = int(bad.argmax())
        got, remedy = f"{scores[row]:.8g} at row {row}", "pass values in the units of the inputs"
        raise invalid(f"{name} must {rule}", got, remedy)
    return read_only(scores)
