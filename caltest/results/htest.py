"""The result of one test."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np

from caltest import checks, drawing, render
from caltest.errors import NotApplicable, invalid
from caltest.numerics.loops import threads
from caltest.results import sheets
from caltest.results.base import IF_ASKED, IF_GIVEN, NEVER, Decided, Result, Summary, plain, settle
from caltest.types import Axes, Floats

if TYPE_CHECKING:
    from caltest.intervals.base import Exact
    from caltest.lenses import Lens
    from caltest.measures import Measure
    from caltest.measures.gap import Gap
    from caltest.measures.outcome import Ends, Outcome
    from caltest.nulls.base import Draws, Replicates
    from caltest.predictions import Predictions
    from caltest.results.table import HTestTable
    from caltest.results.verdict import Verdict
    from caltest.results.witness import Witness
    from caltest.sources import Cells

    # An interval, the values that there can be, and whether resamples were drawn.
    Found = tuple[Ends, tuple[float, float], bool]

# Not written to JSON as they are.
EVALUE = "e-value"  # the name of a statistic that is one
_QUANTILES = {"min": 0.0, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "95 %": 0.95, "max": 1.0}

_ABOUT = ("data_name", "group", "test", "lens", "null", "n", "m")
_COLUMNS = (*_ABOUT, "estimate_name", "estimate", "statistic_name", "statistic", "pvalue")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HTest(Decided, Result):
    """The outcome of one test of calibration.

    Attributes
    ----------
    test : str
        Key of the test, such as "skce".
    method : str
        The title of the print.
    statistic_name, estimate_name : str
        What the two numbers are called in the field, such as "SKCE" and "z".
    statistic, estimate : float
        The value that was tested, and the calibration error it stands for. Often the same.
    pvalue : float
        In [0, 1]; small values speak against the null hypothesis.
    null : str
        Key of the null, such as "exact", or "tolerance".
    alternative : str
        The values of the statistic that speak against the null hypothesis: "greater", "less" or
        "two-sided". A p-value counts those.
    null_text : str
        The null distribution in words, without the number of resamples and the seed.
    is_bound : bool
        Whether the p-value is an upper bound, from an inequality, of the probability of a statistic
        as extreme as this one.
    if_calibrated : tuple of float
        Mean of the statistic over redrawn labels, and the lower and upper limit of 95 % of its
        values; one is infinite where the test is one-sided. Where all label vectors are listed,
        these are weighted by their probabilities. Empty where the null is not "exact", of the test
        "combined", whose statistic has no unit, and of groups that are tested in one pass.
    n, m : int
        Numbers of observations and of classes of the predictions.
    lens : str
        Key of the lens, such as "classwise[cat]".
    claim : str
        The null hypothesis in words.
    data_name : str
        What was tested: a model, a file, or "arrays".
    parameters : Mapping
        Settings of the measure in the order in which they print, read-only.
    n_resamples, seed : int or None
        How to repeat the resampling; None where nothing is resampled.
    stopping : str or None
        Why it ended, where `n_resamples="adaptive"`.
    null_distribution : (n_resamples,) array or None
        The resampled statistics, read-only; of an adaptive number the first 100,000.
    notes : tuple of str
        Remarks that a reader of the p-value should see.
    level : float or None
        The significance level, if the caller gave one.
    group : object
        The group of the observations, or None.
    evidence : Evidence or None
        The measure, the lens and the predictions, for `confidence_interval` and `witness`. Neither
        compared nor written to JSON.
    counted : Counted or None
        The measure, the lens and the cells of rows that were counted where they lie. Likewise.
    counts : GradeCounts or None
        The same of a grade that was tested without rows.
    replicates : Replicates or None
        The observed statistic and the resampled ones, for tests of several rows together. Likewise.
    size : Gap or None
        Mean prediction and observed share of the event, or of the predicted class being right, with
        the interval of their difference; None where the test has no rows.
    finding : str
        Of the test "combined": what the most extreme component found, in words, where its adjusted
        p-value is at most 0.1.
    places : tuple of Gap
        Of the test "combined": classes and ranges of probability that are wrong, by a test that
        allows for the search; the one that is surely farthest off first, three at most.
    components : HTestTable or None
        Of the test "combined": the statistics that it combines, the most extreme first, each with
        its p-value, that adjusted for all of them, and in its parameters what was found, in words.

    Examples
    --------
    >>> import caltest as ct
    >>> predictions = ct.datasets.generative_model("M2", rng=1)
    >>> result = ct.test_calibration(None, predictions, n_resamples=99, rng=1)
    >>> result.pvalue
    0.01
    >>> HTest.from_dict(result.to_dict()) == result
    True
    """

    schema: ClassVar[str] = "caltest/htest/3"

    test: str
    method: str
    statistic_name: str
    statistic: float
    pvalue: float
    estimate_name: str
    estimate: float
    null: str
    alternative: str
    null_text: str
    n: int
    m: int
    lens: str
    claim: str
    data_name: str
    parameters: Mapping[str, object] = field(default_factory=dict, hash=False)
    n_resamples: int | None = None
    seed: int | None = None
    stopping: str | None = None
    null_distribution: Floats | None = field(default=None, compare=False, metadata=IF_ASKED)
    is_bound: bool = False
    if_calibrated: tuple[float, ...] = ()
    notes: tuple[str, ...] = ()
    level: float | None = None
    group: object = None
    evidence: Evidence | None = field(default=None, compare=False, metadata=NEVER)
    counted: Counted | None = field(default=None, compare=False, metadata=NEVER)
    counts: GradeCounts | None = field(default=None, compare=False, metadata=NEVER)
    replicates: Replicates | None = field(default=None, compare=False, metadata=NEVER)
    size: Gap | None = None
    finding: str = ""
    places: tuple[Gap, ...] = ()
    components: HTestTable | None = field(default=None, compare=False, metadata=IF_GIVEN)

    def __post_init__(self) -> None:
        settle(self)
        usual = self.if_calibrated
        if usual and not (len(usual) == 3 and np.isfinite(usual[0]) and not np.isnan(usual).any()):
            rule = "if_calibrated must be empty, or have a finite mean and two limits"
            raise invalid(rule, str(usual), "pass (mean, low, high)")

    @classmethod
    def from_outcome(
        cls,
        outcome: Outcome,
        *,
        n_resamples: int | None = None,
        seed: int | None = None,
        note: str = "",
        remarks: Sequence[str] = (),
        **about: Any,
    ) -> Self:
        """Make the result of an outcome.

        Parameters
        ----------
        outcome : Outcome
            The numbers, with the null distribution.
        n_resamples, seed : int, optional
            Those of the call; the result keeps them where something was resampled.
        note : str
            A remark that comes before those of the outcome.
        remarks : sequence of str
            Those that come after.
        **about
            The other fields: what was tested, under which lens and null.

        Returns
        -------
        HTest
            The result.
        """
        shared = ["statistic_name", "statistic", "pvalue", "estimate", "alternative", "null_text"]
        shared += ["is_bound", "parameters", "stopping", "replicates"]
        about |= {name: getattr(outcome, name) for name in shared}
        about["notes"] = tuple(filter(None, (note, *outcome.notes, *outcome.degenerate, *remarks)))
        if outcome.distribution is not None or outcome.n_resamples is not None:
            about |= {"n_resamples": outcome.n_resamples or n_resamples, "seed": seed}
        if about["null"] == "exact" and not outcome.parts:
            about["if_calibrated"] = outcome.usual
        return cls(null_distribution=outcome.distribution, **about)

    @property
    def tests(self) -> tuple[HTest, ...]:
        """The tests that a result holds one by one: itself."""
        return (self,)

    @property
    def evalue(self) -> float | None:
        """The e-value, of the tests that have one: "e-likelihood-ratio" and "e-hosmer-lemeshow".

        Examples
        --------
        >>> import caltest as ct
        >>> data = ct.datasets.generative_model("M2", rng=1)
        >>> result = ct.test_calibration(data, test="e-likelihood-ratio")
        >>> result.pvalue == 1 / result.evalue
        True
        """
        return self.statistic if self.statistic_name == EVALUE else None

    @property
    def least_pvalue(self) -> float | None:
        """The smallest p-value that B resamples can give; None where nothing is resampled."""
        if self.n_resamples is None:
            return None
        return (2 if self.alternative == "two-sided" else 1) / (self.n_resamples + 1)

    @property
    def is_least_pvalue(self) -> bool:
        """Whether no resampled statistic is as extreme as the observed one."""
        return self.least_pvalue is not None and self.pvalue <= self.least_pvalue * (1 + 1e-9)

    @property
    def is_of_grade(self) -> bool:
        """Whether it is one of a grade by `test_master_scale`, which has no rows."""
        return "PD" in self.parameters and self.size is not None and self.size.effective is None

    @property
    def side(self) -> str:
        """What the test looks for, where it looks for one direction of an error only, in words.

        Examples
        --------
        >>> import caltest as ct
        >>> ct.test_calibration([0.1, 0.1], [0, 1], test="binomial").side
        'the PD is too low: more defaults than predicted'
        """
        from caltest.measures.base import side_of

        return "" if self.null == sheets.TOLERANCE else side_of(self.test, self.alternative)

    def summary(self) -> Summary:
        """Return the longer print: every field, and quantiles of the null distribution."""
        null, quantiles = self.null_distribution, {}
        if null is not None:
            values = np.quantile(null, list(_QUANTILES.values())).tolist()
            quantiles = dict(zip(_QUANTILES, values, strict=True))
        return Summary(sheets.sheet_of_summary(self, quantiles))

    def confidence_interval(
        self,
        confidence: float = 0.95,
        *,
        method: str | None = None,
        n_resamples: int = 1999,
        rng: object = None,
        n_jobs: int | None = None,
    ) -> Interval:
        """Return a confidence interval for the calibration error, score, slope or default rate.

        Parameters
        ----------
        confidence : float, default 0.95
            The confidence level.
        method : str, optional
            A key of `caltest.intervals.REGISTRY`: "u-statistic", "block", "convex", "jackknife",
            "profile", "event-count", "grade-rate", "unseen-events", "studentized", "plug-in" or
            "bca"; by default the first that applies to the measure. Whatever the method, the
            interval holds the value of calibration (0 for an error, 1 for a slope, its mean for a
            score) unless the test rejects at the level 1 - `confidence`: the exact one, or that
            of the null "cluster" where rows have clusters.
        n_resamples : int, default 1999
            Of the bootstrap, at least 99.
        rng : None, int, Generator or SeedSequence
            The seed; by default that of the test.
        n_jobs : int, optional
            Threads, as in joblib; the interval does not depend on it.

        Returns
        -------
        Interval
            With `low`, `high`, `estimate`, and notes on what it does not cover. The lens and the
            bandwidth or bins are those of the test. docs/studies/interval_coverage.md has its
            coverage.

        Raises
        ------
        NotApplicable
            If the result has no predictions any more, as one that was read from JSON; the test has
            a statistic that grows with n, as Hosmer-Lemeshow's does, and nothing that an interval
            could hold; the method has no meaning for the measure, or the data do not vary.

        Examples
        --------
        >>> import caltest as ct
        >>> data = ct.datasets.generative_model("M2", rng=1)
        >>> result = ct.test_calibration(data, test="skce", rng=1)
        >>> interval = result.confidence_interval(0.9)
        >>> interval.low < result.estimate < interval.high
        True
        """
        from caltest.nulls.base import Draws
        from caltest.numerics.joint import cleared  # loads SciPy

        level = checks.check_confidence(confidence)
        checks.check_fixed_resamples(n_resamples, "an interval", 99)
        held: Any = self.counts or self.counted or required(self, "a confidence interval")
        draws = Draws(n_resamples, held.seed if rng is None else checks.check_seed(rng))
        with threads(checks.check_jobs(n_jobs)):
            ends, (least, largest), resamples = held.interval(self, level, method, draws)
        usual = sheets.if_calibrated(self)
        return Interval(  # to cut off what cannot be the value leaves the coverage as it is
            low=min(max(ends.low, least), largest),
            high=max(min(ends.high, largest), least),
            estimate=float(cleared(ends.estimate, min(1.0, ends.high - ends.low))),
            level=level,
            method=ends.method_text,
            measure=held.measure.title,
            name=held.measure.estimate_symbol,
            data=sheets.data_line(self),
            n_resamples=n_resamples if resamples else None,
            seed=draws.seed if resamples else None,
            notes=(*([f"if calibrated, {usual}"] if usual else []), *ends.notes),
        )

    def verdict(self, *, n_jobs: int | None = None) -> Verdict:
        """Return what a person can act on: answer, direction and size, where, what helps.

        Where something is found, maps are compared on held-out rows, as in `caltest.verdict`, and
        one is named if it clearly helps (study "What helps"). Where nothing is, it says what these
        rows could have shown: the smallest temperature, or slope and mean error, that the test
        finds in 80 % of the data sets.

        Parameters
        ----------
        n_jobs : int, optional
            Threads, as in joblib.

        Returns
        -------
        Verdict
            Its print begins with the first line of the print of the result.

        Examples
        --------
        >>> import caltest as ct
        >>> data = ct.datasets.generative_model("M1", n=200, m=3, rng=1)
        >>> ct.test_calibration(data, rng=1).verdict().answer
        'no evidence'
        """
        with threads(checks.check_jobs(n_jobs)):
            return cast("Verdict", drawing.above("verdicts.verdict_of", ("whole", self)))

    def witness(self, *, n_jobs: int | None = None) -> Witness:
        """Return the function that shows where the predictions are not calibrated.

        Parameters
        ----------
        n_jobs : int, optional
            Threads, as in joblib.

        Returns
        -------
        Witness
            Callable at predictions; its print names the classes and the regions of predicted
            probability that contribute most. For "skce-linear" and "skce-block" too it is that of
            all pairs; for "combined" that of the SKCE with its default kernel.

        Raises
        ------
        NotApplicable
            If the test is not one of "combined", "skce", "skce-linear", "skce-block", "kce" and
            "mmce", or the result has no predictions any more.

        Examples
        --------
        >>> import caltest as ct
        >>> result = ct.test_calibration(ct.datasets.generative_model("M2", rng=1), rng=1)
        >>> worst = result.witness().by_class()[0]
        >>> worst.name, worst.direction
        (0, 'under-predicted')
        """
        from caltest.measures.base import keys_offering
        from caltest.measures.kernel.witness import Embedding
        from caltest.results.witness import Witness

        evidence = required(self, "a witness")
        measure = evidence.measure
        if measure.witness_kernel is None or not evidence.seen.m:
            tests = ", ".join(map(repr, keys_offering("witness_kernel")))
            of = "" if evidence.seen.m else " of forecasts"
            reason = f"{measure.description}{of} has no witness"
            raise NotApplicable(reason, f"use one of the tests {tests}")
        with threads(checks.check_jobs(n_jobs)):
            embedding = Embedding(evidence.seen, measure.witness_kernel)
        parameters = embedding.kernel.parameters
        kernel = f"{parameters['kernel']}, bandwidth = {render.number(parameters['bandwidth'])}"
        return Witness(embedding, data=sheets.data_line(self), kernel=kernel)

    def plot(self, kind: str | None = None, *, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw what was tested.

        Parameters
        ----------
        kind : str, optional
            "reliability", "corp" and "confidence-band" are `caltest.plots.reliability_diagram`
            with bins, with the isotonic fit, and with that and the confidence band; "null" is
            `null_distribution`, "witness" `witness`, and "belt" `calibration_belt`; of forecasts
            "pit" is `pit_histogram`, "coverage" `coverage_curve`, "quantiles"
            `quantile_reliability` and "spread" `spread_against_error`. By default of forecasts
            the PIT histogram, and of classes the one that belongs to the test: the reliability
            diagram of the default test, with the worst ranges shaded (of more classes that of the
            class, or the confidence, that has the worst), under a lens that leaves two classes and
            for binned errors; the witness of a kernel test of more classes; elsewhere the null
            distribution.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure, `.figure` of what is returned.
        **options
            For that function, such as `bins=`.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Raises
        ------
        InvalidInput
            If there is no such kind.
        NotApplicable
            If the result does not hold what is to be drawn.

        Examples
        --------
        >>> import caltest as ct
        >>> data = ct.datasets.generative_model("M2", n=500, m=2, rng=1)
        >>> result = ct.test_calibration(data, test="ece", n_resamples=99, rng=1)
        >>> result.plot().get_ylabel(), result.plot("null").get_xlabel()
        ('observed frequency of 1', 'ECE under the null hypothesis')
        """
        return drawing.draw("htests.plot_test", self, kind, {"ax": ax, **options})

    def to_csv(self) -> str:
        """Return one line of values under one line of names, numbers at full precision."""
        return render.csv([record(self)])

    def _sheet(self) -> render.Sheet:
        return sheets.sheet_of_test(self)


