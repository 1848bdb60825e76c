"""The p-value of every test, null and alternative is what it says: how often, on which side.

It is computed anew: from the resampled or enumerated statistics, from labels redrawn here, or by
scipy.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import pytest
from scipy import integrate, stats

import caltest as ct
from caltest.htests import REGISTRY as EVERY_TEST
from caltest.nulls import REGISTRY as NULLS

REGISTRY = {key: test for key, test in EVERY_TEST.items() if test.measure.of is not ct.Forecasts}

RESAMPLES = 199
FOUR = ("binomial", "jeffreys", "normal", "vasicek")
CASES = [
    (key, null, alternative)
    for key, test in REGISTRY.items()
    for null in test.nulls
    for alternative in (("greater", "two-sided") if key in FOUR else (None,))
]


class Told(NamedTuple):
    """What a result says."""

    alternative: str
    share: float
    low: float  # as the integrals here are rounded
    high: float
    is_bound: bool  # whether no more are as extreme
    count: int | None  # of the resamples


def told_by(result):
    """Return what the p-value of a result says."""
    p, count = result.pvalue, None
    is_one_sided = result.alternative != "two-sided" and result.null != "tolerance"
    if result.n_resamples is not None and is_one_sided:
        found = p * (result.n_resamples + 1) - 1
        count = round(found) if abs(found - round(found)) < 1e-6 else None
    bound = result.is_bound or result.null == "tolerance" or result.is_least_pvalue
    return Told(result.alternative, p, p * (1 - 1e-3), p * (1 + 1e-3), bound, count)


def share_of(values, weight, statistic, alternative):
    """Return the share of the values that are as extreme; two-sided, twice that of one side."""
    slack = 1e-9 * max(1.0, abs(statistic)) if np.isfinite(statistic) else 0.0
    upper = weight[values >= statistic - slack].sum() / weight.sum()
    lower = weight[values <= statistic + slack].sum() / weight.sum()
    both = min(1.0, 2.0 * min(upper, lower))
    return {"greater": upper, "less": lower, "two-sided": both}[alternative]


def data_of(n, seed=3, pull=0.25):
    """Return predictions of two classes that are a little too extreme."""
    rng = np.random.default_rng(seed)
    true = rng.uniform(0.05, 0.95, n)
    logit = np.log(true / (1 - true)) * (1 + pull) + 0.1
    return ct.Predictions(1 / (1 + np.exp(-logit)), (rng.uniform(size=n) < true).astype(int))


def run(data, key, null, alternative, **options):
    """Run one test, without the warnings on degenerate data."""
    if alternative is not None:
        options["alternative"] = alternative
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ct.test_calibration(
            data, test=key, null=null, n_resamples=RESAMPLES, rng=1, **options
        )


# ---- counts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "null", "alternative"), [case for case in CASES if NULLS[case[1]].resamples]
)
def test_count_is_that_of_the_resamples(key, null, alternative):
    """The observed statistic is one more of them."""
    result = run(data_of(120), key, null, alternative)
    told, values = told_by(result), result.null_distribution
    extreme = share_of(values, np.ones(values.size), result.statistic, told.alternative)
    sides = 2 if told.alternative == "two-sided" else 1
    expected = min(1.0, (extreme * values.size + sides) / (values.size + 1))
    assert told.low - 1e-9 <= expected <= told.high + 1e-9
    if told.count is not None:
        assert told.count == round(extreme * values.size)
    assert told.is_bound == (expected <= sides / (values.size + 1) + 1e-9)


@pytest.mark.cases(1, full=5)
@pytest.mark.parametrize(
    ("key", "null", "alternative"),
    [case for case in CASES if not NULLS[case[1]].resamples and case[0] not in FOUR],
)
def test_count_is_about_that_of_redrawn_labels(key, null, alternative):
    """Of limits, formulas and bounds: the statistic is computed for labels drawn here.

    A bound is one: not more of them are as extreme. The statistic of another direction would be
    as extreme in nearly all of them.
    """
    n, draws = 200, 120
    data = data_of(n, seed=4)
    result = run(data, key, null, alternative)
    told = told_by(result)
    rng = np.random.default_rng(0)
    probs = data.probs[:, 1]
    values = []
    for _ in range(draws):
        redrawn = ct.Predictions(probs, (rng.uniform(size=n) < probs).astype(int))
        values.append(run(redrawn, key, null, alternative).statistic)
    expected = share_of(np.array(values), np.ones(draws), result.statistic, told.alternative)
    error = 4 * np.sqrt(max(expected * (1 - expected), 0.01) / draws) + 0.02
    assert expected <= told.high + error
    if not told.is_bound and "conservative" not in " ".join((*result.notes, result.null_text)):
        assert expected >= told.low - error


# ---- grades: the tail by scipy ------------------------------------------------------------------


def tails_by_scipy(test, d, n, pd):
    if test == "binomial":
        return stats.binom.sf(d - 1, n, pd), stats.binom.cdf(d, n, pd)
    if test == "normal":
        z = (d - n * pd) / np.sqrt(n * pd * (1 - pd))
        return stats.norm.sf(z), stats.norm.cdf(z)
    rho = 0.12 * (1 - np.exp(-50 * pd)) + 0.24 * np.exp(-50 * pd)

    def rate(z):
        return stats.norm.cdf((stats.norm.ppf(pd) + np.sqrt(rho) * z) / np.sqrt(1 - rho))

    upper, lower = (
        integrate.quad(lambda z: tail(rate(z)) * stats.norm.pdf(z), -9, 9, limit=400)[0]  # noqa: B023
        for tail in (lambda p: stats.binom.sf(d - 1, n, p), lambda p: stats.binom.cdf(d, n, p))
    )
    return upper, lower


@pytest.mark.parametrize("defaults", [38, 60, 84])
@pytest.mark.parametrize("alternative", ["greater", "two-sided"])
@pytest.mark.parametrize("test", FOUR)
def test_pvalue_of_a_grade_is_right(test, alternative, defaults):
    """60 defaults are expected of 1000; a two-sided test counts few defaults too."""
    table = ct.test_master_scale([0.06], [defaults], [1000], test=test, alternative=alternative)
    told = told_by(table.rows[0])
    assert told.alternative == alternative
    if test == "jeffreys":  # between the tails with and without d itself
        upper = stats.binom.sf(defaults, 1000, 0.06), stats.binom.sf(defaults - 1, 1000, 0.06)
        lower = stats.binom.cdf(defaults - 1, 1000, 0.06), stats.binom.cdf(defaults, 1000, 0.06)
    else:
        above, below = tails_by_scipy(test, defaults, 1000, 0.06)
        upper, lower = (above, above), (below, below)
    least, most = upper
    if alternative == "two-sided":
        least, most = (min(1.0, 2 * min(pair)) for pair in zip(upper, lower, strict=True))
    assert told.low <= most * (1 + 1e-6)
    assert told.high >= least * (1 - 1e-6)


@pytest.mark.parametrize("portfolio", ["hosmer-lemeshow", "spiegelhalter"])
def test_pvalue_of_all_grades_is_right(portfolio):
    """Chi^2 counts large values, z both tails."""
    table = ct.test_master_scale(
        [0.01, 0.05], [14, 44], [1000, 1000], portfolio=portfolio, test="binomial"
    )
    (result,) = table.omnibus
    told = told_by(result)
    expected = {
        "hosmer-lemeshow": stats.chi2.sf(result.statistic, 2),
        "spiegelhalter": 2 * stats.norm.sf(abs(result.statistic)),
    }[portfolio]
    assert told.alternative == {"spiegelhalter": "two-sided"}.get(portfolio, "greater")
    assert told.low <= expected <= told.high


# ---- tolerances and groups ----------------------------------------------------------------------


@pytest.mark.parametrize("equivalence", [False, True])
@pytest.mark.parametrize("key", ["skce", "skce-linear", "skce-block", "debiased-ece", "ks"])
def test_pvalue_of_a_tolerance_is_right(key, equivalence):
    value = {"ks": 0.02, "debiased-ece": 0.002}.get(key, 0.001)
    result = run(data_of(400), key, None, None, tolerance=value, equivalence=equivalence)
    told = told_by(result)
    assert told.alternative == ("less" if equivalence else "greater")
    assert result.parameters["tolerance"] == value
    assert told.is_bound
    x, side = result.statistic, "cdf" if equivalence else "sf"
    if key == "ks":
        values = result.null_distribution
        extreme = share_of(values, np.ones(values.size), x, told.alternative)
        expected = (1 + extreme * values.size) / (1 + values.size)
    elif result.statistic_name == "t":
        expected = getattr(stats.t, side)(x, 400 // 2 - 1)
    else:
        expected = getattr(stats.norm, side)(x)
    assert expected <= told.high
    assert told.low <= max(expected, result.pvalue)


@pytest.mark.parametrize("key", ["brier", "ece"])
def test_pvalue_of_all_groups_is_right(key):
    """Fisher's statistic is large where p-values are small, whatever their alternative."""
    data = data_of(120).with_groups(np.arange(120) % 3)
    (result,) = run(data, key, None, None, by=True).omnibus
    told = told_by(result)
    values = result.null_distribution
    assert told.alternative == "greater"
    assert told.count == np.count_nonzero(values >= result.statistic * (1 - 1e-12))
