"""Kernel errors of other Python packages on the two small sets of shared/reference/peers.json."""

import math

import numpy as np
import pytest
from scipy.special import softmax

from caltest.kernels import Exponential
from caltest.measures import kce, mmce, skce

CLOSE = {"rel": 1e-12}

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


def test_unbiased_skce_of_probcal():
    """probcal, h = 2 exp(-|p - q|) (y - p)(y' - q): the default kernel with bandwidth 1."""
    assert skce(P, Y, kernel=Exponential(1.0)) == pytest.approx(0.02244638308233779, **CLOSE)


def test_kce_squared_is_the_biased_skce_of_probcal():
    """probcal, the same kernel, biased; the KCE is its square root."""
    assert kce(P, Y, kernel=Exponential(1.0)) ** 2 == pytest.approx(0.029808600960324574, **CLOSE)


def test_skce_of_four_classes():
    """The value of sustech (peers.json, multi200x4): the unbiased SKCE with exp(-||p - q||_2) I."""
    rng = np.random.RandomState(7)
    logits = rng.normal(0, 1.5, (200, 4))
    logits[np.arange(200), rng.randint(0, 4, 200)] += 1 + math.log(4)
    true = softmax(0.7 * logits, axis=1)
    labels = (true.cumsum(axis=1) < rng.uniform(size=(200, 1))).sum(axis=1).clip(0, 3)
    value = skce(softmax(logits, axis=1), labels, kernel=Exponential(1.0, "euclidean"))
    assert value == pytest.approx(0.0010763816227649797, **CLOSE)


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
