"""Errors at test locations, Widmann et al. 2021: the calibration mean embedding (CME) and UCME.

The first is Hotelling's statistic of the mean deviations, the second their mean square.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack, cast

import numpy as np

from caltest.checks.arrays import check_labels, check_probs
from caltest.checks.options import check_integer
from caltest.errors import NotApplicable, an, invalid
from caltest.kernels import FittedKernel, Kernel, as_matrix_kernel
from caltest.lenses.base import Evaluated
from caltest.measures.base import Measure
from caltest.measures.bound import RowStatistic
from caltest.measures.fits import fitted
from caltest.measures.kernel.pairs import at_mean, fitted_to_cells
from caltest.measures.kernel.skce import SKCE
from caltest.measures.outcome import Gaps, Outcome, chi2_limit
from caltest.measures.residual_sums import ResidualStatistic, of_terms, robust_quadratic
from caltest.numerics.class_sums import times_drawn
from caltest.numerics.loops import blocks, njit
from caltest.predictions import Predictions
from caltest.predictions.rows import Deviations
from caltest.types import AnyArray, Codes, Floats, Ints, Labels, SmallInts
from caltest.units import CellUnits, Observed, RowUnits, Statistic, Units, row_weights
from caltest.units.units import check_unweighted

__all__ = ["CME", "UCME", "cme", "ucme"]


Part = tuple[slice, Floats, Floats]
Moments = Callable[[Observed], tuple[Floats, Floats]]
Choice = int | tuple[object, object] | None  # a number, (probs, labels), or by n
Located = tuple[Floats, Codes, str]  # predictions (J, m), a class of each, where they come from
# The number of locations where none is given: that of the paper, or fewer where n or m is small.
# More of them make the covariance matrix of the deviations nearly singular.
LOCATIONS = 10
LOCATIONS_A_DIMENSION = 3
ROWS_A_LOCATION = 10
SEED = 0
BUDGET = 1 << 25  # kernel values that are kept; beyond it they are computed again: 0.5 GiB
ROWS = 256  # observations at a time, so that their kernel values stay in the L1 cache
LANES = 8  # resamples side by side
FULL_RANK = 1e-11  # eigenvalues of a correlation matrix below this are rounding
FULL_SHARE = 1e-10  # 1 - share below this counts as this
ROWS_PER_LOCATION = 1000  # from which on the chi^2 limit is near
OFTEN = "the chi^2 limit rejects calibrated models too often; use null='exact'"
FIXED = "the interval is for the error at these test locations, held fixed"
SINGULAR = 5e10  # a covariance matrix of a condition up to 1e11 leaves three digits of the share


def find_locations(
    locations: Choice, probs: Floats, classes: AnyArray, counts: Ints | None = None
) -> Located:
    """Read given test locations, or sample them from predictions (n, m), with a class from each.

    They are at equally spaced ranks in a random direction. The direction and the classes have a
    fixed seed. Labels have no part in it, so that the exact null stays exact, nor has the order of
    the rows. Predictions of cells have `counts` of rows.
    """
    if isinstance(locations, tuple):
        points, labels = check_points(locations, classes)
        return points, labels, f"{len(points)} given"
    rng = np.random.default_rng(SEED)
    m, n = len(classes), len(probs) if counts is None else int(counts.sum())
    default = min(LOCATIONS, LOCATIONS_A_DIMENSION * (m - 1), max(1, n // ROWS_A_LOCATION))
    size = min(locations or default, n)
    place = probs @ rng.random(m)
    ranks = (np.arange(size) * n + n // 2) // size
    if counts is None:
        at = np.argpartition(place, ranks)[ranks]
    else:
        order = np.argsort(place, kind="stable")
        at = order[np.searchsorted(np.cumsum(counts[order]), ranks, side="right")]
    sums = np.cumsum(probs[at], axis=1)
    below = sums <= (rng.random(size) * sums[:, -1])[:, np.newaxis]
    return probs[at], below.sum(axis=1), f"{size} sampled from the predictions"


class AtLocations:
    r"""What observations deviate by at test locations.

    At the location :math:`(t_j, c_j)` that is :math:`z_{ij} = \sum_k (1[y_i = k] - p_{ik}) \,
    k(t_j, p_i)_{c_j k}`.
    """

    def __init__(self, predictions: Predictions, kernel: FittedKernel, at: Located) -> None:
        self.predictions, self.kernel, (self.points, labels, origin) = predictions, kernel, at
        self.size = len(labels)
        self.described = described(kernel, origin)
        gain = np.stack([term.matrix[:, labels] for term in kernel.terms])
        self.gain = np.ascontiguousarray(gain)
        self._step = max(1, BUDGET // gain[:, 0].size)
        self._kept = list(self._parts()) if self._step >= predictions.n else None

    def parts(self) -> Iterable[Part]:
        """Return some rows, their kernel values (terms, rows, J) and their expected z (rows, J)."""
        return self._kept or self._parts()

    def _parts(self) -> Iterator[Part]:
        for rows in blocks(self.predictions.n, self._step):
            kappa = np.stack([t.cross(self.points, rows) for t in self.kernel.terms])
            probs = self.predictions.probs[rows]
            expected = sum(k * (probs @ gain) for k, gain in zip(kappa, self.gain, strict=True))
            yield rows, kappa, np.asarray(expected)

    def deviations(self) -> Floats:
        """Return what each row deviates by at the test locations, (n, J)."""
        out = np.empty((self.predictions.n, self.size))
        for rows, kappa, expected in self.parts():
            gains = self.gain[:, self.predictions.labels[rows]]
            out[rows] = (kappa * gains).sum(axis=0) - expected
        return out

    def deviations_along(self, times: Floats) -> Deviations:
        """Return those of the sum over the locations of the deviations times some numbers (J,)."""
        table = np.empty((self.predictions.n, self.predictions.m))
        for rows, kappa, _ in self.parts():
            table[rows] = sum(
                k @ (times * gain).T for k, gain in zip(kappa, self.gain, strict=True)
            )
        return self.predictions.deviations_of(table)


def described(kernel: FittedKernel, origin: str) -> dict[str, Any]:
    """Return what a result says of the kernel, and of where the test locations come from."""
    parameters = {"test locations": origin, **kernel.parameters}
    return {"notes": kernel.notes, "degenerate": kernel.degenerate, "parameters": parameters}


def _check(data: Predictions | Units, n: int, size: int) -> None:
    if n <= size:
        reason = "the CME statistic needs more observations than test locations"
        remedy = "take fewer locations, or test='skce'"
        raise NotApplicable(f"{reason}, and there are {n} for {size}", remedy)
    check_unweighted(data, "the CME statistic", "use test='skce'")


@dataclass(frozen=True, kw_only=True, eq=False)
class EmbeddingMeasure(Measure):
    """A measure of the deviations at test locations.

    Attributes
    ----------
    kernel : Kernel, optional
        By default the exponential one.
    locations : int or (probs, labels), optional
        Test locations, as in `ucme`.
    """

    kernel: Kernel | None = None
    locations: Choice = None

    def __post_init__(self) -> None:
        as_matrix_kernel(self.kernel)
        object.__setattr__(self, "locations", check_locations(self.locations))

    def located(self, predictions: Predictions) -> AtLocations:
        """Return predictions with the fitted kernel at the test locations."""
        kernel = FittedKernel.of(as_matrix_kernel(self.kernel), predictions)
        found = find_locations(self.locations, predictions.probs, predictions.classes)
        return AtLocations(predictions, kernel, found)


@dataclass(frozen=True, kw_only=True, eq=False)
class CME(EmbeddingMeasure):
    """T^2 with its kernel and test locations; see `cme` for the parameters."""

    key, title, symbol = "cme", "calibration mean embedding, Hotelling's T^2", "T^2"
    estimate_symbol: ClassVar[str] = "UCME^2"
    nulls: ClassVar[tuple[str, ...]] = ("exact", "consistency", "asymptotic")
    forms: ClassVar[tuple[str, ...]] = ("rows", "cells")

    def located(self, predictions: Predictions) -> AtLocations:
        at = super().located(predictions)
        _check(predictions, predictions.n, at.size)
        return at

    def moments(self, units: Units) -> tuple[Moments, dict[str, Any]]:
        """Return a function of what is observed (B, U), and what a result says of it.

        It gives the sums over rows of z_i (B, J) and of z_i z_i' (B, J, J).
        """
        if isinstance(units, CellUnits):
            return self._moments_of_cells(units)
        at = self.located(cast("RowUnits", units).predictions)

        def moments(labels: Labels) -> tuple[Floats, Floats]:
            sums = np.zeros((len(labels), at.size))
            products = np.zeros((len(labels), at.size, at.size))
            for rows, kappa, expected in at.parts():
                some = np.ascontiguousarray(labels[:, rows])
                add_location_moments(kappa, at.gain, expected, some, sums, products)
            return sums, products

        return moments, at.described

    def _moments_of_cells(self, units: CellUnits) -> tuple[Moments, dict[str, Any]]:
        """Return the same: the moments of the rows of cells are linear in their events."""
        cells = units.cells
        kernel = fitted_to_cells(as_matrix_kernel(self.kernel), cells)
        found = find_locations(self.locations, units.probs, np.arange(2), cells.counts)
        points, labels, origin = found
        size = len(labels)
        _check(units, cells.rows, size)
        gain = np.zeros((len(cells), size))  # of y - p of a row
        for term in kernel.terms:
            steps = np.subtract(*term.matrix[::-1][:, labels])
            gain += steps * term.cross(points, slice(None))
        products = (gain[:, :, None] * gain[:, None, :]).reshape(len(cells), -1)
        slopes, constant = (1.0 - 2.0 * cells.mean)[:, None] * products, cells.variance @ products

        def moments(events: Floats) -> tuple[Floats, Floats]:
            excess = events - cells.expected
            return excess @ gain, (excess @ slopes + constant).reshape(-1, size, size)

        return moments, described(kernel, origin) | {"caution": at_mean(kernel, cells)}

    def statistic(self, units: Units) -> Statistic:
        (moments, about), n = self.moments(units), units.rows

        def comparable(values: Floats) -> Floats:
            # The log of T^2 / (T^2 + n - 1), the share q that `hotelling` computes: its relative
            # error is that of the inverse, and an infinite T^2 is a share of 1, up to rounding.
            share = values / (values + n - 1.0)
            return np.asarray(np.log(np.maximum(share, np.finfo(float).tiny)))

        return fitted(
            units,
            lambda observed: hotelling(*moments(observed), n)[0],
            estimate=lambda _: mean_square(moments(units.observed[np.newaxis])[0], n),
            comparable=comparable,
            scale=SINGULAR,
            **about,
        )

    def residual_statistics(self, predictions: Predictions) -> list[ResidualStatistic]:
        """Return the squared length of the deviations in units of their robust covariance."""
        located = self.located(predictions)
        return [robust_quadratic(located.deviations(), located.deviations_along)]

    def few_rows(self, *, weighted: bool = False) -> Measure:
        """Return the biased SKCE, which tests the same embedding without its covariance matrix."""
        return self if weighted else SKCE(estimator="biased", kernel=self.kernel)

    interval_instead: ClassVar[str] = "test='skce', or the measure ucme"

    def limit(self, predictions: Predictions) -> Outcome:
        """Return the chi^2 limit, its degrees of freedom the rank of the covariance matrix."""
        units, n = RowUnits(predictions), predictions.n
        moments, about = self.moments(units)
        sums, products = moments(units.observed[np.newaxis])
        (statistic,), (df,) = hotelling(sums, products, n)
        size, notes = sums.shape[1], about["notes"]
        if df == 0:
            reason = "the chi^2 limit needs deviations that vary, and these do not"
            raise NotApplicable(reason, "use null='exact'")
        if df < size:
            span = f"{df} dimension{'s' if df > 1 else ''}"
            notes += (f"the deviations at {size} test locations span {span}",)
        if n < ROWS_PER_LOCATION * size:
            few = f"n = {n} is not much larger than the number of test locations ({size})"
            notes += (f"{few}: {OFTEN}",)
        about = {"parameters": about["parameters"], "notes": notes}
        return chi2_limit("T^2", float(statistic), int(df), mean_square(sums, n), **about)


def cme(
    probs: object,
    labels: object = None,
    *,
    locations: Choice = None,
    kernel: Kernel | None = None,
    **rows: Unpack[Evaluated],
) -> float | Floats:
    r"""Compute Hotelling's statistic of the calibration mean embedding.

    With the deviations :math:`z_i` (J,) at the test locations, as in `ucme`, their mean
    :math:`\bar z` and covariance matrix S (ddof = 1), it is

    .. math:: T^2 = n \bar z' S^{-1} \bar z,

    with a pseudo-inverse where S is singular. Where S is singular in the direction of
    :math:`\bar z` its limit is infinity, and it is cut off at :math:`10^{10} (n - 1)`.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        The aspect of the predictions that is measured. A family of lenses gives an array.
    locations : int or (probs, labels), optional
        Test locations, as in `ucme`; fewer than observations.
    kernel : MatrixKernel or ScalarKernel, optional
        A scalar kernel stands for kappa times the identity; by default the exponential kernel of
        the total variation distance with the bandwidth rule "auto": the median distance, for two
        classes weighted by variance.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        At least 0; about J for calibrated models and large n.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are no more observations than test locations, or sample weights.

    References
    ----------
    Widmann, Lindsten, Zachariah (2021), Calibration tests beyond classification, ICLR, appendix C.

    Examples
    --------
    >>> import caltest as ct
    >>> kernel = ct.kernels.Exponential(bandwidth=1.0)
    >>> locations = [[0.5, 0.5]], [1]  # z = 0.5, 0.5, -0.5: mean 1/6, variance 1/3
    >>> round(ct.measures.cme([0.5, 0.5, 0.5], [1, 1, 0], locations=locations, kernel=kernel), 6)
    0.25
    """
    return CME(locations=locations, kernel=kernel).evaluate(probs, labels, **rows)


@dataclass(frozen=True, kw_only=True, eq=False)
class UCME(EmbeddingMeasure):
    """The UCME with its kernel and test locations; see `ucme` for the parameters."""

    key, title, symbol = "ucme", "unnormalised calibration mean embedding", "UCME^2"
    tests: ClassVar[Mapping[str, Mapping[str, object]] | None] = {}
    intervals: ClassVar[tuple[str, ...]] = ("convex", "plug-in", "bca")
    convex_notes: ClassVar[tuple[str, ...]] = (FIXED,)

    def bind(self, predictions: Predictions) -> RowStatistic:
        at, weight = self.located(predictions), row_weights(predictions)

        def values(labels: Labels) -> Floats:
            """Return the means over test locations of the squared mean deviations."""
            sums = np.zeros((len(labels), at.size))
            for rows, kappa, expected in at.parts():
                w, some = weight[rows], np.ascontiguousarray(labels[:, rows])
                add_location_sums(kappa * w[:, np.newaxis], at.gain, some, sums)
                sums -= w @ expected
            return np.asarray(np.square(sums / weight.sum()).mean(axis=1))

        return RowStatistic(fitted(RowUnits(predictions), values, scale=1.0, **at.described))

    def gaps(self, predictions: Predictions) -> Gaps:
        """Return the mean deviations at the locations, whose mean square is the error."""
        gap, weight = self.located(predictions).deviations(), row_weights(predictions)

        def vector(rows: SmallInts) -> Floats:
            drawn = times_drawn(rows, predictions.n) * weight
            return np.asarray(drawn @ gap / drawn.sum())

        return Gaps(predictions.n, vector, lambda g: float(np.sqrt(np.square(g).mean())), power=2)

    def residual_statistics(self, predictions: Predictions) -> list[ResidualStatistic]:
        """Return the mean square of the mean deviations at the locations."""
        terms, weight = self.located(predictions).deviations(), row_weights(predictions)
        total = float(weight.sum())
        return [of_terms(terms * weight[:, None], lambda s: np.square(s / total).mean(axis=1))]


def ucme(
    probs: object,
    labels: object = None,
    *,
    locations: Choice = None,
    kernel: Kernel | None = None,
    **rows: Unpack[Evaluated],
) -> float | Floats:
    r"""Estimate the squared unnormalised calibration mean embedding at J test locations.

    With test locations :math:`(t_j, c_j)`, predictions each with a class, it is

    .. math:: J^{-1} \sum_j \Big(n^{-1} \sum_i z_{ij}\Big)^2, \quad
              z_{ij} = \sum_k (1[y_i = k] - p_{ik}) \, k(t_j, p_i)_{c_j k},

    where the scalar kernel of the paper is :math:`k(t, p)_{c k}`. It takes O(n J m).

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        The aspect of the predictions that is measured. A family of lenses gives an array.
    locations : int or (probs, labels), optional
        A number J of locations or, as the lens shows predictions, (J, m) probabilities with J
        classes. By default J is the least of 10, 3 (m - 1) and n / 10. A number takes predictions
        from the data, at equally spaced ranks in a random direction (for two classes, quantiles of
        P(Y = 1)), each with a class drawn from it; the seed is fixed, and neither the labels of the
        data nor the order of the rows have a part in it, but the order of the classes has.
    kernel : MatrixKernel or ScalarKernel, optional
        A scalar kernel stands for kappa times the identity; by default the exponential kernel of
        the total variation distance with the bandwidth rule "auto": the median distance, for two
        classes weighted by variance.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        In squared units of probability, at least 0.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Widmann, Lindsten, Zachariah (2021), Calibration tests beyond classification, ICLR, appendix C.

    Examples
    --------
    >>> import caltest as ct
    >>> kernel = ct.kernels.Exponential(bandwidth=1.0)
    >>> locations = [[0.6, 0.4]], [0]
    >>> ct.measures.ucme([[0.6, 0.4]], [0], locations=locations, kernel=kernel)  # (1 - 0.6)^2
    0.16...
    """
    return UCME(locations=locations, kernel=kernel).evaluate(probs, labels, **rows)


def check_locations(locations: object) -> int | tuple[object, object] | None:
    """Check a number of test locations, a pair (probs, labels), or None."""
    if locations is None:
        return None
    if isinstance(locations, (tuple, list)) and len(locations) == 2:
        return locations[0], locations[1]
    if isinstance(locations, (int, np.integer)):
        return check_integer(locations, "locations")
    rule = "locations must be a number or a pair (probs, labels)"
    raise invalid(rule, an(type(locations).__name__), "pass J predictions and their J classes")


def check_points(locations: tuple[object, object], classes: AnyArray) -> tuple[Floats, Codes]:
    """Check J test predictions and J classes, as the lens shows predictions.

    Parameters
    ----------
    locations : (probs, labels)
        Of shapes (J, m) or (J,), and (J,).
    classes : ndarray, shape (m,)
        The classes under the lens.

    Returns
    -------
    ndarray, shape (J, m), and ndarray, shape (J,)
        Probabilities and codes.

    Raises
    ------
    InvalidInput
        If one of both breaks a rule.
    """
    m = len(classes)
    probs = check_probs(locations[0], name="probs of locations")
    if probs.shape[1] != m:
        rule = f"probs of locations must have {m} columns, the classes under the lens"
        raise invalid(rule, f"{probs.shape[1]}", "pass locations as the lens shows predictions")
    return probs, check_labels(locations[1], len(probs), m, classes, name="labels of locations")[0]


@njit()
def add_location_sums(kappa: Floats, gain: Floats, labels: Labels, out: Floats) -> None:
    """Add sum_i sum_t kappa[t, i, j] gain[t, y_i, j] to `out` (B, J) for each row of labels."""
    size, n = labels.shape
    for first in range(0, n, ROWS):
        last = min(first + ROWS, n)
        for b in range(size):
            for i in range(first, last):
                y = labels[b, i]
                for t in range(kappa.shape[0]):
                    for j in range(kappa.shape[2]):
                        out[b, j] += kappa[t, i, j] * gain[t, y, j]


@njit()
def add_location_moments(
    kappa: Floats, gain: Floats, shift: Floats, labels: Labels, sums: Floats, products: Floats
) -> None:
    """Add z_i and z_i z_i' to `sums` (B, J) and `products` (B, J, J) for each row of labels.

    Here z_ij = sum_t kappa[t, i, j] gain[t, y_i, j] - shift[i, j].
    """
    count = shift.shape[1]
    first, second = np.empty((count, LANES)), np.empty((count, count, LANES))
    for start in range(0, labels.shape[0], LANES):
        some = labels[start : start + LANES]
        _lane_moments(kappa, gain, shift, some, first, second)
        for j in range(count):
            for lane in range(some.shape[0]):
                sums[start + lane, j] += first[j, lane]
                for k in range(count):
                    products[start + lane, j, k] += second[max(j, k), min(j, k), lane]


@njit()
def _lane_moments(
    kappa: Floats, gain: Floats, shift: Floats, labels: Labels, first: Floats, second: Floats
) -> None:
    """Write the moments of up to LANES resamples, of the second ones those with k <= j."""
    lanes, n = labels.shape
    count = shift.shape[1]
    first[:], second[:] = 0.0, 0.0
    z = np.zeros((count, LANES))
    for i in range(n):
        for j in range(count):
            z[j] = -shift[i, j]
            for t in range(kappa.shape[0]):
                for lane in range(lanes):
                    z[j, lane] += kappa[t, i, j] * gain[t, labels[lane, i], j]
            for lane in range(LANES):
                first[j, lane] += z[j, lane]
            for k in range(j + 1):
                for lane in range(LANES):
                    second[j, k, lane] += z[j, lane] * z[k, lane]


def mean_square(sums: Floats, n: int) -> float:
    """Return the mean over test locations of the squared mean deviations."""
    return float(np.square(sums / n).mean())


def hotelling(sums: Floats, products: Floats, n: int) -> tuple[Floats, Ints]:
    """Return T^2 = n z' S^-1 z (B,) and the rank of S (B,), z the means and S the covariance.

    With q = n z' M^+ z, M the sum of z_i z_i', T^2 = (n - 1) q / (1 - q): q is the share of the
    constant 1 that the deviations explain, and z lies in the range of M whatever the rank. Where S
    is singular in the direction of z, so that q = 1, T^2 is its limit cut off at 1 - q = 1e-10.
    """
    size = np.sqrt(np.diagonal(products, axis1=1, axis2=2))
    size = np.where(size > 0, size, 1.0)  # T^2 does not depend on the units of the z_j
    values, vectors = np.linalg.eigh(products / (size[:, :, None] * size[:, None, :]))
    kept = values > FULL_RANK * np.maximum(values[:, -1:], FULL_RANK)
    along = np.einsum("bjk,bj->bk", vectors, sums / size)
    q = (np.where(kept, along, 0.0) ** 2 / np.where(kept, values, 1.0)).sum(axis=1) / n
    left = np.maximum(1.0 - q, FULL_SHARE)
    return (n - 1) * q / left, kept.sum(axis=1) - (left == FULL_SHARE)
