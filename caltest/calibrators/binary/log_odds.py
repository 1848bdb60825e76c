"""Maximum likelihood where the log odds are linear in a few features, degenerate data included."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from caltest.calibrators.inputs import LOG_SMALLEST_PROBABILITY
from caltest.numerics.logistic import fit_logistic, penalised_loss
from caltest.numerics.sorted_scores import shares
from caltest.types import AnyArray, Flags, Floats

RIDGE = 1e-8  # on slopes per standard deviation, where the likelihood has no maximum
SAME = 1e-10  # relative standard deviation, or 1 - r^2, that counts as none
FAR = 1e6  # distance from most scores, in units of their range, that counts as no further
SAMPLE = 4096  # rows that tell where most scores lie, and most often that nothing separates them


@dataclass(frozen=True)
class LogOddsFit:
    """Estimates of slopes and an intercept.

    Attributes
    ----------
    coef : (k,) array
        Slopes of the features, in their own units.
    intercept : float
        The intercept; 0 where there is none.
    stderr : (k,) or (k + 1,) array or None
        Standard errors of the slopes, then of the intercept where there is one; None where the
        likelihood has no maximum.
    loss : callable
        Returns the mean loss, with the penalty where there is one.
    """

    coef: Floats
    intercept: float
    stderr: Floats | None
    loss: Callable[[], float]


class LogOddsModel:
    """A model whose log odds are linear in features.

    Parameters
    ----------
    features : (k, n) array
        One or two rows, one for each feature.
    weight : (n,) array or None
        Positive weights.
    intercept : bool
        Whether there is one. Without it the log odds are 0 where the features are.
    """

    def __init__(self, features: Floats, weight: Floats | None, *, intercept: bool) -> None:
        self.k, n = features.shape
        self.intercept = intercept
        self.share, self.total = shares(weight, n)
        self.X = np.empty((self.k + intercept, n))
        self.X[self.k :] = 1
        self.mean = features @ self.share if intercept else np.zeros(self.k)
        self.scale = np.empty(self.k)
        for j, z in enumerate(self.X[: self.k]):
            np.subtract(features[j], self.mean[j], out=z)
            self.scale[j] = np.sqrt(np.einsum("i,i,i", z, z, self.share))
            np.divide(z, self.scale[j] or 1.0, out=z)

    @property
    def is_determined(self) -> bool:
        """Whether no feature is constant (0 where there is no intercept) and no two agree."""
        if (self.scale <= SAME * np.abs(self.mean)).any():
            return False
        return self.k == 1 or 1 - float(self.X[0] * self.X[1] @ self.share) ** 2 > SAME

    def fit(self, targets: Floats, *, separated: bool) -> LogOddsFit:
        """Fit to targets in [0, 1].

        Parameters
        ----------
        targets : (n,) array
            Labels, or probabilities of them.
        separated : bool
            Whether the likelihood has no maximum. Slopes per standard deviation then have the
            penalty 1e-8 slope^2 / 2 on the mean loss. That of no slopes is at most log 2, so that
            their squares sum to at most 2e8 log 2, and each is at most 1.2e4.

        Returns
        -------
        LogOddsFit
            Estimates and their standard errors.
        """
        k = self.k
        ridge = np.zeros(len(self.X))
        ridge[:k] = RIDGE * separated
        beta, hessian = fit_logistic(self.X, targets, self.share, ridge)
        # To the units of the features: coef = beta / scale, intercept = beta_0 - mean'coef.
        units = np.eye(len(self.X))
        units[:k, :k] = np.diag(1 / self.scale)
        if self.intercept:
            units[k, :k] = -self.mean / self.scale
        coef = units @ beta
        stderr = None
        if not separated:
            # The information of the total log likelihood, that of the weights as counts. Weights of
            # very different size leave none, or none that can be inverted.
            with suppress(np.linalg.LinAlgError), np.errstate(all="ignore"):
                variance = np.diag(units @ np.linalg.inv(hessian) @ units.T / self.total)
                usable = (np.isfinite(variance) & (variance > 0)).all()
                stderr = np.sqrt(variance) if usable else None
        loss = partial(penalised_loss, self.X, targets, self.share, ridge, beta)
        return LogOddsFit(coef[:k], float(coef[k]) if self.intercept else 0.0, stderr, loss)


def fit_constant(targets: Floats, weight: Floats | None, *, intercept: bool = True) -> LogOddsFit:
    """Fit the same log odds to all rows; those of one class alone are 36.04 or -36.04.

    Parameters
    ----------
    targets : (n,) array
        In [0, 1].
    weight : (n,) array or None
        Positive weights.
    intercept : bool
        Whether there is one; otherwise the log odds are 0.

    Returns
    -------
    LogOddsFit
        No slopes.
    """
    share, total = shares(weight, len(targets))
    rate, rest = float(share @ targets), float(share @ (1 - targets))
    value, stderr = 0.0, None
    if intercept:
        with np.errstate(divide="ignore"):
            log_odds = np.log(rate) - np.log(rest)
        value = float(np.clip(log_odds, LOG_SMALLEST_PROBABILITY, -LOG_SMALLEST_PROBABILITY))
        information = total * rate * rest
        if 0 < information < np.inf:
            stderr = np.array([1 / np.sqrt(information)])
    loss = float(np.logaddexp(0, value)) - rate * value
    return LogOddsFit(np.empty(0), value, stderr, lambda: loss)


def fit_intercept(
    slope: float, score: Floats, targets: Floats, weight: Floats | None
) -> LogOddsFit:
    """Fit the intercept of log odds whose slope is given, to targets of which not all are equal.

    Parameters
    ----------
    slope : float
        Of the score.
    score, targets : (n,) array
        The score, and labels or probabilities of them.
    weight : (n,) array or None
        Positive weights.

    Returns
    -------
    LogOddsFit
        The slope as it is given, with the standard error of the intercept alone.
    """
    share, total = shares(weight, len(targets))
    fixed = slope * score
    ends = LOG_SMALLEST_PROBABILITY - fixed.max(), -LOG_SMALLEST_PROBABILITY - fixed.min()
    value = float(brentq(lambda b: float(share @ (expit(fixed + b) - targets)), *ends, xtol=1e-12))
    fixed += value
    information = total * float(share @ (expit(fixed) * expit(-fixed)))
    stderr = np.array([1 / np.sqrt(information)]) if 0 < information < np.inf else None
    loss = float(share @ (np.logaddexp(0, fixed) - targets * fixed))
    return LogOddsFit(np.array([slope]), value, stderr, lambda: loss)


def within_reach(score: Floats) -> Floats:
    """Bring scores that are 1e6 or more away from most others to that distance.

    Such a row has probability 0 or 1 wherever it stands, but the others would all be equal in units
    of its distance. Most others are those between the deciles; their range counts as 1 at least.
    """
    low, high = np.quantile(score[:: max(1, score.size // SAMPLE)], [0.1, 0.9])
    reach = FAR * max(high - low, 1.0)
    if score.min() >= low - reach and score.max() <= high + reach:
        return score
    return np.clip(score, low - reach, high + reach)


def with_weights(weight: Floats | None, *columns: AnyArray) -> tuple[Any, ...]:
    """Leave out the rows of weight 0, of the weights too, which come last."""
    if weight is None or (weight > 0).all():
        return (*columns, weight)
    rows = weight > 0
    return (*(column[rows] for column in columns), weight[rows])


def is_increasing(score: Floats, event: Flags, pivot: float | None = None) -> bool:
    """Tell whether no event has a lower score than another row; the pivot lies in between."""
    # A part of the rows first: what does not separate them does not separate all.
    if score.size > SAMPLE and not is_increasing(score[:SAMPLE], event[:SAMPLE], pivot):
        return False
    highest = score.max(where=~event, initial=-np.inf)
    lowest = score.min(where=event, initial=np.inf)
    return bool(highest <= lowest if pivot is None else highest <= pivot <= lowest)


def is_interval(score: Floats, event: Flags, pivot: float | None = None) -> bool:
    """Tell whether one class fills an interval of scores; the pivot is one of its ends."""
    if score.size > SAMPLE and not is_interval(score[:SAMPLE], event[:SAMPLE], pivot):
        return False
    for members in (~event, event):
        ends = [score.min(where=members, initial=np.inf), score.max(where=members, initial=-np.inf)]
        if pivot is not None:
            if ends[0] < pivot < ends[1]:
                continue
            ends.append(pivot)
        if not (~members & (min(ends) < score) & (score < max(ends))).any():
            return True
    return False
