"""How a GP calibration is fitted: where it starts, its limits, and in which order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from caltest.calibrators.base import CalibrationSet
from caltest.calibrators.inputs import Floats, Inputs
from caltest.numerics.gp_calibration import Scores
from caltest.numerics.gp_latent import Latent
from caltest.numerics.gp_optimize import (
    Fitted,
    Limits,
    maximize,
    maximize_batches,
    maximize_drawn,
)
from caltest.numerics.gp_paths import Paths, random_paths
from caltest.numerics.line_kmeans import line_kmeans
from caltest.validation import check_interval

Interval = tuple[float, float]

START = (1.0, 0.5, 0.01)  # variance, length scale over the range of the scores, noise
VARIANCE = (1e-4, 5.0)  # the end is that of the paper's software
SCALE = (0.01, 10.0)  # over the range of the scores
NOISE = (1e-5, 1.0)
MOST_LOGITS = 1e6  # a range of logits beyond which the interval of the variance does not grow
MOST_WEIGHT = 1e20  # a sum beside which rounding hides the prior; squares of more may overflow
LEAST_NOISE = 1e-10  # of the variance, so that k(Z, Z) is not singular


@dataclass(frozen=True)
class Plan:
    """Options of the fit; `n_samples` is None for the Taylor expectation."""

    full: bool
    n_samples: int | None
    batch_size: int | None
    max_iter: int
    tol: float
    n_jobs: int | None


def kernel_limits(
    extent: float,
    length_scale: object,
    variance: object,
    noise: object,
    *,
    from_logits: bool,
) -> Limits:
    """Check the intervals and return them in the units of the scores; None is the default."""
    thetas = VARIANCE
    if variance is not None:
        thetas = check_interval(variance, "variance_bounds")
    elif from_logits:
        thetas = (VARIANCE[0], max(VARIANCE[1], min(extent, MOST_LOGITS) ** 2))
    low, high = _or(length_scale, SCALE, "length_scale_bounds")
    least, most = _or(noise, NOISE, "noise_bounds")
    floor = LEAST_NOISE * thetas[1]
    unit = extent or 1.0  # where all scores are equal
    return Limits(
        variance=thetas,
        scale=(low * unit, high * unit),
        noise=(max(least, floor), max(most, 10 * floor)),
    )


def _or(value: object, default: Interval, name: str) -> Interval:
    return default if value is None else check_interval(value, name)


def first_guess(scores: Scores, limits: Limits, n_inducing: int) -> Latent:
    """Return the prior at the inducing inputs by k-means."""
    weight = np.repeat(scores.weight, scores.z.shape[1])
    Z = line_kmeans(scores.z.ravel(), weight, n_inducing)
    unit = scores.high - scores.low or 1.0
    wanted = (START[0], START[1] * unit, START[2])
    intervals = (limits.variance, limits.scale, limits.noise)
    kernel = [float(np.clip(x, *box)) for x, box in zip(wanted, intervals, strict=True)]
    return Latent(np.zeros(Z.size), np.eye(Z.size), Z, *kernel)


def fit_process(
    scores: Scores, start: Latent, limits: Limits, plan: Plan, rng: np.random.Generator
) -> Fitted:
    """Fit with equation 7; then with draws and with mini-batches, where these are asked for."""
    n, K = scores.z.shape
    size = n if plan.batch_size is None else min(n, plan.batch_size)
    batch = scores if size == n else scores.rows(np.sort(rng.permutation(n)[:size]))
    full, n_jobs = plan.full, plan.n_jobs
    fitted = maximize(
        batch, start, limits, full=full, max_iter=plan.max_iter, tol=plan.tol, n_jobs=n_jobs
    )
    paths: Paths | None = None
    if plan.n_samples is not None:
        ratio = (scores.high - scores.low) / limits.scale[0]
        paths = random_paths(K, start.m.size, plan.n_samples, ratio, rng)
    if size < n:
        return maximize_batches(
            scores,
            fitted.q,
            limits,
            paths,
            full=full,
            batch_size=size,
            n_steps=plan.max_iter,
            rng=rng,
            n_jobs=n_jobs,
        )
    if paths is None:
        return fitted
    return maximize_drawn(
        scores,
        fitted.q,
        limits,
        paths,
        full=full,
        max_iter=plan.max_iter,
        tol=plan.tol,
        n_jobs=n_jobs,
    )


def places_of(inputs: Inputs) -> tuple[Floats, Floats]:
    """Return the scores and the prior mean there, both (n, m)."""
    if inputs.from_logits:
        return inputs.logits, inputs.logits
    return inputs.probs, inputs.logits


def scores_of(data: CalibrationSet) -> Scores:
    """Return the rows that have weight, sorted, and equal ones as one.

    L-BFGS makes rounding errors visible: so neither the order of rows nor a weight in place of
    repeated rows changes a bit of the fit.
    """
    if data.weight is not None:
        data = data.rows(np.flatnonzero(data.weight))
    z, prior = places_of(data.inputs)
    weight = np.ones(len(z)) if data.weight is None else data.weight
    order = np.lexsort((weight, data.codes, *z.T))
    z, codes = z[order], data.codes[order]
    differs = (z[1:] != z[:-1]).any(axis=1) | (codes[1:] != codes[:-1])
    first = np.flatnonzero(np.concatenate([[True], differs]))
    total = np.add.reduceat(weight[order], first)
    total *= min(1.0, MOST_WEIGHT / total.sum())
    prior = prior[order[first]]
    return Scores(z[first], prior, codes[first], total, float(z.min()), float(z.max()))
