"""What calibrators of a comparison are fitted to: probabilities, or logits as they were given."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from caltest import validation
from caltest.calibrators.base import CalibrationSet
from caltest.comparison.maps import set_of
from caltest.errors import invalid, shown
from caltest.predictions import ModelData, Predictions, models, sources
from caltest.validation.arrays import AnyArray


def read_inputs(given: ModelData) -> tuple[Predictions, CalibrationSet]:
    """Read the (model, data) of a comparison into predictions and a calibration set.

    Maps such as vector scaling see more in logits than in their softmax, so that logits are kept.
    """
    model, data = given.model, given.data
    beside = given.from_logits and model is not None and not models.is_model(model)
    if isinstance(data, Predictions) and beside:
        unused = {"classes": given.classes, **given.columns}
        validation.check_unused("where data is a Predictions", **unused)
        predictions = data
    else:
        predictions = given.predictions()
    if not given.from_logits:
        return predictions, set_of(predictions)
    values = validation.check_logits(_logits(given))
    check_shape_of_logits(values, predictions.probs)
    return predictions, set_of(predictions, values)


def _logits(given: ModelData) -> object:
    """Return what the predictions were made of."""
    model, data = given.model, given.data
    if isinstance(data, Predictions):
        return models.predict(model, data.probs)[0] if models.is_model(model) else model
    table = model if data is None else data
    if not sources.is_table(table):
        if not models.is_model(model):
            return model
        return models.predict(model, validation.check_pair(data)[0])[0]
    if model is None or data is None:
        columns = sources.table_of_frame(table)
        named = sources.choose_columns(
            columns, label=given.label, probs=given.probs, classes=given.classes
        )
        return named["probs"]
    if not models.is_model(model):
        return model
    X = sources.features_of_frame(table, given.features, [given.label])
    return models.predict(model, X)[0]


def check_shape_of_logits(logits: AnyArray, probs: AnyArray, name: str = "logits") -> None:
    """Check that logits have a row for each label and a column for each class."""
    if logits.shape != probs.shape:
        rule = f"{name} must have the rows and classes of data, shape {probs.shape}"
        raise invalid(rule, f"shape {logits.shape}", "take both from the same rows")


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
