"""Intervals for the calibration slope and intercept: by the likelihood, or the sandwich error."""

from __future__ import annotations

import math

import numpy as np
import scipy

from caltest.errors import NotApplicable
from caltest.measures.outcome import Ends
from caltest.measures.recalibration import binary_fit, fits
from caltest.measures.recalibration.binary_fit import LogOddsRows, all_rows
from caltest.measures.recalibration.fits import INTERCEPT, INTERCEPT_ALONE, SLOPE
from caltest.numerics.tails import student_isf
from caltest.types import Floats, Labels

Bounds = tuple[float, float]
Columns = tuple[Floats, Labels, Floats, Floats]  # log odds, labels, weights, numbers of rows
PROFILE = {
    "profile": "profile likelihood, sandwich error, or an event not yet seen, what reaches farthest"
}
TEXT = "profile likelihood and sandwich error"
ONE_SIDED = "the labels leave the estimate infinite, and with it one end of the interval"
LEAST_LEFT = 0.05  # of a residual, for rows that the fit goes through
SMALLEST_SHARE = 1e-12  # of the curvature, below which it is what rounding left of a zero
FARTHEST = 1e6  # standard deviations of the log odds; no likelihood needs more
DRAWS = 499
FEW = 20  # labels of the rarer kind; from there on none is missed
OWN, CELLS = 64, 64  # rows that keep a weight of their own; cells of the others, of either label
STEPS, LONGEST, CLOSE = 25, 1.5, 1e-4  # of Newton's method, in standard deviations of log odds


def coefficient_bounds(fit: fits.FittedCoefficient, symbol: str, *, level: float) -> Ends:
    r"""Bound the coefficient of rows or cells by its profile likelihood and the sandwich error.

    The likelihood knows how little a few events tell, and takes the regression as true; the
    sandwich error holds for errors of any shape, and needs many events. Each end is that of the two
    that reaches farther, both by quantiles of Student's t. With the rows :math:`z_i` of the
    logistic regression, (1) or (1, log odds), and its fitted probabilities :math:`q_i`, the
    sandwich is

    .. math:: \hat V = H^{-1} \Big(\sum_i \frac{(y_i - q_i)^2}{(1 - h_i)^2} z_i z_i^T\Big) H^{-1},
        \quad H = \sum_i q_i (1 - q_i) z_i z_i^T, \quad h_i = q_i (1 - q_i) z_i^T H^{-1} z_i,

    for k parameters and n - k degrees of freedom; a row that the fit follows has a small residual
    for that alone, hence its leverage h. For M2 with pi = .5 and n = 50 the likelihood
    alone holds the intercept in 86 % of data sets; with two expected events the sandwich alone
    holds the slope in 60 %. Where the estimate is infinite, so is one end. With fewer than twenty
    events both take what is seen for all there is: the ends reach at least as far as an event that
    has not been seen would allow, see `unseen_bounds`.

    References
    ----------
    White (1982), Maximum likelihood estimation of misspecified models, Econometrica 50; the
    division by 1 - h is HC3 of MacKinnon, White (1985), J. Econometrics 29; see `profile_bounds`.
    """
    if not fit.x.size:
        reason = f"{fits.OUTSIDE}, and there is no other row to estimate the {symbol} from"
        raise NotApplicable(reason, "use the p-value of the exact null")
    # The rows without and with the event of each unit that has log odds.
    units, column = fit.units, fit.column
    events = fit.inside(units.observed)
    size = np.stack([fit.inside(units.size) - events, events], axis=1).ravel()
    some = size > 0
    x, weight = (np.repeat(values, 2)[some] for values in (fit.x, fit.inside(units.scale)))
    labels, size = np.tile(np.array([0, 1], np.uint8), events.size)[some], size[some]
    n, parameters = int(size.sum()), 1 if column == INTERCEPT_ALONE else 2
    alone, intercept, slope = fit.estimates
    estimate = fit.estimates[column]
    undetermined = n <= parameters or math.isnan(estimate)
    if not undetermined and column != INTERCEPT_ALONE:
        undetermined = labels.min() == labels.max() or not fit.has_slope
        undetermined |= math.isinf(slope) and column == INTERCEPT
    if undetermined:
        reason = f"the {symbol} is not determined by these labels and has no interval"
        raise NotApplicable(reason, "use the p-value of the exact null")
    quantile, mass = student_isf((1.0 - level) / 2.0, n - parameters), weight * size
    relative = mass * (mass.sum() / (weight * mass).sum())
    low, high = profile_bounds(x, labels, relative, column, quantile)
    if column == INTERCEPT_ALONE:
        intercept, slope = alone, 1.0
    else:
        start = (intercept, slope) if math.isfinite(slope) else (0.0, 1.0)
        unseen = unseen_bounds(x, labels, weight, column - INTERCEPT, start, level, size)
        low, high = np.fmin(low, unseen[0]), np.fmax(high, unseen[1])
    notes = [f"of {fits.inside_rows(units.rows - fit.outside)}"] if fit.outside else []
    if not math.isfinite(estimate):
        notes.insert(0, ONE_SIDED)
    else:
        errors = _errors((x, labels, weight, size), intercept, slope, parameters)
        reach = quantile * float(errors[1 if column == SLOPE else 0])
        low, high = np.fmin(low, estimate - reach), np.fmax(high, estimate + reach)
    return Ends(float(low), float(high), estimate, TEXT, tuple(notes))


