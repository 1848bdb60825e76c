"""Checks of what calibrators are fitted to, and of their options."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from caltest.errors import invalid, shown
from caltest.validation.arrays import AnyArray, Floats, as_array, missing
from caltest.validation.labels import label_values
from caltest.validation.options import (
    check_choice,
    check_integer,
    check_not_empty,
    check_rows,
    check_seed,
)

Kind = TypeVar("Kind")


def check_labels_given(y: object, name: str = "y") -> AnyArray:
    """Check that there are labels; a column of them becomes one dimension, with a warning."""
    if y is None:
        # The last words are those that scikit-learn's own checks look for.
        remedy = "pass the labels: a calibrator requires y to be passed, but the target y is None"
        raise invalid(f"{name} must be given", "None", remedy)
    values = as_array(y, name)
    if values.dtype.kind == "c":
        remedy = "pass integers or strings: Complex data not supported"  # scikit-learn's words
        raise invalid(f"{name} must be labels", f"dtype {values.dtype}", remedy)
    values = label_values(values, name)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int(np.argwhere(~np.isfinite(values))[0, 0])
        got = f"{values[row].max():.8g} at row {row}"
        if np.isnan(values[row]).any():
            raise missing(name, got)
        raise invalid(f"{name} must be finite", got, "drop or mend that row")
    if values.ndim == 2 and values.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        # The first words are those that scikit-learn's own checks look for.
        text = f"A column-vector {name} was passed when a 1d array was expected; pass .ravel()"
        warnings.warn(text, DataConversionWarning, stacklevel=4)
        return values.ravel()
    return values


def check_columns(values: AnyArray, name: str) -> None:
    """Check that there is one dimension, or a column for each of at least two classes."""
    if values.ndim == 2 and values.shape[1] < 2:
        # In the words that scikit-learn's own checks look for.
        k = values.shape[1]
        got = f"{k} feature(s) (shape={values.shape}) while a minimum of 2 is required"
        remedy = "pass that of class 1 of two as one dimension, .ravel()"
        raise invalid(f"{name} must have one column per class", got, remedy)


def check_columns_of_fit(values: AnyArray, m: int, name: str) -> None:
    """Check that one dimension stands for two classes where a map is applied."""
    if values.ndim == 1 and m != 2:
        rule = f"{name} must have {m} columns, as in fit"
        raise invalid(rule, f"shape {values.shape}", "Reshape your data: one row per prediction")


def check_not_continuous(labels: AnyArray, name: str = "y") -> None:
    """Check that labels are no measurements."""
    if labels.dtype.kind == "f" and labels.ndim == 1:
        bad = np.isfinite(labels) & (labels != np.floor(labels))
        if bad.any():
            row = int(np.argmax(bad))
            rule = f"{name} must be labels of classes, not continuous numbers"
            raise invalid(rule, f"{labels[row]:.8g} at row {row}", "pass integers or strings")


def check_binary(m: int, calibrator: str) -> None:
    """Check that a calibrator of two classes has two."""
    if m != 2:
        # The last words are those that scikit-learn's own checks look for.
        remedy = f"pass OneVsRest({calibrator}()): Only binary classification is supported."
        raise invalid(f"{calibrator} must have two classes", f"{m} columns of probs", remedy)


def check_calibrator(calibrator: object, kind: type[Kind], name: str = "calibrator") -> Kind:
    """Check that `calibrator` is an object of the class `kind`."""
    if isinstance(calibrator, kind):
        return calibrator
    rule = f"{name} must be a calibrator"
    if isinstance(calibrator, type):
        raise invalid(rule, f"the class {calibrator.__name__}", "add parentheses")
    remedy = "pass one, such as caltest.calibrators.Identity()"
    raise invalid(rule, f"a {type(calibrator).__name__}", remedy)


def check_folds(cv: object) -> Any:
    """Check a number of folds, an object with a method `split`, or pairs of indices, as a list."""
    if hasattr(cv, "split") and not isinstance(cv, str | type):
        return cv
    if isinstance(cv, Iterable) and not isinstance(cv, str):
        pairs = list(cv)
        if pairs and all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
            return pairs
        rule = "cv must give the pair (training rows, held-out rows) of each fold"
        raise invalid(rule, shown(pairs), "pass a number of folds, or a splitter of scikit-learn")
    return check_integer(cv, "cv", 2)


def check_fold(pair: Any, weight: Floats) -> tuple[AnyArray, AnyArray]:
    """Check the rows of a fold and leave out those of weight 0; some must remain on both sides."""
    rows = []
    for values, side in zip(pair, ("training", "held-out"), strict=True):
        name = f"{side} rows of cv"
        checked = check_rows(values, len(weight), name)
        kept = checked[weight[checked] > 0]
        if not len(kept):
            raise invalid(f"{name} must not all have weight 0", "such a fold", "pass other folds")
        rows.append(kept)
    return rows[0], rows[1]


def check_random_state(random_state: object) -> int | None:
    """Check a seed, or None for no shuffling."""
    return None if random_state is None else check_seed(random_state, "random_state") % 2**32


def check_param_grid(grid: object, options: Collection[str]) -> list[dict[str, list[Any]]]:
    """Check a grid of options: a dict of values to compare, or a list of dicts; None is one."""
    grids = [{}] if grid is None else grid
    grids = [grids] if isinstance(grids, Mapping) else grids
    rule = "param_grid must be a dict of options and their values, or a list of such dicts"
    remedy = "pass {'lam': [0.01, 0.1]}, say"
    if not isinstance(grids, list | tuple) or not grids:
        raise invalid(rule, shown(grid), remedy)
    if not all(isinstance(part, Mapping) for part in grids):
        raise invalid(rule, shown(grid), remedy)
    return [_checked_grid(part, options) for part in grids]


def _checked_grid(grid: Mapping[Any, Any], options: Collection[str]) -> dict[str, list[Any]]:
    checked = {}
    for name, values in grid.items():
        check_choice(name, options, "a name in param_grid")
        array = isinstance(values, np.ndarray) and values.ndim == 1
        if not (array or isinstance(values, list | tuple)) or not len(values):
            rule = f"param_grid[{name!r}] must be a list of at least one value"
            raise invalid(rule, shown(values), "put it into brackets")
        checked[name] = values.tolist() if array else list(values)
    return checked


def check_response(estimator: Any, *, from_logits: bool) -> str:
    """Find the method of a classifier that predicts probabilities, or logits where they are due."""
    if not from_logits and hasattr(estimator, "predict_proba"):
        return "predict_proba"
    if hasattr(estimator, "decision_function"):
        return "decision_function"
    got = f"a {type(estimator).__name__}"
    if from_logits:
        rule = "estimator must have decision_function where the calibrator has from_logits=True"
        raise invalid(rule, got, "pass a calibrator with from_logits=False")
    rule = "estimator must have predict_proba or decision_function"
    raise invalid(rule, got, "pass a classifier of scikit-learn")


def check_column_per_class(scores: AnyArray, m: int, method: str) -> None:
    """Check that a classifier predicts one column per class."""
    if scores.ndim != 2 or scores.shape[1] != m:
        rule = f"{method} of the estimator must give one column per class"
        got = f"shape {scores.shape} for {m} classes"
        raise invalid(rule, got, "pass decision_function_shape='ovr' to an SVC")


def check_several_classes(classes: AnyArray) -> None:
    """Check that a classifier has something to tell apart."""
    if len(classes) < 2:
        got = f"one class, {classes.tolist()[0]!r}" if len(classes) else "no labels"
        raise invalid("y must have at least two classes", got, "pass rows of another class too")


def check_held_out_once(tests: list[AnyArray], kept: AnyArray) -> AnyArray:
    """Check that folds hold out each of the rows once, and return the rows in that order."""
    rows = np.concatenate(tests)
    if not np.array_equal(np.sort(rows), kept):
        rule = "cv must hold out each row once where ensemble=False"
        got = f"{len(rows)} held-out rows, {len(np.unique(rows))} of them different, of {len(kept)}"
        raise invalid(rule, got, "pass ensemble=True, or a splitter such as KFold")
    return rows


def check_flag(value: object, name: str) -> bool:
    """Check that an option is True or False."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise invalid(f"{name} must be True or False", shown(value), "pass one of the two")


def check_penalties(value: object, name: str) -> list[float | str]:
    """Check a penalty, a number of at least 0 or "auto", or a sequence of them, as a list."""
    several = isinstance(value, list | tuple | np.ndarray)
    values: list[Any] = list(value) if several else [value]  # type: ignore[call-overload]
    for item in check_not_empty(values, name):
        number = isinstance(item, int | float | np.integer | np.floating)
        if item != "auto" and not (number and not isinstance(item, bool) and 0 <= item < np.inf):
            rule = f'{name} must be "auto", a number of at least 0, or a sequence of them'
            raise invalid(rule, shown(item), "pass 0 for no penalty")
    return [item if isinstance(item, str) else float(item) for item in values]


def check_whole_matrix(diagonal: str, off_diagonal: str) -> None:
    """Check that a matrix relative to its last row is fitted as a whole."""
    if (diagonal, off_diagonal) != ("free", "free"):
        got = f"diagonal={diagonal!r} and off_diagonal={off_diagonal!r}"
        rule = 'reference_class must go with diagonal="free" and off_diagonal="free"'
        raise invalid(rule, got, "leave one of them out")
