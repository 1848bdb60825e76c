"""The linear form of lowess gives the fits of R, by rows and by moments."""

import numpy as np
import pytest

from caltest.measures.smooth import lowess

pytestmark = pytest.mark.loops

RNG = np.random.default_rng(0)
SCORES = {
    "uniform": RNG.random(300),
    "rare events": RNG.beta(0.3, 3, 1000),
    "skewed": RNG.random(300) ** 6,
    "two digits": np.round(RNG.random(400), 2),
    "one score with most rows": np.append(np.full(300, 0.2), RNG.random(100)),
    "clusters": np.append(RNG.uniform(0.1, 0.101, 50), RNG.uniform(0.8, 0.801, 150)),
    "constant": np.full(30, 0.3),
    "three": np.array([0.2, 0.3, 0.7]),
}
every_score = pytest.mark.parametrize("name", SCORES)


def data(name):
    """Return sorted scores and labels."""
    x = np.sort(SCORES[name])
    return x, (np.random.default_rng(1).random(x.size) < x).astype(np.uint8)


def r_lowess(x, y, span):
    """Fit as the C code of R 4.2.2 does, clowess() with nsteps = 0, delta 1 % of the range."""
    n, spread, y = x.size, x[-1] - x[0], y.astype(float)
    k, fit = max(2, min(n, int(span * n + 1e-7))), np.empty(n)
    left, last, i = 0, -1, 0
    while last < n - 1:
        while left + k < n and x[i] - x[left] > x[left + k] - x[i]:
            left += 1
        fit[i] = r_line(x, y, i, max(x[i] - x[left], x[left + k - 1] - x[i]), 0.001 * spread)
        for j in range(last + 1, i):
            share = (x[j] - x[last]) / (x[i] - x[last])
            fit[j] = share * fit[i] + (1 - share) * fit[last]
        last, j = i, i + 1
        while j < n and x[j] <= x[last] + 0.01 * spread:
            if x[j] == x[last]:
                fit[j], last = fit[last], j
            j += 1
        i = max(last + 1, j - 1)
    return fit


def r_line(x, y, i, radius, least):
    r = np.abs(x - x[i])
    inner = (1 - (r / (radius or 1)) ** 3) ** 3
    w = np.where(r <= 0.001 * radius, 1, np.where(r <= 0.999 * radius, inner, 0))
    w /= w.sum()
    mean = w @ x
    variance = w @ np.square(x - mean)
    if radius > 0 and np.sqrt(variance) > least:
        w *= 1 + (x[i] - mean) * (x - mean) / variance
    return w @ y


def fits(x, y, *, by_rows, span=2 / 3):
    knots = lowess.find_knots(x, 0.01 * (x[-1] - x[0]))
    radii = lowess.find_radii(
        x, np.arange(x.size + 1.0), knots, min(max(2, int(span * x.size + 1e-7)), x.size)
    )
    cuts = lowess.FULL_WEIGHT_RADIUS, lowess.NO_WEIGHT_RADIUS
    edges = lowess.window_edges(x, knots, radii, *cuts)
    if by_rows:
        return knots, lowess.row_weights(x, np.ones(x.size), (knots, radii, edges)) @ y
    start = np.unique(np.append(edges, (0, x.size)))
    frames = lowess.cell_frames(x, start)
    counts = lowess.cell_moments(x, np.ones((1, x.size), np.uint8), frames)[0]
    least = lowess.LEAST_SPREAD * (x[-1] - x[0])
    weights = lowess.moment_weights((knots, radii, edges), frames, counts, least)
    return knots, weights @ lowess.cell_moments(x, y[None], frames).ravel()


def errors(x, knots, fit):
    out = np.empty((1, x.size))
    lowess.row_errors(x, knots, np.searchsorted(x, knots), (fit - knots)[None], out)
    return out[0]


@pytest.mark.parametrize("by_rows", [True, False], ids=["rows", "moments"])
@every_score
def test_errors_are_those_of_r(name, by_rows, case):
    """With ties, gaps, and knots between which R interpolates."""
    x, y = data(name)
    for span in (0.2, 2 / 3, 1.0):
        found = errors(x, *fits(x, y, by_rows=by_rows, span=span))
        with case(span):
            expected = np.abs(r_lowess(x, y, span) - x)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


@every_score
def test_mean_error_is_the_mean_of_the_row_errors(name):
    """One pass without an array of rows."""
    x, y = data(name)
    knots, fit = fits(x, y, by_rows=True)
    mean = lowess.mean_errors(
        x, np.ones(x.size), knots, np.searchsorted(x, knots), (fit - knots)[None]
    )
    assert mean[0] == pytest.approx(errors(x, knots, fit).mean(), abs=1e-14)


@every_score
def test_knots_are_scores_two_steps_apart(name):
    """The first and last score are knots; two knots on, more than a step is gone."""
    x, _ = data(name)
    knots, step = lowess.find_knots(x, 0.01 * (x[-1] - x[0])), 0.01 * (x[-1] - x[0])
    assert np.isin(knots, x).all()
    assert (knots[0], knots[-1]) == (x[0], x[-1])
    assert (np.diff(knots) > 0).all()
    assert (knots[2:] - knots[:-2] > step * (1 - 1e-9)).all()
