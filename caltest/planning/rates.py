"""Rates of simulated events, and the size at which a rate is reached: probit regression."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy

from caltest.types import Floats

STEPS = 100
STEP = 1e-10  # relative change of the coefficients at the end
FAR = 8.0  # linear predictors are kept within


class Line(NamedTuple):
    """A probit line: P(event at x) = Phi(a + b x), with the covariance of (a, b)."""

    a: float
    b: float
    covariance: Floats


def clopper_pearson(k: int, n: int, level: float) -> tuple[float, float]:
    """Return the exact equal-tailed confidence interval of a rate with k events in n.

    Clopper, Pearson (1934), Biometrika 26(4).
    """
    tail = (1 - level) / 2
    low = float(scipy.special.betaincinv(k, n - k + 1, tail)) if k else 0.0
    high = 1.0 - float(scipy.special.betaincinv(n - k, k + 1, tail)) if k < n else 1.0
    return low, high


def probit_line(x: Floats, events: Floats, trials: Floats) -> Line:
    """Fit P(event at x) = Phi(a + b x) by Fisher scoring, at least two values of x.

    Half an event and half a non-event are spread over the x, so that rates of 0 and 1 have a fit.
    """
    k, n = events + 0.5 / x.size, trials + 1.0 / x.size
    centre, spread = float(np.average(x, weights=n)), float(np.ptp(x))
    X = np.column_stack([np.ones(x.size), (x - centre) / spread])
    beta = np.zeros(2)
    for _ in range(STEPS):
        eta = np.clip(X @ beta, -FAR, FAR)
        p, q = scipy.special.ndtr(eta), scipy.special.ndtr(-eta)
        density = np.exp(-0.5 * eta * eta) / math.sqrt(2 * math.pi)
        information = (X * (n * density**2 / (p * q))[:, None]).T @ X
        step = np.linalg.solve(information, X.T @ ((k - n * p) * density / (p * q)))
        slope = _length(X, beta, step, k, n)
        beta = beta + slope * step
        if np.abs(slope * step).max() <= STEP * (1 + np.abs(beta).max()):
            break
    back = np.array([[1.0, -centre / spread], [0.0, 1.0 / spread]])
    a, b = back @ beta
    return Line(float(a), float(b), back @ np.linalg.inv(information) @ back.T)


def _length(X: Floats, beta: Floats, step: Floats, k: Floats, n: Floats) -> float:
    """Halve a step until the likelihood does not fall."""

    def likelihood(b: Floats) -> float:
        eta = X @ b
        return float(k @ scipy.special.log_ndtr(eta) + (n - k) @ scipy.special.log_ndtr(-eta))

    length, now = 1.0, likelihood(beta)
    while length > 1e-6 and likelihood(beta + length * step) < now - 1e-12 * abs(now):
        length /= 2
    return length


def crossing(line: Line, z: float, quantile: float) -> tuple[float, float, float]:
    """Return x with a + b x = z and Fieller's confidence interval of it.

    The interval holds the x with (a + b x - z)^2 <= quantile^2 var(a + b x); an end is infinite
    where the slope is not clearly positive. Fieller (1954), JRSS B 16(2).
    """
    a, b, V = line.a - z, line.b, line.covariance
    if b <= 0:
        return math.inf, -math.inf, math.inf
    c2 = quantile**2
    A = b * b - c2 * V[1, 1]
    B = a * b - c2 * V[0, 1]
    C = a * a - c2 * V[0, 0]
    root = -a / b
    if A <= 0:
        return root, -math.inf, math.inf
    half = math.sqrt(max(B * B - A * C, 0.0))
    return root, float((-B - half) / A), float((-B + half) / A)
