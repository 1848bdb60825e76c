"""Polynomials in the log odds fitted to labels: what the calibration belt and its test share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import NDArray

from caltest.errors import NotApplicable, invalid
from caltest.measures.base import Labels
from caltest.measures.label_scores import row_weights
from caltest.measures.one_dimension import check_one_dimension
from caltest.measures.recalibration.belt_loops import (
    STEEP,
    largest_rise,
    likelihood_bounds,
    polynomial_sums,
    select_degree,
    selected_quantile,
    selected_sf,
)
from caltest.measures.recalibration.deviation_fit import Support, support
from caltest.measures.recalibration.log_odds_basis import (
    basis_values,
    interpolation_nodes,
    monomials,
    polynomial_basis,
)
from caltest.predictions import Predictions
from caltest.scale import Cells
from caltest.validation.options import check_flag, check_integer, check_level

Floats = NDArray[np.float64]
TINY = float(np.finfo(float).tiny)
LARGEST_DEGREE = 4


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
        """Return the p-value of a statistic, given the degree that was selected; never 0."""
        return max(selected_sf(statistic, degree, self.first, self.threshold), TINY)

    def quantile(self, level: float, degree: int) -> float:
        """Return the value that the statistic exceeds with probability 1 - level."""
        return selected_quantile(level, degree, self.first, self.threshold)


@dataclass(frozen=True)
class BeltFit:
    """The polynomials selected for rows of labels; arrays have one entry each."""

    statistic: Floats
    degree: NDArray[np.int64]
    gamma: Floats
    attained: NDArray[np.bool_]


class BeltModel:
    """Polynomials in the log odds of predictions; the labels enter through a few sums.

    Predictions of 0 and 1 have no log odds. They are left out of the fit, and a label that
    contradicts one makes the statistic infinite, as the likelihood of the predictions is 0.
    """

    def __init__(self, predictions: Predictions, selection: Selection, name: str) -> None:
        check_one_dimension(predictions, name)
        self.selection = selection
        self.event = np.array(predictions.probs[:, 1])
        weight = np.array(row_weights(predictions))
        certain = (self.event == 0) | (predictions.probs[:, 0] == 0)
        self._certain = (
            np.flatnonzero(certain & (weight > 0)) if certain.any() else np.empty(0, int)
        )
        kept = (weight > 0) & ~certain
        with np.errstate(divide="ignore", invalid="ignore"):  # the log odds of 0 and 1
            z = np.log(predictions.probs[:, 1]) - np.log(predictions.probs[:, 0])
        self._keep(z, weight, kept)

    def _keep(self, z: Floats, weight: Floats, kept: NDArray[np.bool_]) -> None:
        """Take log odds with weights, (n,), but those that have none, and what replaces many."""
        # Rows that are left out have weight 0 in the sums.
        self._all: tuple[Floats, Floats] = (z, weight)
        self.z: Floats = z
        self._weight: Floats = weight
        if not kept.all():
            self._all = (np.where(kept, z, 0.0), np.where(kept, weight, 0.0))
            self.z, self._weight = z[kept], weight[kept]
        if not self.z.size:
            return
        self.shift, self.norm = polynomial_basis(self.z, self._weight, self.selection.last)
        nodes = interpolation_nodes(self.z, self._weight)
        self._nodes: Support | None = None
        if nodes is not None:
            self._nodes = self._support_at(*nodes)

    @cached_property
    def _rows(self) -> Support:
        """All rows: many take a while, and are needed only where nodes do not do."""
        return self._support_at(self.z, self._weight)

    def _support_at(self, z: Floats, weight: Floats) -> Support:
        return support(z, weight, basis_values(z, self.shift, self.norm).T)

    @property
    def degenerate(self) -> tuple[str, ...]:
        """What predictions of 0 and 1 leave undefined."""
        return _left_out(self._certain.size, self.event.size)

    def check_fitted(self, fit: BeltFit, remedy: str) -> None:
        """Raise NotApplicable where the first row of labels has no unique polynomial."""
        need = self.selection.first + 1
        rank = self.shift.size if self.z.size else 0
        if rank < need:
            raise NotApplicable(
                f"the calibration belt needs at least {need} distinct predictions strictly between "
                f"0 and 1, and there {'is' if rank == 1 else 'are'} {rank}",
                remedy,
            )
        if not fit.attained[0]:
            raise NotApplicable(
                "a polynomial in the log odds separates the classes, so that the calibration belt "
                "has no fit",
                remedy,
            )

    def sums(self, labels: Labels | Floats) -> Floats:
        """Return what the fit needs of each row of labels (B, n)."""
        z, w = self._all
        return polynomial_sums(labels, self.event, z, w, self.shift, self.norm)

    def fit(self, labels: Labels | Floats) -> BeltFit:
        """Select a polynomial for each row of labels (B, n)."""
        if not self.z.size:
            size = len(labels)
            none = np.zeros(size), np.zeros(size, np.int64), np.zeros((size, 1))
            fit = BeltFit(*none, np.zeros(size, np.bool_))
        else:
            fit = self._select(self.sums(labels))
        if self._certain.size:
            fit.statistic[self._contradicted(labels)] = np.inf
        return fit

    def _contradicted(self, labels: Labels | Floats) -> NDArray[np.bool_]:
        """Return which rows of labels differ from a prediction that is certain."""
        there = labels[:, self._certain] != self.event[self._certain]
        return np.asarray(there.any(axis=1))

    def _select(self, sums: Floats) -> BeltFit:
        if self._nodes is None:
            return self._select_on(self._rows, sums)
        fit = self._select_on(self._nodes, sums)
        for b in range(len(sums)):
            if self._is_steep(fit.gamma[b]):
                again = self._select_on(self._rows, sums[b : b + 1])
                fit.statistic[b], fit.degree[b] = again.statistic[0], again.degree[0]
                fit.gamma[b], fit.attained[b] = again.gamma[0], again.attained[0]
        return fit

    def _select_on(self, rows: Support, sums: Floats) -> BeltFit:
        rule = self.selection
        return BeltFit(*select_degree(sums, rows, rule.first, rule.last, rule.cut))

    def _is_steep(self, gamma: Floats) -> bool:
        """Return whether a polynomial is too steep for the nodes, if there are any."""
        return self._nodes is not None and largest_rise(gamma, self._nodes) > STEEP

    def _support(self, gamma: Floats) -> Support:
        """Return the nodes, or all rows where there are none or the polynomial is too steep."""
        return self._rows if self._nodes is None or self._is_steep(gamma) else self._nodes

    def coefficients(self, fit: BeltFit) -> Floats:
        """Return the polynomial of the first row of labels in powers of the log odds."""
        k = int(fit.degree[0]) + 1
        powers = fit.gamma[0, :k] @ monomials(self.shift, self.norm)[:k, :k]
        powers[1] += 1.0
        return np.asarray(powers)

    def bounds(self, labels: Labels, fit: BeltFit, at: Floats, drop: float) -> Floats:
        """Return the probabilities (points, 2) between which the fit lies at given log odds."""
        k = int(fit.degree[0]) + 1
        rows = self._support(fit.gamma[0])
        basis = np.ascontiguousarray(basis_values(at, self.shift[:k], self.norm[:k]))
        sums = self.sums(labels[None])[0, :k]
        moved = likelihood_bounds(sums, rows, fit.gamma[0, :k].copy(), basis, drop)
        return np.asarray(scipy.special.expit(at[:, None] + moved))


class CellBeltModel(BeltModel):
    """The same of cells at their mean predictions; numbers of events enter through a few sums."""

    def __init__(self, cells: Cells, selection: Selection) -> None:
        self.selection, self.cells, self.event = selection, cells, cells.mean
        certain = (cells.most == 0) | (cells.least == 1)
        self._certain = np.flatnonzero(certain)
        with np.errstate(divide="ignore"):  # the log odds of 0 and 1
            z = np.log(self.event) - np.log1p(-self.event)
        self._keep(z, cells.n.astype(np.float64), ~certain)
        if self.z.size:
            z, _ = self._all
            basis = basis_values(z, self.shift, self.norm)
            self._basis = np.where(certain[:, None], 0.0, basis)

    @property
    def degenerate(self) -> tuple[str, ...]:
        return _left_out(int(self.cells.counts[self._certain].sum()), self.cells.rows)

    def sums(self, labels: Labels | Floats) -> Floats:
        """Return what the fit needs of each row of numbers of events (B, C)."""
        return np.ascontiguousarray((labels - self.cells.expected) @ self._basis)

    def _contradicted(self, labels: Labels | Floats) -> NDArray[np.bool_]:
        certain = self.cells.n[self._certain] * self.event[self._certain]
        return np.asarray((labels[:, self._certain] != certain).any(axis=1))


def _left_out(count: int, rows: int) -> tuple[str, ...]:
    """Say how many predictions have no log odds."""
    if not count:
        return ()
    message = (
        f"{count} of {rows} predictions are 0 or 1 and have no log odds; they are left out of the "
        "fit, and a label that contradicts one makes the statistic infinite"
    )
    return (message,)


def check_belt(internal: object, threshold: object, max_degree: object) -> None:
    """Check how the degree of a calibration belt is selected."""
    least = 2 if check_flag(internal, "internal") else 1
    check_level(threshold, "threshold")
    degree = check_integer(max_degree, "max_degree", least)
    if degree > LARGEST_DEGREE:
        rule = (
            f"max_degree must be at most {LARGEST_DEGREE}, up to which the null distribution is "
            "known"
        )
        raise invalid(rule, str(degree), f"pass {least} to {LARGEST_DEGREE}")