def _errors(rows: Columns, intercept: float, slope: float, parameters: int) -> Floats:
    """Return the standard errors of intercept and slope."""
    x, labels, weight, size = rows
    fitted = scipy.special.expit(intercept + slope * x)
    mass = weight * size
    mean = float(mass @ x / mass.sum())
    basis = np.column_stack([np.ones_like(x), x - mean])[:, :parameters]
    curvature = basis.T @ (basis * (mass * fitted * (1.0 - fitted))[:, None])
    scale = np.sqrt(np.diagonal(curvature))
    if not scale.all() or np.linalg.det(curvature / np.outer(scale, scale)) < SMALLEST_SHARE:
        raise NotApplicable(
            "the log odds do not vary, or the labels leave no curvature, so that there is no "
            "standard error",
            "use test='calibration-in-the-large', or the p-value alone",
        )
    inverse = np.linalg.solve(curvature, basis.T)
    leverage = weight * fitted * (1.0 - fitted) * np.einsum("ij,ji->i", basis, inverse)
    residual = (labels - fitted) / np.maximum(1.0 - leverage, LEAST_LEFT)
    root = inverse * (weight * np.sqrt(size) * residual)
    if parameters == 2:
        root[0] -= mean * root[1]  # back to log odds that are not centred
    return np.asarray(np.linalg.norm(root, axis=1))


def profile_bounds(x: Floats, labels: Labels, weight: Floats, column: int, reach: float) -> Bounds:
    r"""Return the values that the likelihood allows, the other coefficient at its best for each.

    .. math:: \{\theta : 2 [\max \ell - \max_\psi \ell(\theta, \psi)] \le r^2\}

    Where the labels leave the estimate infinite, because there is no event or a threshold separates
    them, so is one end; the maximum is then the supremum.

    Parameters
    ----------
    x, labels, weight : (n,) array
        Log odds, 0 or 1, and how many rows each stands for.
    column : int
        Which coefficient.
    reach : float
        r, of standard normal or Student's deviates.

    References
    ----------
    Venzon, Moolgavkar (1988), A method for computing profile-likelihood-based confidence intervals,
    Applied Statistics 37; Heinze, Schemper (2002), A solution to the problem of separation in
    logistic regression, Statistics in Medicine 21 (bounds where an estimate is infinite).
    """
    rows = binary_fit.standard_rows(x, weight)
    parameters = 1 if column == INTERCEPT_ALONE else 2
    (found,), (gains,) = binary_fit.recalibrations(labels[None], rows, all_rows(rows), parameters)
    if math.isfinite(found[column]):
        return _regular(labels, rows, found, column, reach)
    return _one_sided(labels, rows, found[column], gains[parameters - 1], column, reach)


