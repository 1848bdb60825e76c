"""The mean over splits of a likelihood ratio that is learned from one part of the rows."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caltest import validation
from caltest.errors import NotApplicable
from caltest.measures.base import BoundMeasure, Labels, Measure
from caltest.measures.outcome import Outcome
from caltest.predictions import Predictions

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

SEED = 20190601  # of the splits, the same for all data
LARGEST_LOG = math.log(np.finfo(float).max)


@dataclass(frozen=True, kw_only=True)
class SplitMeasure(Measure):
    """An e-value: the mean over splits of the rows into halves, each used both ways."""

    splits: int = 10

    def __post_init__(self) -> None:
        validation.check_integer(self.splits, "splits", 1)

    @property
    def symbol(self) -> str:
        return "e-value"

    @property
    def nulls(self) -> tuple[str, ...]:
        return ("closed-form",)

    @property
    def interval_instead(self) -> str:
        return "test='calibration-slope', or 'ici'"

    def closed_form(self, predictions: Predictions, n_jobs: int | None = None) -> Outcome:
        """Return the e-value, with the p-value that Markov's inequality gives."""
        bound = self.bind(predictions, n_jobs)
        log_evalue = bound.log_evalue(bound.observed)
        evalue = evalue_of(log_evalue)
        return Outcome(
            statistic_name=self.symbol,
            statistic=evalue,
            pvalue=math.exp(-max(log_evalue, 0.0)),
            estimate=evalue,
            alternative="greater",
            null_text="Markov's inequality, min(1, 1 / e)",
            parameters=bound.parameters,
            degenerate=bound.degenerate,
            is_bound=True,
        )

    @abstractmethod
    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> BoundSplit:
        """Split the rows."""


class BoundSplit(BoundMeasure):
    """The splits of the rows of some predictions; a subclass learns and bets.

    Rows are taken in the order of their probabilities, whatever the order of rows and classes.
    """

    def __init__(self, predictions: Predictions, splits: int, title: str) -> None:
        if predictions.sample_weight is not None:
            raise NotApplicable(f"{title} takes no sample weights", "use test='cox'")
        super().__init__(predictions)
        self._splits = splits
        self._by_size = np.lexsort(np.sort(predictions.probs, axis=1).T)
        self.parameters = {"splits": splits}
        observed = np.take_along_axis(predictions.probs, predictions.labels[:, None], axis=1)
        rows = np.flatnonzero(observed == 0)
        if rows.size:
            message = (
                f"the observed class has probability 0 in {rows.size} of {predictions.n} rows, "
                f"first in row {rows[0]}: the e-value is infinite"
            )
            self.degenerate = (message,)

    @abstractmethod
    def log_ratios(self, learned: Rows, bet_on: Rows, labels: Labels) -> Floats:
        """Return log likelihood ratios of alternatives learned from some rows, on the others."""

    def log_evalue(self, labels: Labels) -> float:
        """Return the logarithm of the e-value for labels (n,)."""
        from scipy.special import logsumexp

        chosen = np.take_along_axis(self.predictions.probs, labels[:, None].astype(np.intp), axis=1)
        if not chosen.all():
            return math.inf
        logs = np.concatenate([self.log_ratios(*parts, labels) for parts in self._parts()])
        return float(logsumexp(logs)) - math.log(logs.size)

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        return np.array([evalue_of(self.log_evalue(row)) for row in labels])

    def _parts(self) -> Iterator[tuple[Rows, Rows]]:
        """Yield the rows that are learned from and those that are bet on, twice for each split."""
        rng = np.random.default_rng(SEED)
        n = self.predictions.n
        for _ in range(self._splits):
            rows = self._by_size[rng.permutation(n)]
            one, other = np.sort(rows[: n // 2]), np.sort(rows[n // 2 :])
            yield one, other
            yield other, one


def evalue_of(log_evalue: float) -> float:
    """Return an e-value; one that is too large for a number becomes the largest one."""
    return math.exp(min(log_evalue, LARGEST_LOG)) if log_evalue < math.inf else math.inf
