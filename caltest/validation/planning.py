"""Checks of what a planned study takes: sizes, the truth, laws of predictions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from caltest.errors import NotApplicable, invalid, shown
from caltest.validation.arrays import AnyArray, Floats, as_array, as_numbers
from caltest.validation.options import check_integer, check_level, check_positive

Item = TypeVar("Item")

ROUNDING = 1e-12


def check_sizes(n: object, name: str = "n") -> list[int]:
    """Check one or several numbers of rows and return them in ascending order, each once."""
    values = as_array(n, name)
    if values.ndim == 0:
        return [check_integer(n, name)]
    if values.ndim != 1 or values.size == 0 or values.dtype.kind not in "iu" or values.min() < 1:
        rule = f"{name} must be an integer of at least 1, or a list of such"
        raise invalid(rule, shown(n), "pass [100, 200, 500]")
    return sorted(set(values.tolist()))


def check_one_truth(given: Sequence[str]) -> None:
    """Check that the truth is stated once."""
    if len(given) > 1:
        rule = (
            "the truth must be stated once: temperature, slope and intercept, ratio, noise or truth"
        )
        raise invalid(rule, " and ".join(given), "leave out all but one")


def check_intercept(value: object, m: int, name: str = "intercept") -> Floats:
    """Check an intercept and return one for each class: a number for two classes, else (m,)."""
    values = as_numbers(value, name).astype(np.float64)
    wanted = "a finite number" if m == 2 else f"{m} finite numbers, one for each class, or 0"
    remedy = "pass what is added to the log odds" + ("" if m == 2 else " of each class")
    right = values.shape == () if m == 2 else values.shape == (m,) or not values.any()
    if not (right and np.isfinite(values).all()):
        raise invalid(f"{name} must be {wanted}", shown(value), remedy)
    return np.array([0.0, float(values)]) if m == 2 else np.broadcast_to(values, m).copy()


def check_two_classes(m: int, name: str, remedy: str) -> None:
    """Check that what is about an event has one."""
    if m != 2:
        raise NotApplicable(
            f"{name} is about the event of two classes, and there are {m}; {remedy}"
        )


def check_below_one(true: Floats, predicted: Floats) -> Floats:
    """Check that the true risks under a ratio are probabilities."""
    row = int(np.argmax(true))
    if true[row] > 1 + ROUNDING:
        rule = "ratio must leave the true risks p / ratio at most 1"
        got = f"{true[row]:.4g} for p = {predicted[row]:.4g}"
        raise invalid(rule, got, "pass a larger ratio, or shift the log odds by intercept=")
    return np.minimum(true, 1.0)


def check_truth(is_model: bool, value: object, name: str = "truth") -> None:  # noqa: FBT001
    """Check that a truth maps predictions to probabilities."""
    if not is_model:
        rule = f"{name} must be a function of the predictions or a fitted calibrator"
        raise invalid(rule, shown(value), "pass lambda p: ..., or use temperature=, ratio=, ...")


def check_true_probs(values: Floats, shape: tuple[int, ...]) -> Floats:
    """Check that true probabilities belong to the predictions."""
    if values.shape != shape:
        rule = f"truth must return probabilities of shape {shape}, as the predictions have"
        raise invalid(rule, f"shape {values.shape}", "return one row per prediction")
    return values


def check_law(function: Callable[..., object], name: str = "model") -> None:
    """Check that a function without data can be called as a law, with a generator and n."""
    try:
        inspect.signature(function).bind(None, 1)
    except ValueError:  # a function in C that does not tell
        return
    except TypeError as error:
        rule = f"{name} must be a function (rng, n) -> probabilities where there is no data"
        remedy = "pass data=X for a function of features"
        raise invalid(rule, f"a function that says: {error}", remedy) from error


def check_frozen(law: object, name: str = "model") -> None:
    """Check that a distribution of SciPy has its parameters, one number each."""
    kind = type(law).__name__
    if kind.endswith("_gen") and getattr(law, "numargs", None) != 0:
        rule = f"{name} must be a distribution with its parameters"
        raise invalid(rule, kind, "pass scipy.stats.beta(2, 5), say")
    given = (*getattr(law, "args", ()), *getattr(law, "kwds", {}).values())
    if any(np.ndim(value) for value in given):
        rule = f"{name} must be one distribution, with a number for each parameter"
        raise invalid(rule, shown(given), "pass a function (rng, n) -> probabilities for a mixture")


def check_drawn(values: Floats, n: int) -> Floats:
    """Check that a law drew as many rows as it was asked for."""
    if len(values) != n:
        rule = "a law of predictions must draw the n rows that it is asked for"
        remedy = "return probabilities of shape (n, m) or (n,)"
        raise invalid(rule, f"{len(values)} for {n}", remedy)
    return values


def check_given(value: Item | None, name: str) -> Item:
    """Check that something was given."""
    if value is None:
        remedy = "pass predictions, a model with its features, or a law of predictions"
        raise invalid(f"{name} must be given where model is None", "None", remedy)
    return value


def check_not_a_model(is_model: bool, words: str) -> None:  # noqa: FBT001
    """Refuse a model without features."""
    if is_model:
        raise invalid("data must be given where model is a classifier", words, "pass data=X")


def check_resolution(most_extreme: int, level: float, n_resamples: int, sides: int) -> None:
    """Check that a test with so many resamples can reject at all."""
    if most_extreme < 0:
        rule = f"n_resamples must allow a p-value of at most the level, {level:g}"
        raise invalid(rule, str(n_resamples), f"pass {int(np.ceil(sides / level)) - 1} or more")


def check_target(power: object, level: float, name: str = "power") -> float:
    """Check a power that is asked for: above the level, below 1."""
    target = check_level(power, name, percent=80)
    if target <= level:
        rule = f"{name} must be above the level, {level:g}"
        raise invalid(rule, shown(power), "pass 0.8 for 80 %")
    return target


def check_search(n_min: object, n_max: object) -> tuple[int, int]:
    """Check the range of sizes that are searched."""
    low, high = check_integer(n_min, "n_min", minimum=2), check_integer(n_max, "n_max", minimum=2)
    if low >= high:
        raise invalid("n_max must be above n_min", f"{high} and {low}", "widen the range")
    return low, high


def no_truth() -> Exception:
    """Word the error for a number of rows without a deviation to be detected."""
    return invalid(
        "sample_size must have a truth that differs from the predictions",
        "calibrated predictions",
        "pass temperature=, slope=, intercept=, ratio=, noise= or truth=",
    )


def check_one_test(tests: Sequence[AnyArray | object]) -> None:
    """Check that a number of rows is asked for one test."""
    if len(tests) != 1:
        rule = "test must be a single test where a number of rows is asked for"
        raise invalid(rule, f"{len(tests)} tests", "call sample_size once for each")


def check_one_of(given: Mapping[str, object], remedy: str) -> None:
    """Check that one option of several is given."""
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        rule = f"one of {', '.join(given)} must be given"
        raise invalid(rule, " and ".join(named) or "none", remedy)


def check_numbers_of_text(
    text: str, name: str, example: str, *, positive: bool = False
) -> list[float]:
    """Check numbers that are joined by commas."""
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = [np.nan]
    if not np.isfinite(values).all() or (positive and min(values) <= 0):
        kind = "positive numbers" if positive else "numbers"
        raise invalid(f"{name} must be {kind} joined by commas", shown(text), f"write {example}")
    return values


def check_parameters(values: Sequence[float], count: int, name: str, *, exact: bool) -> None:
    """Check the number of parameters of a law."""
    if len(values) < count or (exact and len(values) > count):
        rule = f"{name} must have {'' if exact else 'at least '}{count} parameters"
        raise invalid(rule, str(len(values)), "write 2,5")


def check_whole_numbers(values: Sequence[float], name: str) -> list[int]:
    """Check that numbers are whole."""
    if any(value != int(value) for value in values):
        raise invalid(f"{name} must be whole numbers", shown(list(values)), "write 100,200,500")
    return [int(value) for value in values]


def check_widths(widths: Mapping[str, object]) -> dict[str, float]:
    """Check the widths of confidence intervals and return those that are given, at least one."""
    given = {name: value for name, value in widths.items() if value is not None}
    if not given:
        raise invalid(f"one of {', '.join(widths)} must be given", "none", "pass ratio_width=0.2")
    return {name: check_positive(value, name) for name, value in given.items()}


def check_events(rate: float) -> None:
    """Check that events and non-events happen, so that the number of events has an error."""
    if not 0 < rate < 1:
        raise NotApplicable(
            f"E/O needs a true event rate between 0 and 1; got {rate:g}; state another truth"
        )


def check_log_odds(p: Floats) -> None:
    """Check that risks have finite log odds."""
    bad = (p <= 0) | (p >= 1)
    if bad.any():
        row = int(bad.argmax())
        raise NotApplicable(
            f"calibration slope and intercept need risks between 0 and 1, and row {row} has "
            f"{p[row]:g}; clip the risks, or ask for the width of E/O only"
        )
