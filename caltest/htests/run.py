"""`test_calibration`: lenses x measures x a null, from a model and data to results."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Unpack

import numpy as np

from caltest import validation
from caltest.errors import DegenerateDataWarning, NotApplicable, invalid, shown
from caltest.htests.cells import Asked
from caltest.htests.chunks import source_for
from caltest.htests.combine import METHODS, adjusted_rows, omnibus, pvalue_of_groups
from caltest.htests.margins import SegmentsAsked, segments_source, test_margins
from caltest.htests.named import REGISTRY, check_options
from caltest.htests.options import CalibrationOptions
from caltest.htests.outcome import result_of
from caltest.lenses import Lens, resolve_lens
from caltest.lenses.base import induced
from caltest.measures import Measure
from caltest.measures.outcome import Outcome
from caltest.measures.tolerance import Tolerance
from caltest.nulls import REGISTRY as NULLS
from caltest.nulls.adaptive import LEVEL, MOST, adaptive_null
from caltest.nulls.cluster import treated_as_independent
from caltest.nulls.tolerance import at_least_exact, tolerance_null
from caltest.predictions import ModelData, Predictions
from caltest.predictions.options import ColumnOptions, Reading, RowOptions, parted
from caltest.results import GroupsTest, HTest, HTestTable
from caltest.segments import SegmentsTest, test_segments

SPREAD = (
    "clusters have rows in several groups, which depend on each other: the groups are not tested "
    "together"
)
DEFAULT = "combined"  # where the caller names no test
INSTEAD = "skce"  # where the caller asks for what the default has not, and this test has
SEGMENT_OPTIONS = ("depth", "bins", "min_size", "statistic", "keep")
OF_THE_USER = 5  # the stack level, in functions that run one plan, of the caller of the test


class Weightless(NotApplicable):
    """None of the rows that a lens leaves counts."""


@dataclass(frozen=True)
class Plan:
    """One row to be computed: a test of a measure under a lens, for one group."""

    test: str
    measure: Measure
    null: str
    lens: Lens
    predictions: Predictions
    seed: int
    number: int  # of the test among those that were asked for
    group: object = None
    is_one_of_many: bool = False  # a class of a family or a group, not asked for by name
    note: str = ""  # how it differs from what was asked for
    tolerance: Tolerance | None = None  # H0 is on the size of the error
    clear_at: float | None = None  # the level of the decision that ends an adaptive resampling
    among: int = 1  # how many groups or lenses are searched for what is wrong

    @property
    def may_be_left_out(self) -> bool:
        """Whether it may be too small for a test that has a meaning for others."""
        has_meaning = self.tolerance is not None or self.null in (*self.measure.nulls, "cluster")
        return self.is_one_of_many and has_meaning

    def check_weights(self) -> None:
        """Raise Weightless where all weights of the rows that the lens leaves are 0."""
        weight = self.predictions.sample_weight
        if weight is not None and not weight.all():
            seen = self.lens(self.predictions).sample_weight
            if seen is not None and not seen.any():
                raise Weightless("all rows have the weight 0", "give some a positive weight")

    def instead(self, note: str, **changes: Any) -> Plan:
        """Return what takes its place, with a note on it after its own."""
        return replace(self, note="; ".join(filter(None, (self.note, note))), **changes)

    @property
    def together(self) -> tuple[int, str]:
        """What the rows of all groups that make up one omnibus test share."""
        return self.number, str(self.lens)


def test_calibration(
    model: object,
    data: object = None,
    *,
    test: str | Measure | Sequence[str | Measure] | None = None,
    lens: str | Lens | Sequence[str | Lens] | None = None,
    null: str | None = None,
    tolerance: float | None = None,
    equivalence: bool = False,
    by: object = None,
    segments: object = None,
    correction: str | None = "joint",
    n_resamples: int | str = 999,
    rng: object = None,
    n_jobs: int | None = None,
    level: float | None = None,
    **data_and_test_options: Unpack[CalibrationOptions],
) -> HTest | HTestTable | SegmentsTest | GroupsTest:
    r"""Test the hypothesis that a model's probabilities are calibrated.

    H0: :math:`P(Y = k \mid p) = p_k` for the predictions p as the lens shows them.

    Parameters
    ----------
    model : classifier, calibrator, callable, array, Predictions or None
        A fitted classifier or calibrator with `predict_proba`; a callable X -> probabilities; an
        (n, m) array of probabilities, or (n,) for P(Y = 1); None where `data` is a Predictions or
        a data frame that holds the probabilities.
    data : (X, y), y, data frame, path, iterator of data frames or Predictions
        y where `model` is an array; a data frame or lazy frame (Polars, DuckDB, Ibis, Dask, Spark),
        a path, a pattern such as ``"day=*/part-*.parquet"``, a list of paths or an iterator of
        frames with `label=`.
    test : str, Measure or list, default "combined"
        Keys are in `caltest.htests.REGISTRY`. The default combines several statistics of the same
        redrawn labels, so that it finds most errors without a choice of the test. Where a null, a
        tolerance or an option is given that it has not, as `kernel=`, "skce" takes its place, and
        a note says so.
    lens : str, Lens or list, default "strong"
        Keys are in `caltest.lenses.REGISTRY`; a family ("classwise") gives one row each. Segments
        take one lens that leaves two classes, by default "confidence" for more than two.
    null : str, optional
        "exact" unless the test is named after a formula, as "jeffreys" is, or has no other null, as
        those of a development sample (`internal=True`); see `caltest.nulls.REGISTRY`.
    tolerance : float, optional
        H0 becomes "the error is at most `tolerance`", in the units of the printed estimate: with
        enough data every model is rejected otherwise. For the tests "skce", "skce-linear",
        "skce-block", "debiased-ece" and "ks", by limits for random predictions and labels;
        with fewer than 100 rows p is at least the exact one of calibration.
    equivalence : bool, default False
        H0 becomes "the error is at least `tolerance`", so that a small p-value shows calibration
        within the tolerance.
    by : (n,) array, column name, list of column names or True, optional
        Test each group by itself; several columns are crossed, and True takes the groups of the
        Predictions. A group that is too small for the test or for the null that was asked for is
        tested exactly, or by the nearest variant that is defined (the biased for the unbiased
        SKCE), with a note; where its predictions allow no more than `n_resamples` + 1 label
        vectors, all of them take the place of random ones. The table's `omnibus` has the test of
        all groups together, Fisher's combination of their p-values: compared with that of their
        resamples where all groups are resampled, so that it is as exact as they are, elsewhere by
        its chi^2 distribution. Where rows are counted in cells, more than 500 groups are tested in
        one pass, by the KS test where no other is named: with a `GroupsTest`.
    segments : str, list of str, dict, data frame, bool (n, S) array or True, optional
        Test all segments of the rows, which may overlap, in place of groups: the values of these
        columns and their intersections, or a boolean column for each; True takes all columns of the
        features. See `test_segments`, which this calls: it has statistics, a null and an adjustment
        of its own, and other options are its `depth=`, `bins=`, `min_size=`, `statistic=`, `keep=`.
        Where rows are counted in cells, they are the values of columns and their intersections,
        each tested by KS, adjusted by Holm's method and returned as a `GroupsTest`.
    correction : str or None, default "joint"
        Multiple testing over the rows of a table. "joint" is the step-down method of Westfall and
        Young: all rows are evaluated for the same redrawn labels, so that their dependence is
        known, and adjusted p-values reach down to 1 / (B + 1) for any number of rows. The
        family-wise error rate is that of hypotheses that hold together; where some hold each by
        itself only, Holm's method allows for any dependence. It takes the place of "joint" where a
        row has another null than the exact one, and for more than 500 groups that are counted in
        cells, which share no row and lose nothing by it. Otherwise a method of
        statsmodels' `multipletests`, such as "holm", "fdr_bh" or "none".
    n_resamples : int or "adaptive", default 999
        B; the smallest attainable p-value of a resampling null is 1 / (B + 1). With "adaptive" the
        exact null redraws labels until the decision at `level`, or at 0.05, is clear, and for a
        smaller p-value on until its standard error is a fifth of it, at most 10^6 times; the
        p-value is as valid as that of a fixed number (Besag and Clifford 1991).
    rng : None, int, Generator or SeedSequence
        The seed. Without `by` every row of a table uses the same; with it each group has a seed of
        its own that is derived from it. The row holds it, so that each can be repeated by itself.
        Labels are redrawn for the rows in their order: sorted otherwise, the same data have another
        p-value, within the error of resampling.
    n_jobs : int, optional
        Threads, as in joblib; the p-value does not depend on it.
    level : float, optional
        Significance level in (0, 1). The print holds a verdict only where it is given.
    **data_and_test_options
        Data options, which are listed under Other Parameters, and options of the measure, such as
        `kernel=` and `estimator=`; with `segments`, of these.

    Returns
    -------
    HTest, HTestTable, SegmentsTest or GroupsTest
        A table where tests, lenses or groups are several, a SegmentsTest with `segments`; of more
        than 500 groups, and of segments, that are counted in cells, a GroupsTest.

    Other Parameters
    ----------------
    label, features, probs : str or list of str, optional
        Columns of the data frame: the label, the features of `model`, the probabilities.
    classes : (m,) array, optional
        Class labels in the order of the columns of the probabilities.
    from_logits, renormalize : bool, default False
        Read an array or columns as logits; rescale rows whose sum is off by up to 0.01.
    sample_weight : (n,) array or column name, optional
        Weights of the rows: labels are redrawn row by row, whatever the weight, so that a row of
        weight 2 is no two rows that were seen; see each measure for what it does with weights. By
        default those that the Predictions have.
    cluster : (n,) array or column name, optional
        The cluster of each row, such as its patient: rows of a cluster may depend on each other,
        those of different clusters are independent. The null is then "cluster", which flips the
        signs of the residuals cluster by cluster; another null that is asked for takes the rows as
        independent, with a note. By default the clusters that the Predictions have.
    time : (n,) array or column name, optional
        The time of each row, for forecasts that overlap: rows depend if they are up to `lag` steps
        apart, a step for each distinct time. Their clusters are blocks of time, some times as long,
        with `cluster` those of each cluster.
    lag : int, optional
        With `time`: h - 1 for forecasts of what happens within the next h steps; 0 where rows of
        the same time alone depend.
    engine : {"auto", "rows", "cells", "chunks"}, default "auto"
        Of frames, paths and iterators: "rows" reads them into memory; "cells" counts them where
        they lie, in one query, and tests the counts of 2^16 cells of predictions; "chunks" reads
        rows of several classes twice, chunk by chunk or on the workers of Dask and Spark, and tests
        sums over features of their predictions, for the lens "strong" and test="skce"; "auto"
        takes cells or chunks for more than 2 million rows, where all that is asked for has a
        version for them.
    on_error : {"raise", "skip"}, default "raise"
        Whether files that cannot be read, and rows with missing or impossible values, are an error
        or left out with a note, where cells are counted or chunks read: with "skip" "auto" takes
        these for any number of rows.
    progress : callable, optional
        Called with (rows done, rows in all) of the table; parts of the data where these are counted
        in cells, and rows of the data where they are read by chunks.

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
    columns, rows, how, options = parted(data_and_test_options, ColumnOptions, RowOptions, Reading)
    engine, on_error = how.get("engine", "auto"), how.get("on_error", "raise")
    progress = how.get("progress")
    given = ModelData(model, data, by=by, **columns, **rows)
    if segments is not None:
        _check_for_segments(
            lens,
            options,
            test=test,
            null=_unless(null, default="exact"),
            tolerance=tolerance,
            equivalence=_unless(equivalence, default=False),
            by=by,
            cluster=given.cluster,
            time=given.time,
            lag=given.lag,
            sample_weight=given.sample_weight,
            correction="none" if correction is None else _unless(correction, default="joint"),
        )
        lying = SegmentsAsked(
            given=replace(given, features=None, by=segments),
            lens=lens,  # type: ignore[arg-type]  # one, as was checked
            seed=validation.check_seed(rng),
            n_jobs=n_jobs,
            level=level,
            on_error=on_error,
            progress=progress,
        )
        lies, counted = segments_source(engine, lying)
        if counted is not None:
            may_need_rows = engine == "auto" and not counted.reader.source.is_stream
            with suppress(*[NotApplicable] if may_need_rows else []):
                return test_margins(counted, lying.asked, **options)
        return test_segments(
            model if lies is None else None,
            data if lies is None else lies.table(),
            segments=segments,
            lens=lens,  # type: ignore[arg-type]  # one, as was checked
            n_resamples=n_resamples,  # type: ignore[arg-type]  # refused there where no number
            rng=lying.seed,
            n_jobs=n_jobs,
            level=level,
            progress=progress,
            **columns,
            **options,
        )
    fixed = validation.check_resamples(n_resamples)
    level = None if level is None else validation.check_level(level)
    validation.check_choice("none" if correction is None else correction, METHODS, "correction")
    validation.check_jobs(n_jobs)
    bound = validation.check_tolerance(tolerance, equivalence=equivalence, null=null)
    if bound is not None:
        validation.check_fixed_resamples(n_resamples, "a tolerance")
    seed = validation.check_seed(rng)
    measures, note = resolve_tests(test, options, null=null, tolerance=bound)
    lenses = [resolve_lens(one) for one in _as_list("strong" if lens is None else lens, "lens")]
    asked = Asked(
        given=given,
        measures=measures,
        lenses=lenses,
        null=null,
        tolerance=None if bound is None else Tolerance(bound, equivalence),
        correction=correction,
        n_resamples=fixed,
        seed=seed,
        n_jobs=n_jobs,
        level=level,
        on_error=on_error,
        progress=progress,
        note=note,
        is_default=test is None and not note,
    )
    source, prepared = source_for(engine, asked)
    if prepared is not None:
        return prepared.run(asked)
    if source is None or source.is_eager:
        return _run_rows(asked.given.predictions(), asked)
    given = replace(asked.given, model=None, data=source.table(asked.given.needs))
    return _run_rows(given.predictions().from_source(source.name), asked)


