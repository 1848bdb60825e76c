"""`test_calibration`: lenses x measures x a null, from a model and data to results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, TypedDict, Unpack

from caltest import checks
from caltest.errors import invalid, shown
from caltest.htests import runner, ways
from caltest.htests.asked import Asked, read, with_design
from caltest.lenses import Lens, resolve_lens
from caltest.measures import REGISTRY as MEASURES
from caltest.measures import Measure
from caltest.measures.own import measure_of
from caltest.measures.tolerance import Tolerance
from caltest.nulls import REGISTRY as NULLS
from caltest.numerics.loops import threads
from caltest.predictions import ModelData
from caltest.predictions import options as reading
from caltest.results import GroupsTest, HTest, HTestTable
from caltest.segments import SegmentsTest

Test = str | Measure | Callable[..., float]
DEFAULT = "combined"  # where the caller names no test
INSTEAD = "skce"  # where the caller asks for what the default has not, and this test has
SEGMENT_OPTIONS = ("depth", "bins", "min_size", "statistic", "keep")


# Of `test_calibration`, as far as an option of a test may be taken for one.
ARGUMENTS = ("model", "data", "y", "by", "level", "n_resamples", "rng", "n_jobs")


@dataclass(frozen=True)
class NamedTest:
    """A measure under a name of its own.

    Attributes
    ----------
    key : str
        Registry key, file name and name on the command line.
    measure : type of Measure
    fixed : Mapping
        Options of the measure that the name stands for.

    Examples
    --------
    >>> REGISTRY["skce-linear"].fixed["estimator"]
    'linear'
    """

    key: str
    measure: type[Measure]
    fixed: Mapping[str, object] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """One line for lists of tests."""
        return self.measure(**self.fixed).description

    @property
    def nulls(self) -> tuple[str, ...]:
        """The nulls that have a meaning for this test; the first is the default."""
        return self.measure(**self.fixed).nulls

    @property
    def default_null(self) -> str:
        """The null where the caller names none; options may leave it another."""
        return self.nulls[0]

    @cached_property
    def options(self) -> tuple[str, ...]:
        """The options that a caller may give."""
        return tuple(f.name for f in fields(self.measure) if f.name not in self.fixed)

    def with_options(self, options: Mapping[str, object]) -> Measure:
        """Make the measure from the options that it takes; the others are for other tests."""
        own = {name: options[name] for name in self.options if name in options}
        return self.measure(**self.fixed, **own)


def check_options(tests: Mapping[str, NamedTest], options: Mapping[str, object]) -> None:
    """Raise InvalidInput for an option that none of the tests takes."""
    for name in options:
        if not any(name in test.options for test in tests.values()):
            known = sorted({name for test in tests.values() for name in test.options})
            takes = next((key for key in REGISTRY if name in REGISTRY[key].options), "")
            remedy = f"use {', '.join(known)}" if known else "give them to the measure itself"
            also = f", or name a test that takes it, such as {takes!r}" if takes else ""
            others = *reading.Reading.__annotations__, *ARGUMENTS  # which this caller does not take
            near = reading.did_you_mean(name, [*known, *others])
            remedy = "leave it out" if name in others else near or remedy
            named = ", ".join(tests) or "none is"
            rule = f"options must be taken by a test named by its key ({named})"
            raise invalid(rule, repr(name), remedy + also)


REGISTRY: dict[str, NamedTest] = {
    key: NamedTest(key, measure, fixed)
    for measure in MEASURES.values()
    for key, fixed in measure.declared_tests().items()
}


# ---- options of `test_calibration` that go through `**`, for type checkers and editors -----------


class MeasureOptions(TypedDict, total=False):
    """Options of the measures in `REGISTRY`, of which each test takes its own; and of segments."""

    alternative: Any
    bandwidth: Any
    binning: Any
    bins: Any
    block_size: Any
    compare: Any
    components: Any
    correlation: Any
    degree: Any
    depth: Any
    design: Any
    digits: Any
    distance: Any
    eps: Any
    estimator: Any
    groups: Any
    internal: Any
    keep: Any
    kernel: Any
    locations: Any
    max_bins: Any
    max_degree: Any
    method: Any
    min_size: Any
    p: Any
    root: Any
    scaled: Any
    scales: Any
    serial: Any
    slopes: Any
    span: Any
    splits: Any
    statistic: Any
    threshold: Any
    width: Any


class EveryOption(MeasureOptions, total=False):
    """The same, and those whose names are arguments of a comparison."""

    reference: Any
    score: Any


class CalibrationOptions(reading.Reading, EveryOption, total=False):
    """What `test_calibration` takes beside its own arguments: data options, and of measures."""


# ---- the function --------------------------------------------------------------------------------


def test_calibration(
    model: object = None,
    data: object = None,
    y: object = None,
    *,
    test: Test | Sequence[Test] | None = None,
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
    model : classifier, regressor, calibrator, callable, array, Predictions, Forecasts or None
        A fitted classifier or calibrator with `predict_proba`; a callable X -> probabilities; an
        (n, m) array of probabilities, or (n,) for P(Y = 1); None where `data` is a Predictions or
        a data frame that holds the probabilities. The pair (probabilities, labels) may stand here
        alone. Of numbers, forecasts, a model that `Forecasts.from_model` takes, or a frozen
        distribution of scipy.stats.
    data : X, (X, y), y, data frame, path, iterator of data frames or Predictions
        y where `model` is an array; a data frame or lazy frame (Polars, DuckDB, Ibis, Dask, Spark),
        a path, a pattern such as ``"day=*/part-*.parquet"``, a list of paths or an iterator of
        frames with `label=`.
    y : (n,) or one-hot (n, m) array, optional
        Labels, where `model` predicts the rows of `data`, which is X alone. Where X is a data
        frame, `by=`, `sample_weight=`, `cluster=` and `time=` may name columns of it, which the
        model does not see unless it was fitted by their names; those of `by=` it does.
    test : str, callable, Measure or list, default "combined"
        Keys are in `caltest.htests.REGISTRY`; of a callable `f(probs, labels)` large values speak
        against calibration, see `caltest.measures.from_callable`. The default combines several
        statistics of the same redrawn labels, so that it finds most errors without a choice of the
        test. Where a null, a tolerance or an option is given that it has not, as `kernel=`, "skce"
        takes its place, and a note says so.
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
        its chi^2 distribution. More than 500 groups are tested in one pass with a `GroupsTest`,
        where the lens leaves one event of rows without weights or clusters: by the default test,
        or of rows that are counted in cells by any named test that can be.
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
        row has another null than the exact one or "cluster", and for more than 500 groups that are
        tested in one pass, which share no row and lose nothing by it. Otherwise a method of
        `multipletests` of statsmodels, such as "holm", "fdr_bh" or "none".
    n_resamples : int or "adaptive", default 999
        B; the smallest attainable p-value of a resampling null is 1 / (B + 1). With "adaptive" the
        exact null redraws labels until the decision at `level`, or at 0.05, is clear, and for a
        smaller p-value on until its standard error is a fifth of it, at most 10^6 times; the
        p-value is as valid as that of a fixed number (Besag and Clifford 1991).
    rng : None, int, Generator or SeedSequence
        The seed. Without `by` every row of a table uses the same; with it each group has a seed of
        its own that is derived from it. The row holds it, so that each can be repeated by itself.
        Labels are redrawn for the rows in their order: sorted otherwise, the same data have another
        p-value, within the error of resampling; so has a group by itself that lacks some clusters.
    n_jobs : int, optional
        Threads, as in joblib; the p-value does not depend on it.
    level : float, optional
        Significance level in (0, 0.5]. The print holds a verdict only where it is given.
    **data_and_test_options
        Data options, which are listed under Other Parameters, and options of the measure, such as
        `kernel=` and `estimator=`; with `segments`, of these.

    Returns
    -------
    HTest, HTestTable, SegmentsTest or GroupsTest
        A table where tests, lenses or groups are several, a SegmentsTest with `segments`; of more
        than 500 groups or of segments that are counted in cells, the table that is a GroupsTest.

    Other Parameters
    ----------------
    label, features, probs : str or list of str, optional
        Columns of the data frame: the label, the features of `model`, by default those by whose
        names it was fitted, else all that are not named here, and the probabilities.
    classes : (m,) array, optional
        Class labels in the order of the columns of the probabilities.
    mean, scale, members, quantiles : str, optional
        Columns of forecasts of numbers, whose outcomes are the column `label`: see
        `Forecasts.from_frame`.
    from_logits, renormalize : bool, default False
        Read an array or columns as logits; rescale rows whose sum is off by up to 0.01.
    ordinal : bool, default False
        The classes are ordered, as the columns of the probabilities are: see `Predictions`. Those
        of an OrderedModel of statsmodels are.
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
        the same time alone depend; where dependence fades, the steps after which the correlation
        of the residuals is 0.1 or less.
    engine : {"auto", "rows", "cells", "chunks"}, default "auto"
        Of frames, paths and iterators: "rows" reads them into memory; "cells" counts them where
        they lie, in one query, and tests the counts of 2^16 cells of predictions; "chunks" reads
        rows of several classes twice, chunk by chunk or on the workers of Dask and Spark, and tests
        sums over features of their predictions, for the lens "strong" and test="skce"; "auto"
        takes cells or chunks for more than 2 million rows, where all that is asked for has a
        version for them. Also of arrays, from 100,000 rows of two classes on, "auto" counts rows in
        some thousand cells for the default test, and from 50,000 of more classes on it takes them
        by chunks where it is the only test; "rows" takes each row. Forecasts of numbers are counted
        by the cells of their PIT, with "cells" or "chunks", or from 131,072 in memory on, for the
        default test and those of the PIT.
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
    kinds = reading.ColumnOptions, reading.RowOptions, reading.ForecastOptions, reading.Reading
    columns, rows, forecasts, how, options = reading.parted(data_and_test_options, *kinds)
    given = ModelData(model, data, y, by=by, **columns, **rows, **forecasts)
    engine = how.get("engine", "auto")
    settings: dict[str, Any] = {"progress": how.get("progress")}
    settings["on_error"] = how.get("on_error", "raise")
    if segments is not None:
        own: dict[str, Any] = {"test": test, "by": by, "null": null, "tolerance": tolerance}
        own |= {"equivalence": equivalence, "correction": correction}
        check_for_segments(lens, options, **own)
        alone, remedy = "on segments, which take rows as independent", "leave out the segments"
        checks.check_unused(alone, remedy, **vars(given.dependence))
        settings |= {"n_resamples": n_resamples, "rng": rng, "level": level}
        with threads(checks.check_jobs(n_jobs)):
            return ways.run_segments(engine, replace(given, by=segments), lens, options, settings)
    drawn = checks.check_resamples(n_resamples)
    level = None if level is None else checks.check_level(level)
    checks.check_correction(correction)
    bound = checks.check_tolerance(tolerance, equivalence=equivalence, null=null)
    if bound is not None:
        checks.check_fixed_resamples(n_resamples, "a tolerance")
    seed = checks.check_seed(rng)
    given, options = with_design(given, options)
    measures, note = resolve_tests(test, options, null=null, tolerance=bound)
    asked = Asked(
        given=given,
        measures=measures,
        lenses=as_list("strong" if lens is None else lens, "lens", resolve_lens),
        n_resamples=drawn,
        seed=seed,
        correction=correction,
        null=null,
        tolerance=None if bound is None else Tolerance(bound, equivalence),
        level=level,
        may_count=engine != "rows",
        note=note,
        **settings,
    )
    jobs = checks.check_jobs(n_jobs)
    source, way = ways.choose(engine, asked)
    if way is not None:
        with threads(jobs):
            return way.run(asked)
    predictions, keys = read(given, source)  # a model predicts with all threads that it has
    with threads(jobs):
        return runner.RowsInMemory(predictions, keys).run(asked)


# Or pytest would collect it in a user's test module.
test_calibration.__test__ = False  # type: ignore[attr-defined]


def check_for_segments(lens: object, options: Mapping[str, object], **others: object) -> None:
    """Check that nothing is asked of segments that their test has not; the others have no value."""
    for name, default in (("null", "exact"), ("equivalence", False), ("correction", "joint")):
        value = "none" if name == "correction" and others[name] is None else others[name]
        others[name] = None if isinstance(value, type(default)) and value == default else value
    own = "on segments, which have statistics, an exact null and a joint adjustment of their own"
    checks.check_unused(own, **others)
    if isinstance(lens, list | tuple):
        rule = "lens must be a single one for segments"
        raise invalid(rule, shown(lens), "ask for each by itself")
    for name in options:
        checks.check_choice(name, SEGMENT_OPTIONS, "options of segments")


def as_list(value: Any, name: str, read: Callable[[Any], Any] | None = None) -> list[Any]:
    """Return a list of several that differ, of which one may stand for itself, each as read."""
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    found = [read(one) if read else one for one in checks.check_not_empty(values, name)]
    for k, one in enumerate(values):
        if found[k] in found[:k]:
            raise invalid(f"{name} must name each once", f"{shown(one)} twice", "drop the copy")
    return found


def check_told_apart(keys: Sequence[str]) -> None:
    """Check that no test has the key of another, where results are told apart by it alone."""
    if twice := [key for k, key in enumerate(keys) if key in keys[:k]]:
        rule = "test must hold tests of different names here"
        raise invalid(rule, f"{twice[0]!r} twice", "ask for each by itself")


def resolve_tests(
    test: Any, options: Mapping[str, Any], *, null: str | None, tolerance: float | None
) -> tuple[list[tuple[str, Measure]], str]:
    """Return key and measure of every test that was asked for, and a note on the default."""
    asked = _beyond_default(options, null, tolerance) if test is None else ""
    note = f"tested by {INSTEAD!r}: the default test, {DEFAULT!r}, {asked}" if asked else ""
    tests = as_list((INSTEAD if asked else DEFAULT) if test is None else test, "test", measure_of)
    keys = [t for t in tests if not isinstance(t, Measure)]
    named = {t: REGISTRY[checks.check_choice(t, REGISTRY, "test")] for t in keys}
    check_options(named, options)
    found = [
        (t.key, t) if isinstance(t, Measure) else (t, named[t].with_options(options)) for t in tests
    ]
    every = [key for key, _ in found]
    if twice := [k for k, one in found if not one.declared_tests() and every.count(k) > 1]:
        remedy = "name them: ct.measures.from_callable(function, name=...)"
        raise invalid("functions must have names of their own", f"{twice[0]!r} twice", remedy)
    return found, note


def _beyond_default(options: Mapping[str, Any], null: str | None, tolerance: float | None) -> str:
    """Say what was given that the default test has not; empty where it has all."""
    default, instead = REGISTRY[DEFAULT], REGISTRY[INSTEAD]
    if tolerance is not None:
        return "takes no tolerance"
    if null in NULLS and null not in (*default.nulls, "cluster"):
        return f"has no {null} null"
    others = (name for name in options if name not in default.options)
    return next((f"takes no {name}=" for name in others if name in instead.options), "")