def record(row: HTest, adjusted: float | None = None) -> dict[str, Any]:
    """Return one test as a flat dictionary: the columns of data frames and CSV files."""
    values = {name: plain(getattr(row, name)) for name in _COLUMNS}
    if adjusted is not None:
        values["adjusted"] = adjusted
    mean = row.if_calibrated[0] if row.if_calibrated else None
    return values | {"n_resamples": row.n_resamples, "seed": row.seed, "if_calibrated": mean}


# ---- confidence intervals ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Interval(Result):
    """A confidence interval for a calibration error or score.

    Attributes
    ----------
    low, high : float
        The ends.
    estimate : float
        The value between them; the unbiased one where the interval corrects a bias.
    level : float
        The confidence level, such as 0.95.
    method : str
        How the ends were found, in words.
    measure, name, data : str
        What is estimated, its symbol and from what, as they print.
    n_resamples, seed : int or None
        How to repeat the resampling; None where nothing is resampled.
    notes : tuple of str
        What a reader of the interval should see.
    """

    schema: ClassVar[str] = "caltest/interval/1"

    low: float
    high: float
    estimate: float
    level: float
    method: str
    measure: str
    name: str
    data: str
    n_resamples: int | None = None
    seed: int | None = None
    notes: tuple[str, ...] = ()

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def _sheet(self) -> render.Sheet:
        text = self.method
        if self.n_resamples is not None:
            text += f", B = {self.n_resamples}, seed = {self.seed}"
        ends = f"[{render.number(self.low)}, {render.number(self.high)}]"
        return render.Sheet(
            title=f"{100 * self.level:g} percent confidence interval: {self.measure}",
            facts=(("data", self.data), ("method", text)),
            numbers=((self.name, render.number(self.estimate)), ("interval", ends)),
            closing=sheets.notes_of(self.notes),
        )


