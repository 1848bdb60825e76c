"""The split likelihood ratio of a logistic recalibration, Wasserman, Ramdas, Balakrishnan 2020."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.lenses import Lens
from caltest.measures.base import Labels
from caltest.measures.splits.split import BoundSplit, Rows, SplitMeasure
from caltest.numerics.newton import backtrack
from caltest.predictions import Predictions

__all__ = ["SplitLikelihoodRatio", "e_likelihood_ratio"]

Floats = NDArray[np.float64]

SMALLEST = 2.0**-52  # smaller probabilities count as that in their logarithm
MOST_OFFSETS = 100  # classes; with more the slope alone is learned
PRECISION = 4.0  # of the prior of each parameter, 1 / 0.5^2
STEPS = 50
TOLERANCE = 1e-10  # of the decrement, relative to the number of rows


@dataclass(frozen=True, kw_only=True)
class SplitLikelihoodRatio(SplitMeasure):
    """Bets on a recalibration of the log odds; see `e_likelihood_ratio`."""

    key: ClassVar[str] = "e-likelihood-ratio"
    title: ClassVar[str] = "split likelihood ratio of a recalibration"

    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> BoundRatio:
        return BoundRatio(predictions, self.splits, f"the {self.title}")


class BoundRatio(BoundSplit):
    """Two alternatives: another slope of log p, and another slope and other intercepts."""

    def __init__(self, predictions: Predictions, splits: int, title: str) -> None:
        super().__init__(predictions, splits, title)
        self._logs: Floats = np.log(np.maximum(predictions.probs, SMALLEST))
        self._alternatives = (False, True) if predictions.m <= MOST_OFFSETS else (False,)

    def log_ratios(self, learned: Rows, bet_on: Rows, labels: Labels) -> Floats:
        logs, chosen = self._logs[bet_on], labels[bet_on].astype(np.intp)
        own = np.arange(bet_on.size)
        base = log_normalised(logs)[own, chosen].sum()
        ratios = []
        for with_offsets in self._alternatives:
            slope, offsets = recalibration(
                self._logs[learned], labels[learned], with_offsets=with_offsets
            )
            changed = log_normalised(slope * logs + offsets)
            ratios.append(changed[own, chosen].sum() - base)
        return np.array(ratios)


def recalibration(logs: Floats, labels: Labels, *, with_offsets: bool) -> tuple[float, Floats]:
    """Fit softmax(b log p + a) to labels, with normal priors of b - 1 and a around 0.

    Parameters
    ----------
    logs : (n, m) array
        Logarithms of the probabilities.
    labels : (n,) array
        Classes.
    with_offsets : bool
        Whether a is fitted, else it is 0.

    Returns
    -------
    float, (m,) array
        The slope b and the offsets a.
    """
    n, m = logs.shape
    onehot = labels[:, None] == np.arange(m)
    free = 1 + m * with_offsets
    theta = np.zeros(1 + m)

    def at(parameters: Floats) -> tuple[float, Floats, Floats]:
        log_q = log_normalised((1.0 + parameters[0]) * logs + parameters[1:])
        loss = 0.5 * PRECISION * float(parameters @ parameters) - float(log_q[onehot].sum())
        return loss, parameters, np.exp(log_q)

    def along(start: Floats, step: Floats, part: float) -> tuple[float, Floats, Floats]:
        return at(start + part * step)

    loss, _, q = at(theta)
    for _ in range(STEPS):
        gradient, curvature = _derivatives(logs, q, onehot, theta[:free])
        step = np.zeros(1 + m)
        step[:free] = -np.linalg.solve(curvature, gradient)
        decrement = -float(gradient @ step[:free])
        if decrement <= TOLERANCE * max(n, 1):
            break
        shorter = backtrack(partial(along, theta, step), loss, -decrement)
        if shorter is None:
            break
        loss, theta, q = shorter[1]
    return 1.0 + float(theta[0]), theta[1:]


def _derivatives(
    logs: Floats, q: Floats, onehot: NDArray[np.bool_], theta: Floats
) -> tuple[Floats, Floats]:
    """Return gradient and curvature of the negative log posterior in b, or in b and a."""
    mean = np.einsum("ik,ik->i", q, logs)
    weighted = q * (logs - mean[:, None])
    gradient = PRECISION * theta
    gradient[0] += mean.sum() - logs[onehot].sum()
    curvature = PRECISION * np.eye(theta.size)
    curvature[0, 0] += np.einsum("ik,ik->", weighted, logs)
    if theta.size == 1:
        return gradient, curvature
    gradient[1:] += q.sum(axis=0) - onehot.sum(axis=0)
    curvature[0, 1:] += weighted.sum(axis=0)
    curvature[1:, 0] = curvature[0, 1:]
    curvature[1:, 1:] += np.diag(q.sum(axis=0)) - q.T @ q
    return gradient, curvature


def log_normalised(logits: Floats) -> Floats:
    """Return the logarithms of the softmax of each row."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return np.asarray(shifted)


def e_likelihood_ratio(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    splits: int = 10,
    n_jobs: int | None = None,
) -> float | Floats:
    r"""Compute the e-value of a split likelihood ratio, a bet on a recalibration.

    The rows are split at random into halves. From one half an alternative
    :math:`q \propto p^b e^a` is learned, and bet on in the other one, B:

    .. math:: e = \prod_{i \in B} \frac{q_i(y_i)}{p_i(y_i)},

    which has expectation 1 if the predictions are calibrated, because q is fixed where y is looked
    at. There are two alternatives, b alone and b with an intercept for each class, each the most
    probable one under normal priors with standard deviation 1/2 of b - 1 and a. The e-value is the
    mean over the alternatives, both halves and all splits. The splits are the same in each call:
    the same rows give the same e-value.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        The aspect of the predictions that is measured. A family of lenses gives an array.
    splits : int, default 10
        Random splits into halves, each used both ways.
    n_jobs : int, optional
        Threads, as in joblib; one value takes one.

    Returns
    -------
    float
        At least 0, of mean 1 for calibrated predictions; infinite, with a DegenerateDataWarning,
        where an observed class has probability 0.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are sample weights.

    References
    ----------
    Wasserman, Ramdas, Balakrishnan (2020), Universal inference, PNAS 117, section 2; Vovk, Wang
    (2021), E-values: calibration, combination and applications, Annals of Statistics 49.

    Examples
    --------
    >>> import numpy as np
    >>> import caltest as ct
    >>> p = np.linspace(0.01, 0.99, 200)
    >>> ct.measures.e_likelihood_ratio(p, (p > 0.8).astype(int)) > 1e6
    True
    """
    return SplitLikelihoodRatio(splits=splits).evaluate(probs, labels, lens, n_jobs)
