"""Tests of the hypothesis that an error is at most, or at least, a tolerance."""

import numpy as np
import pytest
from scipy.stats import binom

from caltest import InvalidInput, NotApplicable, Predictions
from caltest import test_calibration as calibration_test
from caltest.datasets import generative_model
from caltest.kernels import Exponential
from caltest.measures import SKCE

DATA = generative_model("M2", n=300, m=2, rng=0)
KEYS = ("skce", "skce-linear", "skce-block", "debiased-ece", "ks")


@pytest.mark.parametrize("key", KEYS)
def test_hypothesis_is_printed_in_words(key):
    """With the tolerance among the parameters, and a verdict on the hypothesis."""
    result = calibration_test(DATA, test=key, tolerance=1e-4, n_resamples=99, rng=1, level=0.05)
    assert result.parameters["tolerance"] == 1e-4
    assert result.method.startswith("Tolerance test of calibration: ")
    assert f"null hypothesis: {result.claim} (strong)" in str(result)
    assert str(result).startswith("Beyond the tolerance: the ")


@pytest.mark.parametrize("key", KEYS)
def test_equivalence_certifies_what_is_within_the_tolerance(key):
    """A tolerance far above the error is accepted, one far below is not."""
    near, far = (
        calibration_test(
            DATA, test=key, tolerance=value, equivalence=True, n_resamples=99, rng=1
        ).pvalue
        for value in (0.6, 0.001)
    )
    assert near <= 0.01
    assert far > 0.95


def test_block_test_is_a_t_test():
    """Of the block values where they are above the tolerance, as in scipy; less extreme below."""
    from scipy.stats import ttest_1samp

    measure = SKCE(estimator="block", block_size=5)
    values = measure.bind(DATA).block_values()
    above, below = 0.5 * values.mean(), 2.0 * values.mean()
    expected = ttest_1samp(values, above, alternative="greater")
    result = calibration_test(DATA, test=measure, tolerance=above)
    assert result.statistic == pytest.approx(expected.statistic)
    assert result.pvalue == pytest.approx(expected.pvalue)
    result = calibration_test(DATA, test=measure, tolerance=below, equivalence=True)
    assert 0.5 > result.pvalue >= ttest_1samp(values, below, alternative="less").pvalue


def test_ks_distribution_is_that_of_ks_at_the_tolerance():
    """The p-value counts the resampled statistics on the side of the alternative."""
    result = calibration_test(DATA, test="ks", tolerance=0.2, n_resamples=199, rng=1)
    extreme = np.count_nonzero(result.null_distribution >= result.statistic)
    assert result.pvalue == (1 + extreme) / 200
    other = calibration_test(
        DATA, test="ks", tolerance=0.2, equivalence=True, n_resamples=199, rng=1
    )
    extreme = np.count_nonzero(other.null_distribution <= other.statistic)
    assert other.pvalue >= (1 + extreme) / 200  # or the exact tail


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("events", [1, 2])
def test_few_events_certify_no_more_than_their_exact_tail(key, events):
    """Of 1000 rows at 1e-4 the tolerance expects five events: P(S <= 2) is 0.124."""
    labels = (np.arange(1000) < events).astype(int)
    data = Predictions(np.full(1000, 1e-4), labels, classes=[0, 1])
    options = {"kernel": Exponential(bandwidth=0.3)} if key.startswith("skce") else {}
    tolerance = {"ks": 0.0049, "debiased-ece": 0.0049**2}.get(key, 2 * 0.0049**2)
    settings = {"tolerance": tolerance, "equivalence": True, "rng": 1}
    result = calibration_test(data, test=key, **settings, **options)
    exact = binom.cdf(events, 1000, 0.005)
    assert result.pvalue >= exact * (1 - 1e-9)
    if result.pvalue == pytest.approx(exact):
        assert "is raised to the exact probability of numbers of events" in result.notes[-1]