# ---- What a result keeps so that later questions can be answered: how large, how sure, where -----


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """The measure, the lens and the predictions behind a result.

    It refers to arrays that exist anyway: the rows of a table share one `Predictions`, and the lens
    is applied again where it is asked for.

    Attributes
    ----------
    measure : Measure
        The measure with its options.
    lens : Lens
        The member of a family, not the family.
    predictions : Predictions
        As they were before the lens.
    seed : int
        The seed of the test.
    """

    measure: Measure
    lens: Lens
    predictions: Predictions
    seed: int

    @property
    def seen(self) -> Predictions:
        """The predictions as the lens shows them."""
        return self.lens(self.predictions)

    @property
    def sized(self) -> Predictions:
        """The predictions whose size is stated; of forecasts, of an interval that holds it."""
        return self.lens.size_of(self.seen)[0]

    def interval(self, test: HTest, level: float, method: str | None, draws: Draws) -> Found:
        """Return the interval of a test of rows.

        It is compared with the p-value that was printed, or where that is another, with its:
        another null, and too few resamples for the level, leave the exact p-value to be computed.
        """
        from caltest.intervals import base, choose

        measure, seen = self.measure, self.seen
        clustered, support = seen.has_dependence, measure.support(seen.m)
        chosen = choose(measure, "cluster" if clustered and method is None else method)
        ends = chosen.compute(measure, seen, level, draws)
        by_cluster = chosen.key == "cluster"
        own, null = draws._replace(seed=self.seed), "cluster" if by_cluster else measure.nulls[0]
        exact = _printed(test, level) if test.null == null else None
        exact = exact or base.exact_test(measure, seen, own, null)
        if exact is not None:
            value = measure.calibrated_value(seen)
            noise = partial(base.calibrated_values, measure, seen, own)
            ends = base.agreeing(ends, measure, exact, value, noise, level=level)
        if clustered and not by_cluster:
            note = (
                f"rows of the same {seen.unit} are treated as independent: where they are alike, "
                "the interval is too short; method='cluster' is for them"
            )
            ends = replace(ends, notes=(note, *ends.notes))
        return ends, support, chosen.resamples

    def __reduce__(self) -> tuple[object, ...]:
        try:
            pickle.dumps((self.measure, self.lens))
        except (pickle.PicklingError, AttributeError, TypeError):
            # A lambda in a lens or a kernel: the numbers of the result travel without it.
            return type(None), ()
        return Evidence, (self.measure, self.lens, self.predictions, self.seed)


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """The measure, the lens and the cells behind a result of very many rows.

    Attributes
    ----------
    measure : Measure
        The measure with its options.
    lens : Lens
        The member of a family, not the family.
    cells : Cells
        As the lens shows the rows; the tests of one call share them.
    seed : int
        The seed of the test.
    """

    measure: Measure
    lens: Lens
    cells: Cells
    seed: int

    def interval(self, test: HTest, level: float, method: str | None, draws: Draws) -> Found:
        """Return the interval of a test by cells."""
        from caltest.intervals import base, cells_interval
        from caltest.nulls.base import redrawn_values
        from caltest.nulls.exact import bind_cells, exact_tests

        bound = bind_cells(self.measure, self.cells)
        ends, resamples = cells_interval(self.measure, bound, level, method, draws)
        exact = _printed(test, level)
        if exact is None:
            (again,) = exact_tests([(self.measure, bound)], draws)
            name, drawn = again.statistic_name, again.distribution
            exact = base.Exact(name, again.pvalue, again.statistic, drawn)
        noise = partial(redrawn_values, bound, draws)
        ends = base.agreeing(ends, self.measure, exact, bound.calibrated, noise, level=level)
        return ends, self.measure.support(2), resamples


