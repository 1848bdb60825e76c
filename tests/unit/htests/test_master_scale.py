"""`test_master_scale`: grades from a table, traffic lights, the portfolio, errors."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

from caltest import DegenerateDataWarning, InvalidInput, NotApplicable, Predictions
from caltest import test_calibration as calibration_test
from caltest import test_master_scale as master_scale_test

PD = [0.0005, 0.002, 0.01, 0.05, 0.2]
DEFAULTS = [1, 2, 30, 55, 31]
N = [1000, 1500, 2000, 1000, 100]
TESTS = ["binomial", "jeffreys", "normal", "vasicek"]


def run(**options):
    return master_scale_test(**({"pd": PD, "defaults": DEFAULTS, "n": N} | options))


@pytest.mark.full
@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("alternative", ["greater", "two-sided"])
def test_row_is_the_test_of_the_rows_of_the_grade(test, alternative):
    """What a table says of a grade is what `test_calibration` says of its obligors."""
    table = run(test=test, alternative=alternative)
    for row, rate, events, n in zip(table, PD, DEFAULTS, N, strict=True):
        rows = Predictions(np.full(n, rate), (np.arange(n) < events).astype(int))
        alone = calibration_test(rows, test=test, null=row.null, alternative=alternative)
        assert (row.statistic, row.estimate, row.n) == (alone.statistic, alone.estimate, n)
        assert row.pvalue == pytest.approx(alone.pvalue, rel=1e-12)


def test_grades_come_before_tests():
    """Each grade has its tests, in the order of the call; all are adjusted together."""
    table = run(grades=list("ABCDE"), test=TESTS, correction="bonferroni")
    assert [(row.group, row.test) for row in table] == [(g, t) for g in "ABCDE" for t in TESTS]
    np.testing.assert_allclose(table.adjusted, np.minimum(1, 20 * table.pvalues))


@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame])
def test_columns_of_a_table_may_be_named(frame):
    data = frame({"rating": list("ABCDE"), "pd": PD, "defaults": DEFAULTS, "obligors": N})
    named = master_scale_test("pd", "defaults", "obligors", grades="rating", data=data)
    assert named == run(grades=list("ABCDE"))


def test_a_million_obligors_cost_no_more_than_one():
    """Nothing grows with n; the p-value is that of the beta law."""
    table = run(pd=[0.01], defaults=[10_200_000], n=[10**9])
    assert table[0].pvalue == pytest.approx(stats.beta.cdf(0.01, 10_200_000.5, 989_800_000.5))


def test_traffic_lights_follow_the_pvalues_before_adjustment():
    """Yellow at most 0.05, orange at most 0.01, red at most 0.001."""
    table = run()
    colours = np.array(["red", "orange", "yellow", "green"])
    expected = colours[np.digitize(table.pvalues, [0.001, 0.01, 0.05], right=True)]
    assert table.traffic_lights == tuple(expected)
    assert table.to_frame()["light"].to_list() == list(expected)
    assert [record["PD"] for record in table.records()] == PD


def test_grade_without_defaults_is_green():
    """Where hardly any default is expected too, so that the prior of Jeffreys prevails."""
    known = {"n": [10, 900], "portfolio": ()}
    table = run(pd=[1e-4, 0.0003], defaults=[0, 0], **known)
    assert table.traffic_lights == ("green", "green")
    np.testing.assert_allclose(table.pvalues, [0.5, stats.beta.cdf(0.0003, 0.5, 900.5)])
    assert "1: no obligor defaults, which cannot say" in str(table)
    known |= {"alternative": "two-sided", "lights": None}
    assert run(pd=[1e-4, 0.0003], defaults=[0, 0], **known).pvalues[0] == 1
    table = run(pd=[1 - 1e-4, 0.0003], defaults=[10, 0], **known)
    assert table.pvalues[0] == 1
    assert "1: all obligors default, which cannot say" in str(table)


@pytest.mark.full
def test_correlated_defaults_have_answer_and_gap_of_their_own():
    """The gap leaves out 0 where the test rejects, and nothing assumes independent defaults."""
    for defaults in (25, 30, 35, 40, 50, 60, 80):
        table = run(
            pd=[0.01, 0.02],
            defaults=[defaults, 45],
            n=[1500, 2000],
            test="vasicek",
            correlation=0.05,
            alternative="two-sided",
            correction="bonferroni",
        )
        assert (table.omnibus, table.pvalue) == ((), table.adjusted.min())
        assert table.worst(1)[0].is_clear == (table.pvalue <= 0.05)
    size = table[0].size
    ends = table[0].confidence_interval(0.95)
    assert (size.low, size.high) == pytest.approx((ends.low - 0.01, ends.high - 0.01))


def test_lights_may_be_moved_or_left_out():
    assert "yellow at most 0.3, orange at most 0.05, red at most 0.001" in str(
        run(lights=(0.3, 0.05, 0.001))
    ).replace("\n    ", " ")
    assert run(lights=None).traffic_lights == ()
    assert "light" not in str(run(lights=None, portfolio=()))


def test_print_says_which_side_the_lights_are_of():
    """More defaults than predicted, or more or fewer where the test is two-sided."""
    assert "traffic lights: more defaults than predicted, by p-value" in str(run())
    assert "alternative hypothesis:  the PD is too low" in str(run())
    assert "lights: more or fewer defaults than predicted" in str(run(alternative="two-sided"))
    assert "the PD is too low" not in str(run(alternative="two-sided"))


def test_portfolio_tests_are_chosen_by_name_and_have_the_level():
    assert run(portfolio=()).omnibus == ()
    for one in (["spiegelhalter"], "spiegelhalter"):
        assert [test.test for test in run(portfolio=one).omnibus] == ["spiegelhalter"]
    table = run(level=0.05)
    assert table.rejected.tolist() == (table.adjusted <= 0.05).tolist()
    assert table.omnibus[0].rejected


def test_correlation_reaches_the_factor_model_only():
    low, high = (run(test=TESTS, correlation=c).pvalues.reshape(5, 4) for c in (0.01, "corporate"))
    np.testing.assert_array_equal(low[:, :3], high[:, :3])
    assert (low[2:, 3] < high[2:, 3]).all()


def test_certain_grades_are_defined():
    """PD 0 without a default is as predicted; with one the portfolio is rejected too."""
    with pytest.warns(DegenerateDataWarning, match="grade 1: the PD of the grade is 0"):
        table = run(pd=[0, 0.5], defaults=[0, 5], n=[10, 10])
    assert table[0].pvalue == 1.0
    assert [test.test for test in table.omnibus] == ["hosmer-lemeshow"]
    assert "spiegelhalter is left out" in str(table)
    with pytest.warns(DegenerateDataWarning, match="grade 1"):
        table = run(pd=[0, 0.4], defaults=[1, 5], n=[10, 10])
    assert max(table[0].pvalue, *(test.pvalue for test in table.omnibus)) < 1e-300
    assert "inf" in table.to_json()


def test_normal_test_of_a_certain_grade_is_not_applicable():
    """The message names the test that is."""
    with pytest.raises(NotApplicable, match="between 0 and 1, and it is 0; use the test 'binomial"):
        run(pd=[0.0], defaults=[0], n=[5], test="normal")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pd": [0.1, 0.2, 1.5, 0.1, 0.1]}, "pd must lie in [0, 1]; got 1.5 at grade 3; pass"),
        ({"pd": [0.1, np.nan, 0.1, 0.1, 0.1]}, "pd must not be missing; got nan at grade 2; drop"),
        ({"defaults": [0, -1, 0, 0, 0], "grades": list("ABCDE")}, "at least 0; got -1 at grade B;"),
        ({"grades": ["A", None, "C", "D", "E"]}, "grades must not be missing; got None at row 1"),
        ({"data": {"pd": PD}}, "data must be a data frame; got type dict; pass a pandas, polars"),
        ({"pd": []}, "pd must be a column with one entry per grade; got shape (0,); pass one"),
        ({"n": [10, 20]}, "n must have one entry per grade; got 2 for 5 grades; take all columns"),
        ({"n": [0, 9, 99, 99, 99]}, "n must be whole numbers of at least 1; got 0 at grade 1; "),
        ({"defaults": [1, 2.5, 3, 4, 5]}, "defaults must be whole numbers of at least 0; got 2.5"),
        ({"defaults": N, "n": DEFAULTS}, "defaults must not exceed n; got 1000 of 1 at grade 1; "),
        ({"grades": list("ABCDD")}, "grades must name each grade once; got 4 distinct of 5; pass"),
        ({"test": "jeffrey"}, "test must be one of 'binomial', 'jeffreys', 'normal', 'vasicek'"),
        ({"test": []}, "test must name at least one"),
        ({"portfolio": ["chi2"]}, "portfolio must be one of 'hosmer-lemeshow', 'spiegelhalter'"),
        ({"correlation": 1.2, "test": "vasicek"}, "correlation must lie in [0, 1) or be an asset"),
        ({"alternative": "less"}, "alternative must be one of 'greater', 'two-sided'; got 'less'"),
        ({"lights": (0.05, 0.2, 0.5)}, "lights must be three descending p-values between 0 and 1"),
        ({"correction": "holmes"}, "correction must be one of"),
        ({"level": 5}, "level must lie strictly between 0 and 1; got 5"),
        ({"data": pl.DataFrame({"x": PD}), "pd": "y"}, "pd must be 'x'; got 'y'"),
        ({"pd": "PD"}, "pd must be values where there is no data frame; got 'PD'; pass data="),
    ],
)
def test_bad_tables_are_refused(options, message):
    """The error names the argument, the rule, the value and its grade."""
    with pytest.raises(InvalidInput, match=re.escape(message)):
        run(**options)


@pytest.mark.parametrize("test", TESTS)
def test_interval_of_a_grade_is_that_of_its_rows(test):
    """The default rate has an interval from defaults and obligors alone."""
    for row, rate, events, n in zip(run(test=test), PD, DEFAULTS, N, strict=True):
        rows = Predictions(np.full(n, rate), (np.arange(n) < events).astype(int))
        alone = calibration_test(rows, test=test, null=row.null).confidence_interval(0.9)
        interval = row.confidence_interval(0.9)
        assert (interval.low, interval.high) == (alone.low, alone.high)
        assert interval.estimate == events / n in interval


def test_interval_of_a_grade_is_that_of_clopper_and_pearson():
    """As scipy has it; the portfolio and other methods have none."""
    table = run(test="binomial", grades=list("ABCDE"))
    interval = table[3].confidence_interval()
    exact = stats.binomtest(55, 1000).proportion_ci(method="exact")
    assert (interval.low, interval.high) == pytest.approx((exact.low, exact.high), rel=1e-9)
    assert "group: D" in str(interval)
    assert "counts" not in table[3].to_dict()
    with pytest.raises(NotApplicable, match=r"method 'bca' needs the rows .* use 'grade-rate'"):
        table[3].confidence_interval(method="bca")
