"""Input that looks like a mistake: what was seen, and how to say what is meant.

Errors are for what cannot be meant: swapped arguments, labels from 1, classes for probabilities.

Statements about the predictions have an error rate: were they calibrated and the rows independent,
each would be made of at most one in 1000 data sets.
"""

from __future__ import annotations

import inspect
import math
import warnings
from typing import Any

import numpy as np

from caltest.checks.arrays import as_array
from caltest.errors import SuspectInputWarning, invalid, shown
from caltest.numerics.loops import blocks
from caltest.types import AnyArray, Codes, Floats

CHANCE = 1e-3
FEWEST = 10  # rows from which logits are
LEAST = 50  # rows from which predictions and groups are looked at as a whole
MOST_CLASSES = 100
LOOKED_AT = 1 << 18  # probabilities
SMOOTHED = 0.02  # of the probability of a row, spread over all its classes
UNRELATED = 0.05  # the same chance where predictions have nothing to do with the labels
TOLERANCE = 1e-3  # of sums of probabilities that were rounded
FIRST = 1000  # rows that tell whether groups are to be counted, and where predictions are wrong
OF_LOGARITHMS = 1e-9  # of a logarithm less its mean
WRITTEN_OUT = 12  # classes up to which an order is written out
SHIFTED = 5.0  # standard errors by which labels fit better one column further left
LEAST_SHIFTED = 20  # rows from which that is looked at


def suspect(message: str) -> None:
    """Warn of a likely mistake, at the line of the caller of caltest."""
    warn_caller(message, SuspectInputWarning)


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line of the caller of caltest."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals["__name__"].startswith("caltest."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def suspect_counted(event: Floats, rows: Codes, events: Codes, classes: AnyArray) -> None:
    """Warn of the same where rows were counted: of cells, the mean of the event, rows, and events.

    Mean, rows and events are (C,) arrays.
    """
    counts = np.column_stack([rows - events, events])
    cells, codes = np.nonzero(counts)
    suspect_predictions(event[cells], codes, classes, counts[cells, codes])