@dataclass(frozen=True, slots=True, eq=False)
class GradeCounts:
    """What `test_master_scale` knows of a grade, which has no rows.

    Attributes
    ----------
    measure : Measure
        The measure with its options.
    defaults, n : int
        Numbers of defaults and of obligors.
    """

    measure: Measure
    defaults: int
    n: int
    seed: ClassVar[int] = 0  # of draws that no grade needs

    def interval(self, test: HTest, level: float, method: str | None, _draws: Draws) -> Found:
        """Return the interval of a grade from its numbers of defaults and obligors."""
        from caltest.intervals import choose

        chosen, own = choose(self.measure, method).key, self.measure.own_intervals
        if chosen not in own:
            rule = f"method {chosen!r} needs the rows of the grade, and test_master_scale has their"
            raise NotApplicable(f"{rule} numbers only", f"use {' or '.join(map(repr, own))}")
        ends = self.measure.grade_interval(self.defaults, self.n, level=level)
        return ends, (-np.inf, np.inf), False


def _printed(test: HTest, level: float) -> Exact | None:
    """Return what a test found, unless its resamples are too few for the level of an interval."""
    from caltest.intervals.base import Exact

    if test.least_pvalue is not None and test.least_pvalue > 1.0 - level:
        return None
    return Exact(test.statistic_name, test.pvalue, test.statistic, test.null_distribution)


def required(test: HTest, question: str) -> Evidence:
    """Return the evidence of a result, or raise NotApplicable where it has none."""
    from caltest.measures.base import is_named

    if test.evidence is not None:
        return test.evidence
    what, remedy = f"a result of {test.test!r}", "ask a result of test_calibration"
    if is_named(test.test) and not test.is_of_grade:  # run as a test of rows, it has some
        what = "a result that was counted in cells, read from JSON, or pickled with a lambda in its"
        what += " lens or kernel"
        remedy = "run test_calibration again, with engine='rows', and ask its result"
    raise NotApplicable(f"{question} needs the predictions, and {what} holds numbers only", remedy)
