"""The (model, data) of `test_calibration`, turned into predictions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from caltest import sources
from caltest.errors import InvalidInput, invalid, shown
from caltest.predictions.container import Predictions
from caltest.validation import as_array, check_choice, check_not_label, check_pair, check_unused

Options = dict[str, Any]

# "pass classes=[...]", in a remedy
ARGUMENT = re.compile(
    r"\b(pass|or) (classes=(?:\[.*?\]|range\(.*?\))|(?:from_logits|renormalize)=True)"
)


def as_predictions(
    model: object,
    data: object = None,
    *,
    label: str | None = None,
    features: str | Sequence[str] | None = None,
    probs: str | Sequence[str] | None = None,
    by: object = None,
    from_logits: bool = False,
    renormalize: bool = False,
    classes: object = None,
) -> Predictions:
    """Turn the (model, data) of `test_calibration` into predictions.

    Parameters
    ----------
    model : object
        A fitted classifier, a pipeline, a calibrator, a function, probabilities, a Predictions,
        or None where the data hold the probabilities; such a table may stand here alone.
    data : object
        (X, y), labels where model is an array, a data frame with `label`, or a Predictions.
    label, features, probs : optional
        Columns of the data frame; the features are by default all other columns.
    by : array_like, str, list of str or True, optional
        Groups of the rows: values, a column, several columns that are crossed, or those that the
        Predictions have.
    from_logits, renormalize, classes : optional
        As for `Predictions`.

    Returns
    -------
    Predictions
        The predictions, with the groups `by`.

    Raises
    ------
    InvalidInput
        If the pair makes no predictions.
    """
    names = {"label": label, "features": features, "probs": probs}
    options = {"from_logits": from_logits, "renormalize": renormalize, "classes": classes}
    if isinstance(model, Predictions):
        check_unused("where model is a Predictions", data=data)
        model, data = None, model
    if data is None and sources.is_table(model):
        model, data = None, model
    if sources.is_table(data):
        return _of_table(model, data, by, names, options)
    check_unused("where data is not a data frame", **names)
    if isinstance(data, Predictions):
        result = _of_predictions(model, data, options)
    else:
        result = _of_arrays(model, data, options)
    return _with_groups(result, by)


def as_measured(probs: object, labels: object = None) -> Predictions:
    """Turn the (probs, labels) of a function that takes no classes= into predictions.

    Parameters
    ----------
    probs : object
        Probabilities, or a Predictions.
    labels : object
        Labels; None with a Predictions.

    Returns
    -------
    Predictions
        The predictions.

    Raises
    ------
    InvalidInput
        As `as_predictions`; a remedy that is an argument of `Predictions` says so.
    """
    try:
        return as_predictions(probs, labels)
    except InvalidInput as error:
        message = ARGUMENT.sub(r"\1 Predictions(probs, labels, \2)", str(error))
        raise InvalidInput(message) from None


def _of_predictions(model: object, data: Predictions, options: Options) -> Predictions:
    check_unused("where data is a Predictions", classes=options["classes"])
    if model is None:
        asked = {name: options[name] or None for name in ("from_logits", "renormalize")}
        check_unused("on a Predictions, which is checked already", **asked)
        return data
    if not sources.is_model(model):
        rule = "model must be None, a calibrator or a function where data is a Predictions"
        raise invalid(rule, f"type {type(model).__name__}", "pass data=labels with an array")
    return Predictions(
        sources.predict(model, data.probs)[0],
        data.classes[data.labels],
        classes=data.classes,
        sample_weight=data.sample_weight,
        groups=data.groups,
        source=sources.describe(model),
        from_logits=options["from_logits"],
        renormalize=options["renormalize"],
    )


def _of_table(
    model: object, df: object, by: object, names: dict[str, Any], options: Options
) -> Predictions:
    label, features = names["label"], names["features"]
    columns = sources.columns_named(sources.table_of_frame(df), by)
    for one in (by, *columns):
        check_not_label(one, label, "by")
    by = sources.crossed(sources.table_of_frame(df), columns) if columns else by
    if model is None:
        check_unused("where model is None", features=features)
        return Predictions.from_frame(df, label=label, probs=names["probs"], groups=by, **options)
    check_unused("where model gives the probabilities", probs=names["probs"])
    table = sources.table_of_frame(df)
    y = table.column(check_choice(label, table.names, "label"))
    groups = sources.column_or_values(table, by, "by")
    if not sources.is_model(model):
        return Predictions(model, y, groups=groups, **options)
    others = [v for v in (label, by, *columns) if isinstance(v, str)]
    X = sources.features_of_frame(df, features, others)
    return Predictions.from_model(model, X, y, groups=groups, **options)


def _of_arrays(model: object, data: object, options: Options) -> Predictions:
    if data is None:
        remedy = "pass the labels, (X, y), a data frame or a Predictions"
        raise invalid("data must be given", "None", remedy)
    if model is None:
        rule = "model must be given where data holds no probabilities"
        raise invalid(rule, f"None and type {type(data).__name__}", "pass a model or probabilities")
    if sources.is_model(model):
        return Predictions.from_model(model, *check_pair(data), **options)
    if as_array(model, "model").ndim == 0:
        rule = "model must be a classifier, a function or an array of probabilities"
        raise invalid(rule, shown(model), "for a file, use Predictions.read")
    return Predictions(model, data, **options)


def _with_groups(predictions: Predictions, by: object) -> Predictions:
    if by is None or (by is True and predictions.groups is not None):
        return predictions
    if by is True or isinstance(by, str):
        remedy = "pass one value per row, or a data frame and the name of a column"
        raise invalid("by must be an array of groups", shown(by), remedy)
    return predictions.with_groups(by)
