r"""Sparse variational classification: the evidence lower bound, its best q, and its gradient.

The L latent functions share a kernel and the inducing inputs Z, which are fixed; each has its own
:math:`q(u_l) = N(L m_l, L C_l C_l' L')`, see `variational`. For a kernel the best q is found by
steps. At the best q, :math:`(C_l C_l')^{-1} = I + A D_l A'` with, for each row,
:math:`D_l = -2 \, \partial E / \partial v_l \ge 0`, v the variances of q (Khan and Lin 2017), and
a step takes this at the present q. The means take the step
:math:`(I + A W_l A')^{-1} (A g_l - m_l)`, g the derivatives by the means of q. It is Newton's for
one latent function, W = D. For the softmax :math:`W_l = E \, \sigma_l`: the Hessian
:math:`diag(\sigma) - \sigma \sigma'` has, relative to :math:`diag(\sigma)`, the eigenvalues 1 and
0, and that of 0 belongs to what is common to all latent functions, which is 0 at the best q. Steps
are halved where the bound falls. At the best q the derivative of the bound by the kernel is its
partial derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve

from caltest.numerics.collapsed_bound import root_of_kernel
from caltest.numerics.parallel import map_threads
from caltest.numerics.rbf import KernelGradient, no_gradient, rbf
from caltest.numerics.variational import (
    cholesky_back,
    divergence,
    inverse_root,
    marginals,
    whiten,
    whiten_back,
)

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Expectation = Callable[[Floats, Floats, Codes], tuple[float, Floats, Floats]]

CHUNK = 2**20  # entries of k(Z, X) in a block
KEPT = 2**25  # entries of k(Z, X) up to which it is kept between steps
GAIN = 1e-6  # nats per row; the steps end where one gains less
MOST_STEPS = 50
MIXED = 6  # steps that Anderson's mixing takes
SMALLEST_SHARE = 1e-3  # of a step


@dataclass(frozen=True)
class Inducing:
    """The variational distribution: m, (L, M), and lower triangles C, (L, M, M)."""

    m: Floats
    C: Floats


@dataclass(frozen=True)
class Labelled:
    """Rows, their classes, inducing inputs, and the expected log-likelihood of a label."""

    X: Floats
    codes: Codes
    Z: Floats
    expectation: Expectation
    n_jobs: int | None = None

    def blocks(self) -> Iterator[slice]:
        """Yield blocks of rows."""
        size = max(1, CHUNK // len(self.Z))
        for start in range(0, len(self.X), size):
            yield slice(start, start + size)


@dataclass(frozen=True)
class Prior:
    """The kernel on the inducing inputs and, where they are kept, the whitened k(Z, X)."""

    variance: float
    scales: Floats
    L: Floats
    projections: list[Floats] | None


@dataclass(frozen=True)
class _Step:
    """The bound at q, and the step from there: precisions, less I, and changes of the means."""

    q: Inducing
    value: float
    precision: Floats
    change: Floats


def start(latents: int, M: int) -> Inducing:
    """Return the prior as q."""
    return Inducing(np.zeros((latents, M)), np.tile(np.eye(M), (latents, 1, 1)))


def prior(data: Labelled, variance: float, scales: Floats) -> Prior:
    """Return what depends on the kernel alone."""
    L = root_of_kernel(data.Z, variance, scales)
    known = Prior(variance, scales, L, None)
    if len(data.X) * len(data.Z) > KEPT:
        return known
    tasks = [(data, known, rows) for rows in data.blocks()]
    return Prior(variance, scales, L, list(map_threads(_project, tasks, data.n_jobs)))


def carried(q: Inducing, old: Prior, new: Prior) -> Inducing:
    """Return q of the same inducing variables under another kernel."""
    back = whiten(new.L, old.L)
    return Inducing(q.m @ back.T, np.tril(back @ q.C))


def ascend(data: Labelled, known: Prior, q: Inducing) -> tuple[float, Inducing]:
    """Return the bound at its best q for a kernel, and that q."""
    step = _step(data, known, q)
    past = [step]
    for _ in range(MOST_STEPS):
        new = _improved(data, known, past)
        gain = new.value - step.value
        if gain > 0:
            step = new
        if gain < GAIN * len(data.X):
            break
        past = [*past, new][-MIXED:]
    return step.value, step.q


def _improved(data: Labelled, known: Prior, past: list[_Step]) -> _Step:
    """Return the step's end or, where the bound falls, a point on the way there."""
    step, slack = past[-1], GAIN * len(data.X) / 2
    C = _roots(step.precision)
    new = _step(data, known, Inducing(_mixed(past), C))
    if new.value < step.value - slack and len(past) > 1:
        new = _step(data, known, Inducing(step.q.m + step.change, C))
    share = 1.0
    while new.value < step.value - slack and share > SMALLEST_SHARE:
        share /= 2
        here = _precisions(step.q)
        C = _roots(here + share * (step.precision - here))
        new = _step(data, known, Inducing(step.q.m + share * step.change, C))
    return new


