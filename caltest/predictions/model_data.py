"""A model with its data, as a user gives them, read into predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

from caltest.checks import as_array, check_choice, check_not_label, check_pair, check_unused
from caltest.checks.suspicions import suspect_index
from caltest.errors import invalid, rows_named, shown
from caltest.predictions import models, tables
from caltest.predictions.container import Predictions
from caltest.predictions.dependence import Dependence
from caltest.predictions.options import MeasuredOptions, check_names
from caltest.predictions.rows import Rows

FORECASTS = ("mean", "scale", "members", "quantiles")


@dataclass(frozen=True, slots=True, eq=False)
class ModelData:
    """A model with the data that it is evaluated on, as the user gave them: not read or checked.

    Attributes
    ----------
    model : object
        A fitted classifier, a pipeline, a calibrator, a function, probabilities, a Predictions,
        or None where the data hold the probabilities; such a table may stand here alone, as may
        the pair (probabilities, labels).
    data : object
        X, (X, y), labels where model is an array, a data frame with `label`, or a Predictions.
    y : object
        Labels where data is X alone; with it the data become (X, y), and this None.
    label, features, probs : optional
        Columns of the data frame; the features are by default those by whose names the model was
        fitted, else all other columns, and of (X, y) all but weights, clusters and times.
    mean, scale, members, quantiles : optional
        Columns of forecasts, as for `Forecasts.from_frame`.
    classes, from_logits, renormalize, ordinal : optional
        As for `Predictions`.
    by : array_like, str, list of str or True, optional
        Groups of the rows: values, a column, several columns that are crossed, or those that the
        Predictions have.
    sample_weight : array_like or str, optional
        Weights of the rows: values, or a column.
    cluster, time, lag : optional
        Which rows may depend on each other, as for `Dependence`.
    """

    model: object
    data: object = None
    y: Any = None
    label: str | None = None
    features: Any = None
    probs: str | Sequence[str] | None = None
    mean: str | None = None
    scale: object = None
    members: object = None
    quantiles: object = None
    classes: object = None
    from_logits: bool = False
    renormalize: bool = False
    ordinal: bool = False
    by: object = None
    sample_weight: object = None
    cluster: object = None
    time: object = None
    lag: object = None

    def __post_init__(self) -> None:
        if self.y is not None:
            object.__setattr__(self, "data", _paired(self.model, self.data, self.y))
            object.__setattr__(self, "y", None)
        elif self.data is None and isinstance(self.model, tuple | list) and len(self.model) == 2:
            sized = all(hasattr(one, "__len__") and getattr(one, "ndim", 1) for one in self.model)
            if sized and not isinstance(self.model[0], str):
                for name, one in zip(("model", "data"), self.model, strict=True):
                    object.__setattr__(self, name, one)

    @property
    def dependence(self) -> Dependence:
        """Which rows may depend on each other."""
        return Dependence(self.cluster, self.time, self.lag)

    @property
    def columns(self) -> dict[str, Any]:
        """The arguments that name columns of a data frame."""
        return {"label": self.label, "features": self.features, "probs": self.probs}

    @property
    def reading(self) -> dict[str, Any]:
        """The arguments of `Predictions` that say how numbers are read."""
        return {"from_logits": self.from_logits, "renormalize": self.renormalize}

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of `Predictions` that go with an array or a table."""
        return {"classes": self.classes, "ordinal": self.ordinal, **self.reading}

    @property
    def given_options(self) -> dict[str, Any]:
        """The same, None where they are not given."""
        return {name: None if value is False else value for name, value in self.options.items()}

    @property
    def library(self) -> str:
        """The library of the data frame or the series, else polars."""
        return tables.library_of(*self._parts)

    @property
    def _parts(self) -> tuple[object, ...]:
        data = self.data
        return (self.model, *(data if isinstance(data, tuple) and len(data) == 2 else [data]))

    @property
    def forecasts(self) -> dict[str, Any]:
        """The arguments that name columns of forecasts, those that are given."""
        given = {name: getattr(self, name) for name in FORECASTS}
        return {name: one for name, one in given.items() if one is not None}

    def features_in(self, X: object, *taken: object) -> object:
        """Return the columns of a data frame that the model is given.

        Those of `features`, or those by whose names it was fitted; of a model that does not know
        names all but the label, weights, clusters and times, and others that are `taken`.
        """
        names, own = tables.table_of_frame(X).names, getattr(self.model, "feature_names_in_", None)
        features, own = self.features, [] if own is None else [str(name) for name in own]
        if features is None and own and {*own} <= {*names} - {self.label}:
            features = own
        others = (self.label, self.sample_weight, *self.dependence.columns, *taken)
        return tables.features_of_frame(X, features, [v for v in others if isinstance(v, str)])

    def needs(self, name: str) -> bool:
        """Tell whether a column of the data may be one that is named, or has the prefix of some."""
        probs = (*tables.PREFIXES, "probs") if self.probs is None else self.probs
        if isinstance(probs, str | tuple) and name.startswith(probs):
            return True
        if self.probs is None and (name.lower() in tables.USUAL or tables.NUMBERED.fullmatch(name)):
            return True
        named = [self.label, self.sample_weight, *self.dependence.columns]
        for one in (self.probs, self.by, *self.forecasts.values()):
            named += list(one) if isinstance(one, list | tuple) else [one]
        return any(isinstance(one, str) and one == name for one in named)

    def predictions(self) -> Predictions:
        """Read them into predictions of classes, with the groups `by`.

        Returns
        -------
        Predictions
            The predictions.

        Raises
        ------
        InvalidInput
            If the pair makes no predictions, or forecasts.
        """
        return as_classes(self.rows())

    def rows(self) -> Rows:
        """Read them into predictions or forecasts, with the groups `by`.

        Returns
        -------
        Rows
            `Predictions` of classes, or `Forecasts` of numbers.

        Raises
        ------
        InvalidInput
            If the pair makes neither.
        """
        alone = self.data if self.model is None else self.model
        if isinstance(alone, Rows):  # which are read already
            return self._rows()
        with rows_named(tables.place_of(*self._parts)):
            found = self._rows()
        object.__setattr__(found, "library", self.library)
        return found

    def _rows(self) -> Rows:
        model, data = self.model, self.data
        if isinstance(model, Rows):
            check_unused(f"where model is a {type(model).__name__}", data=data)
            model, data = None, model
        if data is None and tables.is_table(model):
            model, data = None, model
        if tables.is_table(data) and (model is None or models.is_model(model) or self.label):
            table = tables.table_of_frame(data)
            suspect_index(data=data, cluster=self.cluster, time=self.time)
            dependence = self.dependence.of_table(table, self.label)
            return dependence.given_to(self._of_table(model, data, table))
        check_unused("where data is not a data frame", "pass one, or leave it out", **self.columns)
        check_unused("where data is not a data frame", "pass it to Forecasts", **self.forecasts)
        given, y = self, data
        if isinstance(data, tuple) and len(data) == 2:
            X, y = data
            if tables.is_table(X):  # of which columns may be named
                features = tables.table_of_frame(X)
                by = tables.groups_of(features, self.by, "by")
                weight = tables.column_or_values(features, self.sample_weight, "sample_weight")
                rows = vars(self.dependence.of_table(features, None))
                given = replace(self, by=by, sample_weight=weight, **rows)
                data = (self.features_in(X), y) if models.is_model(model) else data
        suspect_index(labels=y, by=given.by, cluster=given.cluster, time=given.time)
        by = given.by
        dependence = given.dependence  # which is checked before the model is asked
        result: Rows
        if isinstance(data, Rows):
            result = given._of_rows(model, data)  # noqa: SLF001, its own
        else:
            result = given._of_arrays(model, data)  # noqa: SLF001
        if by is not None and (by is not True or result.groups is None):
            if by is True or isinstance(by, str):
                remedy = "pass one value per row, or a data frame and the name of a column"
                raise invalid("by must be an array of groups", shown(by), remedy)
            result = result.with_groups(by, "by")
        return dependence.given_to(result)

    def _of_rows(self, model: object, data: Rows) -> Rows:
        kind = type(data).__name__
        own_values = {"classes": self.classes, "sample_weight": self.sample_weight}
        check_unused(f"where data is a {kind}", f"pass it to {kind}", **own_values)
        if model is None:
            given = {name: self.given_options[name] for name in self.reading}
            check_unused(f"on a {kind}, which is checked already", **given)
            return data.with_order() if self.ordinal and isinstance(data, Predictions) else data
        if not models.is_model(model) or not isinstance(data, Predictions):
            rule = f"model must be None, a calibrator or a function where data is a {kind}"
            raise invalid(rule, f"type {type(model).__name__}", "pass data=labels with an array")
        probs, labels = models.predict(model, data.probs)[0], data.classes[data.labels]
        own = ("classes", "sample_weight", "groups", "clusters")
        rows: dict[str, Any] = {name: getattr(data, name) for name in own}
        rows |= self.reading | {"ordinal": self.ordinal or data.ordinal}
        source = models.describe(model)
        found = Predictions(probs, labels, source=source, **rows)
        if data.censoring is None:
            return found
        return data._with(probs=found.probs, source=source)  # noqa: SLF001, the rows are the same

    def _of_table(self, model: object, df: object, table: tables.ColumnTable) -> Rows:
        crossed = tables.columns_named(table, self.by)
        check_not_label(self.label, "by", self.by, *crossed)
        by = tables.crossed(table, crossed) if crossed else self.by
        if model is None:
            check_unused("where model is None", features=self.features)
            of_rows: dict[str, Any] = {"groups": by, "sample_weight": self.sample_weight}
            columns: Any = self.forecasts
            if columns:
                from caltest.forecasts import Forecasts

                check_unused("where forecasts are read", probs=self.probs, **self.given_options)
                return Forecasts.from_frame(df, label=self.label, **of_rows, **columns)
            named: dict[str, Any] = {"label": self.label, "probs": self.probs, **self.options}
            return Predictions.from_frame(df, **of_rows, **named)
        check_unused("where model gives the probabilities", probs=self.probs, **self.forecasts)
        suspect_index(data=df, model=model, by=by, sample_weight=self.sample_weight)
        y = table.column(check_choice(self.label, table.names, "label"))
        rows: dict[str, Any] = {
            "groups": tables.column_or_values(table, by, "by"),
            "sample_weight": tables.column_or_values(table, self.sample_weight, "sample_weight"),
        }
        if not models.is_model(model):
            return Predictions(model, y, **rows, **self.options)
        return self._of_model(model, self.features_in(df, by, *crossed), y, rows)

    def _of_model(self, model: object, X: object, y: object, rows: dict[str, Any]) -> Rows:
        by = rows.get("groups", self.by)
        check_pair((X, y), by=by, cluster=self.cluster, time=self.time)
        if not models.is_forecaster(model):
            return Predictions.from_model(model, X, y, **rows, **self.options)
        from caltest.forecasts import Forecasts

        check_unused("where a model forecasts numbers", **self.given_options)
        return Forecasts.from_model(model, X, y, **rows)

    def _of_arrays(self, model: object, data: object) -> Rows:
        if data is None:
            remedy = "pass the labels, (X, y), a data frame or a Predictions"
            raise invalid("data must be given", "None", remedy)
        if model is None:
            rule = "model must be given where data holds no probabilities"
            got = f"None and type {type(data).__name__}"
            raise invalid(rule, got, "pass a model or probabilities")
        if isinstance(self.sample_weight, str):
            rule = "sample_weight must be an array of weights where data is not a data frame"
            raise invalid(rule, shown(self.sample_weight), "pass one value per row")
        weight: dict[str, Any] = {"sample_weight": self.sample_weight}
        if models.is_model(model) or models.is_forecaster(model):
            return self._of_model(model, *check_pair(data), weight)
        if models.is_distribution(model):
            from caltest.forecasts import Forecasts

            return Forecasts(data, distribution=model, **weight)
        if as_array(model, "model").ndim == 0:
            rule = "model must be a classifier, a function or an array of probabilities"
            raise invalid(rule, shown(model), "for a file, use Predictions.read")
        return Predictions(model, data, **weight, **self.options)


