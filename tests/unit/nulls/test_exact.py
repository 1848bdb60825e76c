"""The exact null: labels redrawn from predictions that are held fixed."""

import numpy as np
import pytest
from scipy.stats import expon

import caltest as ct
from caltest.datasets import generative_model
from caltest.kernels import Exponential, Scaled
from caltest.measures import SKCE
from caltest.nulls.exact import CLEAR, FEW, StoppingRule

ESTIMATORS = ["unbiased", "biased", "linear", "block"]


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("size", [1e-14, 1e14])
def test_exact_pvalue_does_not_depend_on_the_scale_of_the_kernel(size, estimator, outcome_of):
    """Ties are measured in units of the kernel."""
    predictions = generative_model("M2", n=40, m=3, pi=0.1, rng=1)
    kernels = Scaled(Exponential()), Scaled(Exponential(), size * np.eye(3))
    pvalues = [
        outcome_of("exact", SKCE(estimator=estimator, kernel=kernel), predictions).pvalue
        for kernel in kernels
    ]
    assert pvalues[0] == pvalues[1] < 1


@pytest.mark.parametrize("test", ["brier", "log-loss", "spiegelhalter"])
def test_scores_added_as_labels_are_drawn_are_those_of_labels_that_are_kept(test):
    """With another test, whose labels are kept, a score has the same null distribution."""
    rng = np.random.default_rng(1)
    p = np.concatenate([[0.0, 1.0, 0.5, 1e-17], rng.beta(0.7, 0.7, 300)])
    y, weight = (rng.random(p.size) < p).astype(int), rng.lognormal(size=p.size)
    options = {"n_resamples": 199, "rng": 2, "sample_weight": weight}
    alone = ct.test_calibration(p, y, test=test, **options)
    beside = ct.test_calibration(p, y, test=[test, "ece"], **options)[0]
    np.testing.assert_allclose(alone.null_distribution, beside.null_distribution, rtol=1e-9)
    assert alone.pvalue == beside.pvalue


# ---- resamples until the answer is clear --------------------------------------------------------

M1 = ct.datasets.generative_model("M1", n=60, m=3, rng=1)


def adaptive(data=M1, **options):
    return ct.test_calibration(data, **{"n_resamples": "adaptive", "rng": 1} | options)


