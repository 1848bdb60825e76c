"""The largest bound: stationary, the same from other starts, and near by other ways."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from caltest.calibrators.gp.elbo import GPScores, bound
from caltest.calibrators.gp.fit import line_kmeans
from caltest.calibrators.gp.optimize import (
    FitLimits,
    Ordered,
    Ridge,
    ascend,
    maximise,
    maximise_batches,
    maximise_drawn,
)
from caltest.calibrators.gp.process import LatentPosterior, random_paths

pytestmark = pytest.mark.loops

BOXES = {"variance": (1e-4, 5.0), "scale": (0.01, 10.0), "noise": (1e-5, 1.0)}
LIMITS = FitLimits(**BOXES, max_iter=200, tol=1e-9)
M = 6


@pytest.fixture(scope="module")
def scores():
    """400 rows of an overconfident model of three classes."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, (400, 3))
    z, truth = softmax(logits, axis=1), softmax(logits / 2, axis=1)
    codes = (truth.cumsum(axis=1) < rng.random((400, 1))).sum(axis=1).clip(0, 2)
    return GPScores(z, np.log(z), codes, np.ones(400), float(z.min()), float(z.max()))


@pytest.fixture(scope="module")
def start(scores):
    Z = line_kmeans(scores.z.ravel(), np.ones(scores.z.size), M)
    return LatentPosterior(np.zeros(M), np.eye(M), Z, 1.0, 0.5, 0.01)


@pytest.fixture(scope="module")
def fitted(scores, start):
    """The fit with equation 7."""
    return maximise(scores, start, LIMITS)


@pytest.mark.full
@pytest.mark.parametrize("full", [True, False], ids=["full", "diagonal"])
def test_newton_steps_end_at_the_best_mean_and_covariance(scores, start, full):
    """The gradient vanishes by m and by C, for the kernel they started with."""
    q, found = ascend(replace(scores, full=full), start)
    assert found.by_mean == pytest.approx(0, abs=0.05)
    assert np.abs(found.by_root @ q.C.T).max() < 0.01


@pytest.mark.full
def test_fit_is_stationary(scores, fitted):
    """What a step of any parameter within its limits would gain is a small share of a nat."""
    assert fitted.converged
    found = bound(scores, fitted.q)
    assert found.value == pytest.approx(fitted.value)
    inputs = fitted.q.Z
    free = (inputs > scores.low) & (inputs < scores.high)
    assert np.abs(found.by_inputs[free]).max() < 0.1
    assert abs(found.by_kernel[1]) < 0.1


@pytest.mark.full
def test_trials_start_from_the_best_so_far(scores, start):
    """One that is far down does not matter to the next, bit for bit."""
    one, other = Ridge(scores, start), Ridge(scores, start)
    first, near, far = one.values, one.values.copy(), one.values.copy()
    near[-3:] += 0.1
    far[-3:] += 6.0, -3.0, -4.0  # variance, length scale, noise
    assert one(first)[0] == other(first)[0] < one(far)[0]
    assert one(near)[0] == other(near)[0]


@pytest.mark.full
@pytest.mark.parametrize("kernel", [(0.1, 2.0, 0.1), (4.0, 0.1, 1e-4)])
def test_fit_does_not_depend_on_the_start(scores, start, fitted, kernel):
    """Other kernels to begin with end within 0.05 nats."""
    variance, scale, noise = kernel
    other = replace(start, variance=variance, scale=scale, noise=noise)
    again = maximise(scores, other, LIMITS)
    assert again.value == pytest.approx(fitted.value, abs=0.05)


@pytest.mark.full
def test_mini_batches_end_near_the_fit_to_all_rows(scores, start, fitted):
    """From the fit to an eighth of the rows, Adam comes within a nat."""
    few, many = (FitLimits(**BOXES, max_iter=steps, tol=1e-6) for steps in (50, 800))
    part = maximise(scores.rows(slice(0, 50)), start, few)
    end = maximise_batches(scores, part.q, many, None, 50, np.random.default_rng(0))
    assert bound(scores, part.q).value < fitted.value - 5
    assert end.value == pytest.approx(fitted.value, abs=1.0)
    assert end.value == bound(scores, end.q).value


@pytest.mark.full
@pytest.mark.parametrize("full", [True, False], ids=["full", "diagonal"])
def test_draws_improve_the_bound_that_they_measure(scores, fitted, full):
    """And say nearly the same as equation 7, for a posterior as certain as this."""
    paths = random_paths(3, M, 50, 100.0, np.random.default_rng(0))
    scores, limits = replace(scores, full=full), replace(LIMITS, max_iter=30, tol=1e-6)
    before = bound(scores, fitted.q, paths=paths).value
    end = maximise_drawn(scores, fitted.q, limits, paths)
    assert end.value >= before
    assert end.value == pytest.approx(fitted.value, abs=8.0)


@pytest.mark.parametrize("size", [1, 2, 3, 10])
def test_ordered_inputs_and_their_derivatives(size):
    """They start where they are asked to, stay in order, and have the slopes of differences."""
    rng = np.random.default_rng(size)
    Z = np.sort(rng.random(size))
    ordered = Ordered(Z, 0.0, 1.0)
    np.testing.assert_allclose(ordered.places(ordered.start)[0], Z, atol=1e-12)
    values = ordered.start.copy()
    values[2:] += rng.normal(size=max(size - 1, 0))
    places, slopes = ordered.places(values)
    assert (np.diff(places) > 0).all()
    assert len(ordered.box) == values.size
    for row, unit in zip(slopes, np.eye(values.size), strict=True):
        above, below = (ordered.places(values + step * unit)[0] for step in (1e-6, -1e-6))
        np.testing.assert_allclose(row, (above - below) / 2e-6, atol=1e-8)
