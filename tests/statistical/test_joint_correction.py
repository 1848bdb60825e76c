"""The joint correction keeps the family-wise error rate, and rejects more than Holm's."""

import numpy as np
import pytest
from scipy import stats

import caltest as ct
from caltest.htests.combine import adjusted_pvalues

pytestmark = pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")


def rejections(n, m, tests, sets, *, power=1.0):
    """Tell for each data set whether any class is rejected, jointly and by Holm's method.

    The true probabilities are the powers of the predictions, scaled to the sum 1.
    """
    found = []
    for seed in range(sets):
        rng = np.random.default_rng([seed, n, m])
        p = rng.dirichlet(np.full(m, 1.0 if m < 10 else 0.1), n)
        true = p**power / (p**power).sum(axis=1, keepdims=True)
        labels = (rng.random((n, 1)) > true.cumsum(axis=1)[:, :-1]).sum(axis=1)
        data = ct.Predictions(p, labels)
        table = ct.test_calibration(data, test=tests, lens="classwise", n_resamples=99, rng=seed)
        holm, _ = adjusted_pvalues(table.pvalues.tolist(), "holm")
        found.append((table.adjusted.min() <= 0.05, holm.min() <= 0.05))
    return np.sum(found, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "m", "sets"), [(8, 3, 400), (50, 3, 400), (50, 100, 60)])
def test_family_wise_error_rate_is_the_level(n, m, sets):
    """Calibrated predictions: within the binomial band, two-sided at 1 in 10,000."""
    count, _ = rejections(n, m, ["brier", "ks"] if m == 3 else ["ks"], sets)
    low, high = stats.binom.ppf([5e-5, 1 - 5e-5], sets, 0.05)
    assert low <= count <= high


@pytest.mark.slow
@pytest.mark.parametrize("test", ["ks", "brier", "combined"])
def test_groups_whose_label_vectors_are_listed_keep_the_level(test):
    """Of 40 groups of five rows: within the same band, or below, as few values are attained."""
    sets, groups = 200, np.repeat(np.arange(40), 5)
    count = 0
    for seed in range(sets):
        rng = np.random.default_rng([seed, 40])
        p = rng.beta(0.7, 0.7, groups.size)
        labels = (rng.random(groups.size) < p).astype(int)
        found = ct.test_calibration(p, labels, by=groups, test=test, n_resamples=99, rng=seed)
        count += found.adjusted.min() <= 0.05
    assert 0 < count <= stats.binom.ppf(1 - 5e-5, sets, 0.05)


def test_power_is_above_that_of_holm():
    """Predictions that are too sure, with dependent tests of three classes."""
    joint, holm = rejections(50, 3, ["brier", "ks", "log-loss"], 100, power=0.6)
    assert joint > holm
