"""Models asked for probabilities: classifiers, calibrators, functions, results of statsmodels."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from caltest.checks import check_not_classified
from caltest.errors import WIDTH, InvalidInput, invalid, shown


def is_model(model: object) -> bool:
    """Tell a classifier, a calibrator or a function from an array."""
    attributes = ("predict_proba", "predict", "decision_function")
    return callable(model) or any(hasattr(model, name) for name in attributes)


def is_distribution(model: object) -> bool:
    """Tell a distribution from an array: a frozen one of scipy.stats, or a law of forecasts."""
    forms = ("cdf", "quantile"), ("cdf", "ppf", "args")
    return any(all(hasattr(model, name) for name in names) for names in forms)


def is_forecaster(model: object) -> bool:
    """Tell a model whose predictions are distributions of numbers, not probabilities."""
    if isinstance(model, type) or hasattr(model, "predict_proba") or _is_of_statsmodels(model):
        return False
    if isinstance(model, Mapping):
        return bool(model) and all(hasattr(one, "predict") for one in model.values())
    if hasattr(model, "pred_dist") or hasattr(model, "get_prediction"):
        return True
    last = getattr(model, "steps", [(None, model)])[-1][1]
    takes = inspect.signature(last.predict).parameters if hasattr(last, "predict") else ()
    return "return_std" in takes


def predict(model: Any, X: object) -> tuple[object, object]:
    """Ask a fitted classifier, a calibrator or a function for the probabilities of the rows of X.

    Returns
    -------
    probs : array_like, shape (n, m) or (n,)
        What `predict_proba`, or the function, returns; what `predict` of a fitted Logit, Probit,
        MNLogit, OrderedModel or binomial GLM or GEE of statsmodels returns.
    classes : array_like or None
        The names of the columns, where the model has them as `classes_`, or its outcomes as names.

    Raises
    ------
    InvalidInput
        If the model is a class, is not fitted or gives no probabilities. What a model itself
        raises is passed on.
    """
    if isinstance(model, type):
        remedy = f"fit one, {model.__name__}().fit(X, y), on other data"
        raise invalid("model must be a fitted model", f"the class {model.__name__}", remedy)
    shape = getattr(X, "shape", ())
    if 0 in shape[:1]:
        raise invalid("X must have at least one row", f"shape {shape}", "pass the rows to test")
    if _is_of_statsmodels(model):
        return model.predict(X), _outcomes(model.model)
    if not hasattr(model, "predict_proba"):
        if callable(model):
            return check_not_classified(model(X), model), None
        raise _gives_no_probabilities(model)
    try:
        probs, classes = model.predict_proba(X), getattr(model, "classes_", None)
    except (ValueError, AttributeError) as error:
        if type(error).__name__ != "NotFittedError":  # by name, as scikit-learn may be absent
            raise
        remedy = "call its fit(X, y), on other data, first"
        raise invalid("model must be fitted", describe(model), remedy) from error
    if isinstance(probs, list) and np.ndim(probs[0]) == 2:  # an array for each output
        rule, got = "model must predict one label per row", f"{len(probs)} of {describe(model)}"
        remedy = "pass their probabilities (n, labels) as caltest.Predictions.multilabel"
        raise invalid(rule, got, remedy)
    if classes is not None and len(classes) == 1:
        rule = "model must predict two classes or more"
        raise invalid(rule, f"one, {shown(classes[0])}", "fit it on rows of all classes")
    return probs, classes


def describe(model: object) -> str:
    """Name a model in one line: its repr, shortened, the steps of a pipeline, or a function."""
    name, steps = getattr(model, "__name__", None), getattr(model, "steps", None)
    if _is_of_statsmodels(model):
        name = f"statsmodels {type(model.model).__name__}"  # type: ignore[attr-defined]  # it has one
    elif type(model).__name__ == "Pipeline" and isinstance(steps, list):
        words = [step if isinstance(step, str) else type(step).__name__ for _, step in steps]
        name = f"Pipeline({', '.join(words)})"
    if not isinstance(name, str):
        return shown(model)
    return name if len(name) <= WIDTH else name[: WIDTH - 3] + "..."


def _gives_no_probabilities(model: object) -> InvalidInput:
    remedy = "wrap it in sklearn.calibration.CalibratedClassifierCV"
    if not hasattr(model, "predict") and not hasattr(model, "decision_function"):
        remedy = "pass a classifier, a function of X or probabilities"
    elif type(model).__module__.startswith("statsmodels."):
        remedy = "pass the results of Logit, Probit, MNLogit, OrderedModel or a binomial GLM or GEE"
    elif not hasattr(model, "fit"):  # a booster of xgboost or lightgbm
        remedy = "pass a function of X that returns probabilities, as lambda X: model.predict(X)"
    elif "RegressorMixin" in {base.__name__ for base in type(model).__mro__}:
        remedy = "of a regressor pass caltest.Forecasts(y, mean=model.predict(X), scale=sd)"
    return invalid("model must have predict_proba", describe(model), remedy)


# ---- statsmodels --------------------------------------------------------------------------------


def _is_of_statsmodels(model: object) -> bool:
    """Tell the results of a model of statsmodels whose predictions are probabilities."""
    inner = getattr(model, "model", None)
    if not type(inner).__module__.startswith("statsmodels.") or not hasattr(model, "predict"):
        return False
    bases = {base.__name__ for base in type(inner).__mro__}
    if bases & {"BinaryModel", "MultinomialModel", "OrderedModel"}:
        return True
    return type(getattr(inner, "family", None)).__name__ == "Binomial"


def is_ordered(model: object) -> bool:
    """Tell the results of an OrderedModel of statsmodels, whose classes are ordered."""
    bases = {base.__name__ for base in type(getattr(model, "model", None)).__mro__}
    return "OrderedModel" in bases and _is_of_statsmodels(model)


def _outcomes(model: Any) -> object:
    """Return the outcomes in the order of the columns; None for two, of which 1 is the second."""
    if hasattr(model, "_ynames_map"):
        names = [str(name) for _, name in sorted(model._ynames_map.items())]  # noqa: SLF001, no other place
        text = np.asarray(model.data.orig_endog).dtype.kind in "OUST"
        return names if text else [int(float(name)) for name in names]
    labels = getattr(model, "labels", None)
    return None if labels is None else np.asarray(labels).tolist()