def _mixed(past: list[_Step]) -> Floats:
    """Return where the last steps meet: Anderson's mixing of their ends.

    The weights sum to 1 and make the weighted sum of the changes least.
    """
    last = past[-1]
    end: Floats = last.q.m + last.change
    if len(past) == 1 or len(end) == 1:
        return end
    changes = np.array([(step.change - last.change).ravel() for step in past[:-1]])
    weights = np.linalg.lstsq(changes.T, -last.change.ravel(), rcond=1e-10)[0]
    for weight, step in zip(weights, past[:-1], strict=True):
        end = end + weight * (step.q.m + step.change - last.q.m - last.change)
    return end


def bound(data: Labelled, known: Prior, q: Inducing) -> float:
    """Return the evidence lower bound."""
    return _step(data, known, q).value


def gradient(data: Labelled, known: Prior, q: Inducing) -> KernelGradient:
    """Return the partial derivatives of the bound by the kernel, for fixed whitened m and C."""
    tasks = [(data, known, q, b, rows) for b, rows in enumerate(data.blocks())]
    total, by_L = no_gradient(*data.Z.shape), np.zeros_like(known.L)
    for part, by_root in map_threads(_gradient_block, tasks, data.n_jobs):
        total.merge(part)
        by_L += by_root
    by_inner = cholesky_back(known.L, by_L)
    kernel = rbf(data.Z, data.Z, known.variance, known.scales)
    # The jitter, whatever it is, is a share of the variance.
    kernel[np.diag_indices_from(kernel)] = np.einsum("ij,ij->i", known.L, known.L)
    total.add_inner(by_inner * kernel, data.Z, known.scales)
    return total


def _project(data: Labelled, known: Prior, rows: slice) -> Floats:
    return whiten(known.L, rbf(data.Z, data.X[rows], known.variance, known.scales))


def _projection(data: Labelled, known: Prior, b: int, rows: slice) -> Floats:
    return _project(data, known, rows) if known.projections is None else known.projections[b]


def _step(data: Labelled, known: Prior, q: Inducing) -> _Step:
    tasks = [(data, known, q, b, rows) for b, rows in enumerate(data.blocks())]
    value, slope = -divergence(q.m, q.C)[0], -q.m
    precision, curvature = np.zeros_like(q.C), np.zeros_like(q.C)
    for part, by_m, by_precision, by_curvature in map_threads(_step_block, tasks, data.n_jobs):
        value += part
        slope += by_m
        precision += by_precision
        curvature += by_curvature
    roots = list(map_threads(inverse_root, [(H,) for H in curvature], data.n_jobs))
    change = np.array([root @ (root.T @ by_m) for root, by_m in zip(roots, slope, strict=True)])
    if len(change) > 1:
        change -= (q.m + change).mean(axis=0)
    return _Step(q, value, precision, change)


def _step_block(
    data: Labelled, known: Prior, q: Inducing, b: int, rows: slice
) -> tuple[float, Floats, Floats, Floats]:
    """Return sums over rows: E log p, A g, A D A', A W A'."""
    A, codes = _projection(data, known, b, rows), data.codes[rows]
    pairs = [marginals(A, known.variance, m, C) for m, C in zip(q.m, q.C, strict=True)]
    mean, variance = (np.array(values) for values in zip(*pairs, strict=True))
    value, by_mean, by_variance = data.expectation(mean, variance, codes)
    # Of points, D may be less than 0 by rounding or chance.
    precision = _grams(A, np.maximum(-2 * by_variance, 0))
    if len(q.m) == 1:
        return value, by_mean @ A.T, precision, precision
    shares = (codes == np.arange(len(q.m))[:, None]) - by_mean
    return value, by_mean @ A.T, precision, _grams(A, np.maximum(shares, 0))


def _grams(A: Floats, weights: Floats) -> Floats:
    """Return A diag(w_l) A' for each l."""
    halves = (A * np.sqrt(weight) for weight in weights)
    return np.array([half @ half.T for half in halves])


def _roots(precisions: Floats) -> Floats:
    return np.array([inverse_root(H) for H in precisions])


def _precisions(q: Inducing) -> Floats:
    """Return the precisions, less I."""
    eye = np.eye(q.m.shape[1])
    return np.array([cho_solve((C, True), eye) - eye for C in q.C])


def _gradient_block(
    data: Labelled, known: Prior, q: Inducing, b: int, rows: slice
) -> tuple[KernelGradient, Floats]:
    X, A = data.X[rows], _projection(data, known, b, rows)
    pairs = [marginals(A, known.variance, m, C) for m, C in zip(q.m, q.C, strict=True)]
    mean, variance = (np.array(values) for values in zip(*pairs, strict=True))
    _, by_mean, by_variance = data.expectation(mean, variance, data.codes[rows])
    by_A = q.m.T @ by_mean
    for C, slope in zip(q.C, by_variance, strict=True):
        by_A += 2 * (C @ (C.T @ A) - A) * slope
    by_L, by_B = whiten_back(known.L, A, by_A)
    found = no_gradient(*data.Z.shape)
    B = rbf(X, data.Z, known.variance, known.scales)
    found.add(by_B.T * B, X, data.Z, known.scales)
    found.log_variance += known.variance * float(by_variance.sum())
    return found, by_L
