"""Polynomials in the log odds fitted to labels: what the calibration belt and its test share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy
from numpy.polynomial.legendre import leggauss

from caltest.errors import NotApplicable
from caltest.measures.recalibration import binary_fit
from caltest.measures.recalibration.binary_fit import NODES, Support, maximise
from caltest.measures.recalibration.fits import LogOdds
from caltest.numerics.loops import njit
from caltest.types import Flags, Floats, Ints, Labels
from caltest.units import Observed, Units

MAYBE_FITTED = (
    "observed and expected events are equal; if the model was fitted to these data, pass "
    "internal=True"
)
FITTED_HERE = 1e-4  # the difference of observed and expected events that givitiR warns below
SUPREMUM = 1e5  # where it has no maximum, the likelihood ends up to 2e-10 below its supremum
BLOCK = 4096  # rows whose polynomials stay in the cache
WIDTH = 0.32  # of a bin of log odds; interpolation there is exact to rounding
ROWS_OF_BASIS = 4096  # rows enough for a basis
NO_SPREAD = 1e-10  # of a polynomial, relative to the log odds: it is zero up to rounding
STEEP = 2.0  # change of eta within a bin up to which interpolation has nine digits
_POINTS, _WEIGHTS = leggauss(48)  # of Gauss-Legendre on [-1, 1]; the integrands are analytic
GAUSS = (_POINTS + 1.0) / 2.0, _WEIGHTS / 2.0  # on [0, 1]


@dataclass(frozen=True)
class Selection:
    """How the degree is selected: from 1 for external data, from 2 for the development sample."""

    first: int
    last: int
    threshold: float

    @property
    def cut(self) -> float:
        """The least likelihood ratio that raises the degree."""
        return float(scipy.special.chdtri(1, 1.0 - self.threshold))

    def sf(self, statistic: float, degree: int) -> float:
        """Return the probability of a larger statistic, given the degree that was selected."""
        steps = degree - self.first
        if statistic <= steps * self.cut:
            return 1.0
        if math.isinf(statistic):
            return 0.0
        q = 1.0 - self.threshold
        tail = float(_scaled_tail(np.array([statistic]), steps, self.first, self.cut, q)[0])
        return min(1.0, math.exp(-statistic / 2.0) * tail / q**steps)

    def quantile(self, level: float, degree: int) -> float:
        """Return the value that the statistic exceeds with probability 1 - level."""
        low = (degree - self.first) * self.cut
        high = low + 10.0
        while self.sf(high, degree) > 1.0 - level:
            high *= 2.0
        ends = {"a": low, "b": high, "xtol": 1e-12, "rtol": 1e-14}
        return float(scipy.optimize.brentq(lambda t: self.sf(t, degree) - (1.0 - level), **ends))


class BeltFit(NamedTuple):
    """The polynomials selected for rows of labels; arrays have one entry each."""

    statistic: Floats
    degree: Ints
    gamma: Floats
    attained: Flags


class Belt(LogOdds):
    """Polynomials in the log odds of units, the degree selected for what is observed.

    What is observed enters through a few sums. Predictions of 0 and 1 have no log odds. They are
    left out of the fit, and a label that contradicts one makes the statistic infinite, as the
    likelihood of the predictions is 0.
    """

    _nodes: Support | None

    def __init__(self, units: Units, selection: Selection) -> None:
        super().__init__(units)
        self.selection, self.scale = selection, SUPREMUM * self.scale
        left_out = (
            f"predictions of 0 or 1, {self.outside} of {units.rows}, have no log odds: they are "
            "left out of the fit, and a label that contradicts one makes the statistic infinite"
        )
        self.degenerate = (left_out,) if self.outside else ()
        self.parameters = {"sample": "development" if selection.first > 1 else "external"}
        excess = float(units.scale @ (units.observed - units.shift))
        if selection.first == 1 and abs(excess) < FITTED_HERE:
            self.notes = (MAYBE_FITTED,)
        # Of cells at their means, as in the likelihood: a sum rounded by itself would leave a
        # slope without end where the classes are separated.
        expected = units.mass / units.scale * units.probs[:, 1]
        probs, self._expected, self._event_weight, self._weight = (
            np.ascontiguousarray(self.inside(values))
            for values in (units.probs, expected, units.scale, units.mass)
        )
        self.z: Floats = np.log(probs[:, 1]) - np.log(probs[:, 0])
        if not self.z.size:
            return
        self.shift, self.norm = polynomial_basis(self.z, self._weight, selection.last)
        # Nodes with weights that give the same sums of smooth functions, where that is a saving.
        bins, self._nodes = int(float(np.ptp(self.z)) / WIDTH) + 1, None
        if 2 * NODES * bins <= self.z.size:
            self._nodes = self._support(*binary_fit.chebyshev_nodes(self.z, self._weight, WIDTH))

    @cached_property
    def _rows(self) -> Support:
        """All rows: many take a while, and are needed only where nodes do not do."""
        return self._support(self.z, self._weight)

    def _support(self, z: Floats, weight: Floats) -> Support:
        return binary_fit.support(z, weight, basis_values(z, self.shift, self.norm).T)

    def fitted(self, remedy: str) -> BeltFit:
        """Return the fit to what was observed; NotApplicable where no polynomial is unique."""
        need = self.selection.first + 1
        rank = self.shift.size if self.z.size else 0
        if rank < need:
            raise NotApplicable(
                f"the calibration belt needs at least {need} distinct predictions strictly between "
                f"0 and 1, and there {'is' if rank == 1 else 'are'} {rank}",
                remedy,
            )
        fit = self.fit(self.units.observed[np.newaxis])
        if not fit.attained[0]:
            raise NotApplicable(
                "a polynomial in the log odds separates the classes, so that the calibration belt "
                "has no fit",
                remedy,
            )
        return fit

    def values(self, observed: Observed) -> Floats:
        return self.fit(observed).statistic

    def sums(self, observed: Observed) -> Floats:
        """Return what the fit needs of each row of what is observed, (B, U)."""
        rows = self._expected, self.z, self._event_weight
        return polynomial_sums(self.inside(observed, 1), *rows, self.shift, self.norm)

    def fit(self, observed: Observed) -> BeltFit:
        """Select a polynomial for each row of what is observed, (B, U)."""
        if self.z.size:
            sums = self.sums(observed)
            rule = self.selection.first, self.selection.last, self.selection.cut
            fit = BeltFit(*select_degree(sums, self._nodes or self._rows, *rule))
            for b in range(len(sums)):
                if self._is_steep(fit.gamma[b]):
                    again = select_degree(sums[b : b + 1], self._rows, *rule)
                    for kept, found in zip(fit, again, strict=True):
                        kept[b] = found[0]
        else:
            size = len(observed)
            none = np.zeros(size), np.zeros(size, np.int64), np.zeros((size, 1))
            fit = BeltFit(*none, np.zeros(size, np.bool_))
        if self.certain.size:
            fit.statistic[self.contradicted(observed)] = np.inf
        return fit

    def _is_steep(self, gamma: Floats) -> bool:
        """Return whether a polynomial varies too much over the nodes of a bin, if there are any."""
        if self._nodes is None:
            return False
        eta = (self._nodes.base[0] + gamma @ self._nodes.phi).reshape(-1, NODES)
        return bool((np.abs(np.diff(eta, axis=1)).sum(axis=1) > STEEP).any())

    def coefficients(self, fit: BeltFit) -> Floats:
        """Return the polynomial of the first row of labels in powers of the log odds."""
        k = int(fit.degree[0]) + 1
        powers = fit.gamma[0, :k] @ monomials(self.shift, self.norm)[:k, :k]
        powers[1] += 1.0
        return np.asarray(powers)

    def bounds(self, fit: BeltFit, at: Floats, drop: float) -> Floats:
        """Return the probabilities (points, 2) between which a fit lies at given log odds."""
        k = int(fit.degree[0]) + 1
        rows = self._rows if self._is_steep(fit.gamma[0]) else self._nodes or self._rows
        basis = np.ascontiguousarray(basis_values(at, self.shift[:k], self.norm[:k]))
        sums = self.sums(self.units.observed[np.newaxis])[0, :k]
        moved = binary_fit.likelihood_bounds(sums, rows, fit.gamma[0, :k].copy(), basis, drop)
        return np.asarray(scipy.special.expit(at[:, None] + moved))


def polynomial_sums(
    labels: Labels | Floats, p: Floats, z: Floats, w: Floats, shift: Floats, norm: Floats
) -> Floats:
    """Return sum_i w_i phi(z_i) (y_i - p_i) for each row of labels, (B, rank).

    The polynomials of a block of rows stay in the cache for all rows of labels.
    """
    sums = np.zeros((len(labels), shift.size))
    for start in range(0, z.size, BLOCK):
        rows = slice(start, start + BLOCK)
        weighted = basis_values(z[rows], shift, norm).T * w[rows]
        sums += binary_fit.deviation_sums(labels, start, p[rows], weighted)
    return sums


@njit()
def select_degree(
    t: Floats, fit: Support, first: int, last: int, cut: float
) -> tuple[Floats, Ints, Floats, Flags]:
    """Raise the degree from `first` while twice the gain of log likelihood is at least `cut`.

    Parameters
    ----------
    t : (B, rank) array
        `polynomial_sums`.

    Returns
    -------
    statistic : (B,) array
        Twice the gain over the predictions.
    degree : (B,) array
        The selected degree.
    gamma : (B, rank) array
        The coefficients; zero beyond the degree.
    attained : (B,) array of bool
        As in `maximise`, for the degree that was selected.
    """
    size, rank = t.shape
    statistic, degree = np.empty(size), np.empty(size, np.int64)
    kept, attained = np.zeros((size, rank)), np.empty(size, np.bool_)
    for b in range(size):
        d = min(first, rank - 1)
        value, attained[b] = maximise(t[b], fit, kept[b, : d + 1], separable=bool(1))
        while d < min(last, rank - 1):
            gamma = kept[b, : d + 2].copy()
            higher, exists = maximise(t[b], fit, gamma, separable=bool(1))
            if 2.0 * (higher - value) < cut:
                break
            d, value, attained[b] = d + 1, higher, exists
            kept[b, : d + 1] = gamma
        statistic[b], degree[b] = 2.0 * max(value, 0.0), max(d, first)
    return statistic, degree, kept, attained


def _scaled_tail(t: Floats, steps: int, first: int, cut: float, q: float) -> Floats:
    """Return g_steps(t) for t of at least steps times the cut."""
    if steps == 0:
        # exp(t/2) times the tails of chi^2 with 2 and 1 degrees of freedom.
        return np.ones_like(t) if first == 1 else np.asarray(scipy.special.erfcx(np.sqrt(t / 2.0)))
    left = np.maximum(t - (steps - 1) * cut, cut)
    # r = sqrt(t) sin(a) makes sqrt(t - r^2) smooth up to r^2 = t; squares of the distance to the
    # upper end take away the root that the integral inside has there.
    low, high = np.arcsin(np.sqrt(cut / t)), np.arcsin(np.sqrt(np.minimum(left / t, 1.0)))
    x, weight = GAUSS
    angle = high[..., None] - (high - low)[..., None] * np.square(x)
    inner = _scaled_tail(t[..., None] * np.cos(angle) ** 2, steps - 1, first, cut, q)
    terms = inner * np.cos(angle) @ (2.0 * x * weight)
    integral = math.sqrt(2.0 / math.pi) * np.sqrt(t) * (high - low) * terms
    beyond = (q * math.exp(cut / 2.0)) ** (steps - 1) * scipy.special.erfcx(np.sqrt(left / 2.0))
    return np.asarray(integral + beyond)


# ---- polynomials in log odds --------------------------------------------------------------------


def polynomial_basis(z: Floats, w: Floats, degree: int) -> tuple[Floats, Floats]:
    """Return the recurrence of the polynomials that are orthonormal under weights w p (1 - p).

    Those of a part of many rows do, since a fit does not depend on its basis; unless they are too
    few, as other rows may have more distinct values.
    """
    for stride in (max(1, z.size // ROWS_OF_BASIS), 1):
        some = z[::stride]
        h = w[::stride] * scipy.special.expit(some) * scipy.special.expit(-some)
        if not h.any():  # they underflow
            h = w[::stride]
        shift, norm = orthonormal_basis(some.copy(), h / h.max(), degree)
        if shift.size == degree + 1:
            break
    return shift, norm


@njit()
def orthonormal_basis(z: Floats, h: Floats, degree: int) -> tuple[Floats, Floats]:
    """Return the recurrence of the polynomials that are orthonormal under weights h.

    Returns
    -------
    shift : (rank,) array
        The a_j of b_{j+1} f_{j+1}(z) = (z - a_j) f_j(z) - b_j f_{j-1}(z), f_0 = 1; there are as
        many polynomials as z has distinct values, and at most degree + 1.
    norm : (rank,) array
        The b_j.
    """
    shift, norm = np.zeros(degree + 1), np.ones(degree + 1)
    this, last = np.ones(z.size), np.zeros(z.size)
    total, largest = h.sum(), np.abs(z).max()
    for j in range(degree + 1):
        a = 0.0
        for i in range(z.size):
            a += h[i] * z[i] * this[i] * this[i]
        shift[j] = a / total
        if j == degree:
            break
        square = 0.0
        for i in range(z.size):
            new = (z[i] - shift[j]) * this[i] - (norm[j] * last[i] if j > 0 else 0.0)
            last[i], this[i] = this[i], new
            square += h[i] * new * new
        norm[j + 1] = math.sqrt(square / total)
        if not norm[j + 1] > NO_SPREAD * largest:
            return shift[: j + 1].copy(), norm[: j + 1].copy()
        for i in range(z.size):
            this[i] /= norm[j + 1]
    return shift, norm


@njit()
def basis_values(z: Floats, shift: Floats, norm: Floats) -> Floats:
    """Evaluate the polynomials, (K, rank), one after the other in memory."""
    out = np.ones((shift.size, z.size))
    for j in range(1, shift.size):
        new, this, last = out[j], out[j - 1], out[max(j - 2, 0)]
        scale, before = 1.0 / norm[j], norm[j - 1] if j > 1 else 0.0
        for i in range(z.size):
            new[i] = scale * ((z[i] - shift[j - 1]) * this[i] - before * last[i])
    return out.T


def monomials(shift: Floats, norm: Floats) -> Floats:
    """Return the coefficients of the polynomials in powers of z, (rank, rank)."""
    rank = shift.size
    out = np.zeros((rank, rank))
    out[0, 0] = 1.0
    for j in range(rank - 1):
        out[j + 1, 1:] = out[j, :-1]
        out[j + 1] -= shift[j] * out[j]
        if j > 0:
            out[j + 1] -= norm[j] * out[j - 1]
        out[j + 1] /= norm[j + 1]
    return out
