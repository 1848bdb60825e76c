"""E-values of a fixed sample: bets on what one part of the rows taught, on the other part."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Unpack

import numpy as np
import scipy

from caltest import checks
from caltest.lenses.base import Evaluated
from caltest.measures.base import Measure
from caltest.measures.bound import RowStatistic
from caltest.measures.fits import fitted
from caltest.measures.outcome import Outcome, outcome_of
from caltest.numerics.isotonic import pool_steps
from caltest.numerics.newton import backtrack
from caltest.numerics.sorted_scores import step_ends
from caltest.predictions import Predictions
from caltest.render import rows_in_words
from caltest.types import Events, Flags, Floats, Labels, Order
from caltest.units import RowUnits, check_one_dimension, check_unweighted

__all__ = [  # noqa: RUF022
    "SplitLikelihoodRatio",
    "e_likelihood_ratio",
    "SafeHosmerLemeshow",
    "e_hosmer_lemeshow",
]


SEED = 20190601  # of the splits, the same for all data
LARGEST_LOG = math.log(np.finfo(float).max)
SMALLEST = 2.0**-52  # smaller probabilities count as that in their logarithm
MOST_OFFSETS = 100  # classes; with more the slope alone is learned
PRECISION = 4.0  # of the prior of each parameter, 1 / 0.5^2
STEPS = 50
TOLERANCE = 1e-10  # of the decrement, relative to the number of rows


def evalue_of(log_evalue: float) -> float:
    """Return an e-value; one that is too large for a number becomes the largest one."""
    return math.exp(min(log_evalue, LARGEST_LOG)) if log_evalue < math.inf else math.inf


@dataclass(frozen=True, kw_only=True)
class SplitMeasure(Measure):
    """An e-value: the mean over splits of the rows into halves, each used both ways.

    Rows are taken in the order of their probabilities, whatever the order of rows and classes;
    those that have the same ones in theirs, since an order by label would tell a split of labels.
    """

    splits: int = checks.option(10, checks.check_count)
    of_event: ClassVar[bool] = False
    symbol: ClassVar[str] = "e-value"
    nulls: ClassVar[tuple[str, ...]] = ("closed-form",)
    interval_instead: ClassVar[str] = "test='calibration-slope', or 'ici'"

    def closed_form(self, predictions: Predictions) -> Outcome:
        """Return the e-value, with the p-value that Markov's inequality gives."""
        bound = self.bind(predictions)
        log_evalue = self.log_evalue(predictions, bound.observed)
        evalue = evalue_of(log_evalue)
        pvalue, text = math.exp(-max(log_evalue, 0.0)), "Markov's inequality, min(1, 1 / e)"
        about: dict[str, Any] = {"parameters": bound.parameters, "degenerate": bound.degenerate}
        about |= {"is_bound": True, "scale": 0.0}
        return outcome_of(self.symbol, evalue, pvalue, text, evalue, **about)

    def bind(self, predictions: Predictions) -> RowStatistic:
        title, probs = f"the {self.title}", predictions.probs
        if self.of_event:
            check_one_dimension(predictions, title)
        check_unweighted(predictions, title, "use test='cox'")
        observed = np.take_along_axis(probs, predictions.labels[:, None], axis=1)
        wrong = np.flatnonzero(observed == 0)
        degenerate: tuple[str, ...] = ()
        if wrong.size:
            where = f"in {wrong.size} of {rows_in_words(predictions.n)}, first in row {wrong[0]}"
            degenerate = (f"the observed class has probability 0 {where}: the e-value is infinite",)

        def values(labels: Labels) -> Floats:
            return np.array([evalue_of(self.log_evalue(predictions, row)) for row in labels])

        about: dict[str, Any] = {"parameters": {"splits": self.splits}, "degenerate": degenerate}
        return RowStatistic(fitted(RowUnits(predictions), values, scale=1.0, **about))

    def log_evalue(self, predictions: Predictions, labels: Labels) -> float:
        """Return the logarithm of the e-value for labels (n,)."""
        probs, n = predictions.probs, predictions.n
        chosen = np.take_along_axis(probs, labels[:, None].astype(np.intp), axis=1)
        if not chosen.all():
            return math.inf
        rng, found = np.random.default_rng(SEED), list[Floats]()
        by_size = np.lexsort(np.sort(probs, axis=1).T)
        bet = partial(self.log_ratios, probs, labels)
        for _ in range(self.splits):
            rows = by_size[rng.permutation(n)]
            one, other = np.sort(rows[: n // 2]), np.sort(rows[n // 2 :])
            found += [bet(one, other), bet(other, one)]
        logs = np.concatenate(found)
        return float(scipy.special.logsumexp(logs)) - math.log(logs.size)

    @abstractmethod
    def log_ratios(self, probs: Floats, labels: Labels, learned: Order, bet_on: Order) -> Floats:
        """Return log likelihood ratios of alternatives learned from some rows, on the others."""


@dataclass(frozen=True, kw_only=True)
class SplitLikelihoodRatio(SplitMeasure):
    """Bets on a recalibration of the log odds; see `e_likelihood_ratio`."""

    key, title = "e-likelihood-ratio", "split likelihood ratio of a recalibration"

    def log_ratios(self, probs: Floats, labels: Labels, learned: Order, bet_on: Order) -> Floats:
        """Return those of another slope of log p, and of another slope and other intercepts."""
        known, logs = (np.log(np.maximum(probs[some], SMALLEST)) for some in (learned, bet_on))
        at = np.arange(bet_on.size), labels[bet_on].astype(np.intp)
        base, ratios = log_normalised(logs)[at].sum(), []
        for with_offsets in (False, True) if probs.shape[1] <= MOST_OFFSETS else (False,):
            slope, offsets = recalibration(known, labels[learned], with_offsets=with_offsets)
            changed = log_normalised(slope * logs + offsets)
            ratios.append(changed[at].sum() - base)
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


def _derivatives(logs: Floats, q: Floats, onehot: Flags, theta: Floats) -> tuple[Floats, Floats]:
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
    probs: object, labels: object = None, *, splits: int = 10, **rows: Unpack[Evaluated]
) -> float | Floats:
    r"""Compute the e-value of a split likelihood ratio, a bet on a recalibration.

    The rows are split at random into halves. From one half an alternative
    :math:`q \propto p^b e^a` is learned, and bet on in the other one, B:

    .. math:: e = \prod_{i \in B} \frac{q_i(y_i)}{p_i(y_i)},

    which has expectation 1 if the predictions are calibrated, because q is fixed where y is looked
    at. There are two alternatives, b alone and b with an intercept for each class, each the most
    probable one under normal priors with standard deviation 1/2 of b - 1 and a. The e-value is the
    mean over the alternatives, both halves and all splits. The splits are the same in each call:
    the same rows give the same e-value, in any order that leaves equal predictions in theirs.

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
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

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
    return SplitLikelihoodRatio(splits=splits).evaluate(probs, labels, **rows)


@dataclass(frozen=True, kw_only=True)
class SafeHosmerLemeshow(SplitMeasure):
    """Bets on an isotonic regression; see `e_hosmer_lemeshow`."""

    key, title = "e-hosmer-lemeshow", "safe Hosmer-Lemeshow test"
    of_event: ClassVar[bool] = True

    def log_ratios(self, probs: Floats, labels: Labels, learned: Order, bet_on: Order) -> Floats:
        """Return that of an isotonic function of P(class 1)."""
        if not learned.size:
            return np.zeros(1)
        event, chosen = probs[:, 1], labels[bet_on].astype(np.intp)
        order = learned[np.argsort(event[learned], kind="stable")]
        q = isotonic_at(event[order], labels[order].astype(np.uint8), event[bet_on])
        return np.array([np.log(np.where(chosen == 1, q, 1.0 - q) / probs[bet_on, chosen]).sum()])


def isotonic_at(event: Floats, labels: Events, asked: Floats) -> Floats:
    """Return the isotonic regression of labels at other predictions, in (0, 1).

    Each step has one more row that is half an event (Krichevsky and Trofimov), so that none is 0 or
    1; the authors' code adds it to steps at 0 and 1 only. Between steps it is linear.

    Parameters
    ----------
    event : (n,) array
        Predictions, ascending.
    labels : (n,) array
        Whether the event happened.
    asked : (k,) array
        Predictions of other rows.

    Returns
    -------
    (k,) array
        Its values there.
    """
    mass, events, last = pool_steps(labels, np.ones(event.size), step_ends(event))
    first = np.concatenate([[0], last[:-1] + 1])
    share = (events + 0.5) / (mass + 1.0)
    places = np.column_stack([event[first], event[last]]).ravel()
    return np.interp(asked, places, np.repeat(share, 2))


def e_hosmer_lemeshow(
    probs: object, labels: object = None, *, splits: int = 10, **rows: Unpack[Evaluated]
) -> float | Floats:
    r"""Compute the e-value of the safe Hosmer-Lemeshow test, a bet on an isotonic fit.

    The rows are split at random into halves. From one half the isotonic regression q of the labels
    on P(Y = 1) is learned, and bet on in the other one, B:

    .. math:: e = \prod_{i \in B} \left(\frac{q_i}{p_i}\right)^{y_i}
        \left(\frac{1 - q_i}{1 - p_i}\right)^{1 - y_i},

    which has expectation 1 if the predictions are calibrated, because q is fixed where y is looked
    at. The e-value is the mean over both halves and all splits. Each step of q has one more row,
    half an event: a bet on 0 or 1 would lose all where it is wrong. Between steps q is linear. The
    splits are the same in each call: the same rows give the same e-value, in any order that leaves
    equal predictions in theirs.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        A lens that leaves two classes. A family of lenses gives an array.
    splits : int, default 10
        Random splits into halves, each used both ways.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        At least 0, of mean 1 for calibrated predictions; infinite, with a DegenerateDataWarning,
        where an observed class has probability 0. Takes O(n log n) for each split.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are more than two classes, or sample weights.

    References
    ----------
    Henzi, Puke, Dimitriadis, Ziegel (2023), A safe Hosmer-Lemeshow test, New England Journal of
    Statistics in Data Science 2.

    Examples
    --------
    >>> import numpy as np
    >>> import caltest as ct
    >>> p = np.linspace(0.01, 0.99, 200)
    >>> ct.measures.e_hosmer_lemeshow(p, (p > 0.8).astype(int)) > 1e6
    True
    """
    return SafeHosmerLemeshow(splits=splits).evaluate(probs, labels, **rows)