# Or pytest would collect it in a user's test module.
test_calibration.__test__ = False  # type: ignore[attr-defined]


def _run_rows(predictions: Predictions, asked: Asked) -> HTest | HTestTable:
    """Test predictions in memory."""
    measures, lenses, grouped = asked.measures, asked.lenses, asked.given.by is not None
    found = list(
        _plans(measures, lenses, asked.null, predictions, seed=asked.seed, grouped=grouped)
    )
    among = len(found) // len(measures)
    plans = [replace(plan, note=asked.note, among=among) for plan in found]
    if asked.tolerance is not None:
        plans = [replace(plan, null="tolerance", tolerance=asked.tolerance) for plan in plans]
    elif asked.n_resamples is None:
        plans = [replace(plan, clear_at=asked.level or LEVEL) for plan in plans]
    B = MOST if asked.n_resamples is None else asked.n_resamples
    run = partial(_run_or_nearest, n_resamples=B, n_jobs=asked.n_jobs, level=asked.level)
    run_plans, left_out = _run_all(plans, run, asked.progress)
    rows = tuple(row for _, row in run_plans)
    if len(measures) == len(lenses) == 1 and not grouped and not lenses[0].is_family:
        return rows[0]
    correction = asked.correction
    together: tuple[HTest, ...] = ()
    if grouped and _clusters_in_two_groups(run_plans):
        left_out = [*left_out, SPREAD]
        correction = "holm" if correction == "joint" else correction
    else:
        together = tuple(_omnibus_tests(run_plans, n_resamples=B, seed=asked.seed))
    adjusted, name = adjusted_rows(rows, correction)
    return HTestTable(
        rows,
        name,
        adjusted,
        level=asked.level,
        notes=tuple(left_out),
        omnibus=together,
        together=pvalue_of_groups(rows, together),
    )


