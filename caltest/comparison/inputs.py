"""What calibrators of a comparison are fitted to: probabilities, or logits as they were given."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from caltest import sources, validation
from caltest.calibrators.base import CalibrationSet
from caltest.calibrators.inputs import Inputs
from caltest.errors import invalid, shown
from caltest.predictions import Predictions, as_predictions
from caltest.validation.arrays import AnyArray


def read_inputs(
    model: object,
    data: object,
    *,
    label: str | None,
    features: Sequence[str] | None,
    probs: str | Sequence[str] | None,
    classes: object,
    from_logits: bool,
    renormalize: bool,
) -> tuple[Predictions, CalibrationSet]:
    """Turn the (model, data) of a comparison into predictions and a calibration set.

    Maps such as vector scaling see more in logits than in their softmax, so that logits are kept.
    """
    columns: dict[str, Any] = {"label": label, "features": features, "probs": probs}
    options: dict[str, Any] = {"from_logits": from_logits, "renormalize": renormalize}
    beside = from_logits and model is not None and not sources.is_model(model)
    if isinstance(data, Predictions) and beside:
        validation.check_unused("where data is a Predictions", classes=classes, **columns)
        predictions = data
    else:
        predictions = as_predictions(model, data, classes=classes, **columns, **options)
    inputs = Inputs(predictions.probs, from_logits=False)
    if from_logits:
        values = validation.check_logits(_logits(model, data, classes, columns))
        check_shape_of_logits(values, predictions.probs)
        inputs = Inputs(values, from_logits=True)
    return predictions, CalibrationSet(inputs, predictions.labels, predictions.sample_weight)


def _logits(model: object, data: object, classes: object, columns: dict[str, Any]) -> object:
    """Return what the predictions were made of."""
    if isinstance(data, Predictions):
        return sources.predict(model, data.probs)[0] if sources.is_model(model) else model
    table = model if data is None else data
    if not sources.is_table(table):
        if not sources.is_model(model):
            return model
        return sources.predict(model, validation.check_pair(data)[0])[0]
    if model is None or data is None:
        named = {"label": columns["label"], "probs": columns["probs"], "classes": classes}
        return sources.choose_columns(sources.table_of_frame(table), **named)["probs"]
    if not sources.is_model(model):
        return model
    X = sources.features_of_frame(table, columns["features"], [columns["label"]])
    return sources.predict(model, X)[0]


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
