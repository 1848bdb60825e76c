"""The nulls "saddlepoint" and "convolution": p-values of sums over rows."""

import numpy as np
import pytest
from scipy.stats import binom

import caltest as ct
from caltest import NotApplicable, Predictions
from caltest.htests import REGISTRY as TESTS
from caltest.measures import (
    BrierScore,
    CalibrationIntercept,
    ExpectedObservedRatio,
    LogLoss,
    MeanCalibration,
    SphericalScore,
)

SUMS = [key for key, test in TESTS.items() if "saddlepoint" in test.nulls]
COUNTS = [key for key, test in TESTS.items() if "convolution" in test.nulls]
SCORES = [key for key in SUMS if key not in COUNTS]


def risks(n=60, power=0.7, seed=1):
    """Return risks of two classes and labels that follow too moderate or too extreme ones."""
    rng = np.random.default_rng(seed)
    event = rng.beta(1.0, 2.0, n)
    return Predictions(event, (rng.random(n) < event**power).astype(int), classes=[0, 1])


def pvalue(data, test, null, **options):
    return ct.test_calibration(data, test=test, null=null, rng=1, **options).pvalue


def test_tests_of_sums_are_these():
    """A new one is found here and in the pages of its nulls."""
    assert SCORES == ["brier", "log-loss", "rps", "spiegelhalter"]
    assert COUNTS == ["calibration-in-the-large", "binomial", "jeffreys", "normal"]


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("key", COUNTS)
def test_convolution_is_the_exact_null_of_all_label_vectors(key, seed):
    data = risks(12, seed=seed)
    listed = pvalue(data, key, "exact", n_resamples=4095)
    assert pvalue(data, key, "convolution") == pytest.approx(listed, rel=1e-9)


@pytest.mark.parametrize(
    "measure", [MeanCalibration(), ExpectedObservedRatio(), CalibrationIntercept()]
)
def test_convolution_takes_measures_of_the_count(measure):
    """Whichever function of the number of events they are."""
    data = risks(12)
    listed = pvalue(data, measure, "exact", n_resamples=4095)
    assert pvalue(data, measure, "convolution") == pytest.approx(listed, rel=1e-9)
    assert pvalue(data, measure, "saddlepoint") == pytest.approx(listed, rel=0.1)


@pytest.mark.parametrize("alternative", ["greater", "two-sided"])
def test_convolution_of_equal_risks_is_the_binomial_test(alternative):
    data = Predictions(np.full(500, 0.02), np.arange(500) < 25)
    options = {"alternative": alternative}
    closed = pvalue(data, "binomial", "closed-form", **options)
    assert pvalue(data, "binomial", "convolution", **options) == pytest.approx(closed, rel=1e-9)


@pytest.mark.parametrize("weights", [[1, 2, 3] * 4, [0, 1, 5, 2] * 3])
def test_convolution_takes_integer_weights(weights):
    """The weighted number of events is on a lattice."""
    data = risks(12)
    weighted = Predictions(data.probs, data.labels, sample_weight=np.array(weights, float))
    listed = pvalue(weighted, "binomial", "exact", n_resamples=4095)
    assert pvalue(weighted, "binomial", "convolution") == pytest.approx(listed, rel=1e-9)


@pytest.mark.parametrize("key", SUMS)
def test_saddlepoint_takes_any_weights(key):
    """Of two or four classes, but for the likelihood ratio, no function of the number of events."""
    four = ct.datasets.generative_model("M2", n=80, m=4, pi=0.02, rng=1)
    for data in (risks(), four)[: 2 if key in SCORES else 1]:
        weights = np.random.default_rng(0).uniform(0.5, 2.0, data.n)
        weighted = Predictions(data.probs, data.labels, sample_weight=weights)
        if key == "calibration-in-the-large":
            with pytest.raises(NotApplicable, match="no function of the number of events; use"):
                pvalue(weighted, key, "saddlepoint")
            continue
        drawn = pvalue(weighted, key, "exact", n_resamples=99_999)
        error = 4 * np.sqrt(2 * drawn / 1e5) + 0.02 * drawn
        assert abs(pvalue(weighted, key, "saddlepoint") - drawn) < error


