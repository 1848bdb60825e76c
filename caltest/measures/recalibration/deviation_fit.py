r"""Logistic regression of labels on functions of predictions, as a deviation from the predictions.

Labels enter :math:`\sum_i w_i [y_i \eta_i - \log(1 + e^{\eta_i})]`, with
:math:`\eta = z + \gamma' \phi(z)` and the log odds z of the predictions p, through
:math:`t = \sum_i w_i \phi(z_i) (y_i - p_i)` alone: what the fit gains over the predictions is
:math:`\max_\gamma \gamma't - G(\gamma)` with G the sum of
:math:`w [\log(1 + e^\eta) - \log(1 + e^z) - p \gamma'\phi]`. G depends on the predictions only, and
is a smooth function of each z; so many rows are replaced by few nodes with weights.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from caltest.numerics.logistic import newton_sums
from caltest.numerics.loops import njit

Floats = NDArray[np.float64]
Labels = NDArray[np.unsignedinteger]

BLOCK = 1024  # rows that stay in the cache
STEPS = 200
HALVINGS = 60
ENOUGH = 1e-6  # the largest change of an eta in the last step; its error is the square
FLAT = 1e-15  # relative pivot of the curvature that counts as none
NOISE = 1e-15  # of a slope, relative to the sum of weights
TRUSTED = 10.0  # change of an eta by a first step
NO_GAIN = 1e-10  # of log likelihood, where it has no maximum and only approaches its supremum


class Support(NamedTuple):
    """Rows, or nodes in their place.

    Attributes
    ----------
    base : (3, K) array
        z, p and 1 - p.
    weight : (K,) array
        w; that of a node can be negative.
    phi : (k, K) array
        The functions, the first of them 1.
    largest : (k,) array
        Their largest sizes.
    noise : float
        What rounding leaves of a slope.
    """

    base: Floats
    weight: Floats
    phi: Floats
    largest: Floats
    noise: float


def support(z: Floats, weight: Floats, phi: Floats) -> Support:
    """Prepare log odds (K,), weights (K,) and functions (k, K)."""
    base = np.stack([z, scipy.special.expit(z), scipy.special.expit(-z)])
    largest = np.abs(phi).max(axis=1, initial=0.0)
    return Support(base, weight, np.ascontiguousarray(phi), largest, NOISE * float(weight.sum()))


@njit(fastmath={"contract", "nsz", "reassoc"})
def deviation_sums(labels: Labels | Floats, start: int, p: Floats, weighted: Floats) -> Floats:
    """Return sum_i w_i phi(z_i) (y_i - p_i) over some columns of labels (B, n), (B, k).

    `p` (size,) and `weighted` (k, size), w phi, belong to the columns from `start` on.
    """
    sums, rest = np.zeros((labels.shape[0], len(weighted))), np.empty(BLOCK)
    for first in range(0, p.size, BLOCK):
        size = min(BLOCK, p.size - first)
        q = p[first : first + size]
        for b in range(labels.shape[0]):
            row = labels[b, start + first : start + first + size]
            for i in range(size):
                rest[i] = row[i] - q[i]
            for j in range(len(weighted)):
                f, total = weighted[j, first : first + size], 0.0
                for i in range(size):
                    total += rest[i] * f[i]
                sums[b, j] += total
    return sums


@njit()
def gain(gamma: Floats, t: Floats, fit: Support) -> float:
    """Return gamma't - G(gamma), what the log likelihood gains over the predictions."""
    total = 0.0
    for i in range(fit.weight.size):
        z, p = fit.base[0, i], fit.base[1, i]
        u = 0.0
        for j in range(gamma.size):
            u += gamma[j] * fit.phi[j, i]
        if abs(u) < 1.0:  # without the difference of large terms
            growth = math.log1p(p * math.expm1(u))
        else:
            growth = max(z + u, 0.0) - max(z, 0.0)
            growth += math.log1p(math.exp(-abs(z + u))) - math.log1p(math.exp(-abs(z)))
        total += fit.weight[i] * (growth - p * u)
    return inner(gamma, t) - total


@njit()
def inner(x: Floats, y: Floats) -> float:
    """Return x'y, of the length of x."""
    total = 0.0
    for j in range(x.size):
        total += x[j] * y[j]
    return total


