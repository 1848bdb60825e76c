"""Tails of the normal law and of Brownian functionals keep their digits."""

import math

import numpy as np
import pytest
from scipy import stats

from caltest.numerics.tails import modulus_sf, normal_isf, normal_sf, range_sf, student_isf

pytestmark = pytest.mark.loops


def test_normal_sf_keeps_its_digits_far_out():
    assert normal_sf(10.0) == pytest.approx(math.erfc(10.0 / math.sqrt(2.0)) / 2.0, rel=1e-12)
    assert normal_sf(0.0) == 0.5
    assert normal_sf(1.3) + normal_sf(-1.3) == pytest.approx(1.0, rel=1e-15)


@pytest.mark.parametrize("p", [0.4, 0.025, 1e-10])
def test_inverse_tails_are_those_of_scipy(p):
    """The points of the normal and of Student's law that are exceeded with probability p."""
    assert normal_isf(p) == pytest.approx(stats.norm.isf(p), rel=1e-12)
    assert student_isf(p, 7) == pytest.approx(stats.t.isf(p, 7), rel=1e-10)


# mpmath 1.4.1 with 80 digits: both series of each law, which agree to 60 digits up to x = 8.
DIGITS = [
    (0.25, 0.999999996593717536, 1.0),
    (0.5, 0.990843009710239244, 0.999999912222277519),
    (0.75, 0.857964883859245255, 0.997672004686148258),
    (0.999, 0.630137545008697927, 0.937144540105629120),
    (1.0, 0.629222570200476095, 0.936635412079549430),
    (1.001, 0.628308085376589950, 0.936123914105679614),
    (1.25, 0.422245426347523181, 0.747956394324465190),
    (1.499, 0.267733480321292060, 0.513836584796833429),
    (1.5, 0.267215214383060979, 0.512940754230248247),
    (2.0, 0.0910005238463662487, 0.181494339394187313),
    (3.0, 5.39959212652037766e-3, 1.07991684676384383e-2),
    (5.0, 1.14660628751677565e-6, 2.29321257503355117e-6),
    (10.0, 3.04794120966421043e-23, 6.09588241932842085e-23),
    (20.0, 1.10144964744249348e-88, 2.20289929488498696e-88),
    (37.0, 2.29022848900983073e-299, 4.58045697801966146e-299),
]


@pytest.mark.parametrize(("x", "modulus", "spread"), DIGITS)
def test_tails_have_the_digits_of_mpmath(x, modulus, spread):
    """P(sup |B| > x) and P(range > x), on both sides of where the series meet and far out."""
    assert modulus_sf(x) == pytest.approx(modulus, rel=2e-13)
    assert range_sf(x) == pytest.approx(spread, rel=2e-13)


@pytest.mark.parametrize("sf", [modulus_sf, range_sf])
def test_tail_is_monotone_and_in_the_unit_interval(sf):
    """It never increases, across the meeting point of the series too, nor leaves (0, 1]: no 0."""
    x = np.concatenate([[0.0, 1e-300], np.geomspace(1e-3, 1e3, 4000), [math.inf]])
    tails = np.array([sf(value) for value in x])
    assert np.all(np.diff(tails) <= 1e-15)
    assert tails.max() == 1.0
    assert tails.min() == math.ulp(0.0) == sf(39.0)
