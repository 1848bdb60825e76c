"""Average ranks of methods over data sets, and the difference that is too large for chance."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from caltest import checks
from caltest.errors import DegenerateDataWarning, invalid, shown
from caltest.predictions import tables
from caltest.types import Floats

ALL_TIED = (
    "all methods tie in every data set, so that the ranks have no spread; the statistic is 0 and "
    "the p-value 1"
)


@dataclass(frozen=True, eq=False)
class Ranking:
    """Average ranks of methods over data sets, 1 for the best, with Friedman's test.

    Attributes
    ----------
    names : tuple of str
        The methods.
    ranks : (k,) array
        Their average ranks; methods that tie in a data set share their ranks.
    n_datasets : int
    critical_difference : float
        Two average ranks that differ by at least as much are significantly different.
    level : float
        The family-wise significance level of that.
    procedure : str
        "Nemenyi", or "Bonferroni-Dunn" where all are compared with a control.
    control : str or None
    statistic, pvalue : float
        Of Friedman's test that all methods are equal: Iman and Davenport's F and its upper tail,
        at least the chance that all data sets order the methods alike.
    df : tuple of float
        Degrees of freedom of F.
    chi2, chi2_pvalue : float
        Friedman's own statistic, and its upper tail with k - 1 degrees of freedom, which is larger
        than that of F where methods differ: conservative, says Demsar, and what many papers report.

    Examples
    --------
    >>> ranking = rank_methods([3.143, 2.0, 2.893, 1.964], n_datasets=14)
    >>> round(ranking.statistic, 2), round(ranking.critical_difference, 2)  # Demsar, section 3.2.4
    (3.69, 1.25)
    >>> round(ranking.chi2, 2)
    9.28
    """

    names: tuple[str, ...]
    ranks: Floats
    n_datasets: int
    critical_difference: float
    level: float
    procedure: str
    control: str | None
    statistic: float
    pvalue: float
    df: tuple[float, float]
    chi2: float
    chi2_pvalue: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "ranks", checks.read_only(self.ranks.copy()))

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The largest sets of methods without a significant difference, best first.

        Each holds at least two places in `names`; with a control there is one set, the methods
        that do not differ from it.
        """
        order = np.argsort(self.ranks, kind="stable")
        if self.control is not None:
            gap = np.abs(self.ranks[order] - self.ranks[self.names.index(self.control)])
            return (tuple(order[gap < self.critical_difference].tolist()),)
        ordered = self.ranks[order]
        ends = np.searchsorted(ordered, ordered + self.critical_difference, side="left")
        new = ends > np.concatenate([[0], ends[:-1]])
        starts = np.flatnonzero(new & (ends > np.arange(ends.size) + 1))
        return tuple(tuple(order[i : ends[i]].tolist()) for i in starts.tolist())