def _regular(labels: Labels, rows: LogOddsRows, found: Floats, column: int, reach: float) -> Bounds:
    """Return the bounds around a finite maximum."""
    sums = binary_fit.deviation_sums(labels[None], 0, rows.events, rows.weighted)[0]
    if column == INTERCEPT_ALONE:
        gamma, along = found[:1].copy(), np.ones(1)
    else:
        change = found[SLOPE] - 1.0
        gamma = np.array([found[INTERCEPT] + change * rows.mean, change * rows.sd])
        along = np.array([0.0, 1.0 / rows.sd])
        if column == INTERCEPT:
            along = np.array([1.0, -rows.mean / rows.sd])
    with np.errstate(all="ignore"):  # bounds that are not found are not finite
        given = sums[: gamma.size], all_rows(rows), gamma, along[None]
        low, high = binary_fit.likelihood_bounds(*given, reach * reach)[0]
    shift = 1.0 if column == SLOPE else 0.0
    return shift + float(low), shift + float(high)


def _one_sided(
    labels: Labels, rows: LogOddsRows, infinite: float, supremum: float, column: int, reach: float
) -> Bounds:
    """Return the finite bound of an infinite estimate, and the infinite one."""
    sign, alone = math.copysign(1.0, infinite), column == INTERCEPT_ALONE

    def excess(size: float) -> float:
        eta = rows.x + sign * size if alone else sign * size * (rows.x - rows.mean)
        if not alone:
            eta = eta + _best_intercept(labels, rows.weight, eta)
        change = np.where(labels == 1, eta - rows.x, 0.0)
        terms = change - np.logaddexp(0.0, eta) + np.logaddexp(0.0, rows.x)
        return 2.0 * (supremum - float(rows.weight @ terms)) - reach * reach

    unit = 1.0 if alone else 1.0 / rows.sd
    ends = [unit * FARTHEST * side for side in (-1.0, 1.0)]
    bound = sign * float(scipy.optimize.brentq(excess, *ends, xtol=1e-10 * unit))
    return (bound, math.inf) if sign > 0 else (-math.inf, bound)


def _best_intercept(labels: Labels, weight: Floats, eta: Floats) -> float:
    events = float(weight @ labels)

    def missing(intercept: float) -> float:
        return float(weight @ scipy.special.expit(eta + intercept)) - events

    rate = float(scipy.special.logit(events / weight.sum()))
    return float(scipy.optimize.brentq(missing, rate - eta.max() - 1.0, rate - eta.min() + 1.0))


def unseen_bounds(
    x: Floats,
    labels: Labels,
    weight: Floats,
    column: int,
    start: tuple[float, float],
    level: float,
    size: Floats | None = None,
) -> Bounds:
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
    curvature = size * weight * p * (1.0 - p)
    total, first, second = (float((curvature * x**k).sum()) for k in range(3))
    # How far an event of a row moves the coefficient, up to a positive factor.
    along = total * x - first if column == 1 else second - first * x
    squares = np.square(weight * along * (y - p))
    sizes, rows = _neighbours(x, y, weight, size, squares)
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
        found = _refitted(rows[:2], masses, (x[unseen], rare[unseen], mass), start)
        ends.append(float(np.quantile(found[column], level_of_end)))
    return ends[0], ends[1]


def _neighbours(
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


def _refitted(
    rows: Floats, masses: Floats, unseen: tuple[Floats, Floats, Floats], start: tuple[float, float]
) -> Floats:
    """Return intercepts and slopes (2, B) of rows with masses (B, k) and one more row in each."""
    pairs = zip(rows, unseen, strict=False)
    x, y = (np.column_stack([np.tile(a, (DRAWS, 1)), b]) for a, b in pairs)
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
