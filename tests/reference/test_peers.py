"""Measures and tests of other Python packages on the two small sets of shared/reference/peers.json.

Their outputs run on Python 3.11 and NumPy 2.4. Where the bins of a package are others, the test has
its bins and our formula, and says so.
"""

import math

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import chi2

import caltest as ct
from caltest import Predictions
from caltest import test_calibration as calibration_test
from caltest.kernels import Exponential
from caltest.measures import (
    brier_score,
    classwise_ece,
    debiased_ece,
    e50,
    e90,
    ece,
    emax,
    hosmer_lemeshow,
    ici,
    kce,
    ks_error,
    kuiper_error,
    log_loss,
    mce,
    mmce,
    pigeon_heyse,
    score_decomposition,
    skce,
    smooth_ece,
    spiegelhalter_z,
)
from caltest.measures.cumulative.cumulative import KSError, KuiperError
from caltest.measures.scores.spiegelhalter import SpiegelhalterZ
from caltest.measures.smooth import lowess
from caltest.numerics.tails import range_sf

CLOSE = {"rel": 1e-12}

# peers.json, beta40: 40 pairs of a beta-distributed prediction and a label
P = np.fromstring(  # P(Y = 1)
    """.43155171 .81164906 .66544901 .53177918 .15549116 .16259166 .36480309 .81877874 .94360637
    .73610746 .55979712 .85662239 .38039252 .7806386 .38548359 .7468978 .26136641 .21377051
    .01270956 .05394571 .51571459 .31820521 .65717799 .25428535 .45378324 .62464611 .20519146
    .87777557 .11439908 .53848995 .64487573 .08061064 .46484883 .40406019 .81670188 .9357303
    .40183604 .09328503 .9462795 .26967112""",
    sep=" ",
)
Y = np.array([int(y) for y in "0110000111011000000010000100001001110010"])
DATA = Predictions(P, Y)


@pytest.fixture(scope="module")
def multi():
    """Logits with noise, and labels that are less certain than they say."""
    r = np.random.RandomState(7)  # the generator that was used
    logits = r.normal(0, 1.5, (200, 4))
    logits[np.arange(200), r.randint(0, 4, 200)] += 1 + np.log(4)
    law = softmax(0.7 * logits, axis=1)
    labels = (law.cumsum(axis=1) < r.uniform(size=(200, 1))).sum(axis=1).clip(0, 3)
    return Predictions(softmax(logits, axis=1), labels)


# ---- values of one call -------------------------------------------------------------------------

ONE, EUCLIDEAN = Exponential(1.0), Exponential(1.0, "euclidean")
VALUES = [
    # Where n / B is whole and nothing is tied, there is one way to share out the rows.
    ("netcal, probcal, uncal", ece, {"binning": "quantile", "bins": 5}, 0.13727498650000003),
    ("netcal, probcal, uncal", ece, {"binning": "quantile", "bins": 10}, 0.17208738299999998),
    ("probcal, the sweep of Roelofs et al.", ece, {"binning": "sweep"}, 0.13727498650000003),
    # h = 2 exp(-|p - q|) (y - p)(y' - q): the default kernel with bandwidth 1
    ("probcal, unbiased", skce, {"kernel": ONE}, 0.02244638308233779),
    (
        "probcal, biased",
        lambda *data, **own: kce(*data, **own) ** 2,
        {"kernel": ONE},
        0.029808600960324574,
    ),
    ("probcal", ks_error, {}, 0.14163458224999995),
    ("probcal", brier_score, {}, 0.1584675491009046),
    ("model-diagnostics", log_loss, {}, 0.48127130917377414),
]
VALUES_OF_FOUR = [
    ("netcal, uncal", ece, {"lens": "confidence"}, 0.15944272960293793),
    ("pycalib, a mean over classes", classwise_ece, {}, 0.09132232975085866),
    ("sustech, exp(-||p - q||_2) I", skce, {"kernel": EUCLIDEAN}, 0.0010763816227649797),
]


def test_value_is_that_of_the_package(case, multi):
    for data, table in ((DATA, VALUES), (multi, VALUES_OF_FOUR)):
        for package, measure, options, value in table:
            with case(package, measure.__name__, options):
                assert measure(data, **options) == pytest.approx(value, **CLOSE)
    # The sum of relplot falls short by 0.2 %, see below.
    value = smooth_ece(multi, lens="confidence")
    assert value == pytest.approx(0.14689921981435086, rel=3e-3)


# ---- errors over bins ---------------------------------------------------------------------------

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


def grouped(parts, errors):
    """Return the mean over groups of rows, weighted by their size, of a function of both means."""
    return sum(len(i) * errors(P[i].mean(), Y[i].mean(), len(i)) for i in parts) / len(P)


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


