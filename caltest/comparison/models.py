"""Models compared on the same rows: scores, their differences, tests of calibration."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Unpack

import numpy as np

from caltest import checks
from caltest import measures as all_measures
from caltest.comparison import maps, outcomes, ranking, scores
from caltest.comparison.pairs import compared_pairs
from caltest.errors import DegenerateDataWarning, an, invalid
from caltest.htests.combine import adjusted_pvalues
from caltest.predictions import ModelData, Rows, model_data, tables
from caltest.predictions.models import is_forecaster, is_model
from caltest.predictions.options import RowOptions, parted
from caltest.results import ComparedModel, HTestTable, ModelComparison, ScoreDifference

CONFIDENCE = 0.95


def compare_models(
    models: Mapping[str, object],
    data: object = None,
    y: object = None,
    *,
    score: str | None = None,
    reference: str | None = None,
    measures: Mapping[str, Callable[[Any], float]] | None = None,
    rng: object = None,
    progress: Callable[[int, int], None] | None = None,
    **data_and_test_options: Unpack[outcomes.ComparedOptions],
) -> ModelComparison:
    r"""Compare models on the same rows: proper scores, their differences, and calibration tests.

    With the scores :math:`S_i^A, S_i^B` of row i, the mean difference
    :math:`\bar d = \frac{1}{n} \sum_i (S_i^A - S_i^B)` comes with its standard error, an interval,
    and a test. H0: the models have the same expected score. The p-value is the larger of two,

    .. math:: p = \frac{1 + \#\{b : |\sum_i d^*_{bi}| \ge |\sum_i d_i|\}}{1 + B}.

    Of the one, the signs of the differences are flipped at random, :math:`d^*_{bi} = \pm d_i`: it
    is exact where the difference of a row is symmetric about 0, as it is where which model is
    called A does not matter, and it does not know events that were not seen. Of the other, labels
    are redrawn from the model between the two at which both have the same expected score in each
    row (of two classes there is one such model, and of the CRPS it is the mixture of
    equal parts), with :math:`d^*_{bi}` the difference at the
    redrawn label: it is exact where this model is true. The larger one is valid where either holds,
    and held its level in simulations with few events and heavy tails, where the flips by themselves
    do not, unless a few rows that are rarely seen decide the difference (study "Comparisons").

    Without a reference, models are compared with the best. The data choose it, hence the p-values
    are adjusted for all pairs of models.

    Parameters
    ----------
    models : dict
        Names of models, and for each a fitted classifier, a callable X -> probabilities, an array
        of probabilities, a Predictions, or the columns of a data frame: a prefix, a column or a
        list. Or all forecast numbers: a Forecasts, a model or a distribution that make some, or
        the columns of a data frame, ``{"mean": "mu", "scale": "sd"}``. Two or more.
    data : (X, y), y or data frame
        The labels, and the features where a model asks for them. Nothing where all models are
        Predictions.
    y : array_like, optional
        Labels, where `data` is X alone.
    score : {"log-loss", "brier", "spherical"} or {"crps", "log-score"}
        The proper score that is compared, of classes or of forecasts of numbers, by default the
        first; less is better. "spherical" is 1 - spherical score. The CRPS of quantiles takes the
        outer one in place of all that is beyond.
    reference : str, optional
        The model that the others are compared with; by default the one with the least score.
    test, lens : str, object or list
        The tests of calibration of each model, as in `test_calibration`; no family of lenses.
    null : str, optional
        As in `test_calibration`.
    measures : dict of functions, optional
        More calibration errors to report: names, and functions of a Predictions.
    correction : str or None, default "holm"
        Multiple testing, over the differences and over the tests of calibration by themselves: a
        method of statsmodels' `multipletests`.
    level : float, optional
        Significance level in (0, 0.5], which makes the level of the intervals 1 - level; they are
        of 95 % otherwise. The print holds a verdict only where it is given.
    n_resamples : int, default 999
        B, of the sign flips, of the redrawn labels and of each test.
    rng : None, int, Generator or SeedSequence
        The seed.
    n_jobs : int, optional
        Threads, as in joblib; nothing depends on it.
    progress : callable, optional
        Called with (models done, models in all).
    **data_and_test_options
        Data options, as for `test_calibration`: `label`, `features`, `classes`, `sample_weight`,
        `cluster`, `time`, `lag`, `from_logits` and `renormalize`. Options of the tests of
        calibration, such as `kernel=`.

    Returns
    -------
    ModelComparison
        It prints. Where it is defined, `parts` of a row are miscalibration, discrimination and
        uncertainty (CORP): of the log loss or Brier score of two classes; of more classes, the sum
        over the classes of the parts of the Brier score.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule, or models differ in rows, labels, weights, clusters or
        classes.
    NotApplicable
        If a test has no meaning for the data.

    Notes
    -----
    Intervals are those of Student's t with n - 1 degrees of freedom, each by itself; one without 0
    is stretched to both sides until it reaches 0 where the unadjusted p-value is above
    1 - confidence, and of two classes, where fewer than fifty labels decide, it reaches as far as a
    row that has not been seen would take it. They do not allow for the choice of the best by the
    same data: name a reference where they matter. Rows are taken as independent, unless they have
    clusters: then the rows of a cluster have the same sign, and n is the number of clusters.

    References
    ----------
    Fisher (1935), The design of experiments, section 21; Romano (1990), On the behavior of
    randomization tests without a group invariance assumption, JASA 85, section 2; Gneiting, Raftery
    (2007), Strictly proper scoring rules, prediction, and estimation, JASA 102, section 2;
    Matheson, Winkler (1976), Scoring rules for continuous probability distributions, Management
    Science 22 (CRPS);
    Dimitriadis, Gneiting, Jordan (2021), Stable reliability diagrams for probabilistic classifiers,
    PNAS 118, equation 4; Rubin (1980), Randomization analysis of experimental data, JASA 75 (sharp
    null hypotheses).

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M1", n=500, m=2, rng=1)
    >>> models = {"as it is": data.probs, "cautious": (data.probs + 0.5) / 2}
    >>> result = ct.compare_models(models, data.labels, rng=1)
    >>> result.best, result["cautious"].difference.pvalue
    ('as it is', 0.034)
    """
    columns, options = parted(data_and_test_options, RowOptions)
    tests_of = outcomes.make_calibration_tests(**options)
    seed = checks.check_seed(rng)
    checks.check_unused("where each model has its own", probs=columns.get("probs"))
    given = ModelData(None, data if y is None else (data, y), **columns)
    named = check_models(models)
    checks.suspect_index(**named)
    if all(isinstance(one, Rows) for one in named.values()):
        checks.check_unused("where all models are Predictions or Forecasts", data=data, **columns)
    if reference is not None:
        ranking.check_control(reference, list(named), "reference")
    seen = _same_rows({name: _rows(one, given) for name, one in named.items()})
    chosen = scores.check_score(score, next(iter(seen.values())))
    functions = maps.check_functions(measures, scores.COLUMNS)
    first, names = next(iter(seen.values())), list(seen)
    weight = first.weights
    confidence = CONFIDENCE if tests_of.level is None else 1 - tests_of.level
    losses = {name: scores.row_scores(each, chosen) for name, each in seen.items()}
    optimised = {name: own[chosen.title] for name, own in losses.items()}
    best = min(optimised, key=lambda name: scores.mean_score(optimised[name], weight))
    against = best if reference is None else str(reference)
    asked = [(name, against) for name in names if name != against]
    asked = list(combinations(names, 2)) if reference is None else asked
    pairs, notes = compared_pairs(seen, chosen, optimised, asked, confidence, tests_of, seed)
    # The score whose parts are defined for so many classes.
    both = chosen, scores.SCORES["brier"]
    decomposed = next((one for one in both if 0 < first.m <= one.parts_up_to), None)
    rows = tuple(
        ComparedModel(
            name=name,
            scores={key: scores.mean_score(values, weight) for key, values in losses[name].items()},
            measures=scores.reported(each, functions),
            parts=_parts(each, decomposed),
            difference=_difference(name, against, pairs),
        )
        for name, each in seen.items()
    )
    tested = []  # with the same seed, and adjusted over all
    for done, (name, each) in enumerate(seen.items(), start=1):
        tested += [replace(row, data_name=name) for row in tests_of(each, seed)]
        if progress is not None:
            progress(done, len(seen))
    adjusted, method = adjusted_pvalues([row.pvalue for row in tested], tests_of.correction)
    of_tests: dict[str, Any] = {"level": tests_of.level, "library": first.library}
    return ModelComparison(
        rows=rows,
        score=chosen.title,
        best=best,
        reference=against,
        pairs=pairs,
        decomposed=decomposed.title if decomposed else "",
        lens_of_measures=scores.lens_of_measures(first.m),
        confidence=confidence,
        n=first.n,
        m=first.m,
        library=first.library,
        seed=seed,
        notes=(*notes, *(f"{name}: {text}" for name, text in first.described.items())),
        tests=HTestTable(tuple(tested), method, adjusted, **of_tests),
        **tests_of.facts,
    )


def _rows(model: Any, given: ModelData) -> Rows:
    """Turn one model and the data of all into predictions or forecasts."""
    if isinstance(model, Rows):
        return model
    data, asks = given.data, is_model(model) or is_forecaster(model)
    if tables.is_table(data):
        names = model if isinstance(model, list | tuple) else [model]
        if all(isinstance(one, str) for one in names):
            return replace(given, probs=model, features=None).rows()
        if isinstance(model, Mapping) and set(model) <= {*model_data.FORECASTS}:
            return replace(given, **model, features=None).rows()
        return replace(given, model=model, features=given.features if asks else None).rows()
    if not asks and isinstance(data, tuple) and len(data) == 2:
        data = data[1]
    return replace(given, model=model, data=data).rows()


def _same_rows(seen: dict[str, Any]) -> dict[str, Rows]:
    """Check that all models have rows, outcomes, classes, weights and clusters of the first."""
    first, *others = seen
    one = seen[first]
    remedy = "predict the same rows with every model"
    for name, model in ((name, seen[name]) for name in others):
        if bool(model.m) != bool(one.m):
            rule = "models must all predict classes, or all forecast numbers"
            raise invalid(rule, f"{first!r} and {name!r}", "compare those of a kind")
        if one.m and not np.array_equal(model.classes, one.classes):
            rule = f"models must have the same classes in the same order, as {first!r} has"
            got = f"{checks.listing(model.classes.tolist())} in {name!r}"
            wanted = checks.listing(one.classes.tolist())
            raise invalid(rule, got, f"reorder its columns to {wanted}, or pass classes=")
        if model.n != one.n:
            rule = f"models must have the same rows, {one.n} as {first!r} has"
            raise invalid(rule, f"{model.n} in {name!r}", remedy)
        if not np.array_equal(model.happened, one.happened):
            row = int(np.argmax(model.happened != one.happened))
            rule = f"models must have the same {'labels' if one.m else 'outcomes'} as {first!r}"
            raise invalid(rule, f"another at row {row} of {name!r}", remedy)
        same = (model.sample_weight is None) == (one.sample_weight is None)
        if not same or not np.array_equal(model.weights, one.weights):
            rule = "models must have the same sample weights"
            raise invalid(rule, f"others in {name!r}", "give all of them the same")
        depend = model.has_dependence or one.has_dependence
        if depend and not np.array_equal(model.clusters, one.clusters):
            rule = "models must have the same clusters"
            raise invalid(rule, f"others in {name!r}", "give all of them the same")
    return seen


def _difference(name: str, other: str, pairs: Sequence[ScoreDifference]) -> ScoreDifference | None:
    """Return the comparison of a model with the other, turned round where it is stored so."""
    own = next((pair for pair in pairs if {pair.name, pair.other} == {name, other}), None)
    return own.reversed() if own is not None and own.name == other else own


def _parts(predictions: Any, score: scores.ProperScore | None) -> dict[str, float]:
    """Return miscalibration, discrimination and uncertainty, summed over more than two classes."""
    if score is None:
        return {}
    lens = "strong" if predictions.m == 2 else "classwise"
    with warnings.catch_warnings(action="ignore", category=DegenerateDataWarning):  # it shows
        found = all_measures.score_decomposition(predictions, lens=lens, score=score.key)
    own = [found] if isinstance(found, all_measures.ScoreDecomposition) else found
    names = ("miscalibration", "discrimination", "uncertainty")
    return {name: math.fsum(getattr(each, name) for each in own) for name in names}


def check_models(models: object) -> dict[str, object]:
    """Check models by name, two or more."""
    if not isinstance(models, Mapping) or len(models) < 2:
        rule = "models must be a dict of at least two names and models"
        got = f"{len(models)}" if isinstance(models, Mapping) else an(type(models).__name__)
        raise invalid(rule, got, "pass {'forest': forest, 'boosting': boosting}")
    names = ranking.check_names([str(key) for key in models], len(models), "models")
    return dict(zip(names, models.values(), strict=True))
