"""How a GP calibration is fitted, and what the fitted one predicts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import matmul_toeplitz, solve_triangular
from scipy.optimize import isotonic_regression
from scipy.special import expit, ndtr

from caltest import checks
from caltest.calibrators.base import CalibrationSet
from caltest.calibrators.gp import elbo, optimize, process
from caltest.calibrators.inputs import Inputs
from caltest.errors import invalid, shown
from caltest.numerics.loops import blocks, map_threads
from caltest.numerics.variational import marginals
from caltest.types import Floats

START = (1.0, 0.5, 0.01)  # variance, length scale over the range of the scores, noise
USUAL_LOGITS = 60.0  # a range; the variance to start from grows by the square of larger ones
VARIANCE = (1e-4, 5.0)  # the end is that of the paper's software
SCALE = (0.01, 10.0)  # over the range of the scores
NOISE = (1e-5, 1.0)
MOST_LOGITS = 1e6  # a range of logits beyond which the interval of the variance does not grow
MOST_WEIGHT = 1e20  # a sum beside which rounding hides the prior; squares of more may overflow
LEAST_NOISE = 1e-10  # of the variance, so that k(Z, Z) is not singular
LEAST_SCALE = 1e-3  # that of the paper's software; the grid has a dozen nodes per length scale
STEPS = 2.0**30  # to which a unit is rounded
FARTHEST = 1e100  # in units of the range, so that no square overflows
MOST_ROUNDS = 100


class LatentFunction(NamedTuple):
    """The latent function at some scores: its mean and the ends of a pointwise band."""

    mean: Floats
    lower: Floats
    upper: Floats


@dataclass(frozen=True)
class ScoreRange:
    """The range of the scores of a fit, which is the process's unit of length.

    Differences of scores from its lower end are exact where the range is small beside the scores,
    as for hundreds of nearly equal probabilities; differences from 0 would be rounding errors.
    """

    low: float
    high: float

    @property
    def extent(self) -> float:
        """The length of the range, or 1 where all scores are equal."""
        return self.high - self.low or 1.0

    def of(self, z: Floats) -> Floats:
        """Return scores in these units: 0 to 1 within the range."""
        with np.errstate(over="ignore"):  # where the range is smaller than 1e-300
            return np.clip((z - self.low) / self.extent, -FARTHEST, FARTHEST)

    def scores(self, u: Floats) -> Floats:
        """Return the scores that are u in these units."""
        return self.low + self.extent * u


def unfinished(fitted: optimize.FittedGP, max_iter: int) -> str:
    """Return the note on a fit that did not converge."""
    remedy = "max_iter" if fitted.n_iter >= max_iter else "tol, or scores of a smaller range"
    text = f"the evidence lower bound was not at its maximum after {fitted.n_iter} iterations"
    return f"{text}; pass a larger {remedy}"


def places_of(inputs: Inputs) -> tuple[Floats, Floats]:
    """Return the scores and the prior mean there, both (n, m).

    Logits less the largest of their row have the same softmax, and keep their digits beside a large
    constant.
    """
    if inputs.from_logits:
        return inputs.logits, inputs.logits - inputs.logits.max(axis=1, keepdims=True)
    return inputs.probs, inputs.logits


def scores_of(data: CalibrationSet) -> tuple[elbo.GPScores, ScoreRange]:
    """Return the rows that have weight, sorted, and equal ones as one; in units of their range.

    L-BFGS makes rounding errors visible: so neither the order of rows nor a weight in place of
    repeated rows changes a bit of the fit, and scores and prior means are rounded to 1e-9.
    """
    data = data.counted
    z, prior = places_of(data.inputs)
    weight = np.ones(len(z)) if data.weight is None else data.weight
    units = ScoreRange(float(z.min()), float(z.max()))
    z, prior = np.round(units.of(z) * STEPS) / STEPS, np.round(prior * STEPS) / STEPS
    order = np.lexsort((weight, data.codes, *z.T))
    z, codes = z[order], data.codes[order]
    differs = (z[1:] != z[:-1]).any(axis=1) | (codes[1:] != codes[:-1])
    first = np.flatnonzero(np.concatenate([[True], differs]))
    total = np.add.reduceat(weight[order], first)
    total *= min(1.0, MOST_WEIGHT / float(total.sum()))
    prior = prior[order[first]]
    return elbo.GPScores(z[first], prior, codes[first], total, 0.0, float(z.max())), units


def line_kmeans(points: Floats, weight: Floats, M: int) -> Floats:
    """Return at most M centres of weighted points, ascending: all points where they are no more.

    It starts from an even division of the range, so that crowded regions do not take all centres,
    and draws nothing; a cell that loses its points keeps its centre.
    """
    x, at = np.unique(points, return_inverse=True)
    if x.size <= M:
        return x
    mass = np.concatenate([[0.0], np.cumsum(np.bincount(at.ravel(), weight))])
    moment = np.concatenate([[0.0], np.cumsum(np.diff(mass) * x)])
    centres = x[0] + (x[-1] - x[0]) * (np.arange(M) + 0.5) / M
    for _ in range(MOST_ROUNDS):
        edges = np.searchsorted(x, (centres[1:] + centres[:-1]) / 2)
        edges = np.concatenate([[0], edges, [x.size]])
        share, total = np.diff(mass[edges]), np.diff(moment[edges])
        moved = np.where(share > 0, total / np.where(share > 0, share, 1), centres)
        if np.array_equal(moved, centres):
            break
        centres = moved
    return np.asarray(np.clip(centres, x[0], x[-1]))


def check_interval(value: object, name: str, *, least: float = 0.0) -> tuple[float, float]:
    """Check two positive numbers, the first below the second and not below `least`."""
    items = list(value) if isinstance(value, tuple | list) else []
    if len(items) == 2:
        low, high = (checks.check_positive(item, f"each end of {name}") for item in items)
        if low < least:
            rule = f"each end of {name} must be at least {least:g}"
            raise invalid(rule, shown(value), f"pass {least:g} or more")
        if low < high:
            return low, high
    rule = f"{name} must be two ascending numbers"
    raise invalid(rule, shown(value), "pass (low, high)")


# ---- What a fitted GP calibration predicts: the latent function, and probabilities from it ------

POINTS = 2**16  # places at a time
PRODUCTS = 2**22  # entries of the kernel by the grid at a time
VALUES_PER_THREAD = 2**19  # latent values at a time, of each thread
NODES = 64  # of the Gauss-Hermite rule
WIDE = 2.0  # deviation up to which it is exact to ten digits
KNOTS = 1024
TILT = 1e-6  # slope over that of the prior mean that a projection keeps, so that ranks stay


def latent_mean(q: process.LatentPosterior, z: Floats) -> Floats:
    """Return the mean of f without the prior mean at z, (P,)."""
    at = process.project(q, q.Z)
    weights = solve_triangular(at.L, q.m, lower=True, trans="T", check_finite=False)
    mean = np.empty(z.size)
    for part in blocks(z.size, POINTS):
        mean[part] = q.prior(z[part], q.Z) @ weights
    return mean


def centred_variance(q: process.LatentPosterior, z: Floats, x: Floats, share: Floats) -> Floats:
    """Return the variance of f(z) - sum_g share_g f(x_g) with the noise at z, (P,).

    x is an even grid. Takes O(P (G + M^2)).
    """
    far = process.project(q, x)
    beside = far.A @ share
    beside -= q.C @ (q.C.T @ beside)
    column = q.prior(x, x[:1])[:, 0]  # the grid is even
    level = share @ matmul_toeplitz(column, share) - (far.A @ share) @ beside
    variance = np.empty(z.size)
    for part in blocks(z.size, max(1, PRODUCTS // x.size)):
        A = process.project(q, z[part]).A
        shared = q.prior(z[part], x) @ share - A.T @ beside
        variance[part] = marginals(A, q.variance, q.m, q.C)[1] - 2 * shared + level
    return np.maximum(variance, 0.0) + q.noise


def mean_softmax(
    q: process.LatentPosterior,
    within: optimize.Interval,
    z: Floats,
    mean: Floats,
    S: int,
    rng: np.random.Generator,
    *,
    full: bool,
    n_jobs: int | None,
) -> Floats:
    """Return the mean softmax over draws, (n, K), where f has the mean `mean` at z.

    The process is drawn on a grid over `within`, where z lies, and interpolated.
    """
    K, at = z.shape[1], process.project(q, process.grid(*within, q.scale, q.kernel))
    unexplained = marginals(at.A, q.variance, q.m, q.C)[1]
    paths = None
    if full:  # S functions around the mean, which do not depend on classes, on the grid
        ratio = (within[1] - within[0]) / q.scale
        half = process.random_paths(1, q.m.size, (S + 1) // 2, ratio, rng, q.kernel)
        values, _ = process.paths_on(half, replace(q, m=np.zeros_like(q.m)), at, within[0])
        paths = _with_mirror(values, S)
    classes = _with_mirror(rng.standard_normal((K, (S + 1) // 2)), S)

    def block(z: Floats, mean: Floats) -> Floats:
        stencil = process.stencils(np.clip(z, *within).ravel(), at.x)
        if paths is not None:
            values = mean[:, :, None] + math.sqrt(q.noise) * classes
            process.gather_draws(*stencil, paths, values.reshape(z.size, S))
        else:
            variance = process.gather(*stencil, unexplained[None]).reshape(z.shape)
            deviation = np.sqrt(np.maximum(variance, 0) + q.noise)
            values = mean[:, :, None] + deviation[:, :, None] * classes
        values -= values.max(axis=1, keepdims=True)
        np.exp(values, out=values)
        return np.asarray(np.einsum("iks,is->ik", values, 1 / (S * values.sum(axis=1))))

    size = max(1, VALUES_PER_THREAD // (K * S))
    tasks = [(z[i : i + size], mean[i : i + size]) for i in range(0, len(z), size)]
    return np.concatenate(list(map_threads(block, tasks, n_jobs)))


def _with_mirror(half: Floats, S: int) -> Floats:
    """Return S draws of which one half mirrors the other: their mean is 0."""
    return np.concatenate([half, -half], axis=1)[:, :S]


def gauss_hermite(q: process.LatentPosterior, z: Floats, mean: Floats, *, full: bool) -> Floats:
    """Return the mean probability of the second of two classes, (n,), by quadrature.

    f_1 - f_0 is normal, so that it is the mean of a logistic function of one normal variable.
    """
    out = np.empty(len(z))
    for part in blocks(len(z), POINTS):
        ends = [process.project(q, np.ascontiguousarray(z[part, k])).A for k in (0, 1)]
        variance = sum(marginals(A, q.variance, q.m, q.C)[1] + q.noise for A in ends)
        if full:
            spreads = [q.C.T @ A for A in ends]
            distance = (z[part, 1] - z[part, 0]) / q.scale
            shared = q.variance * process.correlation(distance**2, q.kernel.order)[0]
            shared += np.sum(spreads[0] * spreads[1] - ends[0] * ends[1], axis=0)
            variance = variance - 2 * shared
        deviation = np.sqrt(np.maximum(variance, 0.0))
        centre = mean[part, 1] - mean[part, 0]
        out[part] = _mean_logistic(centre, deviation)
    return out


def _mean_logistic(mean: Floats, deviation: Floats) -> Floats:
    """Return the mean of 1 / (1 + exp(-f)), f normal, to ten digits.

    It is P(L < f) of a logistic L. Where f is wide the quadrature is over L, by trapezoids, whose
    error falls exponentially for an analytic density; elsewhere over f.
    """
    x, weight = np.polynomial.hermite.hermgauss(NODES)
    out = expit(mean[:, None] + math.sqrt(2) * deviation[:, None] * x) @ weight / math.sqrt(math.pi)
    L = np.arange(-50, 51) * (step := 0.65)
    wide = deviation > WIDE
    below = ndtr((mean[wide, None] - L) / deviation[wide, None])
    out[wide] = below @ (step * expit(L) * expit(-L))
    return np.asarray(out)


def knots(low: float, high: float, *, logarithmic: bool) -> Floats:
    """Return places of the prior mean from `low` to `high`, ascending: even, and even as exp."""
    t = np.linspace(low, high, KNOTS + 1)
    if not logarithmic:
        return t
    z = np.linspace(math.exp(low), math.exp(high), KNOTS + 1)[1:-1]
    return np.union1d(t, np.log(z))


def projected(t: Floats, values: Floats, places: Floats, weight: Floats) -> Floats:
    """Return the nearest increasing values at the knots t, nearest where the scores are.

    Parameters
    ----------
    t, values : (T,) array
        The latent mean by the prior mean.
    places : (P,) array
        The prior mean of the scores.
    weight : (P,) array
        Weights of the scores.
    """
    at = np.clip(np.searchsorted(t, places), 0, t.size - 1)
    mass = np.bincount(at, weight, t.size)
    mass = mass / mass.sum() + 1e-3 / t.size
    return np.asarray(isotonic_regression(values - TILT * t, weights=mass).x + TILT * t)