@pytest.mark.parametrize(("model", "error"), [("M1", 0.0), ("M2", 0.25), ("M3", 0.4415756949)])
def test_ece_of_many_predictions_is_the_error_of_the_model(model, error):
    """Two classes, alpha = 0.1: integrals of |P(Y = 1 | p) - p| over the law of p."""
    data = ct.datasets.generative_model(model, n=400_000, m=2, rng=0)
    assert ece(data, bins=100) == pytest.approx(error, abs=0.005)
    assert debiased_ece(data, bins=100) <= ece(data, bins=100, p=2) ** 2


# ---- kernel errors ------------------------------------------------------------------------------


def plain_mmce(confidence, right):
    """Return the definition of Kumar et al. (2018) with the kernel exp(-2.5 |r - r'|)."""
    kernel = np.exp(-2.5 * np.abs(confidence[:, None] - confidence))
    return math.sqrt((right - confidence) @ kernel @ (right - confidence)) / len(confidence)


def test_mmce_of_netcal_mixes_two_classes_where_p_is_below_one_half():
    """netcal, MMCE().measure(p, y): there the predicted class is 0, but r stays P(Y = 1).

    The same sum with the confidence max(p, 1 - p) is the MMCE.
    """
    right = (P > 0.5) == Y
    assert plain_mmce(P, right) == pytest.approx(0.2676825463739045, **CLOSE)
    assert mmce(P, Y) == pytest.approx(plain_mmce(np.maximum(P, 1 - P), right), **CLOSE)
    assert mmce(P, Y) == pytest.approx(0.0335873011657463, **CLOSE)


def test_mmce_of_netcal_agrees_above_one_half():
    """Where the prediction is class 1 throughout, netcal's sum and the MMCE are the same."""
    above = P > 0.5
    assert mmce(P[above], Y[above]) == pytest.approx(plain_mmce(P[above], Y[above]), **CLOSE)


# ---- sorted measures and scores -----------------------------------------------------------------


def test_ks_test_of_mapie():
    """MAPIE divides by the standard deviation; to eight digits, since it adds noise to scores."""
    limit = KSError().limit(DATA)
    assert limit.statistic == pytest.approx(2.148836977147648, rel=1e-7)
    assert ks_error(DATA, scaled=True) == pytest.approx(limit.statistic, **CLOSE)
    assert limit.pvalue == pytest.approx(0.0632946499283975, rel=1e-6)


def test_kuiper_statistic_of_mapie_leaves_out_the_start_of_the_walk():
    """MAPIE's range does not include C_0 = 0, so that its Kuiper is below its KS statistic.

    The Brownian range that it is compared with does; their p-value is right for their statistic.
    """
    order = np.argsort(P)
    walk = np.cumsum((Y - P)[order]) / math.sqrt(np.sum(P * (1 - P)))
    assert np.ptp(walk) == pytest.approx(2.14401633724561, rel=1e-7)
    assert range_sf(2.14401633724561) == pytest.approx(0.1279821025474096, **CLOSE)
    assert KuiperError().limit(DATA).statistic == pytest.approx(np.ptp([0, *walk]), **CLOSE)
    assert kuiper_error(DATA) == pytest.approx(ks_error(DATA), **CLOSE)


@pytest.mark.parametrize(
    ("bandwidth", "relplot"),
    [(None, 0.13707250737517243), (0.1376953125, 0.13707250737517243), (0.05, 0.13896928918699425)],
)
def test_smooth_ece_of_relplot_is_a_coarse_sum(bandwidth, relplot):
    """The integral of relplot is a sum over a few hundred points divided by their number.

    That is short by the share of one point, 0.15 % to 0.3 %. Ten bisections give it the bandwidth
    0.1377, and there the same value to 0.15 %.
    """
    for method in ("grid", "exact"):
        value = smooth_ece(DATA, bandwidth=bandwidth, method=method)
        assert value == pytest.approx(relplot, rel=3e-3)
        assert value > relplot


@pytest.mark.parametrize(("bandwidth", "points"), [(0.1376953125, 400), (0.05, 200), (0.05, 400)])
def test_smooth_ece_minus_the_share_of_a_point_is_the_sum_of_relplot(bandwidth, points):
    """The sum of relplot in a few lines: its grid, its kernel cut at 1/2, its division."""
    place = P * (points - 1)
    cell = place.astype(int)
    nodes = np.bincount(cell, (1 - place + cell) * (P - Y), points)
    nodes += np.bincount(cell + 1, (place - cell) * (P - Y), points)
    t = np.linspace(0, 1, points)
    z = np.abs(t[:, None] - np.concatenate([t, -t[1:], 2 - t[:-1]])) / bandwidth
    kernel = np.exp(-(z**2) / 2) / (bandwidth * math.sqrt(2 * math.pi))
    mirrored = np.concatenate([nodes, nodes[1:], nodes[:-1]]) / P.size
    theirs = np.abs((kernel * (z * bandwidth <= 0.5)) @ mirrored).sum() / points
    ours = smooth_ece(DATA, bandwidth=bandwidth)
    assert theirs == pytest.approx(ours * (1 - 1 / points), rel=2e-3)


