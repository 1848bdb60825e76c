"""Checks of probabilities and logits."""

from __future__ import annotations

import numpy as np

from caltest.errors import InvalidInput, invalid, shown
from caltest.validation.arrays import AnyArray, Floats, as_array, as_numbers, missing, read_only

FLOAT32_SLACK = 1e-6  # per class: rows that were summed in single precision
ROUNDED_SLACK = 1e-2 * (1 + 1e-9)  # rows rounded for print; 0.99 itself is allowed
SEEMS_ROUNDED = 0.1  # sums of so many rounded classes that they are not mended
ROUNDING = 4 * np.finfo(np.float64).eps  # per class: such rows are left as they are
NAMED = (list, tuple, range, np.ndarray)


def check_not_swapped(probs: AnyArray, labels: AnyArray) -> None:
    """Recognise labels passed as probs: whole numbers or text where labels hold fractions."""
    if _has_fractions(labels) and not _has_fractions(probs):
        raise invalid(
            "probs must come before labels",
            "fractions as labels and none as probs",
            "swap the two arguments",
        )


def check_not_classified(probs: object, model: object) -> object:
    """Recognise a function that predicts labels, such as the method `predict` of a classifier."""
    values = as_array(probs, "probs")
    first = next(iter(values.ravel()[:1].tolist()), None)
    method = hasattr(model, "__self__") and getattr(model, "__name__", "") == "predict"
    if isinstance(first, str) or (method and values.ndim == 1 and not _has_fractions(values)):
        remedy = "pass the classifier itself, or its predict_proba"
        raise invalid("model must return probabilities", f"the label {shown(first)}", remedy)
    return probs


def _has_fractions(array: AnyArray) -> bool:
    return array.dtype.kind == "f" and bool(np.any(array > np.floor(array)))


def check_probs(
    probs: object,
    *,
    from_logits: bool = False,
    renormalize: bool = False,
    classes: object = None,
    name: str = "probs",
) -> Floats:
    """Check probabilities and return them as an owned, read-only (n, m) matrix.

    Values outside [0, 1] and row sums away from 1 by at most 1e-6 m come from single precision and
    are mended silently; sums off by at most 0.01 are rescaled where `renormalize` is true.

    Parameters
    ----------
    probs : array_like, shape (n, m) or (n,)
        Probabilities of the classes; in one dimension, of class 1 of two. With `from_logits`,
        the logarithms of unnormalised probabilities; in one dimension, the log odds of class 1.
    from_logits : bool
        Whether `probs` are logits. Never guessed.
    renormalize : bool
        Whether rows of rounded probabilities may be rescaled.
    classes : sequence, optional
        Names of the columns, for messages.
    name : str
        Name of the argument, for messages.

    Returns
    -------
    ndarray, shape (n, m), float64
        Probabilities whose rows sum to 1 within rounding; C-contiguous.

    Raises
    ------
    InvalidInput
        If the shape, a value or the sum of a row is not that of probabilities.
    """
    values = as_numbers(probs, name)
    _check_shape_of_probs(values, name)
    if from_logits:
        _check_values_of_logits(values, classes, name)
        return read_only(_sigmoid(values) if values.ndim == 1 else _softmax(values))
    slack = FLOAT32_SLACK * (2 if values.ndim == 1 else values.shape[1])
    low, high = float(values.min()), float(values.max())
    if not (low >= -slack and high <= 1 + slack):  # this way round, NaN fails too
        raise _outside_unit_interval(values, slack, classes, name)
    clip = low < 0 or high > 1
    if values.ndim == 1:
        return read_only(_both_columns(values, clip=clip))
    matrix = np.array(values, dtype=np.float64, order="C")
    if clip:
        np.clip(matrix, 0, 1, out=matrix)
    _rescale_rows(matrix, name, rounded=renormalize)
    return read_only(matrix)


def check_logits(logits: object, *, name: str = "logits") -> Floats:
    """Check logits and return them as an owned, read-only (n, m) matrix.

    Parameters
    ----------
    logits : array_like, shape (n, m) or (n,)
        Logarithms of unnormalised probabilities, -inf for a probability of 0; in one dimension,
        the log odds of class 1 of two, which may be infinite.
    name : str
        Name of the argument, for messages.

    Returns
    -------
    ndarray, shape (n, m), float64
        The logits; those of class 0 are 0 where log odds were given (-inf for infinite ones).

    Raises
    ------
    InvalidInput
        If the shape or a value is not that of logits.
    """
    values = as_numbers(logits, name)
    _check_shape_of_probs(values, name)
    _check_values_of_logits(values, None, name)
    if values.ndim == 2:
        return read_only(np.array(values, dtype=np.float64, order="C"))
    matrix = np.zeros((len(values), 2))
    matrix[:, 1] = values
    matrix[values == np.inf] = -np.inf, 0.0
    return read_only(matrix)


