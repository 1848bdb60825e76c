"""What an event that a few rows may lack would make of a calibration slope or intercept."""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Labels = NDArray[np.unsignedinteger]

DRAWS = 499
FEW = 20  # labels of the rarer kind; from there on none is missed
OWN, CELLS = 64, 64  # rows that keep a weight of their own; cells of the others, of either label
STEPS, LONGEST, CLOSE = 25, 1.5, 1e-4  # of Newton's method, in standard deviations of log odds


def unseen_bounds(
    x: Floats,
    labels: Labels,
    weight: Floats,
    column: int,
    start: tuple[float, float],
    level: float,
    size: Floats | None = None,
) -> tuple[float, float]:
    r"""Return the ends that an event which has not been seen would allow; infinite as they are.

    Four events that all fell into one group tell nothing of the likelihood of a fifth elsewhere:
    a logistic regression takes its line as true, and the sandwich error has no residual to show.
    So the rows get random weights :math:`g_i \sim Exp(1)`, as in the Bayesian bootstrap, and one
    more row is added, with the less likely label of a row that the predictions choose,

    .. math:: \sum_i g_i z_i (y_i - q_i(\theta^*)) + g_0 z_j (y^-_j - q_j(\theta^*)) = 0, \quad
        P(j) \propto \min(p_j, 1 - p_j),

    of those rows that raise the coefficient for the upper end, and that lower it for the lower end.
    The ends are the quantiles of :math:`\theta^*` at :math:`(1 \pm level) / 2`. Of a share they are
    the limits of Clopper and Pearson. NaN where there are twenty labels of either kind.

    Parameters
    ----------
    x, labels, weight : (n,) array
        Log odds, 0 or 1, and positive weights.
    column : int
        0 for the intercept, 1 for the slope; both are estimated.
    start : (float, float)
        Intercept and slope of the rows, or (0, 1) where they are infinite.
    level : float
        Of the interval.
    size : (n,) array, optional
        How many rows have each of these; by default one.

    References
    ----------
    Rubin (1981), The Bayesian bootstrap, Ann. Stat. 9; Gaffke (2005), Three test statistics for a
    nonparametric one-sided hypothesis on the mean of a nonnegative variable, Math. Methods Stat.
    14: the limit of a mean by a row with the largest value.
    """
    size = np.ones(x.size) if size is None else size
    events = float(size @ labels)
    if min(events, size.sum() - events) >= FEW:
        return math.nan, math.nan
    order = np.lexsort((labels, x))  # one answer for any order of the rows
    x, y, size = x[order], labels[order].astype(np.float64), size[order]
    weight = weight[order] / (float(weight @ size) / float(size.sum()))
    p = scipy.special.expit(x)
    along = _influence(x, size * weight * p * (1.0 - p), column)
    squares = np.square(weight * along * (y - p))
    sizes, rows = _cells(x, y, weight, size, squares)
    rare = (p < 0.5).astype(np.float64)
    raises = np.where(rare == 1.0, along, -along)
    ends = []
    for side, level_of_end in ((-1.0, 0.5 - level / 2.0), (1.0, 0.5 + level / 2.0)):
        chance = np.where(side * raises > 0.0, size * weight * np.minimum(p, 1.0 - p), 0.0)
        rng = np.random.default_rng(0)
        masses = rng.standard_gamma(sizes, (DRAWS, sizes.size)) * rows[2]
        mass, unseen = np.zeros(DRAWS), np.zeros(DRAWS, np.intp)
        if chance.any():
            mass = rng.standard_exponential(DRAWS)
            unseen = rng.choice(x.size, DRAWS, p=chance / chance.sum())
        found = _fits(rows[:2], masses, (x[unseen], rare[unseen], mass), start)
        ends.append(float(np.quantile(found[column], level_of_end)))
    return ends[0], ends[1]


def _influence(x: Floats, curvature: Floats, column: int) -> Floats:
    """Return how far an event of a row moves the coefficient, up to a positive factor."""
    total, first, second = (float((curvature * x**k).sum()) for k in range(3))
    return total * x - first if column == 1 else second - first * x


def _cells(
    x: Floats, y: Floats, weight: Floats, size: Floats, squares: Floats
) -> tuple[Floats, Floats]:
    """Return numbers of rows, and log odds, label, weight (3, k); neighbours are one cell."""
    own = np.zeros(x.size, dtype=bool)
    own[np.argsort(-squares, kind="stable")[:OWN]] = True
    group = np.arange(x.size)
    for label in (0.0, 1.0):
        others = np.flatnonzero(~own & (y == label))
        before = np.cumsum(size[others]) - size[others]
        cell = (before * CELLS // max(float(size[others].sum()), 1.0)).astype(np.int64)
        group[others] = x.size * (1 + int(label)) + cell
    group = np.unique(group, return_inverse=True)[1]
    sizes = np.asarray(np.bincount(group, size), dtype=np.float64)
    rows = np.array([np.bincount(group, size * values) for values in (x, y, weight)]) / sizes
    return sizes, rows


def _fits(
    rows: Floats, masses: Floats, unseen: tuple[Floats, Floats, Floats], start: tuple[float, float]
) -> Floats:
    """Return intercepts and slopes (2, B) of rows with masses (B, k) and one more row in each."""
    x, y = (
        np.column_stack([np.tile(a, (DRAWS, 1)), b]) for a, b in zip(rows, unseen, strict=False)
    )
    mass = np.column_stack([masses, unseen[2]])
    mean, sd = float(rows[0].mean()), float(rows[0].std())
    z = (x - mean) / sd
    level, slope = np.full(DRAWS, start[0] + start[1] * mean), np.full(DRAWS, start[1] * sd)
    for _ in range(STEPS):
        q = scipy.special.expit(level[:, None] + slope[:, None] * z)
        residual = mass * (y - q)
        curvature = mass * q * (1.0 - q)
        a, b, c = curvature.sum(1), (curvature * z).sum(1), (curvature * z * z).sum(1)
        first, second = residual.sum(1), (residual * z).sum(1)
        size = np.maximum(a * c - b * b, 1e-14)
        steps = np.array([c * first - b * second, a * second - b * first]) / size
        longest = np.abs(steps).max(axis=0)
        steps *= np.minimum(1.0, LONGEST / np.maximum(longest, CLOSE))
        level, slope = level + steps[0], slope + steps[1]
        if longest.max() < CLOSE:
            break
    slope = slope / sd
    return np.array([level - slope * mean, slope])
