"""Upper tails keep their digits where 1 - cdf has none."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from caltest.measures.base import positive
from caltest.numerics.tails import gamma_tail, normal_isf, normal_sf, student_isf

pytestmark = pytest.mark.loops


def test_normal_sf_keeps_its_digits_far_out():
    """P(Z > 10) = erfc(10 / sqrt(2)) / 2 = 7.6e-24, for which 1 - cdf gives 0."""
    assert normal_sf(10.0) == pytest.approx(math.erfc(10.0 / math.sqrt(2.0)) / 2.0, rel=1e-12)


def test_normal_sf_is_symmetric():
    """P(Z > z) + P(Z > -z) = 1."""
    assert normal_sf(0.0) == 0.5
    assert normal_sf(1.3) + normal_sf(-1.3) == pytest.approx(1.0, rel=1e-15)


@pytest.mark.parametrize("value", [-1.0, 0.5, 4.0, 40.0])
def test_gamma_tail_equals_pearson_3_of_scipy(value):
    """The shifted gamma with the sample's mean, variance and skewness is Pearson's type III."""
    sample = np.random.default_rng(0).gamma(2.0, size=999) - 1.0
    law = stats.pearson3(stats.skew(sample), loc=sample.mean(), scale=sample.std())
    assert gamma_tail(sample, value) == pytest.approx(law.sf(value), rel=1e-8)


def test_gamma_tail_is_one_below_its_support():
    """A gamma starts somewhere; everything lies above what is further down."""
    sample = np.random.default_rng(0).gamma(1.0, size=999)
    assert gamma_tail(sample, -100.0) == 1.0


def test_gamma_tail_of_a_sample_without_right_skew_is_normal():
    """A sample that is symmetric, or skewed to the left, has the normal tail."""
    sample = np.array([-1.0, 0.0, 1.0])
    assert gamma_tail(sample, 3.0) == pytest.approx(normal_sf(3.0 / sample.std()))


@pytest.mark.parametrize("p", [0.4, 0.025, 1e-10])
def test_inverse_tails_are_those_of_scipy(p):
    """The points of the normal and of Student's law that are exceeded with probability p."""
    assert normal_isf(p) == pytest.approx(stats.norm.isf(p), rel=1e-12)
    assert student_isf(p, 7) == pytest.approx(stats.t.isf(p, 7), rel=1e-10)


@pytest.mark.parametrize("pvalue", [1.0, 0.05, 1e-300])
def test_positive_leaves_a_pvalue_as_it_is(pvalue):
    """It changes only what underflowed."""
    assert positive(pvalue) == pvalue


def test_positive_is_never_zero():
    """A tail that underflows becomes the least positive number of full precision."""
    assert positive(0.0) == np.finfo(float).tiny
