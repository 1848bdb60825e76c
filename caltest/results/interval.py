"""Confidence intervals as results."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from caltest import checks
from caltest.errors import NotApplicable
from caltest.results import sheets
from caltest.results.evidence import Evidence, required
from caltest.results.printable import Result

if TYPE_CHECKING:
    from caltest.measures import Measure
    from caltest.measures.outcome import Ends
    from caltest.predictions import Predictions
    from caltest.render import Sheet
    from caltest.results.evidence import Counted, GradeCounts
    from caltest.results.htest import HTest


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

    def _sheet(self) -> Sheet:
        return sheets.sheet_of_interval(self)


def interval_of(
    test: HTest,
    level: float,
    *,
    method: str | None,
    n_resamples: int,
    rng: object,
    n_jobs: int | None,
) -> Interval:
    """Compute the interval of a result; see `HTest.confidence_interval`."""
    from caltest.intervals import choose

    level = checks.check_confidence(level)
    checks.check_integer(n_resamples, "n_resamples", minimum=99)
    checks.check_jobs(n_jobs)
    if test.counts is not None:
        return _of_grade(test, test.counts, level, method)
    if test.counted is not None:
        seed = test.counted.seed if rng is None else checks.check_seed(rng)
        settings: dict[str, Any] = {"n_resamples": n_resamples, "seed": seed, "n_jobs": n_jobs}
        return _of_cells(test, test.counted, level, method=method, **settings)
    evidence: Evidence = required(test.evidence, "a confidence interval")
    seen = evidence.seen
    clustered = seen.has_dependence
    chosen = choose(evidence.measure, "cluster" if clustered and method is None else method)
    seed = evidence.seed if rng is None else checks.check_seed(rng)
    draws: dict[str, Any] = {"n_resamples": n_resamples, "n_jobs": n_jobs}
    ends = chosen.compute(evidence.measure, seen, level=level, seed=seed, **draws)
    if chosen.key != "cluster":  # it agrees with its own null
        ends = _agreeing(ends, test, evidence, level=level, **draws)
    ends = replace(ends, notes=(*independence_notes(chosen.key, seen), *ends.notes))
    return _made(
        test,
        evidence.measure,
        seen.m,
        ends,
        level=level,
        draws=(n_resamples, seed) * chosen.resamples,
    )


def _made(
    test: HTest, measure: Measure, m: int, ends: Ends, *, level: float, draws: tuple[int, ...] = ()
) -> Interval:
    """Return the interval between ends; `draws` are the number of resamples and the seed.

    What lies outside of the range is not the value: to cut it off leaves the coverage as it is.
    """
    least, largest = measure.support(m)
    n_resamples, seed = draws or (None, None)
    return Interval(
        low=min(max(ends.low, least), largest),
        high=max(min(ends.high, largest), least),
        estimate=ends.estimate,
        level=level,
        method=ends.method_text,
        measure=measure.title,
        name=measure.estimate_symbol,
        data=data_line(test),
        n_resamples=n_resamples,
        seed=seed,
        notes=ends.notes,
    )


def independence_notes(method: str, seen: Predictions) -> tuple[str, ...]:
    """Return the warning that a method takes the rows of a cluster as independent."""
    if not seen.has_dependence or method == "cluster":
        return ()
    return (
        (
            f"rows of the same {seen.unit} are treated as independent: where they are alike, the "
            "interval is too short; method='cluster' is for them"
        ),
    )


def _agreeing(
    ends: Ends,
    test: HTest,
    evidence: Evidence,
    *,
    level: float,
    n_resamples: int,
    n_jobs: int | None,
) -> Ends:
    """Compare the interval with the p-value that was printed, or where that is another, with its.

    Another null, and too few resamples for the level, leave the exact p-value to be computed.
    """
    from caltest.intervals.agreement import Exact, agreeing, exact_test
    from caltest.intervals.base import calibrated_values

    measure, seen = evidence.measure, evidence.seen
    settings: dict[str, Any] = {"n_resamples": n_resamples, "n_jobs": n_jobs}
    settings["seed"] = evidence.seed
    fine = test.least_pvalue is None or test.least_pvalue <= 1.0 - level
    if test.null == measure.nulls[0] and fine:
        exact: Exact | None = Exact(test.pvalue, test.statistic, test.null_distribution)
    else:
        exact = exact_test(measure, seen, **settings)
    if exact is None:
        return ends
    value = measure.calibrated_value(seen)
    noise = partial(calibrated_values, measure, seen, **settings)
    return agreeing(ends, measure, exact, value, noise, level=level)


def _of_cells(
    test: HTest,
    counted: Counted,
    level: float,
    *,
    method: str | None,
    n_resamples: int,
    seed: int,
    n_jobs: int | None,
) -> Interval:
    """Compute the interval of a test by cells."""
    from caltest.intervals import choose
    from caltest.intervals.agreement import Exact, agreeing
    from caltest.intervals.cells import cell_interval
    from caltest.nulls.cells import bind_cells, cells_tests, redrawn_values

    measure, cells = counted.measure, counted.cells
    choose(measure, method)
    bound = bind_cells(measure, cells)
    settings: dict[str, Any] = {"n_resamples": n_resamples, "seed": seed, "n_jobs": n_jobs}
    found = cell_interval(measure, bound, level=level, method=method, **settings)
    if test.least_pvalue is None or test.least_pvalue > 1.0 - level:
        (again,) = cells_tests([(measure, bound)], cells, **settings)
        exact = Exact(again.pvalue, again.statistic, again.distribution)
    else:
        exact = Exact(test.pvalue, test.statistic, test.null_distribution)
    noise = partial(redrawn_values, bound, **settings)
    ends = agreeing(found.ends, measure, exact, bound.calibrated, noise, level=level)
    return _made(test, measure, 2, ends, level=level, draws=(n_resamples, seed) * found.resamples)


def _of_grade(test: HTest, grade: GradeCounts, level: float, method: str | None) -> Interval:
    """Compute the interval of a grade from its numbers of defaults and obligors."""
    from caltest.intervals import choose

    chosen, own = choose(grade.measure, method).key, grade.measure.own_intervals
    if chosen not in own:
        raise NotApplicable(
            f"method {chosen!r} needs the rows of the grade, and test_master_scale has their "
            "numbers only",
            f"use {' or '.join(map(repr, own))}",
        )
    ends = grade.measure.grade_interval(grade.defaults, grade.n, level=level)
    return _made(test, grade.measure, 2, ends, level=level)


def data_line(test: HTest) -> str:
    """Return what was tested, as it prints."""
    group = "" if test.group is None else f", group: {test.group}"
    return f"{test.data_name} (n = {test.n}, m = {test.m}){group}, lens: {test.lens}"