def as_classes(found: Rows) -> Predictions:
    """Return predictions of classes, which they must be."""
    if not isinstance(found, Predictions):
        remedy = "pass what a lens leaves of them, caltest.lenses.Interval(0.9)(forecasts)"
        raise invalid("predictions must be of classes", f"{type(found).__name__}", remedy)
    return found


def _paired(model: object, data: object, y: Any) -> object:
    """Return the data of the calls f(model, X, y) and f(probs, y=y)."""
    if isinstance(y, str):
        remedy = f"name a column of a data frame by label={y!r}"
        raise invalid("y must hold the labels", shown(y), remedy)
    if models.is_model(model):
        if data is None or isinstance(data, tuple):
            got = "no X" if data is None else "a pair as data, and y"
            raise invalid("y must come with X", got, "call it as (model, X, y)")
        return data, y
    if data is not None:
        rule = "y must be left out where no model predicts X"
        got = f"type {type(model).__name__} in place of a model, and three arguments"
        raise invalid(rule, got, "call it as (probs, y), or as (model, X, y) with a model first")
    return y


def as_measured(
    probs: object, labels: object, function: Callable[..., object], **rows: Unpack[MeasuredOptions]
) -> Predictions:
    """Turn the arguments of a function of (probs, labels) into predictions.

    Parameters
    ----------
    probs : object
        Probabilities, or a Predictions.
    labels : object
        Labels; None with a Predictions.
    function : callable
        Which function it is.
    **rows
        How the rows are read.

    Returns
    -------
    Predictions
        The predictions.

    Raises
    ------
    InvalidInput
        As `ModelData.predictions`.
    TypeError
        If the function has no such argument.
    """
    check_names(rows, MeasuredOptions, function)
    return ModelData(probs, labels, **rows).predictions()
