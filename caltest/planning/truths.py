"""What is stated of a study: how predictions are distributed, and labels given them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
from scipy.special import ndtr, rel_entr

from caltest import checks
from caltest.errors import NotApplicable, invalid, shown
from caltest.forecasts.container import Forecasts, moved
from caltest.forecasts.laws.base import read
from caltest.lenses.forecasts import USUAL_LEVEL, Interval
from caltest.numerics.softmax import softmax
from caltest.predictions import ModelData, Predictions, Rows, container, model_data, models, tables
from caltest.types import Floats

STEEPEST = 1e6  # slope of log odds
CALIBRATED = "P(Y = k | p) = p_k: the predictions are calibrated"
DRAWS = 20_000
ABOVE_ONE = 1e-12  # by which rounding may take a probability above 1


class LabelDistribution(NamedTuple):
    """The distribution of the labels given the predictions.

    Attributes
    ----------
    text : str
        How it prints.
    of : callable
        Takes predictions p (n, m) and returns P(Y = k | p), (n, m); of forecasts it takes normal
        numbers and the forecasts, and returns the uniform numbers of the outcomes, (n,).
    """

    text: str
    of: Callable[..., Floats]


def _temperature(value: object, _m: int) -> LabelDistribution:
    T = checks.check_positive(value, "temperature")
    text = f"softmax(log p / T), temperature T = {T:g}"
    return LabelDistribution(text, lambda p: softmax(_log(p), 1 / T))


def _log_odds(pair: tuple[object, object], m: int) -> LabelDistribution:
    b = 1.0 if pair[0] is None else checks.check_finite(pair[0], "slope")
    if abs(b) > STEEPEST:
        rule = f"slope must be at most {STEEPEST:g} in size"
        raise invalid(rule, f"{b:g}", "pass a slope near 1")
    given = 0.0 if pair[1] is None else pair[1]
    values = checks.as_numbers(given, "intercept").astype(np.float64)
    wanted = "a finite number" if m == 2 else f"{m} finite numbers, one for each class, or 0"
    remedy = "pass what is added to the log odds" + ("" if m == 2 else " of each class")
    right = values.shape == () if m == 2 else values.shape == (m,) or not values.any()
    if not (right and np.isfinite(values).all()):
        raise invalid(f"intercept must be {wanted}", shown(given), remedy)
    a = np.array([0.0, float(values)]) if m == 2 else np.broadcast_to(values, m).copy()
    shown_a = f"{a[1]:g}" if m == 2 else f"({', '.join(f'{x:g}' for x in a)})"
    what = "a + b logit(p)" if m == 2 else "a + b log p up to a constant"
    text = f"log odds {what}, slope b = {b:g}, intercept a = {shown_a}"
    return LabelDistribution(text, lambda p: softmax(_log(p), b, a))


def _ratio(value: object, m: int) -> LabelDistribution:
    ratio = checks.check_positive(value, "ratio")
    check_two_classes(m, "ratio", "use intercept=, temperature= or truth=")

    def of(p: Floats) -> Floats:
        event = p[:, 1] / ratio
        row = int(np.argmax(event))
        if event[row] > 1 + ABOVE_ONE:
            rule = "ratio must leave the true risks p / ratio at most 1"
            got = f"{event[row]:.4g} for p = {p[row, 1]:.4g}"
            raise invalid(rule, got, "pass a larger ratio, or shift the log odds by intercept=")
        event = np.minimum(event, 1.0)
        return np.column_stack([1 - event, event])

    return LabelDistribution(f"p / r, expected over observed events r = {ratio:g}", of)


def _noise(value: object, _m: int) -> LabelDistribution:
    share = checks.check_share(value, "noise")
    text = f"a share of {share:g} of the labels is drawn uniformly over the classes"
    return LabelDistribution(text, lambda p: (1 - share) * p + share / p.shape[1])


def _function(model: Any, m: int) -> LabelDistribution:
    if not models.is_model(model):
        rule = "truth must be a function of the predictions or a fitted calibrator"
        raise invalid(rule, shown(model), "pass lambda p: ..., or use temperature=, ratio=, ...")
    columns, names = getattr(model, "n_features_in_", m), getattr(model, "feature_names_in_", None)
    if columns != m:
        rule = f"truth must take the probabilities of all {m} classes, as columns"
        remedy = "pass lambda p: truth.predict_proba(...), which chooses columns of p"
        raise invalid(rule, f"a model of {columns}", remedy)

    def of(p: Floats) -> Floats:
        given: Any = p
        if names is not None:  # the columns of a fit to a data frame are known by name
            import polars as pl

            given = pl.DataFrame(p, schema=[*names], orient="row")
        values = checks.check_probs(models.predict(model, given)[0], name="true probabilities")
        if values.shape != p.shape:
            rule = f"truth must return probabilities of shape {p.shape}, as the predictions have"
            raise invalid(rule, f"shape {values.shape}", "return one row per prediction")
        return values

    return LabelDistribution(models.describe(model), of)


FAMILIES: dict[str, Callable[[Any, int], LabelDistribution]] = {
    "temperature": _temperature,
    "slope and intercept": _log_odds,
    "ratio": _ratio,
    "noise": _noise,
    "truth": _function,
}


def truth_of_classes(
    m: int, *, slope: object = None, intercept: object = None, **stated: object
) -> LabelDistribution:
    """Return what is stated of predictions of m classes, as `power` takes it, by default nothing.

    Raises
    ------
    InvalidInput
        If two truths are stated, or one breaks its rule.
    NotApplicable
        If `ratio` is stated for several classes.
    """
    of_forecasts = {name: stated.pop(name, None) for name in ("spread", "shift")}
    checks.check_unused("on predictions of classes", **of_forecasts)
    if slope is not None or intercept is not None:
        stated["slope and intercept"] = slope, intercept
    named = [name for name in FAMILIES if stated.get(name) is not None]
    if len(named) > 1:
        what = "temperature, slope and intercept, ratio, noise or truth"
        rule = f"the truth must be stated once: {what}"
        raise invalid(rule, " and ".join(named), "leave out all but one")
    for name in named:
        return FAMILIES[name](stated[name], m)
    return LabelDistribution(CALIBRATED, lambda p: p)


def truth_of_forecasts(
    *, truth: object = None, spread: object = None, shift: object = None, **of_classes: object
) -> LabelDistribution:
    """Return what is stated of forecasts of numbers, as `power` takes it, by default nothing."""
    checks.check_unused("on forecasts, which take spread= and shift=", **of_classes)
    if truth is None:
        return truth_of_errors(spread, shift)
    checks.check_unused("where truth is given", spread=spread, shift=shift)
    if not callable(truth):
        rule = "truth must be a function of normal numbers and of the forecasts"
        remedy = "pass lambda z, forecasts: z + 0.3, or use spread= and shift="
        raise invalid(rule, shown(truth), remedy)

    def of(z: Floats, rows: Forecasts) -> Floats:
        return moved(read(truth(z, rows), "true normal numbers", z.size))

    return LabelDistribution(models.describe(truth), of)


def truth_of_errors(spread: object, shift: object) -> LabelDistribution:
    """Return the truth of outcomes that scatter more widely around another mean."""
    s = 1.0 if spread is None else checks.check_positive(spread, "spread")
    b = 0.0 if shift is None else checks.check_finite(shift, "shift")
    scatter = f"{s:g} times as widely as" if s != 1.0 else "as"
    text = f"normal scores scatter {scatter} predicted" + f", {b:+g} off" * (b != 0.0)
    text = Forecasts.claim if (s, b) == (1.0, 0.0) else text
    return LabelDistribution(text, lambda z, _rows: moved(z, s, b))


def _log(p: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p))


# ---- how far it is from the predictions ----------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    r"""Size of a deviation from calibration, over the distribution of the predictions.

    Attributes
    ----------
    error : float
        :math:`E[\frac12 \sum_k |P(Y = k \mid p) - p_k|]`, the true calibration error in total
        variation; for two classes the mean absolute error of a risk; of forecasts how much the
        probability that they have below the outcome is moved on average.
    excess : float
        Expected Kullback-Leibler divergence of the predictions from the truth: the log loss that a
        perfect recalibration would save; nan of forecasts.
    predicted, true : float
        For two classes the mean risk as predicted and the true event rate; for more the mean
        confidence and the true accuracy; of forecasts how often intervals of 90 %, of counts those
        that hold 90 % or more, are to hold the outcome, and how often they do.
    draws : int or None
        Predictions drawn to compute it; None where all rows were taken.
    """

    error: float
    excess: float
    predicted: float
    true: float
    draws: int | None


# ---- checks -------------------------------------------------------------------------------------


def check_two_classes(m: int, name: str, remedy: str) -> None:
    """Check that what is about an event has one."""
    if m != 2:
        raise NotApplicable(f"{name} is about the event of two classes, and there are {m}", remedy)


# ---- Where the predictions of a planned study come from -----------------------------------------

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
    drifts: ClassVar[dict[str, object]] = {"temperature": (1.1, 1.2, 1.5, 2.0)}  # that are usual

    def truth_of(self, **stated: object) -> LabelDistribution:
        """Return what is stated, for predictions of these classes."""
        own = self.template.classes.tolist()
        known = np.asarray(getattr(stated.get("truth"), "classes_", own)).tolist()
        if known != own and {*known} == {*own}:
            rule = f"predictions must have the classes of truth, {checks.listing(known)}, in order"
            raise invalid(rule, checks.listing(own), "name the columns by probs= in that order")
        return truth_of_classes(self.m, **stated)

    @property
    def m(self) -> int:
        """Number of classes."""
        return self.template.m

    def sample(self, rng: np.random.Generator, n: int, truth: LabelDistribution) -> Predictions:
        """Return n rows with labels of the truth."""
        p = self.draw(rng, n)
        codes = container.draw_codes(truth.of(p), rng)
        return Predictions.trusted(p, codes, self.template.classes, like=self.template)

    def effect(self, truth: LabelDistribution, rng: np.random.Generator) -> Effect:
        """Compute the size of the deviation, from all rows where rows are resampled."""
        draws = int(np.clip(DRAWS * 20 // self.m, DRAWS, 10 * DRAWS))
        p = self.draw(rng, draws) if self.pool is None else self.pool
        q = truth.of(p)
        top = np.ones(len(p), dtype=np.intp) if self.m == 2 else p.argmax(axis=1)
        rows = np.arange(len(p))

        def mean(values: Floats) -> float:
            return float(np.average(values, weights=self.weights))

        return Effect(
            error=mean(np.abs(p - q).sum(axis=1) / 2),
            excess=mean(np.maximum(rel_entr(q, p).sum(axis=1), 0.0)),
            predicted=mean(p[rows, top]),
            true=mean(q[rows, top]),
            draws=draws if self.pool is None else None,
        )


class ForecastDistribution:
    """Forecasts of which rows are drawn with replacement, by their weights.

    Parameters
    ----------
    forecasts : Forecasts
        The rows; their outcomes play no part, but that of an ensemble is one of its members.
    """

    m = 0
    drifts: ClassVar[dict[str, object]] = {"spread": (1.1, 1.2, 1.5, 2.0)}  # that are usual
    truth_of = staticmethod(truth_of_forecasts)

    def __init__(self, forecasts: Forecasts) -> None:
        weight = forecasts.sample_weight
        self.share = None if weight is None else weight / weight.sum()
        self.pool = forecasts._with(sample_weight=None, groups=None, clusters=None)  # noqa: SLF001
        self.template = self.pool
        self.name = f"{forecasts.source}, {counted(forecasts.n)} drawn with replacement"

    def sample(self, rng: np.random.Generator, n: int, truth: LabelDistribution) -> Forecasts:
        """Return n rows with outcomes of the truth."""
        return self._drawn(rng, n, truth)[0]

    def _drawn(
        self, rng: np.random.Generator, n: int, truth: LabelDistribution
    ) -> tuple[Forecasts, Floats]:
        """Return n rows, and by how much the truth moves their probabilities."""
        rows = self.pool.subset(rng.choice(self.pool.n, size=n, p=self.share))
        z = rng.normal(size=n)
        u = truth.of(z, rows)
        drawn = rows.redrawn_at(rows.law.pit_at(u, rng.spawn(1)[0].random(n)))
        return drawn, abs(u - ndtr(z))

    def effect(self, truth: LabelDistribution, rng: np.random.Generator) -> Effect:
        """Compute how far outcomes are from what is predicted, by simulation."""
        rows, moved_by = self._drawn(rng, DRAWS, truth)
        seen = Interval(USUAL_LEVEL)(rows)
        found = map(float, (moved_by.mean(), seen.probs[:, 1].mean(), seen.labels.mean()))
        error, predicted, true = found
        return Effect(error=error, excess=np.nan, predicted=predicted, true=true, draws=DRAWS)


def forecasts_of(given: ModelData) -> ForecastDistribution | None:
    """Return the forecasts that `power` was given, or a model that makes some; None of classes."""
    both = given.model, given.data
    is_one = any(isinstance(one, Forecasts) for one in both) or models.is_forecaster(given.model)
    return ForecastDistribution(cast("Forecasts", given.rows())) if is_one else None


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
    if isinstance(given.model, PredictionDistribution):
        return given.model
    found = _distribution_of(given)
    ordered = given.ordinal or models.is_ordered(given.model)
    ordered = ordered or any(getattr(x, "ordinal", False) for x in (given.model, given.data))
    found.template.__dict__.update(library=given.library, ordinal=ordered)
    return found


def _distribution_of(given: ModelData) -> PredictionDistribution:
    model, data = given.model, given.data
    if model is None:
        if data is None:
            remedy = "pass predictions, a model with its features, or a distribution of predictions"
            raise invalid("data must be given where model is None", "None", remedy)
        model, data = data, None
    checks.suspect_index(model=model, data=data, sample_weight=given.sample_weight)
    if getattr(model, "censoring", None) is not None:
        reason = "power of censored times needs a law of the times, which a risk is not"
        raise NotApplicable(reason, "simulate times, and test SurvivalPredictions of them")
    if isinstance(model, Rows):
        model = model_data.as_classes(model)
        own = {"classes": given.classes, "sample_weight": given.sample_weight}
        unused = {**given.columns, "data": data, **own}
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
    # What a fitted model predicts for the rows of its features.
    checks.check_unused("where model gives the probabilities", probs=given.probs)
    predicted, known = models.predict(model, _features(data, given))
    rows = checks.check_probs(predicted, **given.reading)
    classes = known if given.classes is None else given.classes
    X = data[0] if isinstance(data, tuple) else data
    weight = _weights(tables.table_of_frame(X) if tables.is_table(X) else None, given, len(rows))
    return _of_pool(rows, _names(classes, rows.shape[1]), models.describe(model), weight)


def distribution_of_table(
    table: tables.ColumnTable, given: ModelData, *, name: str
) -> PredictionDistribution:
    """Resample the rows of named columns; a column of labels is not needed and not read."""
    taken = [other for other in (given.label, given.sample_weight) if isinstance(other, str)]
    columns = tables.prob_columns(table.names, given.probs, taken)
    several = len(columns) > 1
    values, named = tables.numbers_of_columns(table, columns), columns if several else None
    rows = checks.check_probs(values, classes=named, **given.reading)
    classes = given.classes
    if classes is None and several:
        classes = tables.stems(columns, given.probs)
    return _of_pool(rows, _names(classes, rows.shape[1]), name, _weights(table, given, len(rows)))


def _weights(table: tables.ColumnTable | None, given: ModelData, n: int) -> Floats | None:
    """Take the weights of n rows, by the name of a column where these have names."""
    weight = given.sample_weight
    if table is not None:
        weight = tables.column_or_values(table, weight, "sample_weight")
    return None if weight is None else checks.check_weights(weight, n)


def _without_data(model: Any, given: ModelData) -> PredictionDistribution:
    """Take a distribution of SciPy, a function or the rows of an array."""
    if hasattr(model, "rvs") or callable(model):
        checks.check_unused("where predictions are drawn anew", sample_weight=given.sample_weight)
    if hasattr(model, "rvs"):
        # It must have its parameters, one number each.
        kind = type(model).__name__
        if kind.endswith("_gen") and getattr(model, "numargs", None) != 0:
            rule = "model must be a distribution with its parameters"
            raise invalid(rule, kind, "pass scipy.stats.beta(2, 5), for example")
        parameters = (*getattr(model, "args", ()), *getattr(model, "kwds", {}).values())
        if any(np.ndim(value) for value in parameters):
            rule = "model must be one distribution, with a number for each parameter"
            remedy = "pass a function (rng, n) -> probabilities for a mixture"
            raise invalid(rule, shown(parameters), remedy)

        def values(rng: np.random.Generator, n: int) -> object:
            return model.rvs(size=n, random_state=rng)

        return _of_function(values, _name_of_scipy(model), given)
    if callable(model):
        _check_draws(model)
        return _of_function(model, models.describe(model), given)
    if models.is_model(model):
        got = models.describe(model)
        raise invalid("data must be given where model is a classifier", got, "pass data=X")
    rows = checks.check_probs(model, classes=given.classes, **given.reading)
    weight, names = _weights(None, given, len(rows)), _names(given.classes, rows.shape[1])
    return _of_pool(rows, names, "arrays", weight)


def _features(data: object, given: ModelData) -> object:
    if tables.is_table(data):
        return given.features_in(data)
    unused = {"label": given.label, "features": given.features}
    checks.check_unused("where data is not a data frame", **unused)
    # The (X, y) of `test_calibration`, whose labels play no part.
    X = data[0] if isinstance(data, tuple) and len(data) == 2 else data
    return given.features_in(X) if tables.is_table(X) else X


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
        few = len(rows)
        drawn = rng.integers(few, size=n) if chance is None else rng.choice(few, size=n, p=chance)
        return np.asarray(checks.read_only(rows[drawn]))

    name = f"{source}, {counted(len(rows))} drawn with replacement"
    template = Predictions(rows[:1], [classes[0]], classes=classes, source=source)
    return PredictionDistribution(name, draw, template, rows, chance)


def _of_function(
    values: Callable[[np.random.Generator, int], object], name: str, given: ModelData
) -> PredictionDistribution:
    """Draw rows anew by a function (rng, n) -> probabilities."""

    def draw(rng: np.random.Generator, n: int) -> Floats:
        probs = checks.check_probs(values(rng, n), name=DRAWN, **given.reading)
        if len(probs) != n:
            rule = "a distribution of predictions must draw the n rows that it is asked for"
            remedy = "return probabilities of shape (n, m) or (n,)"
            raise invalid(rule, f"{len(probs)} for {n}", remedy)
        return probs

    first = draw(np.random.default_rng(0), 2)  # the number of classes
    classes: Any = _names(given.classes, first.shape[1])
    template = Predictions(first[:1], [classes[0]], classes=classes, source=name)
    return PredictionDistribution(name, draw, template)


def counted(rows: int) -> str:
    """Write a number of rows."""
    return "1 row" if rows == 1 else f"{rows} rows"


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