def _unless(value: object, *, default: object) -> object:
    """Return None for the default; an array is equal to none."""
    return None if isinstance(value, type(default)) and value == default else value


def _check_for_segments(lens: object, options: Mapping[str, object], **others: object) -> None:
    """Check that nothing is asked of segments that their test has not; the others must be None."""
    own = "on segments, which have statistics, an exact null and a joint adjustment of their own"
    validation.check_unused(own, **others)
    if isinstance(lens, list | tuple):
        raise invalid(
            "lens must be a single one for segments", shown(lens), "ask for each by itself"
        )
    for name in options:
        validation.check_choice(name, SEGMENT_OPTIONS, "options of segments")


def _as_list(value: Any, name: str) -> list[Any]:
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    return validation.check_not_empty(values, name)


def resolve_tests(
    test: Any, options: Mapping[str, Any], *, null: str | None, tolerance: float | None
) -> tuple[list[tuple[str, Measure]], str]:
    """Return key and measure of every test that was asked for, and a note on the default."""
    asked = _beyond_default(options, null, tolerance) if test is None else ""
    note = f"tested by {INSTEAD!r}: the default test, {DEFAULT!r}, {asked}" if asked else ""
    tests = [INSTEAD if asked else DEFAULT] if test is None else _as_list(test, "test")
    named = {
        t: REGISTRY[validation.check_choice(t, REGISTRY, "test")]
        for t in tests
        if not isinstance(t, Measure)
    }
    check_options(named, options)
    return [
        (t.key, t) if isinstance(t, Measure) else (t, named[t].with_options(options)) for t in tests
    ], note


