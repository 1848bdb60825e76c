"""BBQ: its models, its prior, its options."""

import numpy as np
import pytest

from caltest import DegenerateDataWarning
from caltest.calibrators import BBQ

pytestmark = pytest.mark.loops

RNG = np.random.default_rng(5)
SCORES = RNG.random(1000)
LABELS = (RNG.random(1000) < SCORES**2).astype(int)


def test_bbq_has_the_numbers_of_bins_of_the_paper():
    """From n^(1/3) / 10 to 10 n^(1/3), here 1 to 100."""
    bbq = BBQ().fit(SCORES, LABELS)
    assert bbq.bins_.tolist() == list(range(1, 101))
    assert bbq.model_weights_.sum() == pytest.approx(1)


def test_bbq_small_sample_has_five_rows_per_bin():
    assert BBQ().fit(SCORES[:40], LABELS[:40]).bins_.tolist() == list(range(1, 9))


def test_bbq_cuts_lie_midway_and_below():
    """Between the last score of a bin and the first of the next."""
    bbq = BBQ(min_bins=2, max_bins=2).fit([0.1, 0.2, 0.6, 0.8], [0, 0, 1, 1])
    assert bbq.cuts_ == pytest.approx([0.4])
    below, above = bbq.predict_proba([0.4, np.nextafter(0.4, 1)])[:, 1]
    assert below < 0.5 < above


def test_bbq_cut_between_neighbouring_doubles_separates_them():
    """Where there is no double between two scores, the cut is the lower."""
    scores = np.array([0.5, np.nextafter(0.5, 1)]).repeat(10)
    bbq = BBQ(min_bins=2, max_bins=2).fit(scores, np.repeat([0, 1], 10))
    assert bbq.cuts_.tolist() == [0.5]
    assert bbq.predict(scores).tolist() == np.repeat([0, 1], 10).tolist()


def test_bbq_of_a_constant_is_one_bin():
    bbq = BBQ().fit(np.full(100, 0.3), np.arange(100) % 4 == 0)
    assert (bbq.bins_ == 1).all()
    assert bbq.predict_proba([0.0, 1.0])[:, 1] == pytest.approx([26 / 102] * 2)


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
    whole = BBQ().fit(SCORES, LABELS)
    monkeypatch.setattr("caltest.calibrators.binary.binning.BATCH", 150)
    parts = BBQ().fit(SCORES, LABELS)
    assert (parts.log_scores_ == whole.log_scores_).all()
    assert (parts.cuts_ == whole.cuts_).all()
    assert parts.values_ == pytest.approx(whole.values_, abs=1e-14)
