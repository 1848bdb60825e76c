"""Where the predictions of a planned study come from."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from caltest import checks
from caltest.errors import invalid, shown
from caltest.predictions import ModelData, Predictions, models, tables
from caltest.types import Floats

Draw = Callable[[np.random.Generator, int], Floats]

DRAWN = "predictions drawn from the distribution"
MOST_SHOWN = 6  # parameters of a distribution


@dataclass(frozen=True)
class PredictionDistribution:
    """The distribution of the predictions.

    Attributes
    ----------
    name : str
        How it prints.
    draw : callable
        `draw(rng, n)` returns an (n, m) matrix of probabilities, read-only.
    template : Predictions
        One row without weights or groups, whose classes and source every data set has.
    pool : (N, m) array, optional
        The rows that are drawn with replacement.
    weights : (N,) array, optional
        Their probabilities; by default equal.
    """

    name: str
    draw: Draw
    template: Predictions
    pool: Floats | None = None
    weights: Floats | None = None

    @property
    def m(self) -> int:
        """Number of classes."""
        return self.template.m


def as_distribution(given: ModelData) -> PredictionDistribution:
    """Turn the (model, data) of `power` into a distribution of predictions.

    Parameters
    ----------
    given : ModelData
        Its model is such a distribution, Predictions, probabilities, a data frame, a fitted model
        of which the data are the features, a frozen distribution of SciPy, or a function (rng, n)
        -> probabilities; or None, where the data are a data frame or Predictions. The data are
        features, (X, y) or a data frame, where the model is one. Labels are not used.

    Returns
    -------
    PredictionDistribution
        The distribution.

    Raises
    ------
    InvalidInput
        If the pair gives no predictions.
    """
    model, data = given.model, given.data
    if model is None:
        model, data = _check_given(data), None
    if isinstance(model, PredictionDistribution):
        return model
    if isinstance(model, Predictions):
        unused = {**given.columns, "data": data, "classes": given.classes}
        checks.check_unused("where predictions are given", **unused)
        return _of_pool(model.probs, model.classes, model.source, weights=model.sample_weight)
    if tables.is_table(model):
        unused = {"data": data, "features": given.features}
        checks.check_unused("where model holds the probabilities", **unused)
        return distribution_of_table(tables.table_of_frame(model), given, name="data frame")
    if data is None:
        checks.check_unused("where predictions are given", **given.columns)
        return _without_data(model, given)
    if not models.is_model(model):
        checks.check_unused("where model is no model; labels are never needed", data=data)
    return _of_model(model, data, given)


def distribution_of_table(
    table: tables.Table, given: ModelData, *, name: str
) -> PredictionDistribution:
    """Resample the rows of named columns; a column of labels is not needed and not read."""
    weight = given.sample_weight
    taken = [other for other in (given.label, weight) if isinstance(other, str)]
    columns = tables.prob_columns(table.names, given.probs, taken)
    several = len(columns) > 1
    rows = checks.check_probs(
        tables.numbers_of_columns(table, columns),
        classes=columns if several else None,
        **given.reading,
    )
    classes = given.classes
    if classes is None and several:
        classes = tables.stems(columns, given.probs)
    weights = None
    if weight is not None:
        values = tables.column_or_values(table, weight, "sample_weight")
        weights = checks.check_weights(values, len(rows))
    return _of_pool(rows, _names(classes, rows.shape[1]), name, weights)


def _without_data(model: Any, given: ModelData) -> PredictionDistribution:
    """Take a distribution of SciPy, a function or the rows of an array."""
    if hasattr(model, "rvs"):
        _check_frozen(model)

        def values(rng: np.random.Generator, n: int) -> object:
            return model.rvs(size=n, random_state=rng)

        return _of_function(values, _name_of_scipy(model), given)
    if callable(model):
        _check_draws(model)
        return _of_function(model, models.describe(model), given)
    if models.is_model(model):
        got = models.describe(model)
        raise invalid("data must be given where model is a classifier", got, "pass data=X")
    rows = checks.check_probs(model, **given.options)
    return _of_pool(rows, _names(given.classes, rows.shape[1]), "arrays")


def _of_model(model: object, data: object, given: ModelData) -> PredictionDistribution:
    """Take what a fitted model predicts for the rows of its features."""
    checks.check_unused("where model gives the probabilities", probs=given.probs)
    predicted, known = models.predict(model, _features(data, given))
    rows = checks.check_probs(predicted, **given.reading)
    classes = known if given.classes is None else given.classes
    return _of_pool(rows, _names(classes, rows.shape[1]), models.describe(model))


def _features(data: object, given: ModelData) -> object:
    if tables.is_table(data):
        return tables.features_of_frame(data, given.features, [given.label])
    unused = {"label": given.label, "features": given.features}
    checks.check_unused("where data is not a data frame", **unused)
    # The (X, y) of `test_calibration`, whose labels play no part.
    return data[0] if isinstance(data, tuple) and len(data) == 2 else data


def _names(classes: object, m: int) -> object:
    return np.arange(m) if classes is None else checks.check_classes(classes, m)


def _of_pool(
    rows: Floats, classes: Any, source: str, weights: Floats | None = None
) -> PredictionDistribution:
    """Draw rows with replacement."""
    chance = None
    if weights is not None:
        rows, weights = rows[weights > 0], weights[weights > 0]
        chance = weights / weights.sum()

    def draw(rng: np.random.Generator, n: int) -> Floats:
        drawn = (
            rng.integers(len(rows), size=n)
            if chance is None
            else rng.choice(len(rows), size=n, p=chance)
        )
        return np.asarray(checks.read_only(rows[drawn]))

    name = f"{source}, {counted(len(rows))} drawn with replacement"
    template = _template(rows[:1], classes, source)
    return PredictionDistribution(name, draw, template, rows, chance)


def _of_function(
    values: Callable[[np.random.Generator, int], object], name: str, given: ModelData
) -> PredictionDistribution:
    """Draw rows anew by a function (rng, n) -> probabilities."""

    def draw(rng: np.random.Generator, n: int) -> Floats:
        probs = checks.check_probs(values(rng, n), name=DRAWN, **given.reading)
        return _check_drawn(probs, n)

    first = draw(np.random.default_rng(0), 2)  # the number of classes
    classes = _names(given.classes, first.shape[1])
    return PredictionDistribution(name, draw, _template(first[:1], classes, name))


def counted(rows: int) -> str:
    """Write a number of rows."""
    return "1 row" if rows == 1 else f"{rows} rows"


def _template(row: Floats, classes: Any, source: str) -> Predictions:
    return Predictions(row, [classes[0]], classes=classes, source=source)


def _name_of_scipy(distribution: Any) -> str:
    """Name a frozen distribution of SciPy: "Beta(2, 5)", "Dirichlet(1, 1, 1)"."""
    if hasattr(distribution, "alpha"):
        values = [f"{a:g}" for a in distribution.alpha]
        shown_values = values if len(values) <= MOST_SHOWN else [*values[:2], "...", values[-1]]
        return f"Dirichlet({', '.join(shown_values)})"
    name = getattr(getattr(distribution, "dist", None), "name", None)
    if not isinstance(name, str):
        return models.describe(distribution)
    given = [f"{a:g}" for a in distribution.args]
    given += [f"{key}={a:g}" for key, a in distribution.kwds.items()]
    return f"{name.capitalize()}({', '.join(given)})"


# ---- checks -------------------------------------------------------------------------------------


def _check_given(data: object) -> object:
    """Check that something was given."""
    if data is None:
        remedy = "pass predictions, a model with its features, or a distribution of predictions"
        raise invalid("data must be given where model is None", "None", remedy)
    return data


def _check_draws(function: Callable[..., object]) -> None:
    """Check that a function without data can be called with a generator and n."""
    try:
        inspect.signature(function).bind(None, 1)
    except ValueError:  # a function in C that does not tell
        return
    except TypeError as error:
        rule = "model must be a function (rng, n) -> probabilities where there is no data"
        remedy = "pass data=X for a function of features"
        raise invalid(rule, f"a function that raises: {error}", remedy) from error


def _check_frozen(distribution: object) -> None:
    """Check that a distribution of SciPy has its parameters, one number each."""
    kind = type(distribution).__name__
    if kind.endswith("_gen") and getattr(distribution, "numargs", None) != 0:
        rule = "model must be a distribution with its parameters"
        raise invalid(rule, kind, "pass scipy.stats.beta(2, 5), for example")
    keywords = getattr(distribution, "kwds", {})
    given = (*getattr(distribution, "args", ()), *keywords.values())
    if any(np.ndim(value) for value in given):
        rule = "model must be one distribution, with a number for each parameter"
        remedy = "pass a function (rng, n) -> probabilities for a mixture"
        raise invalid(rule, shown(given), remedy)


def _check_drawn(values: Floats, n: int) -> Floats:
    """Check that as many rows were drawn as were asked for."""
    if len(values) != n:
        rule = "a distribution of predictions must draw the n rows that it is asked for"
        remedy = "return probabilities of shape (n, m) or (n,)"
        raise invalid(rule, f"{len(values)} for {n}", remedy)
    return values