def test_saddlepoint_finds_the_lattice_of_few_predictions():
    """Terms of the Brier score of risks of 0.2 and 0.3 lie on one; that of most scores do not."""
    data = Predictions(np.repeat([0.2, 0.3], 20), np.arange(40) % 4 == 0)
    result = ct.test_calibration(data, test="brier", null="saddlepoint")
    assert "on a lattice of span 0.2" in " ".join(str(result).split())
    drawn = pvalue(data, "brier", "exact", n_resamples=99_999)
    assert result.pvalue == pytest.approx(drawn, abs=0.01)
    assert "lattice" not in str(ct.test_calibration(risks(), test="brier", null="saddlepoint"))


def test_small_pvalue_has_its_digits():
    """120 events where 60 were expected: 1e-13, of which the print shows four digits."""
    data = Predictions(np.full(1000, 0.06), np.arange(1000) < 120)
    exact = binom.sf(119, 1000, 0.06)
    result = ct.test_calibration(data, test="binomial", null="convolution")
    assert result.pvalue == pytest.approx(exact, rel=1e-9)
    assert f"p-value = {exact:.4g}" in str(result)
    assert result.n_resamples is None
    assert "exact distribution of the number of events (Poisson-binomial)" in " ".join(
        str(result).split()
    )


def test_sum_of_few_rows_is_convolved():
    """One of too few for either carries a note."""
    rare = Predictions(np.append(risks().probs[:, 1], 1e-9), np.append(risks().labels, 1))
    result = ct.test_calibration(rare, test="log-loss", null="saddlepoint")
    assert "few rows make up the sum: its terms are convolved" in result.notes[0]
    assert not ct.test_calibration(risks(), test="log-loss", null="saddlepoint").notes
    event = np.random.default_rng(1).uniform(1e-4, 3e-4, 20_000)
    data = Predictions(event, np.arange(20_000) < 5, classes=[0, 1])
    result = ct.test_calibration(data, test="log-loss", null="saddlepoint")
    assert "the approximation is rough, and null='exact' is not" in result.notes[0]


@pytest.mark.parametrize("key", SUMS)
@pytest.mark.parametrize(("low", "high"), [(0.01, 0.03), (0.05, 0.95)], ids=["rare", "ordinary"])
def test_saddlepoint_of_eight_rows_is_that_of_all_label_vectors(key, low, high):
    """256 of them; two labels that no one expects, whose sums have steps."""
    event = np.random.default_rng(1).uniform(low, high, 8)
    for events in ([2], [1, 5], [0, 3, 7]):
        data = Predictions(event, np.isin(np.arange(8), events), classes=[0, 1])
        listed = pvalue(data, key, "exact", n_resamples=999)
        assert pvalue(data, key, "saddlepoint") == pytest.approx(listed, rel=0.05)


def test_impossible_labels_have_the_least_positive_number():
    """An infinite score has the tail 0, which prints as a bound."""
    data = Predictions([0.0, 0.2, 0.7], [1, 0, 1], classes=[0, 1])
    with pytest.warns(ct.DegenerateDataWarning, match="infinite"):
        result = ct.test_calibration(data, test="log-loss", null="saddlepoint")
    assert 0 < result.pvalue < 1e-300
    assert "p-value < 2.2e-16" in str(result)


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("measure", [BrierScore(), LogLoss(), SphericalScore()])
def test_terms_of_a_score_add_up_to_it(measure, m):
    """Times n; those of labels that were not observed are the scores of other labels."""
    data = ct.datasets.generative_model("M1", n=20, m=m, rng=1)
    terms = measure.row_terms(data)
    assert terms.observed == pytest.approx(20 * measure.bind(data).value())
    other = data.labels.copy()
    other[0] = (other[0] + 1) % m
    changed = measure.bind(Predictions(data.probs, other, classes=np.arange(m))).value()
    own = terms.table[0, [data.labels[0], other[0]]]
    assert 20 * changed - terms.observed == pytest.approx(own[1] - own[0])


def test_weights_on_no_lattice_are_for_the_saddlepoint():
    data = risks(12)
    weighted = Predictions(data.probs, data.labels, sample_weight=np.sqrt(np.arange(1.0, 13.0)))
    with pytest.raises(NotApplicable, match=r"points of a lattice, .*; use null='saddlepoint'"):
        pvalue(weighted, "binomial", "convolution")


@pytest.mark.full
def test_groups_are_combined_by_fisher():
    """Each with its own p-value, without resamples."""
    table = ct.test_calibration(risks(), test="brier", null="saddlepoint", by=np.arange(60) % 3)
    assert len(table) == 3
    assert "chi^2 distribution with 6 degrees of freedom" in table.omnibus[0].null_text
