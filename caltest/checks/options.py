"""Checks of options: choices, numbers, weights, groups, rows, seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import field
from typing import Any, TypeVar

import numpy as np

from caltest.checks import arrays
from caltest.errors import InvalidInput, NotApplicable, an, invalid, shown
from caltest.types import AnyArray, Floats

Function = TypeVar("Function", bound=Callable[..., Any])
Instance = TypeVar("Instance")
Item = TypeVar("Item")
Value = TypeVar("Value")
ADAPTIVE = "adaptive"  # as many resamples as the answer needs
MOST_COUNT, MOST_RESAMPLES = 10**6, 10**8
GIB = 2**30  # bytes: what an array of a stated size may take
CORRECTIONS = (  # for several tests
    *("joint", "holm", "bonferroni", "sidak", "holm-sidak", "simes-hochberg", "hommel"),
    *("fdr_bh", "fdr_by", "fdr_tsbh", "fdr_tsbky", "none"),
)
OPPOSITE = {"level": "confidence", "confidence": "level"}
OTHER = bool, np.timedelta64  # which are kinds of int and of np.integer
CALENDAR = ("isoformat", "freqstr", "closed_left")  # what dates, periods and intervals have
WORD = 2**32  # seeds that stand for a generator are 32-bit words, short enough to print


def check_random_state(random_state: object) -> int | None:
    """Check a seed, or None for no shuffling."""
    return None if random_state is None else check_seed(random_state, "random_state") % 2**32


def check_flag(value: object, name: str) -> bool:
    """Check that an option is True or False."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise invalid(f"{name} must be True or False", shown(value), "pass one of the two")


def check_instance(
    value: object,
    kind: type[Instance],
    name: str,
    remedy: str = "see caltest.kernels",
    what: str = "",
) -> Instance:
    """Check that `value` is a `kind`, not the class itself or something else."""
    if isinstance(value, kind):
        return value
    got = f"the class {value.__name__}" if isinstance(value, type) else an(type(value).__name__)
    remedy = "add parentheses" if isinstance(value, type) else remedy
    raise invalid(f"{name} must be {an(what or kind.__name__)}", got, remedy)


def check_tolerance(tolerance: object, *, equivalence: object, null: object) -> float | None:
    """Check a tolerance, that equivalence has one, and that no null is named beside it."""
    if check_flag(equivalence, "equivalence") and tolerance is None:
        rule = "equivalence must come with a tolerance"
        raise invalid(rule, "tolerance=None", "pass tolerance=0.02, for example")
    if tolerance is None and isinstance(null, str) and null == "tolerance":  # as it is printed
        raise invalid(
            "null 'tolerance' must come with a tolerance", "none", "pass tolerance= alone"
        )
    if tolerance is None:
        return None
    if null is not None:
        rule = "null must be left out where a tolerance is given, which has its own null "
        raise invalid(f"{rule}distributions", shown(null), "leave out null or tolerance")
    bound = check_positive(tolerance, "tolerance")
    if bound < 1:
        return bound
    percent = bound if 1 < bound < 100 else 5.0
    remedy = f"pass {percent / 100:g} for {percent:g} %"
    raise invalid("tolerance must be below 1, as errors are", shown(tolerance), remedy)


def check_light_bounds(bounds: object) -> tuple[float, float, float]:
    """Check the three p-values that part four colours: in (0, 1) and descending."""
    items = np.ravel(bounds).tolist() if isinstance(bounds, np.ndarray) else bounds
    items = list(items) if isinstance(items, (tuple, list)) else []
    if len(items) == 3:
        first, second, third = arrays.as_numbers(items, "lights").astype(np.float64).tolist()
        if 1 > first > second > third > 0:
            return first, second, third
    rule = "lights must be three descending p-values between 0 and 1"
    remedy = "pass (0.05, 0.01, 0.001), the limits of yellow, orange, red"
    raise invalid(rule, shown(bounds), remedy)


def check_choice(value: object, choices: Collection[str], name: str) -> str:
    """Check that `value` is one of `choices`; the message names a near miss."""
    if isinstance(value, str) and value in choices:
        return value
    raise not_a_choice(value, choices, name)


