r"""Tails of a sum of independent terms, small ones too: saddlepoint and tilted convolution.

A sum S of independent terms, each of which takes one of m values, has the cumulant generating
function :math:`K(\theta) = \sum_i \log \sum_k p_{ik} e^{\theta t_{ik}}`. Both methods tilt the
probabilities by :math:`e^{\theta t}` such that the observed value x becomes the mean,
:math:`K'(\theta) = x`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from caltest.types import Floats, Ints, Order

AT_A_TIME = 1 << 18  # terms
ROUNDING = 1e-9  # of a lattice, relative to the largest step
MOST_STEPS = 1000  # distinct ones that are looked at for a lattice
LONGEST = 1 << 24  # points of the lattice of a sum
UNHEARD_OF = 1e-100  # standard deviation beside the terms, of a sum that never varies
NEAR = 1e-3  # standard deviations from the mean where a limit takes the place of the formula
FINE = 1 << 19  # points of a fine lattice, of all rows together
FINEST = 1 << 16  # of a row
COARSE = 0.02  # standard deviations by which a sum may be rounded
DIRECT = 8  # widths of factors up to which they are multiplied without Fourier transforms


@dataclass(frozen=True, eq=False)
class Terms:
    """The values of independent terms and their probabilities.

    Attributes
    ----------
    values : (n, m) array
        What each label adds to the sum; finite.
    probs : (n, m) array
        The probability of each label; rows sum to 1.
    """

    values: Floats
    probs: Floats

    @classmethod
    def of(cls, values: Floats, probs: Floats) -> Terms:
        """Make terms of any table: a value that is impossible becomes the largest possible one."""
        possible = probs > 0
        top = np.max(values, axis=1, where=possible, initial=-np.inf, keepdims=True)
        cleaned = np.where(possible, values, top)
        return cls(cleaned, probs / probs.sum(axis=1, keepdims=True))

    @cached_property
    def negative(self) -> Terms:
        """The terms of -S."""
        return Terms(-self.values, self.probs)

    @cached_property
    def mean(self) -> float:
        """The mean of the sum."""
        return float(np.einsum("ik,ik->", self.probs, self.values))

    @cached_property
    def sd(self) -> float:
        """The standard deviation of the sum."""
        return math.sqrt(self.cumulants(0.0)[2])

    @cached_property
    def largest(self) -> float:
        """The largest value of the sum."""
        return float(self.values.max(axis=1).sum())

    @cached_property
    def reach(self) -> float:
        """The largest absolute value of a sum of such terms."""
        return float(np.abs(self.values).max(axis=1).sum())

    @property
    def slack(self) -> float:
        """How far from each other two sums are ties."""
        return 100 * np.finfo(float).eps * max(self.reach, 1e-300)

    @property
    def is_certain(self) -> bool:
        """Whether the sum is its mean, up to probabilities that no number is small enough for."""
        return self.sd <= UNHEARD_OF * self.reach

    @property
    def chance_of_largest(self) -> float:
        """The probability of the largest value."""
        top = self.values >= self.values.max(axis=1, keepdims=True)
        return float(np.exp(np.log(np.sum(self.probs, axis=1, where=top)).sum()))

    def cumulants(self, theta: float) -> tuple[float, float, float, float]:
        """Return K of the sum less its mean, at theta, and its first three derivatives."""
        total = np.zeros(4)
        for values, probs in self._some_rows():
            exponents = theta * values
            top = np.maximum(exponents.max(axis=1), 0.0)
            # Near 0 without the rounding of log(1 + ...), further out without overflow.
            near = top < 1.0
            with np.errstate(over="ignore", invalid="ignore"):
                excess = np.einsum("ik,ik->i", probs, np.expm1(exponents))
            tilted = probs * np.exp(exponents - top[:, None])
            mass: Floats = tilted.sum(axis=1)
            log_mean = np.where(near, np.log1p(np.where(near, excess, 0.0)), top + np.log(mass))
            tilted /= mass[:, None]
            first = np.einsum("ik,ik->i", tilted, values)
            rest = values - first[:, None]
            second = np.einsum("ik,ik,ik->i", tilted, rest, rest)
            third = np.einsum("ik,ik,ik,ik->i", tilted, rest, rest, rest)
            total += np.array([log_mean.sum(), first.sum(), second.sum(), third.sum()])
        return total[0], total[1], total[2], total[3]

    def _slopes(self, theta: float) -> tuple[float, float]:
        """Return the first two derivatives of K at theta, of the sum less its mean."""
        first = second = 0.0
        for values, tilted, means in self._tilts(theta):
            first += float(means.sum())
            second += float(np.einsum("ik,ik,ik->", tilted, values, values) - means @ means)
        return first, second

    def largest_share(self, x: float) -> float:
        """Return the share of one row, at most, in the variance of the sum that is tilted to x."""
        if not self._varies_at(x):
            return 0.0
        largest, total = 0.0, 0.0
        for values, tilted, means in self._tilts(self.tilt(x)):
            variances = np.einsum("ik,ik->i", tilted, np.square(values - means[:, None]))
            largest, total = max(largest, float(variances.max())), total + float(variances.sum())
        return largest / total

    @cached_property
    def usual(self) -> Order:
        """The most probable label of each row."""
        return np.asarray(np.argmax(self.probs, axis=1))

    def changes(self, x: float) -> float:
        """Return how many rows have another label than the most probable, on average near x."""
        if not self._varies_at(x):
            return 0.0
        tilted = _tilted(self.values, self.probs, self.tilt(x))
        return float(len(tilted) - np.take_along_axis(tilted, self.usual[:, None], axis=1).sum())

    def _varies_at(self, x: float) -> bool:
        """Whether the sum varies, and x is between the ends of its range."""
        within = -self.negative.largest + self.slack < x < self.largest - self.slack
        return within and not self.is_certain

    def _tilts(self, theta: float) -> Iterator[tuple[Floats, Floats, Floats]]:
        """Yield values of some rows, less their means, their tilted probabilities and means."""
        for values, probs in self._some_rows():
            tilted = _tilted(values, probs, theta)
            yield values, tilted, np.einsum("ik,ik->i", tilted, values)

    def _some_rows(self) -> Iterator[tuple[Floats, Floats]]:
        n, m = self.values.shape
        step = max(1, AT_A_TIME // m)
        for start in range(0, n, step):
            values, probs = self.values[start : start + step], self.probs[start : start + step]
            yield values - np.einsum("ik,ik->i", probs, values)[:, None], probs

    def tilt(self, x: float) -> float:
        """Return theta with K'(theta) = x, for x inside the range of the sum.

        By Newton's method, in units of standard deviations, between bounds that are known.
        """
        distance, low, high = x - self.mean, -math.inf, math.inf
        theta = distance / self.sd**2
        for _ in range(200):
            first, second = self._slopes(theta)
            gap = distance - first
            if abs(gap) <= 1e-13 * self.sd:
                break
            low, high = (theta, high) if gap > 0 else (low, theta)
            reach = 2.0 * abs(theta) + 1.0 / self.sd
            step = gap / second if second > 0 else math.copysign(reach, gap)
            proposed = theta + max(-reach, min(reach, step))
            if not low < proposed < high:
                proposed = (low + high) / 2.0
            if proposed == theta:
                break
            theta = proposed
        return theta

    def deviance(self, x: float) -> tuple[float, float]:
        """Return twice the largest of theta x - K(theta), and its theta, half the derivative."""
        if abs(x - self.mean) <= self.slack:
            return 0.0, 0.0
        if self.is_certain:
            return math.inf, math.inf
        if x < self.mean:
            value, theta = self.negative.deviance(-x)
            return value, -theta
        if x >= self.largest - self.slack:
            beyond = x > self.largest + self.slack
            chance = max(self.chance_of_largest, 5e-324)
            return (math.inf if beyond else -2.0 * math.log(chance)), math.inf
        theta = self.tilt(x)
        return 2.0 * (theta * (x - self.mean) - self.cumulants(theta)[0]), theta


def _tilted(values: Floats | Ints, probs: Floats, theta: float) -> Floats:
    """Return the tilted probabilities."""
    exponents = theta * values
    exponents -= exponents.max(axis=1, keepdims=True)
    tilted: Floats = np.exp(exponents, out=exponents)
    tilted *= probs
    tilted /= tilted.sum(axis=1, keepdims=True)
    return tilted


# ---- saddlepoint --------------------------------------------------------------------------------


def saddlepoint_tail(terms: Terms, x: float, span: float = 0.0) -> float:
    r"""Return the approximation of P(S >= x) by Lugannani and Rice (1980).

    With :math:`w = \pm\sqrt{2 (\theta x - K)}`, it is :math:`1 - \Phi(w) + \phi(w) (1 / u - 1 /
    w)`, where :math:`u = \theta \sqrt{K''}`; on a lattice of a span d, with the first correction
    for continuity of Daniels (1987), :math:`u = (1 - e^{-\theta d}) \sqrt{K''} / d`.

    Parameters
    ----------
    terms : Terms
        The terms of the sum.
    x : float
        A value that the sum can have.
    span : float, default 0.0
        That of the lattice; 0 where there is none.
    """
    end = _tail_at_the_ends(terms, x)
    if end is not None:
        return end
    theta = terms.tilt(x)
    value, first, second, _ = terms.cumulants(theta)
    w = math.copysign(math.sqrt(max(0.0, 2.0 * (theta * first - value))), theta)
    if abs(w) < NEAR:
        _, _, variance, third = terms.cumulants(0.0)
        correction = span / (2.0 * terms.sd) - third / (6.0 * variance * terms.sd)
    else:
        # exp may overflow far below the mean, where the correction vanishes
        unit = -math.expm1(min(700.0, -theta * span)) / span if span > 0 else theta
        correction = 1.0 / (unit * math.sqrt(second)) - 1.0 / w
    # Mills' ratio and the correction have the density as their common factor.
    ratio = math.sqrt(math.pi / 2.0) * float(scipy.special.erfcx(abs(w) / math.sqrt(2.0)))
    density = math.exp(-0.5 * w * w) / math.sqrt(2.0 * math.pi)
    tail = density * (ratio + correction) if w >= 0 else 1.0 - density * (ratio - correction)
    return min(1.0, max(0.0, tail))


def _tail_at_the_ends(terms: Terms, x: float) -> float | None:
    """Return P(S >= x) where x is not between the ends of the range of S."""
    if x > terms.largest + terms.slack:
        return 0.0
    if x >= terms.largest - terms.slack:
        return terms.chance_of_largest
    if terms.is_certain:
        return float(x <= terms.mean + terms.slack)
    return 1.0 if -x >= terms.negative.largest - terms.slack else None


def lattice_span(terms: Terms) -> float:
    """Return the span of the lattice on which the sum lies, up to rounding; 0 for none."""
    few = max(1, AT_A_TIME // terms.values.shape[1])
    if len(terms.values) > few and not lattice_span(Terms(terms.values[:few], terms.probs[:few])):
        return 0.0
    steps = np.unique(terms.values - terms.values.min(axis=1, keepdims=True))
    steps = steps[steps > ROUNDING * max(steps[-1], 1e-300)]
    if not steps.size > 0:
        return 0.0
    distinct = steps[np.append(True, np.diff(steps) > ROUNDING * steps[-1])]
    if distinct.size > MOST_STEPS:
        return 0.0
    span = float(distinct[0])
    for step in distinct[1:].tolist():
        other = step  # Euclid's algorithm for numbers that are rounded
        while other > ROUNDING * float(steps[-1]):
            rest = span % other
            span, other = other, min(rest, other - rest)
    points = np.round(steps / span)
    on_lattice = np.abs(steps - points * span).max() <= 1e-3 * span
    return span if on_lattice and points[-1] * len(terms.values) <= LONGEST else 0.0


# ---- convolution --------------------------------------------------------------------------------


def convolved_tail(terms: Terms, x: float, span: float) -> float:
    r"""Return P(S >= x) of a sum on a lattice, by convolution of its terms.

    The tilted terms are convolved, in pairs and then pairs of pairs, by Fourier transforms. Their
    rounding errors are small beside the largest probability, which tilting puts at x, and
    :math:`P(S \ge x) = e^{K(\theta) - \theta x} \sum_{s \ge x} q_s e^{-\theta (s - x)}` with the
    tilted probabilities q keeps its digits, however small it is.

    Parameters
    ----------
    terms : Terms
        The terms of the sum, whose values in a row differ by multiples of the span.
    x : float
        A value that the sum can have.
    span : float
        That of the lattice.
    """
    end = _tail_at_the_ends(terms, x)
    if end is not None:
        return end
    if x < terms.mean:
        return 1.0 - _convolved_upper(terms.negative, -x, span, beyond=True)
    return _convolved_upper(terms, x, span, beyond=False)


def _convolved_upper(terms: Terms, x: float, span: float, *, beyond: bool) -> float:
    """Return P(S >= x), or P(S > x), for x above the mean."""
    theta = terms.tilt(x)
    low = terms.values.min(axis=1, keepdims=True)
    steps = np.round((terms.values - low) / span).astype(np.int64)
    tilted = _tilted(steps, terms.probs, theta * span)
    masses = np.zeros((len(steps), int(steps.max()) + 1))  # the probabilities of 0..r steps
    for column, mass in zip(steps.T, tilted.T, strict=True):
        masses[np.arange(len(steps)), column] += mass
    q = product(masses)
    place = round((x - float(low.sum())) / span)
    log_scale = terms.cumulants(theta)[0] - theta * (x - terms.mean)
    above = q[place + beyond :]
    decay = np.exp(-theta * span * (np.arange(above.size) + beyond))
    return min(1.0, math.exp(log_scale) * float(above @ decay))


def fine_span(terms: Terms, x: float) -> float:
    """Return the span of a lattice on which S near x is as good as unrounded; 0 for none."""
    steps = min(FINE // len(terms.values), FINEST)
    spread = float(np.ptp(terms.values, axis=1).max())
    if steps < 1 or terms.changes(x) == 0:
        return 0.0
    span = spread / steps
    sd = math.sqrt(terms.cumulants(terms.tilt(x))[2])
    return span if _rounding(terms, x, span) <= COARSE * sd else 0.0


def _rounding(terms: Terms, x: float, span: float) -> float:
    """Return by how much the sum is rounded at most: half a span for each row that changes."""
    changes = terms.changes(x)
    return 0.5 * span * min(len(terms.values), 2.0 + changes + 6.0 * math.sqrt(changes))


def fine_tail(terms: Terms, x: float, span: float) -> float:
    """Return P(S >= x) of a sum on no lattice, by convolution on that of `fine_span`.

    The value of the most probable label of a row stays as it is, and those of the others are
    rounded to multiples of the span above or below it. x is lowered by as much as the sum can be
    rounded, so that the tail is, if anything, too large.
    """
    usual = np.take_along_axis(terms.values, terms.usual[:, None], axis=1)
    rounded = Terms(usual + span * np.round((terms.values - usual) / span), terms.probs)
    return convolved_tail(rounded, x - _rounding(terms, x, span), span)


def product(factors: Floats) -> Floats:
    """Return the coefficients of the product of polynomials (n, r + 1) that are not negative."""
    while len(factors) > 1:
        if len(factors) % 2:
            one = np.zeros((1, factors.shape[1]))
            one[0, 0] = 1.0
            factors = np.concatenate([factors, one])
        first, second, width = factors[0::2], factors[1::2], factors.shape[1]
        if width <= DIRECT:
            factors = np.zeros((len(first), 2 * width - 1))
            for i in range(width):
                factors[:, i : i + width] += first[:, i : i + 1] * second
        else:
            length = scipy.fft.next_fast_len(2 * width - 1, real=True)
            spectrum = scipy.fft.rfft(first, length) * scipy.fft.rfft(second, length)
            back: Floats = scipy.fft.irfft(spectrum, length)[:, : 2 * width - 1]
            factors = np.maximum(back, 0.0)
    return np.asarray(factors[0])
