"""Limits of the SKCE: standard errors, intervals, and few redirected labels."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from caltest.errors import NotApplicable
from caltest.kernels import FittedKernel
from caltest.measures.kernel.pairs import AllPairs, BlockPairs, all_pairs, pair_weight
from caltest.measures.outcome import Ends
from caltest.measures.tolerance import designated_labels
from caltest.numerics.event_tails import FewEvents, both_sides
from caltest.numerics.tails import normal_isf, student_isf
from caltest.predictions import Predictions
from caltest.types import Floats

PAIRS = {"u-statistic": "normal limit of the U-statistic"}
BLOCKS = {"block": "normal limit of the mean over blocks"}
PAIRS_UP_TO = 20_000  # rows whose pairs take seconds
LAW = "normal limit of the U-statistic, jackknife standard error"
BIASED = "the estimate is biased upwards; the interval is that of the unbiased one"
ZERO = (
    "the normal limit holds where the predictions are not calibrated; an interval that reaches 0 "
    "says no more than that"
)
RARE = (
    "few blocks carry the error, so that the interval is too short; use estimator='unbiased' "
    "(test='skce')"
)
ALL = (
    "few blocks carry the error, and their mean has no normal limit yet: estimate and interval are "
    "of the pairs of all rows, which have the same mean"
)
MANY_BLOCKS = 30  # for the normal limit of their mean
HALVINGS = 6  # regions of half, a quarter, ... of the rows at either end
SAMPLE = 100  # rows of a region whose pairs tell how near to each other they are


def jackknife_error(sums: Floats, weight: Floats | None = None) -> tuple[float, float]:
    r"""Return the unbiased SKCE and its jackknife standard error, predictions random as well.

    The sums are those over each row, :math:`\sum_{j \ne i} h_{ij}`; with sample weights h_ij counts
    w_i w_j times. With :math:`g_i = \frac{1}{n-1} \sum_{j \ne i} h_{ij}` the estimate is the mean U
    of the g, and the values without one row differ from it by :math:`2 (g_i - U) / (n - 2)`, so
    that

    .. math:: \widehat{se}^2 = \frac{4 (n - 1)}{n (n - 2)^2} \sum_i (g_i - U)^2.

    Its mean is the variance :math:`4 \zeta_1 / n + 2 \zeta_2 / n^2` of U with the second term about
    doubled: it is too large, not too small, where the model is almost calibrated and the first
    term vanishes. It is 0 where the row means do not vary.

    References
    ----------
    Arvesen (1969), Jackknifing U-statistics, Ann. Math. Stat. 40; Efron, Stein (1981), The
    jackknife estimate of variance, Ann. Stat. 9, section 4.
    """
    if weight is not None:
        sums, weight = sums[weight > 0], weight[weight > 0]
    n = sums.size
    if n < 3:
        needs = "at least three observations"
        remedy = "use the exact null, without tolerance and interval"
        if weight is not None:
            needs, remedy = "three observations of positive weight", "report the p-value alone"
        raise NotApplicable(f"the jackknife needs {needs}, and there are {n}", remedy)
    w = np.ones(n) if weight is None else weight
    whole, total, pairs = float(sums.sum()), float(w.sum()), pair_weight(w)
    without = (whole - 2.0 * sums) / (pairs - 2.0 * w * (total - w))
    variance = (n - 1) / n * float(np.square(without - without.mean()).sum())
    return whole / pairs, math.sqrt(variance)


def pair_bounds(pairs: AllPairs, symbol: str, level: float, *notes: str) -> Ends:
    r"""Bound the SKCE by its unbiased estimate U and jackknife standard error.

    Kernel and bandwidth are those of the test; the interval is for the SKCE with that kernel. Away
    from 0, :math:`r = \sqrt U` is the length of a mean and closer to normal than U, whose error
    grows with U. So the interval takes the lower end of :math:`U \pm z \, se` and for the upper
    end the root, whose reach is e:

    .. math:: \max(U - z \, se, 0), \quad
        (r + e)^2 = \max(U, 0) + z \, se + \frac{(z \, se)^2}{4 \max(U, z \, se / 2)}.

    Rows with rare and large errors may be too few, or none, and U and its standard error are then
    small together. So c rows with the largest error R that the predictions allow are added to the
    mean for the upper end:

    .. math:: r + \delta + \sqrt{e^2 + z^2 \delta^2 / c}, \quad \delta = c (R - r) / (n + c),
        \quad c + z \sqrt c = -\log a, \quad a = (1 - level) / 2.

    If no row shows an error this is the exact bound: a share s of such rows is missed by all n with
    probability :math:`(1 - s)^n`, which is a for :math:`s = -\log(a) / n`.

    References
    ----------
    Serfling (1980), Approximation theorems of mathematical statistics, section 5.5.1; Arvesen
    (1969), Jackknifing U-statistics; Agresti, Coull (1998), Approximate is better than exact for
    interval estimation of binomial proportions (added rows).
    """
    own = None if pairs.predictions.sample_weight is None else pairs.weight
    estimate, error = jackknife_error(pairs.row_sums(), own)
    if error == 0:
        raise NotApplicable(f"the {symbol} is the same without any row", "report the p-value alone")
    a = (1.0 - level) / 2.0
    z = normal_isf(a)
    reach = z * error
    low = max(estimate - reach, 0.0)
    high = max(estimate, 0.0) + reach + reach * reach / (4.0 * max(estimate, reach / 2.0))
    root = math.sqrt(max(estimate, 0.0))
    added = ((math.sqrt(z * z - 4.0 * math.log(a)) - z) / 2.0) ** 2
    probs, matrix = pairs.predictions.probs, sum(term.matrix for term in pairs.kernel.terms)
    image = probs @ matrix
    own = np.einsum("ik,ik->i", image, probs)
    # The largest h_ii = delta_i' k(p_i, p_i) delta_i over the rows and their labels.
    largest = float((np.diagonal(matrix) - 2.0 * image + own[:, None]).max())
    rest = math.sqrt(largest) - root
    weight = np.broadcast_to(pairs.weight, len(probs))
    size = float(weight.sum() ** 2 / np.square(weight).sum())
    shift = max(added * rest / (size + added), 0.0)
    spread = math.hypot(math.sqrt(high) - root, z * shift / math.sqrt(added))
    notes = (*pairs.notes, *notes, *(() if low > 0 else (ZERO,)))
    return Ends(low, (root + shift + spread) ** 2, estimate, LAW, notes)


def block_bounds(bound: BlockPairs, symbol: str, level: float) -> Ends:
    """Interval of the SKCE by Student's t for the mean of independent blocks.

    It holds for calibrated predictions too. The ends are not below 0, since the SKCE is not.
    Where few blocks carry the error, as where it is rare and a pair of two errors rarer, they are
    those of all pairs of up to 20,000 rows; of more rows those of blocks, with a note.
    """
    values = varying(bound, "the interval", "use estimator='unbiased' (test='skce')")
    estimate = float(values.mean())
    error = float(values.std(ddof=1)) / math.sqrt(values.size)
    reach = student_isf((1.0 - level) / 2.0, values.size - 1) * error
    # (sum d^2)^2 / sum d^4, the number of blocks that the standard error rests on.
    squares = np.square((values - estimate) / values.std())
    few = bool(squares.sum() ** 2 / np.square(squares).sum() < MANY_BLOCKS)
    if few and bound.predictions.n <= PAIRS_UP_TO:
        pairs = all_pairs(bound.predictions, bound.kernel, biased=False)
        return pair_bounds(pairs, symbol, level, ALL)
    notes = (*bound.notes, RARE) if few else bound.notes
    low, high = max(estimate - reach, 0.0), max(estimate + reach, 0.0)
    text = f"Student's interval of the mean over {values.size} blocks"
    return Ends(low, high, estimate, text, notes)


def varying(bound: BlockPairs, limit: str, remedy: str = "use null='exact'") -> Floats:
    """Return the values of blocks, or raise NotApplicable where they do not vary."""
    values = bound.block_values()
    if values.size < 2 or np.ptp(values) == 0 or values.std() == 0:  # squares may vanish
        number = f"these ({values.size} in all) do not"
        raise NotApplicable(f"{limit} needs block values that vary, and {number}", remedy)
    return values


def cases_of_regions(
    predictions: Predictions, kernel: FittedKernel, share: float
) -> Iterator[FewEvents]:
    r"""Yield too few and too many labels of one kind in regions that have all of the error.

    Redirected labels are other than predicted. Where they are a share s of all rows, evenly
    over a region R, the SKCE is
    :math:`s^2 B \bar\kappa_R` at most, with B the largest value of h and :math:`\bar\kappa_R` the
    mean of the kernel over pairs of rows in R, 1 where they are equal. So the share is at least
    `share`, :math:`\sqrt{\tau / B}`, over :math:`\sqrt{\bar\kappa_R}`. Regions are all rows, and
    halves, quarters, ... of the rows with the smallest or the largest probability of the label.
    """
    sizes = [float(np.abs(term.matrix).max()) for term in kernel.terms]
    for probs, hits in designated_labels(predictions, share * predictions.n):
        order = np.lexsort((predictions.probs[:, 0], probs))
        halves = [-(-order.size // 2**k) for k in range(1, HALVINGS + 1)]
        for rows in (order, *(part for half in halves for part in (order[:half], order[-half:]))):
            # The mean of the kernel, scaled to 1 at distance 0, over pairs of rows.
            some = rows[np.linspace(0, rows.size - 1, min(rows.size, SAMPLE)).round().astype(int)]
            left, right = np.triu_indices(some.size, 1)
            off = np.zeros(left.size)
            for term, size in zip(kernel.terms, sizes, strict=True):
                off += size / sum(sizes) * term.pairs(some[left], some[right])
            near = float((some.size + 2.0 * off.sum()) / some.size**2)
            yield from both_sides(probs[rows], hits[rows], share * predictions.n / math.sqrt(near))
