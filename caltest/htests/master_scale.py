"""`test_master_scale`: rating grades from a table of obligors, defaults and PDs, without rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from caltest import checks
from caltest.errors import DegenerateDataWarning, NotApplicable, invalid, rows_named, shown
from caltest.htests.combine import adjusted_pvalues
from caltest.htests.run import REGISTRY
from caltest.measures import Measure, gap
from caltest.measures.base import keys_offering
from caltest.predictions import tables
from caltest.predictions.options import NoOptions, check_names
from caltest.results import HTest, HTestTable, htest
from caltest.types import AnyArray, Codes, Floats

TESTS = keys_offering("outcome_of_counts")
PORTFOLIO = tuple(sorted(keys_offering("outcome_of_grades")))
TESTED: dict[str, Any] = {"data_name": "master scale", "m": 2, "lens": "strong"}
LIGHT_BOUNDS = (0.05, 0.01, 0.001)  # confidence levels of 95, 99 and 99.9 %
INDEPENDENT = "the tests of all grades assume independent defaults"


def check_default_rates(pd: object) -> Floats:
    """Check the probabilities of default of grades, (G,), each in [0, 1]."""
    values = _column(pd, "pd").astype(np.float64)
    remedy = "pass probabilities; divide per cent by 100"
    checks.check_all((values >= 0) & (values <= 1), values, "pd must lie in [0, 1]", remedy)
    return checks.read_only(values)


def check_counts(counts: object, size: int, name: str, *, minimum: int) -> Codes:
    """Check whole numbers of obligors or of defaults, one for each grade."""
    values = _column(counts, name)
    if values.size != size:
        rule, got = f"{name} must have one entry per grade", f"{values.size} for {size} grades"
        raise invalid(rule, got, "take all columns from the same table")
    fine = (values >= minimum) & (values < 2**53) & (values == np.floor(values))
    remedy = "leave out a grade without obligors" if minimum else "pass counts"
    checks.check_all(fine, values, f"{name} must be whole numbers of at least {minimum}", remedy)
    return checks.read_only(values.astype(np.int64))


def check_grades(grades: object, size: int) -> list[object]:
    """Check the names of grades: one each, all different; numbered from 1 by default."""
    if grades is None:
        return list(range(1, size + 1))
    values: list[object] = checks.check_groups(grades, size, "grades").tolist()
    if (distinct := len(set(values))) < size:
        got = f"{distinct} distinct of {size}"
        raise invalid("grades must name each grade once", got, "pass one name per row")
    return values


def _column(values: object, name: str) -> AnyArray:
    array = checks.as_numbers(values, name)
    if array.ndim != 1 or array.size == 0:
        rule = f"{name} must be a column with one entry per grade"
        raise invalid(rule, f"shape {array.shape}", "pass one dimension, at least one grade")
    return checks.check_not_missing(array, name)


def test_master_scale(
    pd: object,
    defaults: object,
    n: object,
    *,
    grades: object = None,
    data: object = None,
    test: str | Sequence[str] = "jeffreys",
    alternative: str = "greater",
    correlation: float | str = "corporate",
    correction: str | None = "holm",
    level: float | None = None,
    lights: Sequence[float] | None = LIGHT_BOUNDS,
    portfolio: str | Sequence[str] | None = None,
    **others: Unpack[NoOptions],
) -> HTestTable:
    r"""Test the calibration of a master scale, grade by grade and as a whole.

    H0 of a grade: each of its n obligors defaults with probability PD. Nothing is drawn, and
    neither rows nor memory grow with n.

    Parameters
    ----------
    pd, defaults, n : (G,) array, or column name
        For each grade its probability of default in [0, 1], the number of defaults and that of
        obligors.
    grades : (G,) array or column name, optional
        Names of the grades; by default 1, 2, ...
    data : data frame, optional
        The table that has the columns, where they are given by name.
    test : {"jeffreys", "binomial", "normal", "vasicek"} or list
        The distribution of the number of defaults: a beta posterior, binomial, its normal limit, or
        with correlated defaults. The classes of `caltest.htests.REGISTRY` have the formulas.
    alternative : {"greater", "two-sided"}
        More defaults than predicted, or too few also.
    correlation : float or {"corporate", "mortgage", "revolving", "retail"}
        Of "vasicek" only: a number in [0, 1), or Basel's for an asset class and the PD.
    correction : str or None, default "holm"
        Multiple testing over the rows: a method of statsmodels' `multipletests`.
    level : float, optional
        Significance level in (0, 0.5]. The print holds a verdict only where it is given.
    lights : (3,) sequence of float or None, default (0.05, 0.01, 0.001)
        P-values at or below which the traffic light of a row is yellow, orange, red; before
        adjustment. Of grades as predicted about 95 % are green and one in a thousand is red: green
        below a confidence level of 95 %, red from 99.9 %, as Oesterreichische Nationalbank and FMA
        (2004) have it, with orange from 99 %. The (0.5, 0.2, 0.05) of Blochwitz, Hohl and Wehn
        (2005) makes half of the grades as predicted yellow or worse. None leaves them out.
    portfolio : {"hosmer-lemeshow", "spiegelhalter"} or list, optional
        Tests of all grades together, with independent defaults: the chi^2 distribution of
        :math:`\sum_g (d_g - n_g PD_g)^2 / (n_g PD_g (1 - PD_g))` with one degree of freedom a
        grade, and Spiegelhalter's z. By default both, but none beside "vasicek" alone, whose
        defaults are correlated; an empty list for none.
    **others
        None: what has the name that another library uses is answered with the one meant.

    Returns
    -------
    HTestTable
        A row for each grade and test, with an interval for the default rate, its
        `confidence_interval()`; `traffic_lights` has the colours and `omnibus` the tests of all
        grades together.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule; the message names it, its value and the remedy.
    NotApplicable
        If PD is 0 or 1 in a grade that the normal test is asked for.

    References
    ----------
    Basel Committee on Banking Supervision (2005), Studies on the validation of internal rating
    systems, working paper 14, section III; European Central Bank (2019), Instructions for reporting
    the validation results of internal models, section 2.5.3; Tasche (2003), A traffic lights
    approach to PD validation; Oesterreichische Nationalbank and FMA (2004), Rating models
    and validation, chart 71 and the text below it; Blochwitz, Hohl, Wehn (2005),
    Reconsidering ratings, Wilmott.

    Examples
    --------
    >>> import caltest as ct
    >>> table = ct.test_master_scale(
    ...     [0.001, 0.01, 0.05], [1, 30, 55], [1000, 2000, 1000], grades=["A", "B", "C"]
    ... )
    >>> table.traffic_lights
    ('green', 'yellow', 'green')
    >>> [round(row.pvalue, 4) for row in table]
    [0.4277, 0.0167, 0.2309]
    """
    check_names(others, NoOptions, test_master_scale)
    tests = checks.check_not_empty(checks.check_strings(test, "test"), "test")
    names = [checks.check_choice(one, TESTS, "test") for one in tests]
    if portfolio is None:
        portfolio = () if set(names) == {"vasicek"} else PORTFOLIO
    asked = checks.check_strings(portfolio, "portfolio")
    together = [checks.check_choice(one, PORTFOLIO, "portfolio") for one in asked]
    checks.check_correction(correction)
    level = None if level is None else checks.check_level(level)
    bounds = None if lights is None else checks.check_light_bounds(lights)
    options = {"alternative": alternative, "correlation": correlation}
    measures = {name: REGISTRY[name].with_options(options) for name in names}
    grade_names, *columns = _scale(pd, defaults, n, grades, data)
    rows = list(_rows(grade_names, columns, measures, level))
    adjusted, name = adjusted_pvalues([row.pvalue for row in rows], correction)
    omnibus, notes = _portfolio(columns, together, level)
    return HTestTable(
        tuple(rows),
        name,
        adjusted,
        library=tables.library_of(pd if data is None else data),
        level=level,
        notes=notes,
        omnibus=omnibus,
        light_bounds=bounds,
        columns=("PD",),
    )


# Or pytest would collect it in a user's test module.
test_master_scale.__test__ = False  # type: ignore[attr-defined]


def _scale(
    pd: object, defaults: object, n: object, grades: object, data: object
) -> tuple[list[object], Floats, Codes, Codes]:
    """Return the checked columns of a table of grades: names, PDs, defaults and obligors."""
    given = {"pd": pd, "defaults": defaults, "n": n, "grades": grades}
    if data is None:
        for key, values in given.items():
            if isinstance(values, str):
                rule = f"{key} must be values where there is no data frame"
                raise invalid(rule, shown(values), "pass data=, the data frame with that column")
    else:
        if not tables.is_table(data):
            rule, got = "data must be a data frame", f"type {type(data).__name__}"
            remedy = "pass a pandas, polars or Arrow table, or columns without data="
            raise invalid(rule, got, remedy)
        table = tables.table_of_frame(data)
        found = [tables.column_or_values(table, values, key) for key, values in given.items()]
        pd, defaults, n, grades = found
    names = check_grades(grades, checks.as_array(pd, "pd").size)
    with rows_named(lambda row: f"grade {names[row]}"):
        rates = check_default_rates(pd)
        counts = check_counts(n, rates.size, "n", minimum=1)
        events = check_counts(defaults, rates.size, "defaults", minimum=0)
        bad = events > counts
        if bad.any():
            row = int(bad.argmax())
            got = f"{events[row]} of {counts[row]} at row {row}"
            remedy = "swap the two if defaults and n were exchanged"
            raise invalid("defaults must not exceed n", got, remedy)
    return names, rates, events, counts


def _rows(
    grades: list[object], columns: list[Any], measures: dict[str, Measure], level: float | None
) -> Iterator[HTest]:
    for grade, pd, d, n in zip(grades, *(column.tolist() for column in columns), strict=True):
        for name, measure in measures.items():
            outcome = measure.outcome_of_counts(d, n, pd)
            for message in outcome.degenerate:
                checks.warn_caller(f"grade {grade!r}: {message}", DegenerateDataWarning)
            null = measure.nulls[0]
            yield HTest.from_outcome(
                outcome,
                test=name,
                method=f"{null.capitalize()} test of calibration: {measure.title}",
                estimate_name=measure.estimate_symbol,
                null=null,
                n=n,
                claim=f"each obligor of the grade defaults with probability {pd:.4g}",
                level=level,
                group=grade,
                counts=htest.GradeCounts(measure, d, n),
                size=measure.sized(gap.gap_of_counts(pd, d, n, "default")),
                **TESTED,
            )


def _portfolio(
    columns: list[Any], names: list[str], level: float | None
) -> tuple[tuple[HTest, ...], tuple[str, ...]]:
    """Return the tests of all grades together, and notes on them."""
    pd, defaults, n = columns
    tests: list[HTest] = []
    notes = [INDEPENDENT] if names else []
    for name in sorted(set(names)):
        measure = REGISTRY[name].with_options({})
        try:
            outcome = measure.outcome_of_grades(pd, defaults, n)
        except NotApplicable as error:
            notes.append(f"{name} is left out: {error}")
        else:
            notes += outcome.notes
            test = HTest.from_outcome(  # whose notes are those of the table
                replace(outcome, parameters={"grades": len(pd)}, notes=()),
                test=name,
                method=f"Asymptotic test of calibration of all grades: {measure.description}",
                estimate_name=outcome.statistic_name,
                null="asymptotic",
                n=int(n.sum()),
                claim="in every grade each obligor defaults with the probability of the grade",
                level=level,
                **TESTED,
            )
            tests.append(test)
    return tuple(tests), tuple(notes)