# ---- the rule -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("every", "drawn", "pvalue"),
    [
        (1, CLEAR, 1.0),
        (10, 10 * CLEAR, 0.1),
        (50, 2000, 41 / 2001),  # 40 of the first 2000, at which 100 were enough at level 5 %
        (1000, 1000 * FEW, 0.001),
        (10**5, 10**6, 11 / (10**6 + 1)),
    ],
)
def test_rule_stops_where_the_decision_is_clear(every, drawn, pvalue):
    """One of `every` resamples is as extreme."""
    stop = StoppingRule(level=0.05).stop(np.arange(1, 10**6 + 1) // every)
    assert (stop.drawn, stop.pvalue) == (drawn, pytest.approx(pvalue))


def test_rule_asks_for_more_before():
    """Where the decision is not clear, for two sides, and for a smaller level."""
    rule = StoppingRule(level=0.05)
    assert rule.stop(np.repeat(np.arange(100), 10)[:1000]) is None
    assert rule.stop(np.minimum(np.arange(5000), FEW - 1)) is None
    assert rule.stop(np.minimum(np.arange(5000), FEW)) is not None
    one, two = StoppingRule(0.05), StoppingRule(0.05, sides=2)
    extreme = np.arange(1, 10**5 + 1) // 40
    assert (one.first, two.first) == (2000, 4000)
    assert two.stop(extreme).pvalue == 2 * CLEAR / (40 * CLEAR)
    assert one.stop(extreme).pvalue == 51 / 2001
    extreme = np.arange(1, 10**6 + 1) // 400
    assert StoppingRule(0.05).stop(extreme).drawn == 400 * FEW
    assert StoppingRule(0.001).stop(extreme).drawn == 400 * CLEAR


@pytest.mark.full
@pytest.mark.parametrize("sides", [1, 2])
def test_rule_attains_no_pvalue_too_often(sides):
    """Its p-values for the ranks of exchangeable numbers, 20,000 times; the band is 4 errors."""
    rng, rule, n = np.random.default_rng(0), StoppingRule(0.05, sides, 5000), 20_000
    pvalues = np.empty(n)
    for i in range(n):
        extreme = np.cumsum(rng.random(5000) < rng.random())
        if sides == 2:
            extreme = np.minimum(extreme, np.arange(1, 5001) - extreme)
        pvalues[i] = rule.stop(extreme).pvalue
    for level in (0.001, 0.01, 0.05, 0.2):
        assert np.mean(pvalues <= level) < level + 4 * np.sqrt(level / n)


# ---- the test -----------------------------------------------------------------------------------


@pytest.mark.parametrize("test", ["skce", "brier", "ks"])
def test_adaptive_test_counts_the_first_resamples_of_a_fixed_number(test):
    """With the same seed; the p-value is near that of many more."""
    lens = "confidence"
    result = adaptive(test=test, lens=lens)
    fixed = ct.test_calibration(M1, test=test, lens=lens, n_resamples=9999, rng=1)
    drawn = result.n_resamples
    assert drawn < 9999
    np.testing.assert_array_equal(result.null_distribution, fixed.null_distribution[:drawn])
    assert result.pvalue == pytest.approx(fixed.pvalue, rel=0.35)


def test_pvalue_does_not_depend_on_threads():
    assert str(adaptive(n_jobs=1)) == str(adaptive(n_jobs=2))


def test_print_says_how_many_were_drawn_and_why():
    """Unlike the fixed number, which the caller knows."""
    result = adaptive()
    text = " ".join(str(result).split())
    assert f"B = {result.n_resamples} (adaptive, Besag-Clifford: until 100 were as" in text
    assert "adaptive" not in str(ct.test_calibration(M1, n_resamples=99, rng=1))


@pytest.mark.full
def test_smallest_pvalue_is_that_of_the_largest_number():
    """No resample is as extreme as labels that are almost impossible, two-sided."""
    far = ct.Predictions(np.full(40, 0.01), np.ones(40, int))
    result = adaptive(far, test="brier")
    assert result.pvalue == 2 / (10**6 + 1)
    assert "p-value = 2e-06 (the least possible with B = 1000000)" in str(result)
    assert result.null_distribution.size == 100_000


def test_table_has_a_number_for_each_row():
    """Groups, tests and lenses; Holm's method takes the place of the joint one."""
    groups = np.arange(60) % 2
    table = adaptive(test=["skce", "brier"], by=groups)
    assert table.correction == "holm"
    assert len({row.n_resamples for row in table}) > 1
    assert "(adaptive, Besag-Clifford)" in " ".join(str(table).split())
    assert all(0 < test.pvalue <= 1 for test in table.omnibus)
    assert "  B " in str(table.summary())


def test_components_are_judged_by_a_fixed_number():
    """Those of the default number with the same seed, whatever the combination needs."""
    result = adaptive(test="combined")
    fixed = ct.test_calibration(M1, test="combined", rng=1)
    assert result.stopping
    assert result.pvalue == pytest.approx(fixed.pvalue, rel=0.35)
    assert result.components.adjusted.tolist() == fixed.components.adjusted.tolist()
    assert {row.n_resamples for row in result.components} == {999}


def test_json_holds_the_rule():
    result = adaptive()
    assert result.to_dict()["stopping"] == result.stopping
    assert ct.HTest.from_dict(result.to_dict()) == result


def test_null_that_resamples_nothing_is_as_ever():
    table = adaptive(test=["spiegelhalter", "skce"], lens="confidence")
    limit = adaptive(test="spiegelhalter", null="asymptotic")
    assert limit.stopping is None
    assert all(row.stopping for row in table)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_resamples": "adaptiv"}, ct.InvalidInput, "integer of at least 1, or 'adaptive'; got"),
        ({"null": "bootstrap"}, ct.NotApplicable, "no adaptive number of resamples; use null="),
        ({"null": "consistency"}, ct.NotApplicable, "no adaptive number of resamples; use null="),
        ({"tolerance": 0.1}, ct.InvalidInput, "integer for a tolerance, .*; pass 999"),
    ],
)
def test_illegal_options_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        adaptive(**options)


@pytest.mark.parametrize(
    "call",
    [
        lambda: ct.power(M1, n=50, temperature=2.0, n_resamples="adaptive"),
        lambda: ct.report(M1, n_resamples="adaptive"),
        lambda: ct.compare_models({"a": M1.probs}, M1.labels, n_resamples="adaptive"),
    ],
)
def test_what_needs_a_fixed_number_says_so(call):
    with pytest.raises(ct.InvalidInput, match=r"n_resamples must be an integer for .*adaptive"):
        call()


@pytest.mark.parametrize("test", ["combined", "log-loss"])
@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
def test_impossible_label_ends_the_drawing(test):
    """A class of probability 0 that was observed takes no million resamples, at any level."""
    p = np.append(np.linspace(0.1, 0.9, 60), 0.0)
    y = np.append(np.arange(60) % 2, 1)
    result = adaptive(ct.Predictions(p, y), test=test, level=0.01)
    assert result.n_resamples <= 2 * CLEAR / 0.01
    assert result.rejected
    assert result.stopping.endswith("a class of probability 0 was observed")
    with pytest.warns(ct.SuspectInputWarning):
        forecasts = ct.Forecasts([-1.0, 1.0], distribution=expon(scale=[1.0, 2.0]))
    of_numbers = adaptive(forecasts, test="crps")
    assert of_numbers.stopping.endswith("an outcome of density 0 was observed")
