"""How predictions are put into bins: the options that binned measures share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest import validation
from caltest.errors import NotApplicable
from caltest.measures.base import BoundMeasure, Measure
from caltest.measures.one_dimension import check_one_dimension
from caltest.numerics.bins import cell_numbers, quantile_cuts, uniform_bins
from caltest.numerics.labels import label_dtype
from caltest.numerics.median_variance import median_variance_bins

if TYPE_CHECKING:
    from caltest.predictions import Predictions

Cells = tuple[NDArray[np.int64], int]

UNLIMITED = np.iinfo(np.int64).max


@dataclass(frozen=True, kw_only=True)
class BinnedMeasure(Measure):
    """A measure over bins; see `ece` for the options."""

    binning: str = "uniform"
    bins: int = 15
    min_size: int = 10
    max_bins: int | None = None

    binnings: ClassVar[tuple[str, ...]] = ("uniform", "quantile", "median-variance")

    def __post_init__(self) -> None:
        validation.check_choice(self.binning, self.binnings, "binning")
        validation.check_integer(self.bins, "bins")
        validation.check_integer(self.min_size, "min_size")
        validation.check_optional_integer(self.max_bins, "max_bins")

    @property
    def binning_parameters(self) -> Mapping[str, object]:
        """The options of the binning that is used."""
        if self.binning == "median-variance":
            limits = {"min_size": self.min_size, "max_bins": self.max_bins}
            given = {name: limit for name, limit in limits.items() if limit is not None}
            return {"binning": self.binning, **given}
        if self.binning == "sweep":
            return {"binning": self.binning}
        return {"binning": self.binning, "bins": self.bins}

    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> BoundMeasure:
        # A row of weight 0 takes no part, in the choice of the bins neither.
        weight = predictions.sample_weight
        if weight is not None and not weight.all():
            predictions = predictions.subset(weight > 0)
        return self.bind_weighted(predictions)

    @abstractmethod
    def bind_weighted(self, predictions: Predictions) -> BoundMeasure:
        """Bind to predictions whose weights are positive."""

    def cells(self, predictions: Predictions) -> Cells:
        """Return the number of the bin of each row, and how many bins are occupied."""
        if self.binning == "uniform":
            return uniform_cells(predictions, self.bins)
        if self.binning == "quantile":
            return quantile_cells(predictions, self.bins)
        limit = UNLIMITED if self.max_bins is None else self.max_bins
        return median_variance_cells(predictions, self.min_size, limit)


def uniform_cells(predictions: Predictions, bins: int) -> Cells:
    """Number the cells of a grid of `bins` for each class; for two classes, of P(class 1) alone."""
    probs = predictions.probs[:, 1:] if predictions.m == 2 else predictions.probs
    codes = np.empty(probs.shape, label_dtype(bins))
    uniform_bins(probs, bins, codes)
    if predictions.m == 2:
        occupied = np.bincount(codes[:, 0]) > 0
        return (np.cumsum(occupied) - 1)[codes[:, 0]], int(occupied.sum())
    cells: Cells = cell_numbers(codes)
    return cells


def quantile_cells(predictions: Predictions, bins: int) -> Cells:
    """Number the bins of equal mass along P(class 1)."""
    check_one_dimension(predictions, "binning='quantile'")
    event, weight = predictions.probs[:, 1], predictions.sample_weight
    cuts = event_cuts(event, weight, bins)
    return np.searchsorted(cuts, event), int(cuts.size) + 1


def event_cuts(
    event: NDArray[np.float64], weight: NDArray[np.float64] | None, bins: int
) -> NDArray[np.float64]:
    """Return the cuts between bins of equal mass."""
    if weight is None:
        return quantile_cuts(np.sort(event), None, bins)
    order = np.argsort(event)
    return quantile_cuts(event[order], weight[order], bins)


def median_variance_cells(predictions: Predictions, min_size: int, max_bins: int) -> Cells:
    """Number the bins of repeated splits at the median of the component that varies most."""
    probs, weight = predictions.probs, predictions.sample_weight
    points = np.ascontiguousarray(probs[:, 1:] if predictions.m == 2 else probs)
    counts = np.ones(predictions.n) if weight is None else weight
    if counts.sum() < min_size:
        raise NotApplicable(
            f"median-variance bins of at least {min_size} observations need as many, and there "
            f"are {counts.sum():g}; use a smaller min_size"
        )
    cells: Cells = median_variance_bins(points, counts, float(min_size), max_bins)
    return cells
