"""Histogram binning: its bins, their values, what is printed."""

import numpy as np
import pytest

from caltest import DegenerateDataWarning
from caltest.calibrators import HistogramBinning

pytestmark = pytest.mark.loops

SCORES = np.array([0.0, 0.1, 0.2, 0.2, 0.7, 0.7, 0.8, 1.0])
LABELS = np.array([0, 0, 1, 1, 0, 1, 1, 1])


def test_histogram_has_fifteen_bins_of_equal_width():
    """By default, as in Guo et al. and Kull et al."""
    binning = HistogramBinning().fit(SCORES, LABELS)
    assert binning.edges_.tolist() == [k / 15 for k in range(16)]
    assert binning.counts_.sum() == len(SCORES)


def test_histogram_empty_bin_has_its_middle():
    binning = HistogramBinning(bins=10).fit(SCORES, LABELS)
    assert binning.counts_[4] == 0
    assert binning.values_[4] == pytest.approx(0.45)


def test_histogram_empty_bin_can_be_zero():
    """As in the programs of Kull et al."""
    binning = HistogramBinning(bins=10, empty="zero").fit(SCORES, LABELS)
    assert binning.values_[4] == 0
    assert binning.values_[6] == 0.5


def test_histogram_quantile_bins_do_not_split_ties():
    """Four bins of eight rows would end at rows 2, 4 and 6."""
    binning = HistogramBinning(bins=4, binning="quantile").fit(SCORES, LABELS)
    assert binning.edges_.tolist() == [0.0, 0.1, 0.2, 0.7, 1.0]
    assert binning.values_.tolist() == [0.0, 1.0, 0.5, 1.0]


def test_histogram_of_a_constant_is_the_frequency():
    """One score makes one bin of equal mass."""
    binning = HistogramBinning(binning="quantile").fit(np.full(4, 0.3), [0, 1, 1, 1])
    assert binning.predict_proba([0.0, 0.3, 1.0])[:, 1].tolist() == [0.75] * 3


def test_histogram_of_one_class_has_its_frequency():
    """0 or 1 where there are observations, with a warning."""
    with pytest.warns(DegenerateDataWarning, match="one class"):
        binning = HistogramBinning(bins=2).fit([0.1, 0.2], [1, 1], None)
    assert binning.values_.tolist() == [1.0, 0.75]


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