def not_a_choice(value: object, choices: Collection[str], name: str) -> InvalidInput:
    """Word the error for a value that is not one of `choices`."""
    import difflib

    lower = {choice.lower(): choice for choice in choices}
    word = str(value).lower()
    near = difflib.get_close_matches(word, lower, n=1)
    short = {one: "".join(part[:1] for part in one.split("-")) for one in lower}  # hl
    near = near or [
        one for one in lower if len(word) > 1 and (one.startswith(word) or word == short[one])
    ]
    several = len(choices) > 1
    missed = "pass one of these" if several else "pass that"
    remedy = f"did you mean {lower[near[0]]!r}?" if near else missed
    rule = f"{name} must be {'one of ' * several}{arrays.listing(choices, limit=30)}"
    return invalid(rule, shown(value), remedy)


def check_correction(correction: object) -> None:
    """Check how p-values of several tests are adjusted; None stands for "none"."""
    check_choice("none" if correction is None else correction, CORRECTIONS, "correction")


def check_strings(value: object, name: str) -> list[Any]:
    """Return a list of names, of which one may stand for itself."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Iterable) or getattr(value, "ndim", 1) == 0:
        raise invalid(f"{name} must be a name or a list of names", shown(value), "pass a name")
    return list(value)


def check_level(level: object, name: str = "level", *, percent: float = 5.0) -> float:
    """Check a level, strictly between 0 and 1; `percent` is an example of one.

    Of significance it is 0.5 at most: more is taken for a confidence.
    """
    if name == "level" and 0.5 < _real(level) < 1:
        remedy = f"pass {1 - _real(level):g} for a confidence of {100 * _real(level):g} %"
        raise invalid("level must lie in (0, 0.5]", shown(level), remedy)
    if 0 < _real(level) < 1:
        return _real(level)
    number, of = _real(level), ""
    if 1 < number < 100:
        if name in OPPOSITE and (number > 50) != (percent > 50):  # 95 as a level, 5 as a confidence
            of, number = f", which goes with a {OPPOSITE[name]} of {number:g} %", 100 - number
        percent = number
    remedy = f"pass {percent / 100:g} for {percent:g} %{of}"
    raise invalid(f"{name} must lie strictly between 0 and 1", shown(level), remedy)


def check_confidence(value: object) -> float:
    """Check the confidence of an interval or a band, from 0.5 on: less is taken for a level."""
    if 0 < _real(value) < 0.5:
        missed = f"an interval that misses in {100 * _real(value):g} %"
        remedy = f"pass {1 - _real(value):g} for {missed}"
        raise invalid("confidence must lie in [0.5, 1)", shown(value), remedy)
    return check_level(value, "confidence", percent=95.0)


def check_positive(value: object, name: str) -> float:
    """Check a positive, finite number."""
    if 0 < _real(value) < math.inf:
        return _real(value)
    raise invalid(f"{name} must be a positive number", shown(value), "pass a finite number above 0")


def check_finite(value: object, name: str) -> float:
    """Check a finite number."""
    if math.isfinite(_real(value)):
        return _real(value)
    raise invalid(f"{name} must be a finite number", shown(value), "pass a number such as 0.01")


def check_share(value: object, name: str) -> float:
    """Check a share, a number from 0 to 1."""
    if 0 <= _real(value) <= 1:
        return _real(value)
    raise invalid(f"{name} must lie in [0, 1]", shown(value), "pass 0.1 for 10 %")


def check_integer(
    value: object, name: str, minimum: int = 1, *, most: int | None = None, otherwise: str = ""
) -> int:
    """Check an integer that is at least `minimum`, and at most `most`; a float is refused."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, OTHER) and value >= minimum:
        if most is None or value <= most:
            return int(value)
        raise invalid(f"{name} must be at most {most:,}", shown(value), "pass a smaller number")
    rule = f"{name} must be an integer of at least {minimum}{otherwise}"
    raise invalid(rule, shown(value), f"pass {minimum} or more")


def check_count(value: object, name: str = "bins", minimum: int = 1) -> int:
    """Check a number of bins, or of other things that are made one by one."""
    return check_integer(value, name, minimum, most=MOST_COUNT)


def check_resamples(n_resamples: object) -> int | None:
    """Check a number of resamples; None stands for "adaptive"."""
    if isinstance(n_resamples, str) and n_resamples == ADAPTIVE:
        return None
    otherwise = f", or {ADAPTIVE!r}"
    return check_integer(n_resamples, "n_resamples", most=MOST_RESAMPLES, otherwise=otherwise)


def check_fixed_resamples(n_resamples: object, name: str, minimum: int = 1) -> int:
    """Check a number of resamples where none can be adaptive."""
    if isinstance(n_resamples, str) and n_resamples == ADAPTIVE:
        rule = f"n_resamples must be an integer for {name}, where no number can be adaptive"
        raise invalid(rule, shown(n_resamples), "pass 999, or call test_calibration")
    return check_integer(n_resamples, "n_resamples", minimum, most=MOST_RESAMPLES)


