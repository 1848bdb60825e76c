"""Lenses on the classes by rank: the r-th largest probability, the r largest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from caltest.errors import invalid
from caltest.lenses.base import Lens, binary
from caltest.predictions import Predictions
from caltest.predictions.redrawing import Later
from caltest.validation import check_integer
from caltest.validation.arrays import Codes, Floats


@dataclass(frozen=True)
class Ranked(Lens):
    """A lens on the r largest probabilities."""

    r: int

    @classmethod
    def read(cls, rank: str | None, classes: str | None) -> Lens | None:
        return cls(int(rank)) if rank and not classes else None

    def __post_init__(self) -> None:
        check_integer(self.r, "r")


@dataclass(frozen=True)
class TopRank(Ranked):
    """The r-th largest probability, as that of the event that its class is right.

    Parameters
    ----------
    r : int
        Rank, 1 to m; 1 is `Confidence`.

    Examples
    --------
    >>> from caltest import Predictions
    >>> TopRank(2)(Predictions([[0.125, 0.5, 0.375]], [2])).probs
    array([[0.625, 0.375]])
    """

    title = "the R-th largest probability, and whether its class is right"
    key = "top-{r}"
    null = "probability number {r} in size is the probability that its class is right"

    def __call__(self, predictions: Predictions) -> Predictions:
        """Return (1 - p, p) for the r-th largest p, and 1 where its class is the label."""
        check_rank(self.r, predictions.m, str(self))
        value = _largest(predictions.probs, self.r)[:, -1]
        happens = _rank(predictions) == self.r
        redrawing = Later(
            lambda: predictions.redrawing.events(
                _ordered(predictions)[:, self.r - 1], predictions.m
            )
        )
        return binary(predictions, value, happens, f"rank {self.r}", redrawing)


@dataclass(frozen=True)
class WithinTop(Ranked):
    """The sum of the r largest probabilities, as that of the event that the label is among them.

    Parameters
    ----------
    r : int
        Number of classes, 1 to m - 1.

    Examples
    --------
    >>> from caltest import Predictions
    >>> WithinTop(2)(Predictions([[0.125, 0.5, 0.375]], [2])).probs
    array([[0.125, 0.875]])
    """

    title = "the sum of the R largest, and whether the label is among them"
    key = "within-top-{r}"
    null = "the sum of the {r} largest is the probability that the label is among them"

    def __call__(self, predictions: Predictions) -> Predictions:
        """Return (1 - s, s) for the sum s, and 1 where the label is among the r largest."""
        check_rank(self.r, predictions.m - 1, str(self))
        total = np.minimum(_largest(predictions.probs, self.r).sum(axis=1), 1)
        within = _rank(predictions) <= self.r
        redrawing = Later(
            lambda: predictions.redrawing.relabelled(_ranks(predictions) <= self.r, 2)
        )
        return binary(predictions, total, within, f"top {self.r}", redrawing)


@dataclass(frozen=True)
class Largest(Ranked):
    """The r largest probabilities, in falling order, and the rest.

    Parameters
    ----------
    r : int
        Number of classes that are kept, 1 to m - 1.

    Examples
    --------
    >>> from caltest import Predictions
    >>> Largest(1)(Predictions([[0.125, 0.5, 0.375]], [2])).probs
    array([[0.5, 0.5]])
    """

    title = "the R largest probabilities, sorted, and the rest"
    key = "largest-{r}"
    null = "the {r} largest and the rest are the probabilities of their classes"

    def __call__(self, predictions: Predictions) -> Predictions:
        """Return the r largest and the rest, and the rank of the label."""
        check_rank(self.r, predictions.m - 1, str(self))
        top = _largest(predictions.probs, self.r)
        rest = np.maximum(1 - top.sum(axis=1), 0)
        labels = np.minimum(_rank(predictions) - 1, self.r)
        names = np.array([*(f"rank {i + 1}" for i in range(self.r)), "rest"])
        return Predictions.trusted(
            np.column_stack([top, rest]),
            labels,
            names,
            like=predictions,
            redrawing=Later(
                lambda: predictions.redrawing.relabelled(
                    np.minimum(_ranks(predictions) - 1, self.r), len(names)
                )
            ),
        )


def _rank(predictions: Predictions) -> Codes:
    """Rank the probability of the label within its row; 1 is the largest."""
    probs, labels = predictions.probs, predictions.labels[:, np.newaxis]
    own = np.take_along_axis(probs, labels, axis=1)
    ahead = probs > own
    ahead |= (probs == own) & (np.arange(predictions.m) < labels)
    rank: Codes = 1 + np.count_nonzero(ahead, axis=1)
    return rank


def _ordered(predictions: Predictions) -> Codes:
    """Sort the classes of each row by falling probability, equals by their order."""
    codes: Codes = np.argsort(-predictions.probs, axis=1, kind="stable")
    return codes


def _ranks(predictions: Predictions) -> Codes:
    """Rank every class within its row; 1 is the most probable."""
    ranks = np.empty((predictions.n, predictions.m), dtype=np.int64)
    np.put_along_axis(ranks, _ordered(predictions), np.arange(1, predictions.m + 1)[None], axis=1)
    return ranks


def _largest(probs: Floats, r: int) -> Floats:
    """Take the r largest of each row, in falling order."""
    return np.sort(probs, axis=1)[:, ::-1][:, :r]


def check_rank(r: int, limit: int, key: str) -> None:
    """Check that there are classes enough for a rank."""
    if r > limit:
        rule = f"r must be at most {limit} for these predictions"
        raise invalid(rule, f"{r} in {key}", "take a smaller one")