def _check_shape_of_probs(values: AnyArray, name: str) -> None:
    rule = f"{name} must have shape (n, m), or (n,) for two classes"
    if values.ndim not in (1, 2):
        raise invalid(rule, f"shape {values.shape}", "pass one row per prediction")
    if values.shape[0] == 0:
        raise invalid(f"{name} must have at least one row", f"shape {values.shape}", "pass data")
    if values.ndim == 2 and values.shape[1] < 2:
        raise invalid(rule, f"shape {values.shape}", "pass P(class 1) as one dimension, .ravel()")


def _outside_unit_interval(
    values: AnyArray, slack: float, classes: object, name: str
) -> InvalidInput:
    bad = ~((values >= -slack) & (values <= 1 + slack))
    place = np.argwhere(bad)[0]
    value = values[tuple(place)]
    got = f"{value:.8g} {_place(place, classes)}"
    if np.isnan(value):
        return missing(name, got)
    remedy = "pass probabilities, or from_logits=True"
    if _seem_percentages(values):
        others = ", or pass from_logits=True" * (values.ndim == 1)
        remedy = f"divide by 100 if they are percentages{others}"
    return invalid(f"{name} must lie in [0, 1]", got, remedy)


def _seem_percentages(values: AnyArray) -> bool:
    """Whether all lie in [0, 100], and most are above 1 or most rows of a matrix sum to 100."""
    if not (values.min() >= 0 and values.max() <= 100):  # this way round, NaN fails too
        return False
    if values.ndim == 1:
        return bool(np.median(values) > 1)
    return bool(np.median(np.abs(values.sum(axis=1) - 100)) <= 1)


def _place(place: AnyArray, classes: object) -> str:
    row = f"at row {place[0]}"
    if len(place) == 1:
        return row
    column = int(place[1])
    names = as_array(classes, "classes").tolist() if isinstance(classes, NAMED) else []
    return f"{row}, class {names[column] if column < len(names) else column!r}"


def _both_columns(values: AnyArray, *, clip: bool) -> Floats:
    matrix = np.empty((len(values), 2))
    matrix[:, 1] = values
    if clip:
        np.clip(matrix[:, 1], 0, 1, out=matrix[:, 1])
    np.subtract(1, matrix[:, 1], out=matrix[:, 0])
    return matrix


def _rescale_rows(matrix: Floats, name: str, *, rounded: bool) -> None:
    m = matrix.shape[1]
    sums = matrix @ np.ones(m)
    error = np.abs(sums - 1)
    worst = error.max()
    limit = max(ROUNDED_SLACK, FLOAT32_SLACK * m) if rounded else FLOAT32_SLACK * m
    if worst > limit:
        raise _sum_not_one(sums, error, limit, name)
    if worst > ROUNDING * m:
        sums[error <= ROUNDING * m] = 1.0  # so that checking twice changes nothing
        matrix /= sums[:, np.newaxis]


def _sum_not_one(sums: Floats, error: Floats, limit: float, name: str) -> InvalidInput:
    rounded = error.max() <= ROUNDED_SLACK
    row = int(np.argmax(error > (limit if rounded else ROUNDED_SLACK)))
    got = f"a sum of {sums[row]:.8g} at row {row}"
    remedy = "pass one column per class, or from_logits=True"
    if rounded:
        remedy = "pass renormalize=True to rescale rows that are off by at most 0.01"
    elif error.max() <= SEEMS_ROUNDED:
        got += ", off by more than renormalize=True mends (0.01)"
        remedy = "write more decimals, or pass one column per class"
    return invalid(f"{name} must sum to 1 in each row", got, remedy)


def _check_values_of_logits(values: AnyArray, classes: object, name: str) -> None:
    if values.ndim == 1:
        bad = np.isnan(values)
    else:
        bad = ~(values < np.inf)  # NaN or inf; a logit of -inf is a probability of 0
        bad[:, 0] |= values.max(axis=1) == -np.inf
    if bad.any():
        place = np.argwhere(bad)[0]
        got = f"{values[tuple(place)]:.8g} {_place(place, classes)}"
        rule = f"{name} must be logits, below inf and above -inf for some class"
        raise invalid(rule, got, "drop or mend that row")


def _sigmoid(log_odds: AnyArray) -> Floats:
    matrix = np.empty((len(log_odds), 2))
    with np.errstate(over="ignore"):  # exp overflows to inf, and 1 / inf is the limit
        matrix[:, 0] = 1 / (1 + np.exp(log_odds.astype(np.float64)))
        matrix[:, 1] = 1 / (1 + np.exp(-log_odds.astype(np.float64)))
    return matrix


def _softmax(logits: AnyArray) -> Floats:
    matrix = np.array(logits, dtype=np.float64, order="C")
    matrix -= matrix.max(axis=1, keepdims=True)
    np.exp(matrix, out=matrix)
    matrix /= matrix.sum(axis=1, keepdims=True)
    return matrix