def _real(value: object) -> float:
    """Return a number as a float; anything else as NaN, which breaks every rule."""
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, OTHER):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    return math.nan


def check_jobs(n_jobs: object) -> int | None:
    """Check a number of jobs as joblib takes it: None, a positive integer, or -1 for all cores."""
    is_integer = isinstance(n_jobs, (int, np.integer)) and not isinstance(n_jobs, bool)
    if n_jobs is None or (is_integer and n_jobs != 0):
        return n_jobs  # type: ignore[return-value]
    rule = "n_jobs must be None or an integer other than 0"
    raise invalid(rule, repr(n_jobs), "pass -1 for all cores")


def check_memory(numbers: int, what: str, *, most: int = GIB) -> None:
    """Raise NotApplicable where as many numbers of 8 bytes take more than `most` bytes."""
    if 8 * numbers > most:
        size = f"{8 * numbers / GIB:,.3g} GiB, more than the {most / GIB:g} it may take"
        remedy = "use lens='confidence' or 'top-2', or fewer classes, rare ones added up"
        raise NotApplicable(f"{what} takes {size}", remedy)


def check_not_empty(values: list[Item], name: str) -> list[Item]:
    """Check that a list has at least one entry."""
    if not values:
        remedy = "leave it out for the default"
        raise invalid(f"{name} must name at least one", "an empty list", remedy)
    return values


def check_not_family(is_family: bool, lens: object) -> None:  # noqa: FBT001
    """Refuse a family of lenses where each test stands for one aspect of the predictions."""
    if is_family:
        usual = getattr(lens, "usual", None)  # levels, of forecasts
        member = f"'{lens}[{usual[2]:g}]'" if usual else f"'{lens}[0]', or pass 'confidence'"
        remedy = f"name a member, as in {member}"
        raise invalid("lens must not be a family of lenses here", str(lens), remedy)


def check_weights(weights: object, n: int, name: str = "sample_weight") -> Floats:
    """Check weights, one per row, finite, not negative and not all zero."""
    values = arrays.check_column(arrays.as_numbers(weights, name), n, name).astype(np.float64)
    rule, remedy = f"{name} must be finite and not negative", "drop that row or give it weight 0"
    arrays.check_all((values >= 0) & (values < np.inf), values, rule, remedy)
    if not values.any():
        raise invalid(f"{name} must not be all zero", f"{n} zeros", "leave it out")
    return arrays.read_only(values)


def check_groups(groups: object, n: int, name: str = "groups") -> AnyArray:
    """Check the values of groups, one per row and none missing."""
    return arrays.read_only(group_values(arrays.check_column(groups, n, name), name).copy())


def group_values(values: object, name: str) -> AnyArray:
    """Read groups as labels are read; dates, periods and intervals become text.

    Where all times are midnight that is their day, as it is where cells are counted.
    """
    array = arrays.as_array(values, name)
    if array.dtype.kind == "M":
        array = arrays.check_not_missing(array, name).astype("datetime64[us]")
    elif array.dtype.kind != "O" or not all(
        any(hasattr(kind, one) for one in CALENDAR) for kind in set(map(type, array.flat))
    ):
        return arrays.label_values(array, name)
    texts = list(map(str, array.tolist()))
    days = [text.partition(" 00:00:00")[0] for text in texts]
    return np.array(days if {len(day) for day in days} == {10} else texts)


def check_not_label(label: str | None, name: str, *columns: object) -> None:
    """Check that no column, as that of groups, is that of the labels."""
    if any(isinstance(column, str) and column == label for column in columns):
        remedy = "take another column: one that depends on predictions and features only"
        raise invalid(f"{name} must not be the label column", shown(label), remedy)


def check_once(columns: Sequence[str], name: str) -> None:
    """Check that no column is named twice."""
    if len(set(columns)) < len(columns):
        raise invalid(f"{name} must name each column once", shown(list(columns)), "drop the copy")


def check_rows(rows: object, n: int, name: str = "rows") -> AnyArray:
    """Check a mask or indices of rows and return them as indices, at least one."""
    values = np.arange(n)[rows] if isinstance(rows, slice) else arrays.as_array(rows, name)
    if values.dtype.kind == "b":
        values = np.flatnonzero(arrays.check_column(values, n, name))
    if values.ndim != 1 or values.size == 0 or values.dtype.kind not in "iu":
        rule = f"{name} must be a mask, a slice or indices, of at least one row"
        got = f"dtype {values.dtype}, shape {values.shape}"
        raise invalid(rule, got, f"pass indices below {n}")
    if values.min() < -n or values.max() >= n:
        outside = values[np.argmax((values < -n) | (values >= n))]
        raise invalid(f"{name} must lie in 0 to {n - 1}", f"{outside}", f"pass indices below {n}")
    return values.astype(np.intp, copy=False)