@pytest.mark.parametrize("key", KEYS)
def test_labels_without_events_are_not_beyond_a_tolerance_that_leaves_few(key):
    """Of 300 rows at .02 six events are expected, two are within the tolerance: P(S = 0) is .13."""
    risk, off = np.random.default_rng(0).uniform(0.018, 0.022, 300), 0.02 * 2 / 3
    data = Predictions(risk, np.zeros(300, int), classes=[0, 1])
    tolerance = {"ks": off, "debiased-ece": off**2}.get(key, 2 * off**2)
    assert calibration_test(data, test=key, tolerance=tolerance, rng=1).pvalue > 0.1


@pytest.mark.parametrize("key", KEYS)
def test_complementary_events_certify_as_much(key):
    """Few non-events are as few events; here two of ten."""
    rng = np.random.default_rng(0)
    event, labels = rng.uniform(0, 0.02, 500), (np.arange(500) % 50 == 7).astype(int)
    tolerance = {"ks": 0.02, "debiased-ece": 0.02**2}.get(key, 2 * 0.02**2)
    settings = {"test": key, "tolerance": tolerance, "equivalence": True, "rng": 1}
    one, other = (
        calibration_test(Predictions(p, y), **settings).pvalue
        for p, y in ((event, labels), (1 - event, 1 - labels))
    )
    assert one == pytest.approx(other, rel=0.5 if key == "ks" else 1e-6)


def test_table_names_every_hypothesis():
    """Lenses and groups make a table as ever, without a test of all groups together."""
    groups = np.arange(300) % 2
    table = calibration_test(DATA, test=["skce", "debiased-ece"], tolerance=0.02, by=groups, rng=1)
    assert len(table) == 4
    assert table.omnibus == ()
    assert "the SKCE is at most 0.02, the debiased ECE_2^2 is at most 0.02" in " ".join(
        str(table).split()
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": 0.0}, "tolerance must be a positive number; got 0.0; pass"),
        ({"tolerance": "5 %"}, "tolerance must be a positive number; got '5 %'"),
        ({"equivalence": True}, "equivalence must come with a tolerance; got tolerance=None"),
        ({"tolerance": 0.1, "equivalence": 1}, "equivalence must be True or False; got 1"),
        ({"tolerance": 0.1, "null": "exact"}, "null must be left out where a tolerance is given"),
        ({"null": "tolerance"}, "null 'tolerance' must come with a tolerance"),
    ],
)
def test_illegal_options_are_refused(options, message):
    """The error names the argument, the rule and the value."""
    with pytest.raises(InvalidInput, match=message):
        calibration_test(DATA, **options)


def test_constant_residuals_are_not_applicable_and_few_rows_noted():
    data = Predictions(np.zeros(40), np.zeros(40, int))
    for key in ("skce", "debiased-ece", "ks"):
        with pytest.raises(NotApplicable, match="; use more data"):
            calibration_test(data, test=key, tolerance=0.1, equivalence=True)
    few = calibration_test(DATA.subset(np.arange(99)), test="skce", tolerance=0.1)
    assert few.notes == (
        "the limiting distribution holds for large n; with fewer than 100 observations it is rough",
    )
    assert calibration_test(DATA, test="skce", tolerance=0.1).notes == ()


@pytest.mark.parametrize("test", ["skce", "skce-linear", "skce-block", "debiased-ece", "ks"])
def test_few_labels_that_agree_by_chance_reject_no_tolerance(test):
    """Five of five without an event at P(Y = 1) = 0.3: the exact p of calibration is above 0.1."""
    data = Predictions(np.linspace(0.2, 0.4, 5), np.zeros(5, int))
    result = calibration_test(data, test=test, tolerance=0.001, rng=1)
    assert result.pvalue >= calibration_test(data, test=test, rng=1).pvalue > 0.1
    if test == "ks":
        assert result.notes[-1].startswith("p = 0.001 of the limiting distribution")
