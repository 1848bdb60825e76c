"""The calibrators that are compared, by name, what they are fitted to, and their fits."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from caltest import checks
from caltest.calibrators import FORECAST_MAPS, REGISTRY, Calibrator, forecasts
from caltest.calibrators.base import CalibrationSet
from caltest.calibrators.ensemble import Fold, check_folds, folds, for_classes
from caltest.calibrators.inputs import Inputs
from caltest.calibrators.mixtures import mixed_maps, nested_maps, quick_maps
from caltest.comparison.scores import ProperScore, mean_score, row_scores, ruled_out, units_of
from caltest.errors import InvalidInput, NotApplicable, invalid, shown
from caltest.predictions import ModelData, Predictions, Rows, models, tables
from caltest.results.comparison import REFERENCE, SELECTED
from caltest.types import AnyArray, Floats, Order

BY_KEY: dict[str, Any] = {"isotonic": {"bound": "auto"}}  # a 0 in one row would decide log losses
# Of forecasts, each after those with fewer numbers.
MAPS_OF_FORECASTS: Mapping[str, object] = {
    "variance-scaling": "variance-scaling",
    "offset and scaling": FORECAST_MAPS["variance-scaling"](offset=True),
    "beta-pit": "beta-pit",
    "isotonic-pit": "isotonic-pit",
}
AnySet = CalibrationSet | forecasts.ForecastSet
AnyCalibrator = Calibrator | forecasts.ForecastCalibrator
OF_CLASSES = "calibrator of probabilities"
SHIFT = "shift"  # of the log odds of two classes, recalibration in the large
TIME_LIMIT = 60.0  # seconds for the fits of one calibrator that is compared by default
# Of `AutoCalibrator` per row and class, on one core, within a factor of two; a kernel costs as six.
AUTO_SECONDS, CLASSES_OF_KERNEL = 3e-5, 6
PROBES = 256  # rows on which the maps of two folds are compared
AGREEMENT = 1e-10  # of probabilities: rounding is less, other training labels are more


@dataclass(frozen=True, slots=True)
class FittedMap:
    """A calibrator fitted to training rows, and what it predicts for the others.

    Attributes
    ----------
    predicted : (n, m) array, Law or None
        Predictions of the held-out rows; None where it could not be fitted.
    reason : str
        Why it could not.
    notes : tuple of str
        What the training rows left undefined.
    probe : array or None
        Predictions of rows that all folds share, which say whether two maps agree.
    fitted : Calibrator or ForecastCalibrator or None
        The map.
    """

    predicted: Any
    reason: str = ""
    notes: tuple[str, ...] = ()
    probe: Floats | None = None
    fitted: AnyCalibrator | None = None

    def agrees(self, other: FittedMap) -> bool:
        """Tell whether both maps predict the same for the rows that all folds share."""
        if self.probe is None or other.probe is None:
            return False
        return bool(np.abs(self.probe - other.probe).max() <= AGREEMENT)


def resolve_calibrators(
    calibrators: object, m: int, *, from_logits: bool = False, asked_as: str = "calibrators"
) -> dict[str, AnyCalibrator]:
    """Return the calibrators by name, the uncalibrated model first; errors name the argument."""
    given = (nested_maps(m) if m else MAPS_OF_FORECASTS) if calibrators is None else calibrators
    if isinstance(given, Mapping):
        pairs = [(str(name), value) for name, value in given.items()]
    else:  # one without a name has that of its key
        several: Sequence[Any] = given if isinstance(given, list | tuple) else [given]
        pairs = [(str(getattr(one, "key", one)), one) for one in several]
    every: dict[str, object] = {REFERENCE: REFERENCE}
    reserved = (REFERENCE, SELECTED)
    for name, one in checks.check_not_empty(pairs, asked_as):
        if name == REFERENCE and str(getattr(one, "key", one)) == REFERENCE:
            continue
        if name in {*every, SELECTED}:
            got = f"the name {name!r}" if name in reserved else f"{name!r} twice"
            rule = f"{asked_as} must have different names, and none of {checks.listing(reserved)}"
            raise invalid(rule, got, "pass a dict of names and calibrators")
        every[name] = one
    if not m:
        return {name: _made_of_forecasts(one, asked_as) for name, one in every.items()}
    given_as: dict[str, Any] = {"from_logits": from_logits, "asked_as": asked_as}
    return {name: _made(name, one, m, **given_as) for name, one in every.items()}


def compared_by_default(
    n: int, m: int, n_fits: int, time_limit: float | None, *, ordinal: bool = False
) -> tuple[tuple[str, ...], list[str]]:
    """Return the keys of what is compared where nothing is named, and what is said of the rest.

    Parameters
    ----------
    n, m : int
        Rows of a fit, and classes.
    n_fits : int
        Fits of each calibrator.
    time_limit : float or None
        Seconds that the fits of one calibrator may take, by an estimate that depends on nothing
        else; None for any time.
    ordinal : bool
        Whether the classes are ordered.
    """
    names = _with_order(mixed_maps(n, m), ordinal=ordinal)
    seconds = AUTO_SECONDS * n * (m + CLASSES_OF_KERNEL) * n_fits
    if time_limit is None or seconds <= time_limit:
        return (*names, "auto"), []
    kept = tuple(name for name in names if name != "kernel")
    which = "auto" if kept == names else "kernel and auto"
    size = f"{n_fits} fits to {n} rows of {m} classes take about {seconds:.0f} s"
    return kept, [f"left out: {which}; {size}, the limit is {time_limit:g} s; to have it, name it"]


def _with_order(names: Sequence[str], *, ordinal: bool) -> tuple[str, ...]:
    first, *others = names
    return (first, *(["ordinal"] if ordinal else []), *others)


def simple_maps(n: int, m: int, *, ordinal: bool = False) -> dict[str, object]:
    """Return what may help n rows of m classes, by name, simple maps first.

    Of two classes a shift of the log odds stands before the temperature, which does not hold it.
    """
    keys = _with_order(quick_maps(n, m), ordinal=ordinal and m > 2)
    quick: dict[str, object] = {key: key for key in keys}
    return {SHIFT: REGISTRY["platt"](slope=1.0), **quick} if m == 2 else quick


def set_of(predictions: Any, logits: Floats | None = None) -> AnySet:
    """Return what maps are fitted to, checked probabilities or logits, or forecasts."""
    if not predictions.m:
        return forecasts.ForecastSet(predictions)
    inputs = Inputs(predictions.probs if logits is None else logits, from_logits=logits is not None)
    return CalibrationSet(inputs, predictions.labels, predictions.sample_weight)


def read_inputs(given: ModelData) -> tuple[Any, AnySet]:
    """Read the (model, data) of a comparison into predictions or forecasts and a calibration set.

    Maps such as vector scaling see more in logits than in their softmax, so that logits are kept.
    """
    model, data = given.model, given.data
    beside = given.from_logits and model is not None and not models.is_model(model)
    if isinstance(data, Predictions) and beside:
        unused = {"classes": given.classes, **given.columns}
        checks.check_unused("where data is a Predictions", "pass it to Predictions", **unused)
        predictions: Any = data
    else:
        predictions = given.rows()
    if not given.from_logits:
        return predictions, set_of(predictions)
    values = checks.check_logits(_logits(given))
    if values.shape != predictions.probs.shape:
        rule = f"logits must have the rows and classes of data, shape {predictions.probs.shape}"
        raise invalid(rule, f"shape {values.shape}", "take both from the same rows")
    return predictions, set_of(predictions, values)


def _logits(given: ModelData) -> object:
    """Return what the predictions were made of."""
    model, data = given.model, given.data
    if isinstance(data, Predictions):
        return models.predict(model, data.probs)[0] if models.is_model(model) else model
    table = model if data is None else data
    if tables.is_table(table) and (model is None or data is None):
        columns = tables.table_of_frame(table)
        asked: dict[str, Any] = {"probs": given.probs, "classes": given.classes}
        return tables.choose_columns(columns, label=given.label, **asked)["probs"]
    if not models.is_model(model):
        return model
    X = table if tables.is_table(table) else checks.check_pair(data)[0]
    return models.predict(model, given.features_in(X) if tables.is_table(X) else X)[0]


def _made(name: str, value: object, m: int, *, from_logits: bool, asked_as: str) -> Calibrator:
    """Make a calibrator that is not fitted; one of two classes is put into `OneVsRest`."""
    if isinstance(value, str):
        takes = {key: inspect.signature(kind).parameters for key, kind in REGISTRY.items()}
        alone = [key for key in REGISTRY if "calibrator" not in takes[key]]  # need no other one
        key = checks.check_choice(value, alone, asked_as)
        value = REGISTRY[key](**BY_KEY.get(key, {}))
    kind = asked_as, "pass one, such as caltest.calibrators.TemperatureScaling()", OF_CLASSES
    calibrator: Calibrator = clone(checks.check_instance(value, Calibrator, *kind))
    if calibrator.from_logits and not from_logits:
        rule = f"{asked_as} must take probabilities where model gives them"
        remedy = "leave it out there, or pass logits with compare_calibrators(from_logits=True)"
        raise invalid(rule, f"from_logits=True of {name!r}", remedy)
    calibrator = for_classes(calibrator, m)
    calibrator.set_params(from_logits=from_logits)
    return calibrator


def _made_of_forecasts(value: object, asked_as: str) -> forecasts.ForecastCalibrator:
    if isinstance(value, str):
        value = FORECAST_MAPS[checks.check_choice(value, FORECAST_MAPS, asked_as)]()
    kind, remedy = forecasts.ForecastCalibrator, "pass one, such as caltest.calibrators.BetaPIT()"
    asked = asked_as, remedy, "calibrator of forecasts"
    made: forecasts.ForecastCalibrator = clone(checks.check_instance(value, kind, *asked))
    return made


def split(predictions: Any, cv: object, seed: int, *, by_label: bool) -> list[Fold]:
    """Split rows into training and held-out rows; a splitter is given the groups, if any."""
    is_grouped = hasattr(cv, "split") and predictions.groups is not None
    options = {"groups": predictions.groups} if is_grouped else {}
    cv = check_folds(cv)
    if isinstance(cv, int) and not (by_label and predictions.m and not predictions.has_dependence):
        cv = _random_folds(predictions, cv, seed)
    weight, happened = predictions.sample_weight, predictions.happened
    values = happened if predictions.label_probs is None else predictions.label_probs
    return folds(values, happened, weight, cv, seed, **options)


def _random_folds(predictions: Rows, k: int, seed: int) -> list[Fold]:
    """Deal rows at random, whatever their labels; those of a cluster are in one fold.

    Folds in which each class has its share leave the labels of a held-out part less room than its
    predictions give them: the exact test of the part would reject far too rarely.
    """
    weight = predictions.weights
    kept, units = np.flatnonzero(weight > 0), units_of(predictions, weight)
    if not units.any():
        units = np.arange(kept.size)  # one cluster is no two folds
    count = int(units.max()) + 1
    # As the folds of scikit-learn's KFold, which takes long to load.
    order = np.random.RandomState(seed).permutation(count)
    held = (np.isin(units, part) for part in np.array_split(order, min(k, count)))
    return [(kept[~test], kept[test]) for test in held]


def fit_map(calibrator: AnyCalibrator, data: AnySet, classes: AnyArray, fold: Fold) -> FittedMap:
    """Fit a clone to the training rows of a fold and predict the others."""
    train, test = fold
    shared = np.unique(np.linspace(0, data.n - 1, min(data.n, PROBES)).astype(np.intp))
    try:
        fitted: Any = clone(calibrator).fit_set(data.rows(train), classes)
        predicted = fitted.calibrate(data.rows(test).inputs)
        probe = fitted.probe(data.rows(shared).inputs)
    except (NotApplicable, InvalidInput) as error:
        return FittedMap(None, reason=str(error))
    return FittedMap(predicted, notes=tuple(fitted.notes()), probe=probe, fitted=fitted)


def inner_score(
    calibrator: AnyCalibrator, part: Any, data: AnySet, pairs: Sequence[Fold], score: ProperScore
) -> tuple[float, int]:
    """Return the score of held-out rows inside of training rows; infinite where a fit fails.

    With it of forecasts the number of outcomes that the map rules out.
    """
    weight = part.weights
    values, weights, ruled = [], [], 0
    for fold in pairs:
        fitted = fit_map(calibrator, data, part.classes, fold)
        if fitted.predicted is None:
            return float("inf"), 0
        seen = to_score(part, fold[1], fitted.predicted)
        own = {score.title: score.of_rows(seen)} if part.m else row_scores(seen, score)
        values.append(own[score.title])
        weights.append(weight[fold[1]])
        ruled += 0 if part.m else ruled_out(own, weights[-1])
    return mean_score(np.concatenate(values), np.concatenate(weights)), ruled


def to_score(predictions: Rows, rows: Order, predicted: Any) -> Any:
    """Return them as they are scored: of an ensemble the quantiles that a map may make of it.

    Between few members these have a smaller CRPS, whatever the map.
    """
    return predictions.subset(rows).with_predicted(getattr(predicted, "ranked", predicted))


def check_functions(functions: object, reserved: Collection[str]) -> dict[str, Any]:
    """Check functions of the caller by name; the names of columns are taken."""
    if functions is None:
        return {}
    if not isinstance(functions, Mapping) or not all(map(callable, functions.values())):
        rule = "measures must be a dict of names and functions of a Predictions"
        raise invalid(rule, shown(functions), "pass {'Kuiper': caltest.measures.kuiper_error}")
    taken = [key for key in functions if str(key) in reserved]
    if taken:
        raise invalid("measures must have new names", shown(taken[0]), "rename it")
    return {str(key): function for key, function in functions.items()}