def _beyond_default(options: Mapping[str, Any], null: str | None, tolerance: float | None) -> str:
    """Say what was given that the default test has not; empty where it has all."""
    default, instead = REGISTRY[DEFAULT], REGISTRY[INSTEAD]
    if tolerance is not None:
        return "takes no tolerance"
    if null in NULLS and null not in (*default.nulls, "cluster"):
        return f"has no {null} null"
    others = (name for name in options if name not in default.options)
    return next((f"takes no {name}=" for name in others if name in instead.options), "")


def _plans(
    measures: list[tuple[str, Measure]],
    lenses: list[Lens],
    null: str | None,
    predictions: Predictions,
    *,
    seed: int,
    grouped: bool,
) -> Iterator[Plan]:
    if null is not None:
        validation.check_choice(null, NULLS, "null")
    groups = predictions.by_group() if grouped else {None: predictions}
    seeds = _seeds_of_groups(seed, len(groups)) if grouped else [seed]
    for own, (group, part) in zip(seeds, groups.items(), strict=True):
        for number, (key, measure) in enumerate(measures):
            for lens in lenses:
                for member in lens.members(part):
                    yield Plan(
                        test=key,
                        measure=measure,
                        null=null or _default_null(measure, part),
                        lens=member,
                        predictions=part,
                        seed=own,
                        number=number,
                        group=group,
                        is_one_of_many=grouped or lens.is_family,
                    )


