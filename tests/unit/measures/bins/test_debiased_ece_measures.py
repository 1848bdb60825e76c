"""The debiased ECE: its root, notes, degenerate data and errors."""

import numpy as np
import pytest

import caltest as ct
from caltest.errors import NotApplicable
from caltest.measures import DebiasedECE, debiased_ece, ece


def test_root_of_a_negative_estimate_is_zero():
    probs, labels = [0.1, 0.3, 0.7, 0.9], [0, 1, 1, 1]
    assert debiased_ece(probs, labels, bins=2, root=True) == 0.0


def test_debiased_ece_of_many_rows_is_close_to_the_square():
    data = ct.datasets.generative_model("M2", n=50_000, m=2, rng=0)
    assert debiased_ece(data) == pytest.approx(ece(data, p=2) ** 2, abs=1e-4)
    assert debiased_ece(data, root=True) == pytest.approx(ece(data, p=2), abs=1e-3)


def test_bins_with_one_row_are_left_out_and_noted():
    """They have no share, and the others keep theirs."""
    data = ct.Predictions([0.1, 0.3, 0.9], [0, 1, 1])
    assert debiased_ece(data, bins=2) == pytest.approx(2 / 3 * (0.09 - 0.25))
    note = "1 of 2 occupied bins hold one observation and are left out"
    for root in (False, True):
        assert DebiasedECE(bins=2, root=root).bind(data).notes == (note,)


@pytest.mark.parametrize("m", [2, 3])
def test_debiased_ece_of_one_observation_is_not_applicable(m):
    with pytest.raises(NotApplicable, match="use fewer bins, or the test 'ece'"):
        debiased_ece(np.eye(m)[:1], [0], lens="strong")


def test_root_gives_the_pvalue_of_the_square_where_it_is_positive():
    """The root is monotone, and only ties at 0 can differ."""
    data = ct.datasets.generative_model("M2", n=200, m=2, pi=0.2, rng=0)
    first, second = (
        ct.test_calibration(None, data, test="debiased-ece", root=root, rng=0)
        for root in (False, True)
    )
    assert first.statistic > 0
    assert first.pvalue == second.pvalue


def test_symbols_tell_square_and_root_apart():
    assert DebiasedECE().symbol == "debiased ECE_2^2"
    assert DebiasedECE(root=True).symbol == "debiased ECE_2"
    assert DebiasedECE(root=True).description == "root of the debiased squared calibration error"