@njit(error_model="numpy")
def factor(H: Floats) -> bool:
    """Write Cholesky's factor over the lower triangle, 0 along flat directions.

    Returns whether there are none.
    """
    regular = True
    for j in range(len(H)):
        before = H[j, j]
        for l in range(j):
            H[j, j] -= H[j, l] * H[j, l]
        if not H[j, j] > FLAT * before:
            H[j, j] = 0.0
            regular = False
        H[j, j] = math.sqrt(H[j, j])
        for i in range(j + 1, len(H)):
            for l in range(j):
                H[i, j] -= H[i, l] * H[j, l]
            H[i, j] = H[i, j] / H[j, j] if H[j, j] > 0.0 else 0.0
    return regular


@njit(error_model="numpy")
def solve(L: Floats, right: Floats, out: Floats) -> None:
    """Solve with the factor; 0 along flat directions."""
    for j in range(len(L)):
        out[j] = right[j]
        for l in range(j):
            out[j] -= L[j, l] * out[l]
        out[j] = out[j] / L[j, j] if L[j, j] > 0.0 else 0.0
    for j in range(len(L) - 1, -1, -1):
        for l in range(j + 1, len(L)):
            out[j] -= L[l, j] * out[l]
        out[j] = out[j] / L[j, j] if L[j, j] > 0.0 else 0.0


@njit(error_model="numpy")
def maximise(t: Floats, fit: Support, gamma: Floats, separable: bool) -> tuple[float, bool]:  # noqa: FBT001
    """Maximise gamma't - G(gamma), from the gamma given, in place, by Newton's method.

    A step that changes no eta by more than 1 goes up whatever the data (Bach 2010); a longer one is
    halved until it does.

    Parameters
    ----------
    t : (k or more,) array
        `deviation_sums`.
    gamma : (k,) array
        The coefficients of the first k functions.
    separable : bool
        Whether the functions may separate the labels, so that there is no maximum: then directions
        without curvature are left alone. Otherwise they have a slope all the same where labels have
        next to no probability, and steps are damped, so that they change no eta by more than a
        radius.

    Returns
    -------
    value : float
        The maximum, or the supremum.
    attained : bool
        Whether there is a maximum; not where the functions separate the labels.
    """
    k = gamma.size
    first, H, L = np.empty(k), np.empty((k, k)), np.empty((k, k))
    rest, step, trial = np.empty(k), np.empty(k), np.empty(k)
    radius = math.inf if separable else TRUSTED
    for _ in range(STEPS):
        newton_sums(gamma, fit.phi, fit.weight, fit.base, first, H)
        for j in range(k):
            rest[j] = t[j] - first[j]
        reach = _bounded_step(H, L, rest, fit.largest, radius, fit.noise, step)
        promised = inner(step, rest)
        if separable and promised <= NO_GAIN and reach > 0.1:
            return gain(gamma, t, fit) + promised, False
        length = 1.0
        if reach > 1.0:
            before = gain(gamma, t, fit)
            radius = max(radius, 2.0 * reach)
            for _ in range(HALVINGS):
                for j in range(k):
                    trial[j] = gamma[j] + length * step[j]
                if gain(trial, t, fit) > before:
                    break
                length /= 2.0
                radius = length * reach
        for j in range(k):
            gamma[j] += length * step[j]
        if length * reach <= ENOUGH:
            return gain(gamma, t, fit), True
    return gain(gamma, t, fit), False


@njit(error_model="numpy")
def _bounded_step(
    H: Floats, L: Floats, rest: Floats, largest: Floats, radius: float, noise: float, step: Floats
) -> float:
    """Write the step of Newton's method, damped where it leaves the radius.

    Returns the largest change of an eta that it can bring about. L takes the factor.
    """
    damping = 0.0
    for _ in range(2):
        for j in range(rest.size):
            for l in range(j + 1):
                L[j, l] = H[j, l]
            L[j, j] += damping * largest[j] * largest[j]
        regular = factor(L)
        solve(L, rest, step)
        reach = size = 0.0
        for j in range(rest.size):
            reach += abs(step[j]) * largest[j]
            size += (rest[j] / largest[j]) ** 2
        if damping > 0.0 or (regular and reach <= radius):
            return reach
        size = math.sqrt(size)
        if size <= noise:
            break
        if radius == math.inf:
            return reach
        damping = size / radius
    step[:] = 0.0
    return 0.0
