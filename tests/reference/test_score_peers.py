"""Sorted measures and scores of other packages on the sets of shared/reference/peers.json."""

import math

import numpy as np
import pytest
from scipy.special import softmax

from caltest import Predictions
from caltest.measures import (
    brier_score,
    ks_error,
    kuiper_error,
    log_loss,
    score_decomposition,
    smooth_ece,
    spiegelhalter_z,
)
from caltest.measures.cumulative.cumulative import KSError, KuiperError
from caltest.measures.scores.spiegelhalter import SpiegelhalterZ
from caltest.numerics.tails import range_sf

# peers.json, beta40: outputs on Python 3.11 and NumPy 2.4.
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
CLOSE = {"rel": 1e-12}


def test_ks_error_of_probcal():
    assert ks_error(DATA) == pytest.approx(0.14163458224999995, **CLOSE)


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


def test_smooth_ece_of_the_confidence_of_relplot():
    """peers.json, multi200x4: four classes, the confidence; the same shortfall of 0.2 %."""
    rng = np.random.RandomState(7)
    logits = rng.normal(0, 1.5, (200, 4))
    logits[np.arange(200), rng.randint(0, 4, 200)] += 1 + math.log(4)
    true = softmax(0.7 * logits, axis=1)
    labels = (true.cumsum(axis=1) < rng.uniform(size=(200, 1))).sum(axis=1).clip(0, 3)
    value = smooth_ece(softmax(logits, axis=1), labels, lens="confidence")
    assert value == pytest.approx(0.14689921981435086, rel=3e-3)


def test_spiegelhalter_of_pycaleva_probcal_and_mapie():
    """Two-sided in pycaleva and probcal; MAPIE's p-value is that of the upper side alone."""
    limit = SpiegelhalterZ().limit(DATA)
    assert spiegelhalter_z(DATA) == pytest.approx(-0.5274754761143531, **CLOSE)
    assert limit.pvalue == pytest.approx(0.5978634423135613, **CLOSE)
    assert limit.pvalue == pytest.approx(2 * (1 - 0.7010682788432194), **CLOSE)


def test_brier_score_of_probcal():
    assert brier_score(DATA) == pytest.approx(0.1584675491009046, **CLOSE)


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


def test_log_loss_is_the_score_of_the_decomposition():
    assert log_loss(DATA) == pytest.approx(0.48127130917377414, **CLOSE)