def _default_null(measure: Measure, predictions: Predictions) -> str:
    return "cluster" if predictions.has_dependence else measure.nulls[0]


def _seeds_of_groups(seed: int, count: int) -> list[int]:
    """Derive seeds, so that groups are resampled independently and each can be run by itself."""
    children = np.random.SeedSequence(seed).spawn(count)
    return [int(child.generate_state(1)[0]) for child in children]


def _run_all(
    plans: list[Plan],
    run: Callable[[Plan], HTest],
    progress: Callable[[int, int], None] | None,
) -> tuple[list[tuple[Plan, HTest]], list[str]]:
    """Run all plans; return their results, and notes on those that are left out."""
    rows: list[tuple[Plan, HTest]] = []
    left_out: list[str] = []
    reason: NotApplicable | None = None  # of one that has weights
    for done, plan in enumerate(plans, start=1):
        try:
            plan.check_weights()
            rows.append((plan, run(plan)))
        except NotApplicable as error:
            is_weightless = isinstance(error, Weightless)
            reason = reason if is_weightless else error
            if not (is_weightless or plan.may_be_left_out) or len(left_out) + 1 == len(plans):
                raise reason or error from None
            left_out.append(_warn_left_out(plan, error))
        if progress is not None:
            progress(done, len(plans))
    return rows, left_out


