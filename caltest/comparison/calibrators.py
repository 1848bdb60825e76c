"""Calibrators compared by nested cross-validation on a proper score."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Unpack

import numpy as np
from sklearn.base import clone

from caltest import checks
from caltest.comparison import maps, outcomes, scores
from caltest.errors import DegenerateDataWarning, invalid, shown
from caltest.predictions import ModelData, Predictions
from caltest.predictions.options import RowOptions, parted
from caltest.results import CalibratorComparison, comparison

FEWEST_ROWS = 10  # rows of which parts are held out
FOLDS = 5  # by default, and inside where those outside are a splitter's
MOST_INSIDE = 10  # by default: each training set of the outer ones is split as often


def compare_calibrators(
    model: object,
    data: object = None,
    y: object = None,
    *,
    calibrators: object = None,
    time_limit: float | None = maps.TIME_LIMIT,
    score: str | None = None,
    cv: object = 5,
    inner_cv: object = None,
    measures: Mapping[str, Callable[[Predictions], float]] | None = None,
    rng: object = None,
    progress: Callable[[int, int], None] | None = None,
    **data_and_test_options: Unpack[outcomes.ComparedOptions],
) -> CalibratorComparison:
    r"""Compare calibrators by nested cross-validation: scores, and calibration tests, held out.

    Each calibrator is fitted to the training rows of each fold and predicts the held-out rows. With
    the score :math:`S_i` of row i and :math:`S_i^0` that of the uncalibrated model,

    .. math:: \bar d = \frac{1}{n} \sum_i (S_i - S_i^0), \quad
        \mathrm{se}^2 = \frac{1}{n (n - 1)} \sum_i (S_i - S_i^0 - \bar d)^2.

    The row "selected" is the procedure "take the calibrator with the least score": in the training
    rows of each fold it selects by an inner cross-validation, so that its score is not that of a
    winner on the rows that made it win. `best` is what it gives with all rows. Of forecasts no map
    is selected that gives more of the held-out outcomes the density 0 than the model does.

    What may be optimised is a proper score: its expectation is least for the true probabilities.
    Calibration errors (ECE, KS error, SKCE) are reported and never selected by: a map that predicts
    the share of each class for every row brings them close to 0.

    The held-out rows are tested, by the same rule in each row of the table. H0: the maps that the
    calibrator makes of the K training sets are calibrated. Parts whose maps agree, as those of a
    map that is not fitted (identity) or that is the same for all training sets, are tested
    together; each other part is tested by itself, given its map, and Fisher's method combines the
    G p-values:

    .. math:: p = P\Big(\chi^2_{2G} \ge -2 \sum_{g=1}^G \log p_g\Big).

    Each :math:`p_g` is valid given the training rows of its map. All of them are not independent,
    since each part is among the training rows of the others: the combination is valid for maps
    that depend little on a single training row, and kept its level in all simulations (study
    "Comparisons"). All parts as one sample, which has more power, do not: parts that by chance
    have more events get maps that predict fewer, so that predictions reveal labels across parts. A
    fitted map is never calibrated exactly; to find its error of estimation is power.

    Parameters
    ----------
    model : classifier, callable, array, Predictions, Forecasts or None
        As in `test_calibration`: what predicts the probabilities, or the distributions, for data
        that it was not fitted on.
    data : (X, y), y, data frame, Predictions or Forecasts
        As in `test_calibration`. Groups of a Predictions are given to a splitter such as
        `GroupKFold`. Beside an array of logits, labels, weights and groups may be those of a
        Predictions.
    y : array_like, optional
        Labels, where `data` is X alone.
    calibrators : str, Calibrator, list or dict, optional
        Keys of `caltest.calibrators.REGISTRY`, calibrators that are not fitted, or a dict of names
        and either. They choose their own options where they have several, as
        `DirichletCalibrator(lam=[...])` does, inside of the training rows. Maps of two classes are
        put into `OneVsRest` where there are more. By default `AutoCalibrator` and, with their own
        defaults, the kinds of maps that it mixes; of classes that are ordered (`ordinal=True`) also
        ordinal scaling. By its key, isotonic is `IsotonicCalibrator(bound="auto")`, whose log loss
        is finite. Of forecasts keys of `caltest.calibrators.FORECAST_MAPS`, by default variance
        scaling, without and with an offset, and beta and isotonic recalibration of the PIT.
    time_limit : float or None, default 60
        Seconds that the fits of `AutoCalibrator` may take where `calibrators` is not given, by an
        estimate from rows, classes and folds, so that results do not depend on the machine. Beyond,
        it and the kernel map are left out and a note says so; None for any time.
    score : {"log-loss", "brier", "spherical"} or {"crps", "log-score"}, optional
        The proper score that is optimised, of forecasts one of the last two; by default the first
        of its kind. "spherical" is 1 - spherical score.
    cv : int, splitter or iterable, default 5
        Number of folds, to which rows are dealt at random; an object of scikit-learn with a method
        `split`; or pairs of indices of training and held-out rows. No row may be held out twice, or
        be among the training rows of its fold.
        Not `StratifiedKFold`, unless only scores matter: labels that decide which rows are held out
        make the tests of fitted maps far too conservative.
    inner_cv : int or splitter, optional
        Folds of the selection inside of training rows, those of a number with each class in its
        share; by default as many as outside, at most 10, and 5 where that is a splitter. Of groups,
        which then only the folds outside keep together, pass `GroupKFold(5)` here too.
    test, lens : str, object or list
        The tests of the held-out rows, as in `test_calibration`; no family of lenses.
    null : str, optional
        As in `test_calibration`.
    measures : dict of functions, optional
        More calibration errors to report: names, and functions of a Predictions; not of forecasts.
    correction : str or None, default "holm"
        Multiple testing over calibrators and tests: a method of statsmodels' `multipletests`.
    level : float, optional
        Significance level in (0, 0.5]. The print holds a verdict only where it is given.
    n_resamples : int, default 999
        B of each test.
    rng : None, int, Generator or SeedSequence
        The seed, of the folds and of the tests; with it, `test_calibration` gives the p-value of
        identity, if all rows are held out.
    n_jobs : int, optional
        Threads, as in joblib; nothing depends on it.
    progress : callable, optional
        Called with (steps done, steps in all), two steps a calibrator.
    **data_and_test_options
        Data options, as for `test_calibration`: `label`, `features`, `probs`, `classes`,
        `sample_weight`, `cluster`, `time`, `lag`, `renormalize`, `ordinal` and `from_logits`, by
        which an array, columns or what `model` returns are logits: the calibrators are given these,
        and `best` takes them. Options of the tests, such as `kernel=`.

    Returns
    -------
    CalibratorComparison
        It prints; `best` is the selected calibrator, fitted to all rows. A calibrator that cannot
        be fitted in a fold keeps its row, with the reason.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule; a score that is not proper is one.

    Notes
    -----
    The standard error is that of the mean over held-out rows, valid for many rows and calibrators
    that depend little on a single training row (Bayle et al.); it does not hold what other
    training sets would change. It and the tests take rows as independent, those of a group too, but
    not those of a `cluster`.

    References
    ----------
    Gneiting, Raftery (2007), Strictly proper scoring rules, prediction, and estimation, JASA 102,
    section 2; Cawley, Talbot (2010), On over-fitting in model selection and subsequent selection
    bias in performance evaluation, JMLR 11; Fisher (1932), Statistical methods for research
    workers, section 21.1; Bayle, Bayle, Janson, Mackey (2020), Cross-validation confidence
    intervals for test error, NeurIPS 33.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M2", n=300, m=3, rng=1)
    >>> result = ct.compare_calibrators(data, calibrators=["temperature"], n_resamples=99, rng=1)
    >>> result.selected, result["temperature"].difference < 0
    ('temperature', True)
    >>> result.best.predict_proba(data).shape
    (300, 3)
    """
    columns, options = parted(data_and_test_options, RowOptions)
    tests_of = outcomes.make_calibration_tests(**options)
    seed = checks.check_seed(rng)
    given = ModelData(model, data, y, **columns)
    predictions, calibration_set = maps.read_inputs(given)
    chosen = scores.check_score(score, predictions)
    if not predictions.m:
        checks.check_unused("where forecasts are compared", measures=measures)
    functions = maps.check_functions(measures, scores.COLUMNS)
    if time_limit is not None:
        checks.check_positive(time_limit, "time_limit")
    asked: dict[str, Any] = {"folds": (cv, inner_cv), "score": chosen, "nested": True}
    asked |= {"tests_of": tests_of, "functions": functions, "seed": seed}
    setup, left_out = make_setup(predictions, calibration_set, **asked), list[str]()
    if calibrators is None and predictions.m:
        fits, m = sum(len(inner) + 1 for inner in setup.inner) + 1, predictions.m
        given_size = (setup.n_fit, m, fits, time_limit)
        calibrators, left_out = maps.compared_by_default(*given_size, ordinal=predictions.ordinal)
    compared = maps.resolve_calibrators(calibrators, predictions.m, from_logits=given.from_logits)
    tell = progress or (lambda _done, _total: None)
    inner, found = {}, {}
    for done, (name, calibrator) in enumerate(compared.items(), start=1):
        inner[name] = outcomes.inner_scores(calibrator, setup)
        tell(done, 2 * len(compared))
    winners = outcomes.selection(inner)  # by the training rows of each fold
    for done, (name, calibrator) in enumerate(compared.items(), start=len(compared) + 1):
        keep = [k for k, winner in enumerate(winners) if winner == name]
        found[name] = outcomes.evaluate(calibrator, setup, keep)
        tell(done, 2 * len(compared))
    everything = {**found, comparison.SELECTED: outcomes.of_selected(found, winners, setup)}
    rows = tuple(outcomes.rows_of(compared, everything, setup, winners))
    selected = outcomes.selection({name: [found[name].judged(setup)] for name in compared})[0]
    best, notes_of_best = fit_to_all(compared[selected], predictions, calibration_set)
    facts = facts_of(found, setup, cv)
    if parts := best.composition():
        how = "each held-out part is predicted by maps and weights of its training rows alone"
        left_out = [f"best: {parts}; {how}", *left_out]
    facts["notes"] = (*left_out, *facts["notes"], *(f"best: {text}" for text in notes_of_best))
    facts["library"] = predictions.library
    return CalibratorComparison(rows=rows, selected=selected, best=best, **facts)


def make_setup(
    predictions: Any,
    calibration_set: maps.AnySet | None = None,
    *,
    folds: tuple[object, object] = (FOLDS, None),
    score: scores.ProperScore | None = None,
    tests_of: outcomes.CalibrationTests,
    functions: Mapping[str, object] | None = None,
    seed: int,
    nested: bool = False,
) -> outcomes.Setup:
    """Deal the rows to folds, outside and, to select there, inside of each training set."""
    if (counted := np.count_nonzero(predictions.weights)) < FEWEST_ROWS:
        rule = f"data must have at least {FEWEST_ROWS} rows, of which parts are held out"
        raise invalid(rule, f"{counted}", "pass more; rows of weight 0 do not count")
    split_seed, test_seed = _seeds(seed, 2)
    cv, inner_cv = folds
    if isinstance(inner_cv, int | np.integer):
        checks.check_integer(inner_cv, "inner_cv", minimum=2)
    elif inner_cv is not None and not hasattr(inner_cv, "split"):
        # Training sets have no rows in common that pairs could name.
        remedy = "pass 5, or a splitter of scikit-learn, which splits each training set"
        raise invalid("inner_cv must be a number of folds or a splitter", shown(inner_cv), remedy)
    pairs = maps.split(predictions, cv, split_seed, by_label=False)
    counts = np.bincount(np.concatenate([rows for _, rows in pairs]), minlength=predictions.n)
    if counts.max() > 1:
        row = int(counts.argmax())
        rule = "cv must hold out each row at most once, so that rows count alike"
        remedy = "pass a splitter such as KFold, or a number of folds"
        raise invalid(rule, f"row {row} held out {counts[row]} times", remedy)
    for train, test in pairs:
        if (both := np.intersect1d(train, test)).size:
            rule = "cv must hold out rows that are not among the training rows of their fold"
            raise invalid(rule, f"row {both[0]} in both", "pass a splitter such as KFold")
    outside = min(cv, MOST_INSIDE) if isinstance(cv, int | np.integer) else FOLDS
    inside = outside if inner_cv is None else inner_cv
    inner = (
        maps.split(predictions.subset(train), inside, split_seed, by_label=True)
        for train, _ in (pairs if nested else ())
    )
    return outcomes.Setup(
        predictions=predictions,
        data=calibration_set or maps.set_of(predictions),
        pairs=tuple(pairs),
        inner=tuple(map(tuple, inner)),
        score=score or scores.check_score(None, predictions),
        tests_of=tests_of,
        measures=functions or {},
        seed=seed,
        fold_seeds=_seeds(test_seed, len(pairs)),
    )


def _seeds(seed: int, count: int) -> tuple[int, ...]:
    children = np.random.SeedSequence(seed).spawn(count)
    return tuple(int(child.generate_state(1)[0]) for child in children)


def fit_to_all(calibrator: maps.AnyCalibrator, rows: Any, data: Any) -> tuple[Any, list[str]]:
    """Fit to all rows; what the data leave undefined is handed over, and what the map excludes."""
    best: Any = clone(calibrator)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DegenerateDataWarning)
        if data is not None and data.from_logits:
            best.set_params(classes=rows.classes.tolist())
            best.fit(data.inputs.values, rows.classes[rows.labels], rows.sample_weight)
        else:
            best.fit(rows)
    notes = [str(one.message) for one in caught]
    if rows.m:
        found = best.calibrate((data or maps.set_of(rows)).inputs)
        if count := int(np.count_nonzero(((found == 0) & (rows.probs > 0)).any(axis=1))):
            text = (
                f"in {count:,} of {rows.n:,} rows a class that the model allows has probability 0"
            )
            notes.append(f"{text}; one such label makes the log loss infinite")
    return best, notes


def facts_of(found: outcomes.Outcomes, setup: outcomes.Setup, cv: object) -> dict[str, Any]:
    """Return what a result says of the data, the folds and the tests."""
    predictions = setup.predictions
    parts = (tests for outcome in found.values() for tests in outcome.tests.values())
    notes = []
    if not predictions.m and predictions.law.ranked is not predictions.law:
        notes.append("scores of an ensemble are those of the quantiles that its sorted members are")
    if hasattr(cv, "split"):
        from sklearn import model_selection as cvs

        # The labels decide which rows are held out, which the null does not know.
        by_label = cvs.StratifiedKFold, cvs.StratifiedGroupKFold, cvs.StratifiedShuffleSplit
        if isinstance(cv, by_label):
            notes.append("folds by label make the p-values of fitted maps too large; take KFold")
    for name, outcome in found.items():
        for text, count in Counter(outcome.notes).items():
            notes.append(f"{name}: {count} of {len(setup.pairs)} folds: {text}")
        notes += [f"{name}: {text}" for text in outcome.remarks]
    return {
        "score": setup.score.title,
        "lens_of_measures": scores.lens_of_measures(predictions.m),
        "method": "; ".join(dict.fromkeys(test.method for tests in parts for test in tests)),
        "data_name": predictions.source,
        "n": predictions.n,
        "m": predictions.m,
        "n_folds": len(setup.pairs),
        "n_fit": setup.n_fit,
        "n_held_out": setup.rows.size,
        "seed": setup.seed,
        "notes": tuple(notes),
        **setup.tests_of.facts,
    }
