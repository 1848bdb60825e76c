"""Checks of what comparisons take: scores, ranks, simulated p-values, models and calibrators."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from caltest.errors import InvalidInput, invalid, shown
from caltest.validation.arrays import AnyArray, Floats, as_array, as_numbers, read_only
from caltest.validation.labels import listing
from caltest.validation.options import check_choice, check_integer


def check_score_table(scores: object, name: str = "scores") -> Floats:
    """Check scores, (N, k): finite, at least two data sets and two methods."""
    values = as_numbers(scores, name).astype(np.float64)
    if values.ndim != 2 or min(values.shape) < 2:
        rule = f"{name} must have a row per data set and a column per method, two of each"
        raise invalid(rule, f"shape {values.shape}", "pass (N, k), or (k,) average ranks")
    bad = ~np.isfinite(values)
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        got = f"{values[row, column]} at row {row}, column {column}"
        raise invalid(f"{name} must be finite", got, "leave out that data set or that method")
    return read_only(values)


def check_average_ranks(ranks: object, name: str = "scores") -> Floats:
    """Check average ranks, (k,): in [1, k] with the mean (k + 1) / 2."""
    values = as_numbers(ranks, name).astype(np.float64)
    k = values.size
    if k < 2 or not np.all((values >= 1) & (values <= k)):
        rule = f"{name} of one dimension must be average ranks, two or more from 1 to their number"
        raise invalid(rule, shown(values.tolist()), "pass a table (data sets, methods) of scores")
    if abs(float(values.mean()) - (k + 1) / 2) > 0.5 / k:
        rule = f"{name} of one dimension must be average ranks, whose mean is {(k + 1) / 2:g}"
        remedy = "pass the ranks of all methods, ties shared"
        raise invalid(rule, f"a mean of {values.mean():.4g}", remedy)
    return read_only(values)


def check_names(names: object, size: int, name: str = "names") -> tuple[str, ...]:
    """Check names: one each, all different."""
    values = [str(value) for value in as_array(names, name).ravel().tolist()]
    distinct = len(set(values))
    if not len(values) == distinct == size:
        got = f"{distinct} distinct of {len(values)} for {size}"
        raise invalid(f"{name} must name each method once", got, "pass one name per column")
    return tuple(values)


def check_control(control: object, names: Sequence[str], name: str = "control") -> int:
    """Check a control method and return its place among the names."""
    if str(control) in names:
        return list(names).index(str(control))
    rule = f"{name} must be one of the methods {listing(names)}"
    raise invalid(rule, shown(control), "pass its name")


def check_simulated_pvalues(values: object, name: str) -> Floats:
    """Check the p-values of a test over simulated data sets: in [0, 1], at least one."""
    array = as_numbers(values, name).astype(np.float64)
    if array.ndim != 1 or array.size == 0:
        rule = f"{name} must be a column of p-values, one for each data set"
        raise invalid(rule, f"shape {array.shape}", "pass one dimension, at least one value")
    bad = ~((array >= 0) & (array <= 1))
    if bad.any():
        row = int(bad.argmax())
        got = f"{array[row]:.8g} at row {row}"
        raise invalid(f"{name} must lie in [0, 1]", got, "leave out data sets without a p-value")
    return read_only(array)


def check_not_mixed(values: Mapping[object, object], name: str) -> bool:
    """Tell a mapping of mappings from one of columns; a mixture or nothing is refused."""
    nested = [isinstance(value, Mapping) for value in values.values()]
    if not nested or any(nested) != all(nested):
        rule = f"{name} must map each test, or each model and each test, to its p-values"
        got = "a mixture of both" if nested else "nothing"
        raise invalid(rule, got, "pass {test: p-values} or {model: {test: p-values}}")
    return all(nested)


def check_columns_of_pvalues(names: Sequence[str], name: str = "pvalues") -> None:
    """Check that a data frame has the p-values and the tests."""
    if not {"pvalue", "test"} <= set(names):
        rule = f"{name} as a data frame must have the columns 'pvalue' and 'test'"
        raise invalid(rule, listing(names), "rename its columns")


def check_known(values: Iterable[object], known: Sequence[str], name: str) -> set[str]:
    """Check that each value is one of the names that are there."""
    given = [values] if isinstance(values, str) else list(values)
    unknown = [value for value in given if str(value) not in known]
    if unknown:
        raise invalid(f"{name} must be among {listing(known)}", shown(unknown[0]), "pass its name")
    return {str(value) for value in given}


def check_range(limits: object, name: str) -> tuple[float, float]:
    """Check two probabilities, the smaller first."""
    values: AnyArray = as_array(limits, name)
    if values.shape == (2,) and values.dtype.kind in "iuf":
        low, high = (float(value) for value in values)
        if 0 <= low < high <= 1:
            return low, high
    rule = f"{name} must be two numbers with 0 <= low < high <= 1"
    raise invalid(rule, shown(limits), "pass (0, 0.2)")


def needs_calibrated(name: str = "errors") -> InvalidInput:
    """Word the error for test errors of models of which nobody said whether they are calibrated."""
    return invalid(
        f"{name} needs calibrated=, since a rejection is an error for calibrated models only",
        "no calibrated",
        "name the calibrated models, or pass [] for none",
    )


def no_grades(name: str = "table") -> InvalidInput:
    """Word the error for a table that is not of a master scale."""
    return invalid(
        f"{name} must be the result of test_master_scale",
        "rows without PD and defaults",
        "use the plot 'pvalues' for other tables",
    )


def check_proper_score(score: object, proper: Collection[str], improper: Collection[str]) -> str:
    """Check the score that is optimised; a calibration error is refused with the reason."""
    word = str(score).lower().replace("_", "-")
    if score not in proper and word in improper and word not in proper:
        rule = f"score must be a proper score, one of {listing(proper)}"
        remedy = (
            "pass one of these: ECE, KS, SKCE and their like are not proper, a constant or useless "
            "map can bring them to 0, and accuracy ignores probabilities; report them, but do not "
            "select by them"
        )
        raise invalid(rule, shown(score), remedy)
    return check_choice(score, proper, "score")


def check_methods(
    values: Sequence[tuple[str, object]], reserved: Collection[str], name: str
) -> None:
    """Check that methods have different names, and none that the comparison itself uses."""
    names = [key for key, _ in values]
    for key in names:
        if key in reserved or names.count(key) > 1:
            got = f"{key!r} twice" if names.count(key) > 1 else f"the name {key!r}"
            rule = f"{name} must have different names, and none of {listing(reserved)}"
            raise invalid(rule, got, "pass a dict of names and calibrators")


def check_takes_probs(from_logits: bool, called: str) -> None:  # noqa: FBT001, a value
    """Check that a calibrator takes probabilities."""
    if from_logits:
        rule = "calibrators must take probabilities where model gives them"
        remedy = "leave it out there, or pass logits with compare_calibrators(from_logits=True)"
        raise invalid(rule, f"from_logits=True of {called!r}", remedy)


def check_inner_folds(inner_cv: object, name: str = "inner_cv") -> None:
    """Check folds inside of training sets, which have no rows in common that pairs could name."""
    if isinstance(inner_cv, int | np.integer) or inner_cv is None:
        if inner_cv is not None:
            check_integer(inner_cv, name, minimum=2)
    elif not hasattr(inner_cv, "split"):
        rule = f"{name} must be a number of folds or a splitter"
        remedy = "pass 5, or a splitter of scikit-learn, which splits each training set"
        raise invalid(rule, shown(inner_cv), remedy)


def check_shape_of_logits(logits: AnyArray, probs: AnyArray, name: str = "logits") -> None:
    """Check that logits have a row for each label and a column for each class."""
    if logits.shape != probs.shape:
        rule = f"{name} must have the rows and classes of data, shape {probs.shape}"
        raise invalid(rule, f"shape {logits.shape}", "take both from the same rows")


def check_enough_rows(n: int, fewest: int) -> None:
    """Check that there are rows enough to hold parts of them out."""
    if n < fewest:
        rule = f"data must have at least {fewest} rows, of which parts are held out"
        raise invalid(rule, f"{n}", "pass more")


def check_held_out_at_most_once(tests: Sequence[AnyArray], n: int) -> None:
    """Check that no row is held out twice."""
    counts = np.bincount(np.concatenate(tests), minlength=n)
    if counts.max() > 1:
        row = int(counts.argmax())
        rule = "cv must hold out each row at most once, so that rows count alike"
        remedy = "pass a splitter such as KFold, or a number of folds"
        raise invalid(rule, f"row {row} held out {counts[row]} times", remedy)


def check_functions(functions: object, reserved: Collection[str], name: str) -> dict[str, Any]:
    """Check functions of the caller by name; the names of columns are taken."""
    if functions is None:
        return {}
    if not isinstance(functions, Mapping) or not all(map(callable, functions.values())):
        rule = f"{name} must be a dict of names and functions of a Predictions"
        raise invalid(rule, shown(functions), "pass {'Kuiper': caltest.measures.kuiper_error}")
    taken = [key for key in functions if str(key) in reserved]
    if taken:
        raise invalid(f"{name} must have new names", shown(taken[0]), "rename it")
    return {str(key): function for key, function in functions.items()}


def check_models(models: object, name: str = "models") -> dict[str, object]:
    """Check models by name, two or more."""
    if not isinstance(models, Mapping) or len(models) < 2:
        rule = f"{name} must be a dict of at least two names and models"
        got = f"{len(models)}" if isinstance(models, Mapping) else f"a {type(models).__name__}"
        raise invalid(rule, got, "pass {'forest': forest, 'boosting': boosting}")
    named = {str(key): model for key, model in models.items()}
    check_names(list(named), len(models), name)
    return named


def check_same_classes(name: str, classes: AnyArray, first: str, others: AnyArray) -> None:
    """Check that two models have the same classes in the same order."""
    if not np.array_equal(classes, others):
        rule = f"models must have the same classes in the same order, as {first!r} has"
        got = f"{listing(classes.tolist())} in {name!r}"
        remedy = f"reorder its columns to {listing(others.tolist())}, or pass classes="
        raise invalid(rule, got, remedy)


def check_same_rows(name: str, labels: AnyArray, first: str, others: AnyArray) -> None:
    """Check that two models were given the same rows with the same labels."""
    remedy = "predict the same rows with every model"
    if len(labels) != len(others):
        rule = f"models must have the same rows, {len(others)} as {first!r} has"
        raise invalid(rule, f"{len(labels)} in {name!r}", remedy)
    if not np.array_equal(labels, others):
        row = int(np.argmax(labels != others))
        rule = f"models must have the same labels as {first!r}"
        raise invalid(rule, f"another at row {row} of {name!r}", remedy)


def check_same_weights(name: str, weights: AnyArray | None, others: AnyArray | None) -> None:
    """Check that two models have the same sample weights, or none."""
    same = (weights is None) == (others is None)
    if not same or not np.array_equal(weights, others):  # type: ignore[arg-type]  # None is equal
        rule = "models must have the same sample weights"
        raise invalid(rule, f"others in {name!r}", "give all of them the same")