def _run_or_nearest(
    plan: Plan, *, n_resamples: int, n_jobs: int | None, level: float | None
) -> HTest:
    """Run a plan; in a group that is too small for it, the nearest one that is defined."""
    run = partial(run_plan, n_resamples=n_resamples, n_jobs=n_jobs)
    try:
        seen, outcome = run(plan)
    except NotApplicable as error:
        for nearest in _nearest_plans(plan, error.reason):
            with suppress(NotApplicable):
                seen, outcome = run(nearest)
                plan = nearest
                break
        else:
            raise
    for message in outcome.degenerate:
        warnings.warn(message, DegenerateDataWarning, stacklevel=OF_THE_USER)
    return result_of(plan, seen, outcome, n_resamples=n_resamples, level=level)


def run_plan(plan: Plan, *, n_resamples: int, n_jobs: int | None) -> tuple[Predictions, Outcome]:
    """Run a plan; return the predictions as the lens shows them, and the outcome."""
    redraws = plan.tolerance is not None or NULLS[plan.null].resamples
    seen = induced(plan.lens, plan.predictions) if redraws else plan.lens(plan.predictions)
    settings = {"n_resamples": n_resamples, "seed": plan.seed, "n_jobs": n_jobs}
    if plan.tolerance is None:
        null = NULLS[plan.null]
        null = null if plan.clear_at is None else adaptive_null(null, plan.clear_at)
        outcome = null.test(plan.measure, seen, **settings)
        if seen.has_dependence and plan.null != "cluster":
            outcome = treated_as_independent(outcome, seen)
        return seen, outcome
    if seen.has_dependence:
        from caltest.intervals.cluster import cluster_tolerance_test

        return seen, cluster_tolerance_test(
            plan.measure,
            seen,
            tolerance=plan.tolerance,
            n_resamples=n_resamples,
            seed=plan.seed,
            n_jobs=n_jobs,
        )
    outcome = tolerance_null(plan.tolerance).test(plan.measure, seen, **settings)
    if not plan.tolerance.equivalence and plan.measure.is_raised_to_exact(seen.n):
        exact = NULLS["exact"].test(plan.measure, seen, **settings).pvalue
        outcome = at_least_exact(outcome, exact)
    return seen, outcome


def _nearest_plans(plan: Plan, reason: str) -> Iterator[Plan]:
    """Yield the exact test of a group, then that of the nearest measure, with a note on each."""
    weighted = plan.predictions.sample_weight is not None
    if plan.group is None or plan.null not in plan.measure.nulls:
        return
    if "exact" in plan.measure.nulls and plan.null != "exact" and not weighted:
        yield plan.instead(f"tested by the exact null: {reason}", null="exact")
    variant = plan.measure.few_rows(weighted=weighted)
    if variant != plan.measure:
        note = f"tested by the {variant.description}: {reason}"
        yield plan.instead(note, measure=variant, null="exact")


def _clusters_in_two_groups(rows: list[tuple[Plan, HTest]]) -> bool:
    """Tell whether a cluster has rows in two groups, which then depend on each other."""
    parts = {plan.group: plan.predictions.clusters for plan, _ in rows}
    found = [np.unique(codes) for codes in parts.values() if codes is not None]
    return bool(found) and np.unique(np.concatenate(found)).size < sum(a.size for a in found)


def _omnibus_tests(
    rows: list[tuple[Plan, HTest]], *, n_resamples: int, seed: int
) -> Iterator[HTest]:
    """Yield the test of all groups together for each test and lens that two groups have."""
    together: dict[tuple[int, str], list[tuple[Plan, HTest]]] = {}
    for plan, row in rows:
        if plan.group is not None and plan.tolerance is None:
            together.setdefault(plan.together, []).append((plan, row))
    for members in together.values():
        if len(members) > 1:
            members.sort(key=lambda item: item[0].note)  # what was asked for gives the title
            title = members[0][0].measure.title
            some = [row for _, row in members]
            yield omnibus(some, title=title, n_resamples=n_resamples, seed=seed)


def _warn_left_out(plan: Plan, error: NotApplicable) -> str:
    """Warn that a class or group is too small for a test, and return the note on it."""
    where = f"lens {plan.lens}" if plan.group is None else f"group {plan.group!r}, lens {plan.lens}"
    note = f"{plan.test} under {where} is left out of the table: {error}"
    warnings.warn(note, DegenerateDataWarning, stacklevel=OF_THE_USER)
    return note