def rank_methods(
    scores: object,
    *,
    names: object = None,
    n_datasets: int | None = None,
    lower_is_better: bool = True,
    control: object = None,
    level: float = 0.05,
) -> Ranking:
    r"""Rank methods over data sets and find the critical difference of the average ranks.

    With k methods, N data sets and average ranks :math:`R_j`, Friedman's statistic

    .. math:: \chi^2 = \frac{12 N}{k (k + 1)} \Big(\sum_j R_j^2 - \frac{k (k + 1)^2}{4}\Big) / c,
        \qquad F = \frac{(N - 1) \chi^2}{N (k - 1) - \chi^2},

    with :math:`c = 1 - \sum (t^3 - t) / (N (k^3 - k))` for sets of t tied scores, has an F
    distribution with k - 1 and (k - 1)(N - 1) degrees of freedom, roughly: no p-value is below
    :math:`(k!)^{1 - N}`, the chance that all data sets order k equal methods alike, which is larger
    where methods tie: a set of t has one order in place of t!. The critical
    difference is :math:`q \sqrt{k (k + 1) / (6 N)}` with q the upper quantile of the Studentized
    range over :math:`\sqrt 2` (Nemenyi); with a control, the normal quantile at
    level / (2 (k - 1)) (Bonferroni-Dunn).

    Parameters
    ----------
    scores : (N, k) array, data frame, or (k,) array
        The score of each method (column) on each data set (row), or the average ranks.
    names : sequence of str, optional
        The methods; by default the columns of the data frame, or 1, 2, ...
    n_datasets : int, optional
        N, where average ranks are given.
    lower_is_better : bool, default True
        As for losses and calibration errors; False for accuracies. Of no effect on average ranks.
    control : str, optional
        The method that the others are compared with.
    level : float, default 0.05
        Family-wise significance level.

    Returns
    -------
    Ranking
        Names, average ranks, the critical difference and the test.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Demsar (2006), Statistical comparisons of classifiers over multiple data sets, JMLR 7, sections
    3.2.2 and 3.2.4; Hollander, Wolfe (1999), Nonparametric statistical methods, section 7.1 (ties).

    Examples
    --------
    >>> losses = [[0.31, 0.40, 0.36], [0.21, 0.25, 0.25], [0.50, 0.61, 0.48], [0.11, 0.35, 0.22]]
    >>> rank_methods(losses, names=["dirichlet", "none", "temperature"]).ranks.tolist()
    [1.25, 2.875, 1.875]
    """
    level = checks.check_level(level)
    checks.check_flag(lower_is_better, "lower_is_better")
    if tables.is_table(scores):
        frame = tables.table_of_frame(scores)
        names = frame.names if names is None else names
        columns = [checks.as_numbers(frame.column(n), f"column {n!r}") for n in frame.names]
        scores = np.column_stack(columns)
    if checks.as_array(scores, "scores").ndim == 1:
        ranks = checks.as_numbers(scores, "scores").astype(np.float64)
        k = ranks.size
        if k < 2 or not np.all((ranks >= 1) & (ranks <= k)):
            rule = "scores of one dimension must be average ranks, two or more from 1 to their "
            remedy = "pass a table (data sets, methods) of scores"
            raise invalid(f"{rule}number", shown(ranks.tolist()), remedy)
        if abs(float(ranks.mean()) - (k + 1) / 2) > 0.5 / k:
            rule = f"scores of one dimension must be average ranks, whose mean is {(k + 1) / 2:g}"
            remedy = "pass the ranks of all methods, ties shared"
            raise invalid(rule, f"a mean of {ranks.mean():.4g}", remedy)
        size = checks.check_integer(n_datasets, "n_datasets", minimum=2)
        ties, least = 0.0, (1 - size) * math.lgamma(k + 1)
    else:
        checks.check_unused("where scores are given", n_datasets=n_datasets)
        values = checks.as_numbers(scores, "scores").astype(np.float64)
        if values.ndim != 2 or min(values.shape) < 2:
            rule = "scores must have a row per data set and a column per method, two of each"
            raise invalid(rule, f"shape {values.shape}", "pass (N, k), or (k,) average ranks")
        if not np.isfinite(values).all():
            row, column = (int(i) for i in np.argwhere(~np.isfinite(values))[0])
            got = f"{values[row, column]} at row {row}, column {column}"
            raise invalid("scores must be finite", got, "leave out that data set or that method")
        size, k = values.shape
        from scipy.stats import rankdata

        table = rankdata(values if lower_is_better else -values, axis=1)
        # A set of t ties has t (t^2 - 1) / 12 less spread than t different ranks.
        spread = np.square(table - (k + 1) / 2).sum() * 12 / (size * (k**3 - k))
        ranks, ties = table.mean(axis=0), 1.0 - float(spread)
        tied = np.sum(table[:, :, None] == table[:, None], axis=2)  # each counts its set of t
        orders = math.lgamma(k + 1) - np.sum(scipy.special.gammaln(tied + 1) / tied, axis=1)
        least = float(orders.max() - orders.sum())
    called = check_names(range(1, k + 1) if names is None else names, k)
    chosen = None if control is None else called[check_control(control, called)]
    return Ranking(
        names=called,
        ranks=ranks,
        n_datasets=size,
        critical_difference=_quantile(k, level, with_control=chosen is not None)
        * math.sqrt(k * (k + 1) / (6 * size)),
        level=level,
        procedure="Nemenyi" if chosen is None else "Bonferroni-Dunn",
        control=chosen,
        df=(k - 1, (k - 1) * (size - 1)),
        **dict(zip(FRIEDMAN, _friedman(ranks, size, ties, least), strict=True)),
    )


FRIEDMAN = "chi2", "chi2_pvalue", "statistic", "pvalue"


def _friedman(ranks: Floats, size: int, ties: float, least: float) -> tuple[float, ...]:
    """Return chi-squared and F, each with its upper tail, which is exp(least) at least."""
    k = ranks.size
    # The chance of such ranks but for the names of methods, below which both tails may fall.
    smallest = max(math.exp(min(least, 0.0)), float(np.finfo(float).tiny))
    if ties > 1.0 - 1e-9:
        warnings.warn(ALL_TIED, DegenerateDataWarning, stacklevel=3)
        return 0.0, 1.0, 0.0, 1.0
    between = 12 * size / (k * (k + 1)) * float(np.square(ranks - (k + 1) / 2).sum())
    chi2, most = between / (1.0 - ties), float(size * (k - 1))
    tail = max(float(scipy.special.chdtrc(k - 1, chi2)), smallest)
    if most - chi2 < 1e-9 * most:  # the same order in every data set
        return chi2, tail, math.inf, smallest
    F = (size - 1) * chi2 / (most - chi2)
    return chi2, tail, F, max(float(scipy.special.fdtrc(k - 1, (k - 1) * (size - 1), F)), smallest)


def _quantile(k: int, level: float, *, with_control: bool) -> float:
    """Return q of Demsar's table 5: (a) Nemenyi, (b) Bonferroni-Dunn."""
    if with_control:
        return -float(scipy.special.ndtri(level / (2 * (k - 1))))
    from scipy.stats import studentized_range

    return float(studentized_range.isf(level, k, np.inf)) / math.sqrt(2)


def check_names(names: object, size: int, name: str = "names") -> tuple[str, ...]:
    """Check names: one each, all different."""
    values = [str(value) for value in checks.as_array(names, name).ravel().tolist()]
    twice = next((one for one in values if values.count(one) > 1), None)
    if twice is not None:
        raise invalid(f"the names in {name} must differ", f"{twice!r} twice", "rename one")
    if len(values) != size:
        got = f"{len(values)} for {size}"
        raise invalid(f"{name} must name each method once", got, "pass one name per column")
    return tuple(values)


def check_control(control: object, names: Sequence[str], name: str = "control") -> int:
    """Check a control method and return its place among the names."""
    if str(control) in names:
        return list(names).index(str(control))
    rule = f"{name} must be one of the methods {checks.listing(names)}"
    raise invalid(rule, shown(control), "pass its name")