def suspect_predictions(
    values: Floats, codes: Codes, classes: AnyArray, counts: Codes | None = None
) -> None:
    """Warn of predicted labels, of rows that were trained on, and of classes in another order.

    Parameters
    ----------
    values : (n,) or (n, m) array
        Probabilities, of the second class or of all.
    codes : (n,) array
        Labels.
    classes : (m,) array
        Names of the classes.
    counts : (n,) array, optional
        How often each of them occurs; once by default.
    """
    step = max(1, -(-len(codes) * len(classes) // LOOKED_AT))
    some, labels = values[::step], codes[::step]
    weight = np.ones(len(labels), np.int64) if counts is None else counts[::step]
    n = int(weight.sum())
    rows = f"all {n} rows{' that were looked at' * (step > 1)}"
    if labels.min() == labels.max():
        return
    if ((some == 0) | (some == 1)).all():
        if some.min() < some.max() and n >= LEAST:
            suspect(
                f"{rows} have probabilities of 0 and 1, as predicted classes have: pass "
                "those of predict_proba, not of predict"
            )
        return
    probs = np.column_stack([1 - some, some]) if some.ndim == 1 else some
    parts = blocks(len(labels), FIRST)  # mostly the first of them tells
    if all((probs[some].argmax(axis=1) == labels[some]).all() for some in parts):
        top = probs.max(axis=1)
        if n >= LEAST and float(weight @ np.log(top)) < math.log(CHANCE):
            suspect(
                f"the predicted class is right in {rows}, as in rows that a model was "
                f"trained on: calibrated predictions would be in {weight @ top / n:.1%}; "
                "pass rows that it has not seen"
            )
        return
    _suspect_order(probs, labels, weight, classes, one_column=some.ndim == 1)


def _suspect_order(
    probs: Floats, codes: Codes, weight: Codes, classes: AnyArray, *, one_column: bool
) -> None:
    r"""Warn where the columns, in another order, fit the labels far better.

    With :math:`a = p + \epsilon` and a permutation s of the classes, the ratio
    :math:`\prod_i a_{i, s(y_i)} / a_{i, y_i}` has under calibration an expectation of at most 1:
    in each row it is :math:`1 + m \epsilon - \epsilon \sum_k a_{s(k)} / a_k`, and the sum is at
    least m (arithmetic and geometric mean). So one of r ratios is beyond r / c with a
    probability of at most c (Markov). Orders that move the same number of classes share an equal
    part of c. That the model is bad is another explanation: in that order the probabilities must
    also go with the labels, whatever their means, by more than the largest of as many sums of terms
    with random signs (Hoeffding).
    """
    n, m = int(weight.sum()), probs.shape[1]
    if m > MOST_CLASSES:
        return
    logs, rows = np.log(probs + SMOOTHED / m), np.arange(len(codes))
    # Of each class, the sum for each column.
    table = np.column_stack([np.bincount(codes, weight * column, m) for column in logs.T])
    if float((table.max(axis=1) - table.diagonal()).sum()) < -math.log(CHANCE):
        return
    from scipy.optimize import linear_sum_assignment

    order = linear_sum_assignment(table, maximize=True)[1]
    moved = np.flatnonzero(order != np.arange(m))
    some = math.lgamma(m + 1) - math.lgamma(m - moved.size + 1)  # at most, the log of their number
    orders = some + math.log(m - 1)  # log r
    gain = logs[rows, order[codes]] - logs[rows, codes]
    logs -= weight @ logs / n
    along = logs[rows, order[codes]] - logs[rows, codes]
    clear = math.sqrt(2.0 * (orders - math.log(UNRELATED)) * float(weight @ along**2))
    if weight @ gain < orders - math.log(CHANCE) or weight @ along < clear + OF_LOGARITHMS * n:
        return
    with np.errstate(divide="ignore"):
        losses = [-float(weight @ np.log(probs[rows, k])) / n for k in (order[codes], codes)]
    loss = f"beyond chance: log loss {losses[0]:.3g} instead of {losses[1]:.3g} in {n} rows"
    names = [classes[k].item() for k in np.argsort(order)]
    if one_column:
        suspect(
            f"probs are read as P({names[0]}), and fit the labels far better as P({names[1]}), "
            f"{loss}; if they are that, pass classes={names}, the event last, or 1 - probs"
        )
        return
    pairs = [f"{classes[k]} in column {order[k]}" for k in moved[:WRITTEN_OUT].tolist()]
    remedy = f"classes={names}" if m <= WRITTEN_OUT else f"classes=[...] with {', '.join(pairs)}"
    suspect(
        f"the columns of probs fit the labels far better in another order, {loss}; if they stand "
        f"so, pass {remedy}"
    )


def suspect_alphabet(classes: AnyArray) -> None:
    """Warn where several classes of text have an order that nobody gave: that of the alphabet."""
    if order := alphabet(classes):
        suspect(
            f"with ordinal=True, the classes are taken in the order of the alphabet, {order}; "
            "pass the probabilities and classes= in the order of the classes"
        )


def alphabet(classes: AnyArray) -> str:
    """Write several classes of text in the order of the alphabet; empty if they are others."""
    is_text = classes.dtype.kind == "U" and classes.size > 2
    return " < ".join(classes.tolist()) if is_text and (classes[1:] > classes[:-1]).all() else ""


def suspect_logits(values: AnyArray) -> None:
    """Warn where logits are probabilities already."""
    if values.min() < 0 or values.max() > 1:
        return
    inside = values.shape[0] >= FEWEST and bool(((values > 0) & (values < 1)).any())
    one_column = values.ndim == 1 and values.size >= LEAST
    rows_of_probs = values.ndim == 2 and np.allclose(values.sum(axis=1), 1, atol=TOLERANCE)
    if inside and (one_column or rows_of_probs):
        suspect(
            "with from_logits=True, all probs lie in [0, 1], and their rows sum to 1, as those of "
            "probabilities do: a second softmax makes them nearly equal; leave out from_logits=True"
        )


def looked_at(groups: AnyArray) -> AnyArray:
    """Return groups, and warn where most of them have a single row."""
    few = groups[:FIRST]
    if groups.size < LEAST or 2 * np.unique(few).size <= few.size:
        return groups
    if 2 * (count := np.unique(groups).size) > groups.size:
        suspect(
            f"groups have {count} values in {groups.size} rows, like a measured number: bin it, or "
            "test its segments"
        )
    return groups


def suspect_outcome(values: AnyArray, probs: Floats, labels: AnyArray, what: str) -> None:
    r"""Warn where the value of a column decides the label, as that of the label itself does.

    Of a column of what is known beforehand, calibrated predictions give that the probability
    :math:`\prod_v \sum_k \prod_{i: v_i = v} p_{ik}`.

    Parameters
    ----------
    values : (n,) array
        The values of the column, or their numbers.
    probs : (n,) or (n, m) array
        Probabilities, of the second class or of all.
    labels : (n,) array
        Labels.
    what : str
        What rows have together.
    """
    for part in (slice(FIRST), slice(None)):
        codes = np.unique(values[part], return_inverse=True)[1]
        of_value = np.empty(codes.max() + 1, dtype=labels.dtype)
        of_value[codes] = labels[part]
        if len(codes) < LEAST or (of_value[codes] != labels[part]).any():
            return
    by_class = np.array([1 - probs, probs]) if probs.ndim == 1 else probs.T
    if (by_class.argmax(axis=0) == labels).all():
        return  # and so does a column that is made of the predictions
    with np.errstate(divide="ignore"):
        alike = np.array([np.bincount(codes, p) for p in np.log(by_class)])
    if np.logaddexp.reduce(alike).sum() < math.log(CHANCE) and labels.min() < labels.max():
        suspect(
            f"all rows of one {what} have the same outcome, as where that column is the "
            "outcome or made of it: take one that depends on predictions and features only"
        )


def suspect_index(**columns: Any) -> None:
    """Warn where pandas objects have the same rows in another order."""
    own = {k: v for k, v in columns.items() if type(v).__module__.partition(".")[0] == "pandas"}
    indexed = {name: values.index for name, values in own.items() if hasattr(values, "index")}
    first = next(iter(indexed), "")
    for name, index in indexed.items():
        base = indexed[first]
        if len(index) != len(base) or not index.is_unique or index.equals(base):
            continue
        if base.is_unique and index.isin(base).all():
            suspect(
                f"{first} and {name} have the same index in another order, {base[0]} and "
                f"{index[0]} in row 0: rows are paired by their position; pass "
                f"{name}.loc[{first}.index] to pair them by index, or .to_numpy()"
            )


# ---- mistakes that are no valid input -----------------------------------------------------------


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