def test_spiegelhalter_of_pycaleva_probcal_and_mapie():
    """Two-sided in pycaleva and probcal; MAPIE's p-value is that of the upper side alone."""
    limit = SpiegelhalterZ().limit(DATA)
    assert spiegelhalter_z(DATA) == pytest.approx(-0.5274754761143531, **CLOSE)
    assert limit.pvalue == pytest.approx(0.5978634423135613, **CLOSE)
    assert limit.pvalue == pytest.approx(2 * (1 - 0.7010682788432194), **CLOSE)


def test_murphy_decomposition_of_probcal():
    """probcal, murphy10: ten bins of equal mass; it has no within-bin parts."""
    parts = score_decomposition(DATA, method="bins", binning="quantile", bins=10)
    three = [parts.miscalibration, parts.discrimination, parts.uncertainty]
    np.testing.assert_allclose(three, [0.03328525274992913, 0.1025, 0.2275], rtol=1e-12)


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (
            "brier",
            [0.041064951698307206, 0.11009740259740264, 0.22750000000000004, 0.1584675491009046],
        ),
        (
            "log-loss",
            [0.13807511787544163, 0.3042504477363, 0.6474466390346325, 0.48127130917377414],
        ),
    ],
)
def test_corp_decomposition_of_model_diagnostics(score, expected):
    parts = score_decomposition(DATA, score=score)
    values = [parts.miscalibration, parts.discrimination, parts.uncertainty, parts.score]
    np.testing.assert_allclose(values, expected, rtol=1e-12)


# ---- grouped risks and loess errors -------------------------------------------------------------


def limit(test, **options):
    return calibration_test(None, DATA, test=test, null="asymptotic", **options)


def test_hosmer_lemeshow_of_pycaleva_and_probcal():
    """As pycaleva 0.8.2, both samples, and probcal 0.4.0, which takes g for df as well."""
    result = limit("hosmer-lemeshow")
    assert result.statistic == pytest.approx(8.155717987812666, **CLOSE)
    assert result.pvalue == pytest.approx(0.6136296757954256, **CLOSE)
    internal = limit("hosmer-lemeshow", internal=True)
    assert internal.pvalue == pytest.approx(0.41840895267343714, **CLOSE)
    assert hosmer_lemeshow(DATA) == result.statistic


def test_pigeon_heyse_of_pycaleva():
    """The statistic, and the p-value for external data."""
    result = limit("pigeon-heyse")
    assert result.statistic == pytest.approx(8.20879143129074, **CLOSE)
    assert result.pvalue == pytest.approx(0.6084506156914695, **CLOSE)
    assert result.pvalue == pytest.approx(chi2.sf(pigeon_heyse(DATA), 10), **CLOSE)


def errors_at_rows(span, nearest):
    """Return the sorted errors of a loess with a line at every row and no cut-off of the tricube.

    probcal takes the ceiling of span n for the number of nearest rows, statsmodels and R the floor.
    """
    x, y = np.sort(P), Y[np.argsort(P)]
    radii = lowess.find_radii(x, np.arange(x.size + 1.0), x, nearest(span * P.size))
    edges = lowess.window_edges(x, x, radii, 0.0, 1.0)
    return np.abs(lowess.row_weights(x, np.ones(x.size), (x, radii, edges)) @ y - x)


def test_loess_errors_of_probcal_have_a_line_at_every_row():
    """As probcal 0.4.0, span 0.75; R's cut-off near 0 and 1 and knots change the eighth digit."""
    errors = errors_at_rows(0.75, lambda rows: int(np.ceil(rows)))
    quantiles = np.median(errors), np.quantile(errors, 0.9), errors.max()
    expected = [0.13849310443301255, 0.18477083420612309, 0.18626407431349995]
    assert errors.mean() == pytest.approx(0.1317912336442925, **CLOSE)
    assert quantiles == pytest.approx(expected, **CLOSE)
    ours = [measure(DATA, span=0.75) for measure in (ici, e50, e90, emax)]
    assert ours == pytest.approx([0.1317912336442925, *expected], rel=1e-6)


def test_index_of_calzone_has_half_the_span():
    """calzone-tool 0.1.0: statsmodels with span 0.5, and steps of 0.001 that join no rows here."""
    assert errors_at_rows(0.5, int).mean() == pytest.approx(0.1342556017717093, **CLOSE)
    assert ici(DATA, span=0.5) == pytest.approx(0.1342556017717093, rel=2e-6)