def check_seed(rng: object, name: str = "rng") -> int:
    """Turn `rng` into a seed that can be printed, so that a call can be repeated.

    Parameters
    ----------
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        None asks for a fresh seed; a generator is advanced by one draw; an integer stays.
    name : str
        Name of the argument, for messages.

    Returns
    -------
    int
        A seed of at least 0.

    Raises
    ------
    InvalidInput
        If `rng` is anything else, such as a RandomState, or negative.
    """
    if rng is None:
        rng = np.random.SeedSequence()
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(WORD))
    if isinstance(rng, np.random.SeedSequence):
        return int(rng.generate_state(1)[0])
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and rng >= 0:
        return int(rng)
    rule = f"{name} must be None, a non-negative integer, a Generator or a SeedSequence"
    got = repr(rng) if isinstance(rng, (int, float, str)) else f"type {type(rng).__name__}"
    raise invalid(rule, got, "pass an integer, or numpy.random.default_rng(seed)")


def check_generator(rng: object) -> np.random.Generator:
    """Turn `rng` into a generator; a generator stays itself."""
    if isinstance(rng, np.random.Generator):
        return rng
    return np.random.default_rng(check_seed(rng))


def check_pair(data: object, **of_rows: object) -> tuple[object, object]:
    """Check that `data` is the pair (X, y), and recognise (y, X), before a model predicts X.

    What is given `of_rows` must have as many entries as y.
    """
    items: Sequence[Any] = data if isinstance(data, (tuple, list)) else ()
    if len(items) != 2:
        got = f"{len(items)} items" if items else f"type {type(data).__name__}"
        rule = "data must be the pair (X, y) where model is a classifier or a function"
        raise invalid(rule, got, "call it as (model, X, y)")
    X, y = items
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if len(getattr(X, "shape", ())) == 1 and len(shape) == 2 and shape[1] > 1:
        array = arrays.as_array(y, "y")  # features, or one-hot labels
        if array.dtype.kind not in "biuf" or np.any((array != 0) & (array != 1)):
            got = f"shapes {X.shape} and {shape}"
            raise invalid("data must be (X, y), the features first", got, "swap the two")
    for name, values in of_rows.items():
        if hasattr(y, "__len__") and not isinstance(values, str | bool | None):
            arrays.check_column(values, len(y), name)
    return X, y


def check_unused(reason: str, remedy: str = "leave it out", /, **options: object) -> None:
    """Check that options which would have no effect are left out."""
    for name, value in options.items():
        if value is not None:
            raise invalid(f"{name} has no effect {reason}", shown(value), remedy)


def check_optional_integer(
    value: object, name: str, minimum: int = 1, *, most: int | None = None
) -> int | None:
    """Check an integer from `minimum` to `most`, or None for no limit."""
    return None if value is None else check_integer(value, name, minimum, most=most)


def check_calibrator(value: object, kind: type[Instance], name: str = "calibrator") -> Instance:
    """Check that a calibrator is an object of the class `kind`."""
    remedy = "pass one, such as caltest.calibrators.Identity()"
    return check_instance(value, kind, name, remedy, "calibrator")


def check_power(p: object, name: str = "p") -> float:
    """Check the power of a mean, a number of at least 1; infinity stands for the maximum."""
    if isinstance(p, float) and p == math.inf:
        return p
    value = check_positive(p, name)
    if value < 1:
        remedy = "pass 1 for the mean, 2 for its square"
        raise invalid(f"{name} must be at least 1", repr(p), remedy)
    return value


# ---- options of a frozen dataclass, each with its check ------------------------------------------


def option(default: Value, check: Callable[..., object]) -> Value:
    """Return a field with the `check(value, name)` of what is passed for it."""
    return field(default=default, metadata={"check": check})


def one_of(choices: Collection[str]) -> Callable[[object, str], object]:
    """Return the check of an option that is one of some words."""
    return lambda value, name: check_choice(value, choices, name)


def optional(check: Callable[..., object]) -> Callable[[object, str], object]:
    """Return the check of an option that may be None as well."""
    return lambda value, name: value is None or check(value, name)
