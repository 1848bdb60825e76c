"""`test_calibration`: lenses x measures x a null, from a model and data to results."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from caltest import validation
from caltest.errors import DegenerateDataWarning, NotApplicable
from caltest.htests.adjust import METHODS, adjusted_pvalues
from caltest.htests.base import NamedTest, check_options
from caltest.htests.registry import REGISTRY
from caltest.lenses import Lens, resolve_lens
from caltest.measures import Measure
from caltest.nulls import REGISTRY as NULLS
from caltest.nulls import Judgement
from caltest.predictions import Predictions, as_predictions
from caltest.results import HTest, HTestTable


@dataclass(frozen=True)
class Plan:
    """One row to be computed: a test of a measure under a lens, for one group."""

    test: str
    measure: Measure
    null: str
    lens: Lens
    predictions: Predictions
    group: object = None
    is_one_of_many: bool = False  # a class of a family or a group, not asked for by name


def test_calibration(
    model: object,
    data: object = None,
    *,
    test: str | Measure | Sequence[str | Measure] = "skce",
    lens: str | Lens | Sequence[str | Lens] = "strong",
    null: str | None = None,
    by: object = None,
    correction: str | None = "holm",
    n_resamples: int = 999,
    rng: object = None,
    n_jobs: int | None = None,
    level: float | None = None,
    label: str | None = None,
    features: Sequence[str] | None = None,
    probs: str | Sequence[str] | None = None,
    classes: object = None,
    from_logits: bool = False,
    renormalize: bool = False,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> HTest | HTestTable:
    r"""Test the hypothesis that a model's probabilities are calibrated.

    H0: :math:`P(Y = k \mid p) = p_k` for the predictions p as the lens shows them.

    Parameters
    ----------
    model : classifier, calibrator, callable, array, Predictions or None
        A fitted classifier or calibrator with `predict_proba`; a callable X -> probabilities; an
        (n, m) array of probabilities, or (n,) for P(Y = 1); None where `data` is a Predictions or
        a data frame that holds the probabilities.
    data : (X, y), y, data frame or Predictions
        y where `model` is an array; a data frame with `label=`.
    test : str, Measure or list, default "skce"
        Keys are in `caltest.htests.REGISTRY`.
    lens : str, Lens or list, default "strong"
        Keys are in `caltest.lenses.REGISTRY`; a family ("classwise") gives one row each.
    null : str, optional
        "exact" unless the test says otherwise; see `caltest.nulls.REGISTRY`.
    by : (n,) array, column name or True, optional
        Test each group by itself; True takes the groups of the Predictions.
    correction : str or None, default "holm"
        Multiple testing over the rows of a table: a method of statsmodels' `multipletests`.
    n_resamples : int, default 999
        B; the smallest attainable p-value of a resampling null is 1 / (B + 1).
    rng : None, int, Generator or SeedSequence
        The seed. Every row of a table uses the same, so that each can be repeated by itself.
    n_jobs : int, optional
        Threads, as in joblib; the p-value does not depend on it.
    level : float, optional
        Significance level in (0, 1). The print holds a verdict only where it is given.
    label, features, probs : str or list of str, optional
        Columns of the data frame: the label, the features of `model`, the probabilities.
    classes : (m,) array, optional
        Class labels in the order of the columns of the probabilities.
    from_logits, renormalize : bool, default False
        Read an array or columns as logits; rescale rows whose sum is off by up to 0.01.
    progress : callable, optional
        Called with (rows done, rows in all).
    **options
        Options of the measure, such as `kernel=` and `estimator=`.

    Returns
    -------
    HTest or HTestTable
        A table where tests, lenses or groups are several.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule; the message names it, its value and the remedy.
    NotApplicable
        If a null has no meaning for a test, or there are too few observations.

    References
    ----------
    Widmann, Lindsten, Zachariah (2019), Calibration tests in multi-class classification.

    Examples
    --------
    >>> import caltest as ct
    >>> predictions = ct.datasets.generative_model("M1", n=100, m=3, rng=1)
    >>> result = ct.test_calibration(None, predictions, rng=1)
    >>> 0 < result.pvalue <= 1
    True
    """
    validation.check_integer(n_resamples, "n_resamples")
    level = None if level is None else validation.check_level(level)
    validation.check_choice(correction or "none", METHODS, "correction")
    validation.check_jobs(n_jobs)
    seed = validation.check_seed(rng)
    predictions = as_predictions(
        model,
        data,
        label=label,
        features=features,
        probs=probs,
        by=by,
        from_logits=from_logits,
        renormalize=renormalize,
        classes=classes,
    )
    measures = _resolve_tests(test, options)
    lenses = [resolve_lens(one) for one in _as_list(lens, "lens")]
    plans = list(_plans(measures, lenses, null, predictions, grouped=by is not None))
    single = len(measures) == len(lenses) == 1 and by is None and not lenses[0].is_family
    rows: list[HTest] = []
    left_out: list[str] = []
    for done, plan in enumerate(plans, start=1):
        try:
            rows.append(_run(plan, n_resamples=n_resamples, seed=seed, n_jobs=n_jobs, level=level))
        except NotApplicable as error:
            if not plan.is_one_of_many or len(left_out) + 1 == len(plans):
                raise
            left_out.append(_warn_left_out(plan, error))
        if progress is not None:
            progress(done, len(plans))
    if single:
        return rows[0]
    adjusted, name = adjusted_pvalues([row.pvalue for row in rows], correction)
    return HTestTable(tuple(rows), name, adjusted, level=level, notes=tuple(left_out))


# Or pytest would collect it in a user's test module.
test_calibration.__test__ = False  # type: ignore[attr-defined]


def _as_list(value: Any, name: str) -> list[Any]:
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    return validation.check_not_empty(values, name)


def _resolve_tests(test: Any, options: dict[str, Any]) -> list[tuple[str, Measure, str]]:
    """Return key, measure and default null of every test."""
    tests = _as_list(test, "test")
    named = {
        t: REGISTRY[validation.check_choice(t, REGISTRY, "test")]
        for t in tests
        if not isinstance(t, Measure)
    }
    check_options(named, options)
    return [
        (t.key, t, "exact") if isinstance(t, Measure) else _configured(named[t], options)
        for t in tests
    ]


def _configured(named: NamedTest, options: dict[str, Any]) -> tuple[str, Measure, str]:
    return named.key, named.with_options(options), named.default_null


def _plans(
    measures: list[tuple[str, Measure, str]],
    lenses: list[Lens],
    null: str | None,
    predictions: Predictions,
    *,
    grouped: bool,
) -> Iterator[Plan]:
    if null is not None:
        validation.check_choice(null, NULLS, "null")
    groups = predictions.by_group() if grouped else {None: predictions}
    for group, part in groups.items():
        for key, measure, default in measures:
            for lens in lenses:
                for member in lens.members(part):
                    many = grouped or lens.is_family
                    yield Plan(key, measure, null or default, member, part, group, many)


def _run(
    plan: Plan, *, n_resamples: int, seed: int, n_jobs: int | None, level: float | None
) -> HTest:
    null = NULLS[plan.null]
    seen = plan.lens(plan.predictions)
    judged = null.judge(plan.measure, seen, n_resamples=n_resamples, seed=seed, n_jobs=n_jobs)
    for message in judged.degenerate:
        warnings.warn(message, DegenerateDataWarning, stacklevel=3)
    return _result(plan, seen, judged, n_resamples=n_resamples, seed=seed, level=level)


def _warn_left_out(plan: Plan, error: NotApplicable) -> str:
    """Warn that a class or group is too small for a test, and return the note on it."""
    where = f"lens {plan.lens}" if plan.group is None else f"group {plan.group!r}, lens {plan.lens}"
    note = f"{plan.test} under {where} is left out of the table: {error}"
    warnings.warn(note, DegenerateDataWarning, stacklevel=3)
    return note


def _result(
    plan: Plan,
    seen: Predictions,
    judged: Judgement,
    *,
    n_resamples: int,
    seed: int,
    level: float | None,
) -> HTest:
    resamples = NULLS[plan.null].resamples
    return HTest(
        test=plan.test,
        method=f"{plan.null.capitalize()} test of calibration: {plan.measure.title}",
        statistic_name=judged.statistic_name,
        statistic=judged.statistic,
        pvalue=judged.pvalue,
        estimate_name=plan.measure.estimate_symbol,
        estimate=judged.estimate,
        null=plan.null,
        null_text=judged.law,
        n=seen.n,
        m=plan.predictions.m,
        lens=str(plan.lens),
        claim=plan.lens.claim,
        data_name=plan.predictions.source,
        parameters=judged.parameters,
        n_resamples=n_resamples if resamples else None,
        seed=seed if resamples else None,
        null_distribution=judged.distribution,
        tail_pvalue=judged.tail_pvalue,
        notes=(*judged.notes, *judged.degenerate),
        level=level,
        group=plan.group,
    )
