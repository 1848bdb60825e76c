"""Tails of sums of independent terms, compared with plain enumeration and convolution."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from caltest.numerics.tilting import Terms, convolved_tail, lattice_span, saddlepoint_tail


def events(p):
    """Return the terms of a number of events."""
    return Terms.of(np.tile([0.0, 1.0], (len(p), 1)), np.column_stack([1 - p, p]))


def masses(p):
    """Return the probabilities of 0, 1, ... events, row by row."""
    out = np.ones(1)
    for one in p:
        out = np.convolve(out, [1 - one, one])
    return out


RISKS = np.random.default_rng(0).beta(1.0, 3.0, 200)


@pytest.mark.parametrize("x", [0, 1, 20, 45, 50, 55, 80, 110, 150, 199, 200, 201])
def test_convolved_tail_is_that_of_row_by_row_convolution(x):
    """On both sides, to 12 digits where the tail is below 1e-70 too."""
    q = masses(RISKS)
    terms = events(RISKS)
    assert convolved_tail(terms, x, 1.0) == pytest.approx(q[x:].sum(), rel=1e-11)
    assert convolved_tail(terms.negative, -x, 1.0) == pytest.approx(q[: x + 1].sum(), rel=1e-11)


@pytest.mark.parametrize(("n", "p", "x"), [(50, 0.1, 20), (1000, 0.01, 40), (10**5, 0.02, 2500)])
def test_tails_of_equal_risks_are_binomial(n, p, x):
    exact = binom.sf(x - 1, n, p)
    terms = events(np.full(n, p))
    assert convolved_tail(terms, x, 1.0) == pytest.approx(exact, rel=1e-10)
    assert saddlepoint_tail(terms, x, 1.0) == pytest.approx(exact, rel=0.1 / (n * p))


@pytest.mark.parametrize("z", [-6, -2, -0.5, 0, 0.5, 2, 6, 10])
def test_saddlepoint_of_events_is_within_a_thousandth(z):
    """Its relative error falls with n and does not grow with the distance from the mean."""
    risks = np.random.default_rng(1).beta(1.0, 3.0, 1000)
    q, terms = masses(risks), events(risks)
    x = round(terms.mean + z * terms.sd)
    assert saddlepoint_tail(terms, x, 1.0) == pytest.approx(q[x:].sum(), rel=1e-3)


def test_ends_of_the_range_and_certain_sums_are_exact():
    terms = events(RISKS)
    for tail in (saddlepoint_tail, convolved_tail):
        assert tail(terms, 200.0, 1.0) == pytest.approx(np.exp(np.log(RISKS).sum()), rel=1e-10)
        assert tail(terms, 201.0, 1.0) == 0.0
        assert tail(terms, 0.0, 1.0) == 1.0
    for p in (np.array([0.0, 1.0, 1.0]), np.array([1e-300, 1.0, 1.0])):
        terms = events(p)
        assert saddlepoint_tail(terms, 2.0) == convolved_tail(terms, 2.0, 1.0) == 1.0
        assert saddlepoint_tail(terms, 3.0) < 1e-200


@pytest.mark.parametrize(
    ("steps", "span"),
    [
        ([1.0, 1.0], 1.0),
        ([0.4, 0.6], 0.2),
        ([0.1, 0.2, 0.7], 0.1),
        ([1.0, math.pi], 0.0),
        ([0.0], 0.0),
    ],
)
def test_lattice_is_found_up_to_rounding(steps, span):
    """The largest number of which all steps are multiples."""
    low = np.linspace(0.0, 5.0, len(steps))
    table = np.column_stack([low, low + np.array(steps)])
    found = lattice_span(Terms.of(table, np.full(table.shape, 0.5)))
    assert found == pytest.approx(span, rel=1e-6)


def test_deviance_is_twice_the_gain_of_the_best_tilt():
    """For equal risks that of the binomial likelihood; at the ends -2 log P."""
    terms = events(np.full(40, 0.25))
    for x in (0.0, 4.0, 10.0, 30.0, 40.0):
        share = x / 40
        parts = [(share, 0.25), (1 - share, 0.75)]
        expected = 80 * sum(a * math.log(a / b) for a, b in parts if a > 0)
        assert terms.deviance(x)[0] == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert terms.deviance(41.0)[0] == math.inf
