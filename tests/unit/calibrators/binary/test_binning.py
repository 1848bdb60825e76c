"""Histograms, scaling-binning and BBQ."""

import math

import numpy as np
import pytest

from caltest import DegenerateDataWarning
from caltest.calibrators import BBQ, HistogramBinning
from caltest.calibrators.binary.binning import binnings, running_sums

pytestmark = pytest.mark.loops

SCORES = np.array([0.0, 0.1, 0.2, 0.2, 0.7, 0.7, 0.8, 1.0])
LABELS = np.array([0, 0, 1, 1, 0, 1, 1, 1])


def test_histogram_map_keeps_its_kind_when_options_change():
    binning = HistogramBinning(bins=4, binning="quantile").fit(SCORES, LABELS)
    before = binning.predict_proba(SCORES)
    assert (binning.set_params(binning="uniform", bins=3).predict_proba(SCORES) == before).all()


@pytest.mark.parametrize("weight", [1e300, 1e-300, 5e-324])
def test_histogram_is_the_same_for_all_sizes_of_weights(weight):
    plain = HistogramBinning(bins=3).fit(SCORES, LABELS)
    weighted = HistogramBinning(bins=3).fit(SCORES, LABELS, np.full(len(SCORES), weight))
    assert weighted.values_ == pytest.approx(plain.values_, rel=1e-12)


def test_histogram_names_narrow_bins_apart():
    """Bins of equal mass may be as narrow as their scores are close."""
    score = 1 - np.arange(1, 41) * 1e-7
    binning = HistogramBinning(bins=4, binning="quantile").fit(score, np.arange(40) % 2)
    names = [coefficient.name for coefficient in binning.coefficients()]
    assert names[1:] == ["(0.9999969, 0.9999979]", "(0.9999979, 0.9999989]", "(0.9999989, 1]"]


def test_histogram_has_binomial_standard_errors():
    """With weights as counts; a share of 0 or 1 and an empty bin have none."""
    p, y, weight = [0.1, 0.2, 0.3, 0.6, 0.7], [0, 1, 1, 1, 1], [2, 1, 1, 3, 1]
    binning = HistogramBinning(bins=4).fit(p, y, weight)
    shares = [(c.value, c.stderr) for c in binning.coefficients()]
    assert shares[0] == pytest.approx((1 / 3, np.sqrt(1 / 3 * 2 / 3 / 3)))
    assert shares[1:] == [(1.0, None), (1.0, None), (0.875, None)]


RNG = np.random.default_rng(5)
BBQ_SCORES = RNG.random(1000)
BBQ_LABELS = (RNG.random(1000) < BBQ_SCORES**2).astype(int)


def test_bbq_has_the_numbers_of_bins_of_the_paper():
    """From n^(1/3) / 10 to 10 n^(1/3), here 1 to 100; of few rows five are in each bin."""
    bbq = BBQ().fit(BBQ_SCORES, BBQ_LABELS)
    assert bbq.bins_.tolist() == list(range(1, 101))
    assert bbq.model_weights_.sum() == pytest.approx(1)
    assert BBQ().fit(BBQ_SCORES[:40], BBQ_LABELS[:40]).bins_.tolist() == list(range(1, 9))


def test_bbq_cut_between_neighbouring_doubles_separates_them():
    """Where there is no double between two scores, the cut is the lower."""
    scores = np.array([0.5, np.nextafter(0.5, 1)]).repeat(10)
    bbq = BBQ(min_bins=2, max_bins=2).fit(scores, np.repeat([0, 1], 10))
    assert bbq.cuts_.tolist() == [0.5]
    assert bbq.predict(scores).tolist() == np.repeat([0, 1], 10).tolist()


@pytest.mark.parametrize("score", [0.0, 0.4, 1.0])
def test_bbq_of_one_observation_stays_inside(score):
    """The prior has two observations, one of each class."""
    with pytest.warns(DegenerateDataWarning, match="one class"):
        bbq = BBQ().fit([score], [1])
    assert bbq.predict_proba([score])[0, 1] == pytest.approx(2 / 3)


def test_bbq_zeros_and_ones_are_no_exception():
    """Midpoints of narrow bins at the ends are not 0 or 1."""
    scores = np.repeat([0.0, 5e-324, 1.0], 20)
    bbq = BBQ().fit(scores, np.repeat([0, 1, 1], 20))
    assert np.isfinite(bbq.log_scores_).all()
    assert bbq.predict_proba([0.0, 5e-324, 1.0])[:, 1] == pytest.approx([0, 1, 1], abs=0.05)


@pytest.mark.parametrize("weight", [1e-300, 1e300])
def test_bbq_takes_weights_of_any_size(weight):
    """Many observations leave the prior behind, none leave it as it is."""
    weighted = BBQ(max_bins=1).fit([0.2, 0.6, 0.9], [0, 1, 1], np.full(3, weight))
    assert weighted.values_ == pytest.approx([2 / 3 if weight > 1 else 1 / 2])


def test_bbq_batches_do_not_change_the_result(monkeypatch):
    """Models are scored in batches of bounded memory."""
    whole = BBQ().fit(BBQ_SCORES, BBQ_LABELS)
    monkeypatch.setattr("caltest.calibrators.binary.binning.BATCH", 150)
    parts = BBQ().fit(BBQ_SCORES, BBQ_LABELS)
    assert (parts.log_scores_ == whole.log_scores_).all()
    assert (parts.cuts_ == whole.cuts_).all()
    assert parts.values_ == pytest.approx(whole.values_, abs=1e-14)


def test_running_sums_carry_their_rounding_errors():
    rng = np.random.default_rng(1)
    jumps = rng.normal(size=2000) * 10.0 ** rng.integers(-12, 1, 2000)
    sums = running_sums(0.5, jumps)
    exact = [math.fsum([0.5, *jumps[:k]]) for k in range(2001)]
    assert sums == pytest.approx(exact, rel=1e-15, abs=1e-15)


def test_bbq_reads_its_own_json_where_all_is_certain():
    """Weights of models may sum to 1 and an ulp, and a mean of ones to as much."""
    scores = np.random.default_rng(120).random(60)
    with pytest.warns(DegenerateDataWarning, match="every label is 1"):
        fitted = BBQ(prior_size=1e-20).fit(scores, np.ones(60, int))
    assert fitted.values_.max() <= 1
    assert (BBQ.from_json(fitted.to_json()).values_ == fitted.values_).all()


@pytest.mark.parametrize("weight", [1.0, 0.1, 1 / 3])
def test_bins_of_equal_mass_reach_their_share_whatever_the_weight(weight):
    """0.1 + ... + 0.1 may miss half of twice as many by rounding: bins are those of counts."""
    for n in range(2, 40):
        starts, ends = binnings(np.cumsum(np.full(n, weight)), np.arange(1, 8))
        for bins in range(1, 8):
            expected = {max(-(-k * n // bins), 1) - 1 for k in range(1, bins + 1)}
            assert set(ends[starts[bins - 1] : starts[bins]].tolist()) == expected
