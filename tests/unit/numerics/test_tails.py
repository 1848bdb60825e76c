"""Upper tails keep their digits where 1 - cdf has none."""

import math

import numpy as np
import pytest
from scipy import stats

from caltest.measures.outcome import positive
from caltest.numerics.tails import normal_isf, normal_sf, student_isf

pytestmark = pytest.mark.loops


def test_normal_sf_keeps_its_digits_far_out():
    """P(Z > 10) = erfc(10 / sqrt(2)) / 2 = 7.6e-24, for which 1 - cdf gives 0."""
    assert normal_sf(10.0) == pytest.approx(math.erfc(10.0 / math.sqrt(2.0)) / 2.0, rel=1e-12)


def test_normal_sf_is_symmetric():
    """P(Z > z) + P(Z > -z) = 1."""
    assert normal_sf(0.0) == 0.5
    assert normal_sf(1.3) + normal_sf(-1.3) == pytest.approx(1.0, rel=1e-15)


@pytest.mark.parametrize("p", [0.4, 0.025, 1e-10])
def test_inverse_tails_are_those_of_scipy(p):
    """The points of the normal and of Student's law that are exceeded with probability p."""
    assert normal_isf(p) == pytest.approx(stats.norm.isf(p), rel=1e-12)
    assert student_isf(p, 7) == pytest.approx(stats.t.isf(p, 7), rel=1e-10)


@pytest.mark.parametrize("pvalue", [1.0, 0.05, 1e-300])
def test_positive_leaves_a_pvalue_as_it_is(pvalue):
    assert positive(pvalue) == pvalue


def test_positive_is_never_zero():
    """A tail that underflows becomes the least positive number of full precision."""
    assert positive(0.0) == np.finfo(float).tiny
