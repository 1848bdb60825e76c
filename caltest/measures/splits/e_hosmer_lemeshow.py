"""The safe Hosmer-Lemeshow test, Henzi, Puke, Dimitriadis, Ziegel 2023."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.lenses import Lens
from caltest.measures.base import Labels
from caltest.measures.one_dimension import check_one_dimension
from caltest.measures.splits.split import BoundSplit, Rows, SplitMeasure
from caltest.numerics.isotonic import pool_steps
from caltest.numerics.sorted_scores import step_ends
from caltest.predictions import Predictions

__all__ = ["SafeHosmerLemeshow", "e_hosmer_lemeshow"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class SafeHosmerLemeshow(SplitMeasure):
    """Bets on an isotonic regression; see `e_hosmer_lemeshow`."""

    key: ClassVar[str] = "e-hosmer-lemeshow"
    title: ClassVar[str] = "safe Hosmer-Lemeshow test"

    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> BoundIsotonic:
        check_one_dimension(predictions, f"the {self.title}")
        return BoundIsotonic(predictions, self.splits, f"the {self.title}")


class BoundIsotonic(BoundSplit):
    """One alternative: an isotonic function of P(class 1)."""

    def log_ratios(self, learned: Rows, bet_on: Rows, labels: Labels) -> Floats:
        if not learned.size:
            return np.zeros(1)
        event, chosen = self.predictions.probs[:, 1], labels[bet_on].astype(np.intp)
        order = learned[np.argsort(event[learned], kind="stable")]
        q = isotonic_at(event[order], labels[order].astype(np.uint8), event[bet_on])
        changed = np.where(chosen == 1, q, 1.0 - q)
        return np.array([np.log(changed / self.predictions.probs[bet_on, chosen]).sum()])


def isotonic_at(event: Floats, labels: NDArray[np.uint8], asked: Floats) -> Floats:
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
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    splits: int = 10,
    n_jobs: int | None = None,
) -> float | Floats:
    r"""Compute the e-value of the safe Hosmer-Lemeshow test, a bet on an isotonic fit.

    The rows are split at random into halves. From one half the isotonic regression q of the labels
    on P(Y = 1) is learned, and bet on in the other one, B:

    .. math:: e = \prod_{i \in B} \left(\frac{q_i}{p_i}\right)^{y_i}
        \left(\frac{1 - q_i}{1 - p_i}\right)^{1 - y_i},

    which has expectation 1 if the predictions are calibrated, because q is fixed where y is looked
    at. The e-value is the mean over both halves and all splits. Each step of q has one more row,
    half an event: a bet on 0 or 1 would lose all where it is wrong. Between steps q is linear. The
    splits are the same in each call: the same rows give the same e-value.

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
    n_jobs : int, optional
        Threads, as in joblib; one value takes one.

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
    return SafeHosmerLemeshow(splits=splits).evaluate(probs, labels, lens, n_jobs)
