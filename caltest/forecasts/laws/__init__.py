"""Laws: the predictive distributions of n rows, whatever they were given as, models among them."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from caltest.checks import as_numbers
from caltest.errors import DegenerateDataWarning, InvalidInput, invalid, shown
from caltest.forecasts.laws.base import Law
from caltest.forecasts.laws.families import Cdf, Frozen, Mixture, NormalLaw  # noqa: F401, laws stand here
from caltest.forecasts.laws.numbers import Histogram, Members, Quantiles
from caltest.predictions.models import describe

# The penalty of QuantileRegressor has the name alpha too.
LEVEL_OPTIONS = ("quantile", "quantile_alpha", "alpha")


def law_of(*, n: int | None = None, **given: Any) -> Law:
    """Make the law of what a forecast was given as: one family of arguments, others None.

    Parameters
    ----------
    n : int, optional
        Number of rows, for parameters that are numbers, and for `cdf`.
    mean, scale : array_like, shape (n,), or float
        Means and standard deviations of Gaussians.
    distribution : frozen distribution of scipy.stats, or Law
        Parameters are numbers or (n,) arrays.
    members : array_like, shape (n, M)
        Ensembles.
    quantiles, levels : array_like, shapes (n, q) and (q,)
        Quantiles and their levels.
    edges, probs : array_like, shapes (b + 1,) or (n, b + 1), and (n, b)
        Histograms.
    cdf, quantile : callable
        Of outcomes (n,) to probabilities (n,), and back; the second is optional.

    Returns
    -------
    Law
        The law.

    Raises
    ------
    InvalidInput
        If none or several families are given, a part is missing, or a value is invalid.
    """
    families: dict[tuple[str, ...], Callable[..., Law]] = {
        ("mean", "scale"): lambda mean, scale: NormalLaw(mean, scale, n),
        ("distribution",): lambda distribution: _of_distribution(distribution, n),
        ("members",): Members,
        ("levels", "quantiles"): Quantiles,
        ("edges", "probs"): Histogram,
        ("cdf", "quantile"): lambda cdf, quantile: Cdf(cdf, n, quantile),
    }
    found = [names for names in families if any(given.get(name) is not None for name in names)]
    if len(found) != 1:
        got = " and ".join(f"{names[0]}=" for names in found) or "nothing"
        remedy = f"pass one of {', '.join(' and '.join(names) for names in families)}"
        raise invalid("a forecast must be given in one form", got, remedy)
    [names] = found
    for name in names:
        if given.get(name) is None and name != "quantile":
            there = [f"{one}=" for one in names if given.get(one) is not None]
            got = f"{' and '.join(there)} without {name}="
            raise invalid("a forecast must be given whole", got, f"pass {name}= too")
    law = families[names](*map(given.get, names))
    if n is not None and law.n != n:
        rule, remedy = "a forecast must have a row for each outcome", "take both from the same rows"
        raise invalid(rule, f"{law.n} for {n} rows", remedy)
    return law


def _of_distribution(given: object, n: int | None) -> Law:
    law = given if isinstance(given, Law) else Frozen(given, n)
    is_normal = isinstance(law, Frozen) and law.title in ("norm", "Normal")
    return NormalLaw(law.mean, law.sd) if is_normal else law


# ---- of models -----------------------------------------------------------------------------------


def law_of_model(model: Any, X: object) -> tuple[Law, str]:
    """Ask a fitted model for the predictive distributions of the rows of X.

    Parameters
    ----------
    model : object
        An estimator whose `predict` takes `return_std=True`, a pipeline or search that ends in one;
        fitted quantile regressors, as a mapping of levels to them or as a list of estimators that
        have their levels as an option; results of statsmodels (OLS, WLS, GLS, GLM, models of
        counts); a model with `pred_dist`, as those of ngboost; or a function of X that returns a
        law, a frozen distribution, or means and standard deviations.
    X : array_like, shape (n, d)
        Rows to predict.

    Returns
    -------
    law : Law
        The distributions: Student's t of linear models of statsmodels, the family of a GLM at its
        estimated dispersion, Gaussians of means with standard deviations. Those of a Gaussian
        process have the noise of its kernel, not that of its option `alpha`. Quantiles of single
        models that cross are sorted in each row, with a warning: the sorted ones are no farther
        from the true quantiles (Chernozhukov, Fernandez-Val, Galichon 2010, Econometrica 78).
    source : str
        The model in words.

    Raises
    ------
    InvalidInput
        If the model predicts no distribution, is not fitted, or predicts an invalid one.
    """
    if isinstance(model, type):
        remedy = f"fit one, {model.__name__}(...).fit(X, y), on other data"
        raise invalid("model must be a fitted model", f"the class {model.__name__}", remedy)
    source, last = describe(model), _last(model)
    try:
        if isinstance(model, Mapping | list | tuple):
            return _of_quantile_models(model, X)
        if hasattr(model, "pred_dist"):
            return _of_answer(model.pred_dist(X)), source
        if type(getattr(model, "model", None)).__module__.startswith("statsmodels."):
            return _of_statsmodels(model, X), f"statsmodels {type(model.model).__name__}"
        if "return_std" in _options(getattr(last, "predict", None)):
            return NormalLaw(*model.predict(X, return_std=True)), source
        if callable(model) and not hasattr(model, "predict"):
            return _of_answer(model(X)), source
    except ValueError as error:
        if type(error).__name__ != "NotFittedError":  # by name, as scikit-learn may be absent
            raise
        raise invalid("model must be fitted", source, "call its fit(X, y) first") from error
    raise _gives_no_distribution(model)


def _last(model: Any) -> Any:
    """Return the estimator that predicts, in a search or a pipeline."""
    model = getattr(model, "best_estimator_", model)
    steps = getattr(model, "steps", None)
    return _last(steps[-1][1]) if isinstance(steps, list) and steps else model


def _options(function: Any) -> list[str]:
    return list(inspect.signature(function).parameters) if callable(function) else []


def _of_answer(answer: Any) -> Law:
    """Read what a model or a function returns: a law, a distribution, or means and scales."""
    inner = getattr(answer, "dist", None)
    if isinstance(answer, Law) or hasattr(answer, "kwds") or hasattr(answer, "icdf"):
        return law_of(distribution=answer)
    if hasattr(inner, "kwds"):  # ngboost holds what SciPy has
        return law_of(distribution=inner)
    given = getattr(answer, "params", answer)
    if isinstance(given, Mapping) and {"loc", "scale"} <= set(given):
        return NormalLaw(given["loc"], given["scale"])
    if isinstance(given, tuple) and len(given) == 2:
        return NormalLaw(*given)
    rule = "model must return distributions, or means and standard deviations"
    raise invalid(rule, shown(answer), "return scipy.stats.norm(mean, scale), for example")


def _of_quantile_models(models: Any, X: object) -> tuple[Law, str]:
    levels = list(models) if isinstance(models, Mapping) else [_level(one) for one in models]
    fitted = list(models.values()) if isinstance(models, Mapping) else list(models)
    order = np.argsort(as_numbers(levels, "levels"), kind="stable")
    if not fitted:
        raise invalid("model must hold quantile models", "none", "pass one for each level")
    values = np.column_stack([np.asarray(fitted[k].predict(X), np.float64) for k in order])
    crossing = int((np.diff(values, axis=1) < 0).any(axis=1).sum())
    if crossing:
        text = f"the models' quantiles cross in {crossing} of {len(values)} rows and are sorted"
        warnings.warn(text, DegenerateDataWarning, stacklevel=4)
    source = f"{len(levels)} quantile models, {describe(fitted[order[0]])}"
    return Quantiles(np.asarray(levels, np.float64)[order], np.sort(values, axis=1)), source


def _level(model: Any) -> float:
    last = _last(model)
    options = last.get_params() if hasattr(last, "get_params") else {}
    named = (options.get(name) for name in LEVEL_OPTIONS)
    found = next((level for level in named if level is not None), None)
    loss = str(options.get("loss", options.get("objective", "quantile")))
    if found is None or "quantile" not in loss:
        rule = "models in a list must be of quantiles, and name their level"
        raise invalid(rule, describe(model), "pass {0.05: model, 0.5: model, 0.95: model}")
    return float(found)


def _of_statsmodels(results: Any, X: object) -> Law:
    from scipy import stats

    family: Any = getattr(results.model, "family", None)
    if hasattr(family, "get_distribution"):
        mean = np.asarray(results.predict(X), np.float64)
        return law_of(distribution=family.get_distribution(mean, results.scale))
    if hasattr(results, "get_distribution"):
        return law_of(distribution=results.get_distribution(X))
    if family is None and hasattr(results, "get_prediction"):
        found = results.get_prediction(X)
        if getattr(found, "se_obs", None) is not None:
            mean, scale = np.asarray(found.predicted_mean), np.asarray(found.se_obs)
            if results.use_t:
                return Frozen(stats.t(found.df, loc=mean, scale=scale))
            return NormalLaw(mean, scale)
    raise _gives_no_distribution(results)


def _gives_no_distribution(model: Any) -> InvalidInput:
    remedy = (
        "pass mean= and scale=, the standard deviation of its errors on other rows, or the "
        "quantile models of several levels as a list, or quantiles= of conformal intervals"
    )
    if hasattr(model, "predict_proba"):
        remedy = "pass probabilities of classes to caltest.test_calibration itself"
    return invalid("model must predict distributions, not points", describe(model), remedy)
