"""Mistakes that are recognised: swapped arguments, labels from 1, classes for probabilities."""

from __future__ import annotations

import numpy as np

from caltest.checks.arrays import as_array
from caltest.errors import invalid, shown
from caltest.types import AnyArray, Codes, Floats

SHIFTED = 5.0  # standard errors by which labels fit better one column further left
LEAST_SHIFTED = 20  # rows from which that is looked at


def check_not_numbered_from_one(probs: Floats, codes: Codes, name: str = "labels") -> None:
    """Recognise labels 1 to m whose last class does not occur, which are columns 0 to m - 1 too.

    They are taken for it where class 0 does not occur, there are three classes or more, and the
    probabilities of the labels are far less, by 5 standard errors, than those one column to their
    left.

    Parameters
    ----------
    probs : (n, m) array
        Probabilities.
    codes : (n,) array
        Integers that came as labels, without names of the classes.
    name : str
        Name of the labels, for messages.

    Raises
    ------
    InvalidInput
        If the labels are numbered from 1, by these signs.
    """
    n, m = probs.shape
    if m < 3 or n < LEAST_SHIFTED or codes.min() == 0:
        return
    rows = np.arange(n)
    gain = probs[rows, codes - 1] - probs[rows, codes]
    if gain.mean() > SHIFTED * gain.std() / n**0.5:
        rule = f"{name} must be numbered from 0, as the columns, where classes are not given"
        got = f"{name} from 1 to {codes.max()}, which fit the columns before theirs"
        remedy = f"pass classes=range(1, {m + 1}), or classes=range(0, {m}) if they are right"
        raise invalid(rule, got, remedy)


def check_not_swapped(probs: AnyArray, labels: AnyArray) -> None:
    """Recognise labels passed as probs: whole numbers or text where labels hold fractions."""
    if _has_fractions(labels) and not _has_fractions(probs):
        got = "fractions as labels and none as probs"
        raise invalid("probs must come before labels", got, "swap the two arguments")


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
