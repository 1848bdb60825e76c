"""Where the predictions of a planned study come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caltest import sources, validation
from caltest.predictions import Predictions

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]

DRAWN = "predictions drawn from the law"
MOST_SHOWN = 6  # parameters of a law


@dataclass(frozen=True)
class Law:
    """The law of the predictions.

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


def as_law(
    model: object,
    data: object = None,
    *,
    label: str | None = None,
    features: object = None,
    probs: object = None,
    classes: object = None,
    from_logits: bool = False,
    renormalize: bool = False,
) -> Law:
    """Turn the (model, data) of `power` into a law of predictions.

    Parameters
    ----------
    model : object
        A law, Predictions, probabilities, a data frame, a fitted model of which `data` are the
        features, a frozen distribution of SciPy, or a function (rng, n) -> probabilities.
    data : object
        Features, (X, y) or a data frame, where `model` is one; a data frame or Predictions where
        `model` is None.
    label, features, probs, classes, from_logits, renormalize : optional
        As for `test_calibration`; labels are not used.

    Returns
    -------
    Law
        The law.

    Raises
    ------
    InvalidInput
        If the pair gives no predictions.
    """
    if model is None:
        model, data = validation.check_given(data, "data"), None
    options: dict[str, Any] = {"from_logits": from_logits, "renormalize": renormalize}
    names = {"label": label, "features": features, "probs": probs}
    if isinstance(model, Law):
        return model
    if isinstance(model, Predictions):
        validation.check_unused("where predictions are given", **names, data=data, classes=classes)
        return _law_of_pool(model.probs, model.classes, model.source, weights=model.sample_weight)
    if sources.is_table(model):
        validation.check_unused("where model holds the probabilities", data=data, features=features)
        return law_of_table(
            sources.table_of_frame(model),
            "data frame",
            label=label,
            probs=probs,
            classes=classes,
            **options,
        )
    if data is None:
        validation.check_unused("where predictions are given", **names)
        if hasattr(model, "rvs") or callable(model):
            return _law_of_function(model, classes, **options)
        validation.check_not_a_model(sources.is_model(model), sources.describe(model))
        rows = validation.check_probs(model, classes=classes, **options)
        return _law_of_pool(rows, _names(classes, rows.shape[1]), "arrays")
    if not sources.is_model(model):
        validation.check_unused("where model is no model; labels are never needed", data=data)
    validation.check_unused("where model gives the probabilities", probs=probs)
    predicted, known = sources.predict(model, _features(data, label, features))
    rows = validation.check_probs(predicted, **options)
    known = known if classes is None else classes
    return _law_of_pool(rows, _names(known, rows.shape[1]), sources.describe(model))


def law_of_table(
    table: sources.Table,
    name: str,
    *,
    label: str | None = None,
    probs: Any = None,
    classes: object = None,
    weight: str | None = None,
    from_logits: bool = False,
    renormalize: bool = False,
) -> Law:
    """Resample the rows of named columns; a column of labels is not needed and not read."""
    taken = [other for other in (label, weight) if other is not None]
    columns = sources.prob_columns(table.names, probs, taken)
    rows = validation.check_probs(
        sources.numbers_of_columns(table, columns),
        from_logits=from_logits,
        renormalize=renormalize,
        classes=columns if len(columns) > 1 else None,
    )
    if classes is None and len(columns) > 1:
        classes = sources.stems(columns, probs)
    weights = None
    if weight is not None:
        given = sources.column_or_values(table, weight, "sample_weight")
        weights = validation.check_weights(given, len(rows))
    return _law_of_pool(rows, _names(classes, rows.shape[1]), name, weights)


def _names(classes: object, m: int) -> object:
    return np.arange(m) if classes is None else validation.check_classes(classes, m)


def _features(data: object, label: str | None, features: Any) -> object:
    if sources.is_table(data):
        return sources.features_of_frame(data, features, [label])
    validation.check_unused("where data is not a data frame", label=label, features=features)
    # The (X, y) of `test_calibration`, whose labels play no part.
    return data[0] if isinstance(data, tuple) and len(data) == 2 else data


def _law_of_pool(rows: Floats, classes: Any, source: str, weights: Floats | None = None) -> Law:
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
        return np.asarray(validation.read_only(rows[drawn]))

    name = f"{source}, {counted(len(rows))} drawn with replacement"
    return Law(name, draw, _template(rows[:1], classes, source), rows, chance)


def _law_of_function(model: Any, classes: object, **options: bool) -> Law:
    values: Callable[[np.random.Generator, int], object]
    if hasattr(model, "rvs"):
        validation.check_frozen(model)
        name = _name_of_distribution(model)

        def values(rng: np.random.Generator, n: int) -> object:
            return model.rvs(size=n, random_state=rng)

    else:
        validation.check_law(model)
        name, values = sources.describe(model), model

    def draw(rng: np.random.Generator, n: int) -> Floats:
        probs = validation.check_probs(values(rng, n), name=DRAWN, **options)
        return validation.check_drawn(probs, n)

    first = draw(np.random.default_rng(0), 2)  # the number of classes
    return Law(name, draw, _template(first[:1], _names(classes, first.shape[1]), name))


def counted(rows: int) -> str:
    """Write a number of rows."""
    return "1 row" if rows == 1 else f"{rows} rows"


def _template(row: Floats, classes: Any, source: str) -> Predictions:
    return Predictions(row, [classes[0]], classes=classes, source=source)


def _name_of_distribution(law: Any) -> str:
    """Name a frozen distribution of SciPy: "Beta(2, 5)", "Dirichlet(1, 1, 1)"."""
    if hasattr(law, "alpha"):
        values = [f"{a:g}" for a in law.alpha]
        shown = values if len(values) <= MOST_SHOWN else [*values[:2], "...", values[-1]]
        return f"Dirichlet({', '.join(shown)})"
    name = getattr(getattr(law, "dist", None), "name", None)
    if not isinstance(name, str):
        return sources.describe(law)
    given = [f"{a:g}" for a in law.args] + [f"{key}={a:g}" for key, a in law.kwds.items()]
    return f"{name.capitalize()}({', '.join(given)})"
