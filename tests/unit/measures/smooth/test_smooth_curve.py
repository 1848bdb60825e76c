import numpy as np
import pytest
import scipy

from caltest import Predictions
from caltest.measures import smooth_curve
from caltest.measures.smooth.smooth_curve import curve_of_cells
from caltest.numerics.tails import tube_quantile
from caltest.sources import count_rows

RNG = np.random.default_rng(2)
P = scipy.special.expit(RNG.normal(-0.5, 1.3, 600))
Y = (RNG.random(600) < P).astype(int)


def test_line_is_that_of_firths_regression():
    """Of few events the curve is a line in the log odds; the penalised score is 0 there."""
    p, y = P[:40], np.arange(40) % 5 == 0
    curve = smooth_curve(p, y)
    assert curve.terms == 1
    z = scipy.special.logit(p)
    slope, intercept = np.polyfit(
        scipy.special.logit(curve.x), scipy.special.logit(curve.probability), 1
    )
    x = np.column_stack([np.ones(40), z])
    fitted = scipy.special.expit(intercept + slope * z)
    spread = fitted * (1 - fitted)
    leverage = spread * np.einsum("ij,ij->i", x @ np.linalg.inv((x.T * spread) @ x), x)
    np.testing.assert_allclose(x.T @ (y - fitted + leverage * (0.5 - fitted)), 0, atol=1e-6)


@pytest.mark.parametrize(("events", "terms"), [(9, 1), (10, 2), (59, 2), (60, 3), (80, 4)])
def test_terms_grow_with_the_rarer_outcome(events, terms):
    """A line of few events, a parabola, and knots where there are many."""
    p = np.linspace(0.05, 0.95, 400)
    assert smooth_curve(p, np.arange(400) >= 400 - events).terms == terms


def test_curve_follows_a_square_term_to_its_ends():
    """The parabola of many rows is that of the truth, at the rarest predictions too."""
    z = np.random.default_rng(1).normal(-0.5, 1.2, 40_000)
    y = np.random.default_rng(2).random(z.size) < scipy.special.expit(z + 0.15 * z**2)
    curve = smooth_curve(scipy.special.expit(z), y)
    at = scipy.special.logit(curve.x)
    truth = scipy.special.expit(at + 0.15 * at**2)
    assert ((curve.lower < truth) & (truth < curve.upper)).all()


def test_multiplier_is_that_of_scheffe_for_a_half_circle():
    """All directions of a plane: exp(-c^2 / 2) with the tails of both ends."""
    c = tube_quantile(np.pi, 0.95)
    assert 2 * scipy.stats.norm.sf(c) + np.exp(-c * c / 2) == pytest.approx(0.05)
    assert tube_quantile(0.0, 0.95) == pytest.approx(1.959964)


def test_clusters_of_copies_widen_the_band():
    """Four copies of each row say as much as one."""
    rows = np.repeat(np.arange(600), 4)
    copies = smooth_curve(Predictions(P[rows], Y[rows], clusters=rows))
    curve = smooth_curve(P, Y)
    width = (copies.upper - copies.lower)[100] / (curve.upper - curve.lower)[100]
    assert 0.8 < width < 1.25


def test_weights_of_cells_are_those_of_their_rows():
    """Where the rows of a cell have one prediction and one weight, by which cells differ."""
    p = np.repeat(np.arange(1, 64) / 64, 20)
    drawn = np.random.default_rng(2).random(p.size)
    y, weight = drawn < p, np.repeat(1.0 + np.arange(63) % 4, 20)
    curve = smooth_curve(Predictions(p, y, sample_weight=weight))
    of_cells = curve_of_cells(count_rows(p, y, weight=weight), 0.95)
    at = np.interp(curve.x, of_cells.x, of_cells.upper - of_cells.lower)
    np.testing.assert_allclose(at, curve.upper - curve.lower, rtol=0.02)
