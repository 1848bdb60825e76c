"""ECE in its variants, from other packages (their outputs run on Python 3.11 and NumPy 2.4).

Where the bins of a package are others, the test has its bins and our formula, and says so.
"""

import numpy as np
import pytest
from scipy.special import softmax

import caltest as ct
from caltest.measures import classwise_ece, debiased_ece, ece, mce

# 40 pairs of a beta-distributed prediction and a label
P = [
    0.43155171,
    0.81164906,
    0.66544901,
    0.53177918,
    0.15549116,
    0.16259166,
    0.36480309,
    0.81877874,
    0.94360637,
    0.73610746,
    0.55979712,
    0.85662239,
    0.38039252,
    0.7806386,
    0.38548359,
    0.7468978,
    0.26136641,
    0.21377051,
    0.01270956,
    0.05394571,
    0.51571459,
    0.31820521,
    0.65717799,
    0.25428535,
    0.45378324,
    0.62464611,
    0.20519146,
    0.87777557,
    0.11439908,
    0.53848995,
    0.64487573,
    0.08061064,
    0.46484883,
    0.40406019,
    0.81670188,
    0.9357303,
    0.40183604,
    0.09328503,
    0.9462795,
    0.26967112,
]
Y = [int(label) for label in "0110000111011000000010000100001001110010"]

# bins of equal width: netcal.metrics.ECE, MCE; torchmetrics calibration_error(norm="l2")
EQUAL_WIDTH = {
    5: (0.13727498650000003, 0.25576231666666666, 0.16292138875088807),
    10: (0.16638673599999998, 0.42121462000000004, 0.2002082246429352),
    15: (0.20119913250000002, 0.87777557, 0.2657347724591736),
}


@pytest.mark.parametrize("bins", EQUAL_WIDTH)
def test_errors_over_bins_of_equal_width_are_those_of_netcal_and_torchmetrics(bins):
    """Theirs are left-closed, and no prediction is on an edge."""
    values = [ece(P, Y, bins=bins), mce(P, Y, bins=bins), ece(P, Y, bins=bins, p=2)]
    np.testing.assert_allclose(values, EQUAL_WIDTH[bins], rtol=1e-12)


@pytest.mark.parametrize(("bins", "value"), [(5, 0.13727498650000003), (10, 0.17208738299999998)])
def test_ece_over_bins_of_equal_mass_is_that_of_netcal_probcal_and_uncal(bins, value):
    """Where n / B is whole and nothing is tied, there is one way to share out the rows."""
    assert ece(P, Y, binning="quantile", bins=bins) == pytest.approx(value, rel=1e-12)


def grouped(parts, errors):
    """Return the mean over groups of rows, weighted by their size, of a function of both means."""
    p, y = np.array(P), np.array(Y)
    return sum(len(i) * errors(p[i].mean(), y[i].mean(), len(i)) for i in parts) / len(p)


def test_ece_over_fifteen_bins_of_equal_mass_depends_on_the_rule():
    """40 / 15 is not whole: three rules, three partitions, one formula."""
    order, ordered = np.argsort(P), np.sort(P)
    ranks = np.arange(40)
    ours = [order[ranks * 15 // 40 == k] for k in range(15)]
    uncal = np.array_split(order, 15)  # larger groups first
    edges = np.quantile(P, np.linspace(0, 1, 16))  # interpolated quantiles, left-closed
    netcal = [order[np.searchsorted(edges[1:-1], ordered, side="right") == k] for k in range(15)]
    gap = [grouped(parts, lambda p, y, _: abs(p - y)) for parts in (ours, uncal, netcal)]
    assert gap[0] == pytest.approx(ece(P, Y, binning="quantile"), rel=1e-12)
    assert gap[1] == pytest.approx(0.1861271415, rel=1e-9)  # uncal, em
    square = grouped(uncal, lambda p, y, _: (p - y) ** 2)
    assert square**0.5 == pytest.approx(0.26179315510995865, rel=1e-9)  # uncal, plug-in l2
    assert gap[2] == pytest.approx(0.1662014945, rel=1e-9)  # netcal and probcal


def test_debiased_ece_has_the_formula_of_uncal():
    """verified-calibration's estimator: its groups (larger first), our formula, and ours, ours."""
    order = np.argsort(P)

    def debiased(parts):
        square = grouped(parts, lambda p, y, n: (p - y) ** 2 - y * (1 - y) / (n - 1))
        return np.sqrt(square)

    ours = [order[np.arange(40) * 15 // 40 == k] for k in range(15)]
    value = debiased_ece(P, Y, binning="quantile", root=True)
    assert value == pytest.approx(debiased(ours), rel=1e-12)
    assert debiased(np.array_split(order, 15)) == pytest.approx(0.11987071950964599, rel=1e-12)


def test_sweep_ece_is_that_of_probcal():
    """The sweep of Roelofs et al. with absolute distances."""
    assert ece(P, Y, binning="sweep") == pytest.approx(0.13727498650000003, rel=1e-12)


# ---- 200 predictions of 4 classes ---------------------------------------------------------------


@pytest.fixture(scope="module")
def multi():
    """Logits with noise, and labels that are less certain than they say."""
    r = np.random.RandomState(7)  # the generator that was used
    logits = r.normal(0, 1.5, (200, 4))
    logits[np.arange(200), r.randint(0, 4, 200)] += 1 + np.log(4)
    law = softmax(0.7 * logits, axis=1)
    labels = (law.cumsum(axis=1) < r.uniform(size=(200, 1))).sum(axis=1).clip(0, 3)
    return ct.Predictions(softmax(logits, axis=1), labels)


def test_confidence_ece_is_that_of_netcal_and_uncal(multi):
    value = ece(multi, lens="confidence")
    assert value == pytest.approx(0.15944272960293793, rel=1e-12)


def test_classwise_ece_is_that_of_pycalib(multi):
    """classwise_ECE with 15 bins, a mean over classes."""
    assert classwise_ece(multi) == pytest.approx(0.09132232975085866, rel=1e-12)


def test_debiased_marginal_error_is_that_of_uncal_with_its_bins(multi):
    """The root of the mean over classes of debiased squares, those below 0 counted as 0."""
    squares = []
    for k in range(4):
        p, y = multi.probs[:, k], multi.labels == k
        square = 0.0
        for i in np.array_split(np.argsort(p), 15):
            gap, rate = p[i].mean() - y[i].mean(), y[i].mean()
            square += len(i) / 200 * (gap**2 - rate * (1 - rate) / (len(i) - 1))
        squares.append(max(square, 0.0))
    assert np.sqrt(np.mean(squares)) == pytest.approx(0.08941167245814871, rel=1e-12)
    ours = debiased_ece(multi, lens="classwise", binning="quantile", root=True)
    assert np.sqrt(np.mean(ours**2)) == pytest.approx(0.1013, abs=1e-4)  # 200 / 15 is not whole


# ---- true values --------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "error"), [("M1", 0.0), ("M2", 0.25), ("M3", 0.4415756949)])
def test_ece_of_many_predictions_is_the_error_of_the_model(model, error):
    """Two classes, alpha = 0.1: integrals of |P(Y = 1 | p) - p| over the law of p."""
    data = ct.datasets.generative_model(model, n=400_000, m=2, rng=0)
    assert ece(data, bins=100) == pytest.approx(error, abs=0.005)
    assert debiased_ece(data, bins=100) <= ece(data, bins=100, p=2) ** 2
