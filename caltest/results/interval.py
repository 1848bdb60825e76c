"""Confidence intervals as results."""

from __future__ import annotations

import math
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
    from caltest.nulls.base import Draws
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
) -> Interval:
    """Compute the interval of a result; see `HTest.confidence_interval`."""
    from caltest.intervals import choose
    from caltest.nulls.base import Draws

    level = checks.check_confidence(level)
    checks.check_integer(n_resamples, "n_resamples", minimum=99)
    if test.counts is not None:
        return _of_grade(test, test.counts, level, method)
    kept: Any = test.counted or required(test.evidence, "a confidence interval")
    seed = kept.seed if rng is None else checks.check_seed(rng)
    draws = Draws(n_resamples, seed)
    if test.counted is not None:
        return _of_cells(test, test.counted, level, method, draws)
    evidence: Evidence = kept
    seen = evidence.seen
    clustered = seen.has_dependence
    chosen = choose(evidence.measure, "cluster" if clustered and method is None else method)
    ends = chosen.compute(evidence.measure, seen, level, draws)
    if chosen.key != "cluster":  # it agrees with its own null
        ends = _agreeing(ends, test, evidence, level, draws)
    if clustered and chosen.key != "cluster":
        note = (
            f"rows of the same {seen.unit} are treated as independent: where they are alike, the "
            "interval is too short; method='cluster' is for them"
        )
        ends = replace(ends, notes=(note, *ends.notes))
    drawn = draws if chosen.resamples else None
    return _interval(ends, test, evidence.measure, level, m=seen.m, draws=drawn)


def _interval(
    ends: Ends,
    test: HTest,
    measure: Measure,
    level: float,
    *,
    m: int | None = None,
    draws: Draws | None = None,
) -> Interval:
    """Return the result; of m classes, if they are known, within what the measure can be.

    What lies outside of that is not the value: to cut it off leaves the coverage as it is.
    """
    least, largest = (-math.inf, math.inf) if m is None else measure.support(m)
    return Interval(
        low=min(max(ends.low, least), largest),
        high=max(min(ends.high, largest), least),
        estimate=ends.estimate,
        level=level,
        method=ends.method_text,
        measure=measure.title,
        name=measure.estimate_symbol,
        data=sheets.data_line(test),
        n_resamples=None if draws is None else draws.n_resamples,
        seed=None if draws is None else draws.seed,
        notes=ends.notes,
    )


def _agreeing(ends: Ends, test: HTest, evidence: Evidence, level: float, draws: Draws) -> Ends:
    """Compare the interval with the p-value that was printed, or where that is another, with its.

    Another null, and too few resamples for the level, leave the exact p-value to be computed.
    """
    from caltest.intervals.agreement import Exact, agreeing, exact_test
    from caltest.intervals.base import calibrated_values

    measure, seen, draws = evidence.measure, evidence.seen, draws._replace(seed=evidence.seed)
    fine = test.least_pvalue is None or test.least_pvalue <= 1.0 - level
    if test.null == measure.nulls[0] and fine:
        exact: Exact | None = Exact(test.pvalue, test.statistic, test.null_distribution)
    else:
        exact = exact_test(measure, seen, draws)
    if exact is None:
        return ends
    value = measure.calibrated_value(seen)
    noise = partial(calibrated_values, measure, seen, draws)
    return agreeing(ends, measure, exact, value, noise, level=level)


def _of_cells(
    test: HTest, counted: Counted, level: float, method: str | None, draws: Draws
) -> Interval:
    """Compute the interval of a test by cells."""
    from caltest.intervals import cells_interval
    from caltest.intervals.agreement import Exact, agreeing
    from caltest.nulls.base import redrawn_values
    from caltest.nulls.exact import bind_cells, exact_tests

    measure = counted.measure
    bound = bind_cells(measure, counted.cells)
    ends, resamples = cells_interval(measure, bound, level, method, draws)
    if test.least_pvalue is None or test.least_pvalue > 1.0 - level:
        (again,) = exact_tests([(measure, bound)], draws)
        exact = Exact(again.pvalue, again.statistic, again.distribution)
    else:
        exact = Exact(test.pvalue, test.statistic, test.null_distribution)
    noise = partial(redrawn_values, bound, draws)
    ends = agreeing(ends, measure, exact, bound.calibrated, noise, level=level)
    return _interval(ends, test, measure, level, m=2, draws=draws if resamples else None)


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
    return _interval(ends, test, grade.measure, level)
