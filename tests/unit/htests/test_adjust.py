"""Multiple testing: the methods of statsmodels by name."""

import numpy as np
import pytest

from caltest import test_calibration as calibration_test
from caltest.checks.options import CORRECTIONS
from caltest.htests.combine import adjusted_pvalues

PVALUES = [0.01, 0.04, 0.03]


@pytest.mark.parametrize(
    ("correction", "expected"),
    [
        ("holm", [0.03, 0.06, 0.06]),
        ("bonferroni", [0.03, 0.12, 0.09]),
        ("fdr_bh", [0.03, 0.04, 0.04]),
        ("none", PVALUES),
        (None, PVALUES),
    ],
)
def test_adjusted_pvalues_equal_those_by_hand(correction, expected):
    """Times 3, 2, 1 from the smallest (Holm) and times 3, 3/2, 1 (Benjamini, Hochberg)."""
    adjusted, name = adjusted_pvalues(PVALUES, correction)
    np.testing.assert_allclose(adjusted, expected, rtol=1e-12)
    assert name == (correction or "none")


@pytest.mark.parametrize("method", CORRECTIONS)
def test_adjusted_pvalues_are_no_smaller(method):
    """Every method that is offered works, keeps to [0, 1] and never lowers a p-value."""
    pvalues = [0.001, 1.0, 0.2, 0.2, 0.04]
    adjusted, _ = adjusted_pvalues(pvalues, method)
    if method not in {"fdr_tsbh", "fdr_tsbky"}:  # adaptive: they estimate the true nulls
        assert (adjusted >= np.array(pvalues) - 1e-15).all()
    assert ((adjusted >= 0) & (adjusted <= 1)).all()


def test_groups_whose_label_vectors_are_listed_are_adjusted_by_their_law():
    """The joint adjustment is then no larger than Sidak's, up to the error of 999 resamples."""
    rng = np.random.default_rng(5)
    p, groups = rng.beta(0.7, 0.7, 200), np.repeat(np.arange(40), 5)
    labels = rng.random(200) < p
    p[35:40], labels[35:40] = [0.05, 0.1, 0.08, 0.2, 0.3], [1, 1, 1, 1, 0]
    found = calibration_test(p, labels.astype(int), test="ks", by=groups, rng=3)
    least = found.rows[7].pvalue
    assert least == pytest.approx(0.05 * 0.1 * 0.08 * 0.2)
    assert found.adjusted[7] <= 1 - (1 - least) ** 40 + 3 * np.sqrt(40 * least / 999)
