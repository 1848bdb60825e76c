"""Score decompositions at their extremes, under lenses, and their errors."""

import numpy as np
import pytest

from caltest import NotApplicable, Predictions
from caltest.measures import score_decomposition


def test_rows_of_weight_zero_do_not_count():
    """They are left out by both methods."""
    event, labels = np.array([0.2, 0.9, 0.5]), [1, 0, 1]
    weighted = Predictions(event, labels, sample_weight=[1, 0, 1])
    for method in ("corp", "bins"):
        parts = score_decomposition(weighted, method=method)
        assert parts == score_decomposition(event[[0, 2]], [1, 1], method=method)


@pytest.mark.parametrize("method", ["bins", "grades"])
def test_log_loss_has_no_decomposition_by_bins(method):
    message = f"method='{method}' decomposes the Brier score only; use method='corp'"
    with pytest.raises(NotApplicable, match=message):
        score_decomposition([0.2, 0.4], [0, 1], score="log-loss", method=method)


def test_grades_are_distinct_predictions():
    """Murphy's decomposition is exact, and nothing is left within grades."""
    p, y = np.repeat([0.1, 0.3, 0.7], [20, 10, 30]), np.arange(60) % 3 == 0
    parts = score_decomposition(p, y, method="grades")
    total = parts.miscalibration - parts.discrimination + parts.uncertainty
    assert total == pytest.approx(parts.score, rel=1e-12)
    assert parts.within_bin_variance == parts.within_bin_covariance == 0
    rates = [y[p == grade].mean() for grade in (0.1, 0.3, 0.7)]
    reliability = np.average(np.square(np.subtract(rates, [0.1, 0.3, 0.7])), weights=[20, 10, 30])
    assert parts.miscalibration == pytest.approx(reliability, rel=1e-12)


def test_groups_can_be_the_bins():
    """Rating grades in which predictions vary leave parts within bins."""
    p, y = np.linspace(0.05, 0.95, 30), np.arange(30) % 2
    grades = np.repeat(["a", "b", "c"], 10)
    by_grade = score_decomposition(
        Predictions(p, y, groups=grades), method="bins", binning="groups"
    )
    assert by_grade == score_decomposition(p, y, method="bins", binning="quantile", bins=3)
    assert by_grade.within_bin_variance > 0
    with pytest.raises(NotApplicable, match="there are none; use Predictions"):
        score_decomposition(p, y, method="bins", binning="groups")
