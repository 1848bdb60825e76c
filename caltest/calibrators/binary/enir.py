"""Ensemble of nearly-isotonic regressions, Naeini, Cooper 2016."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from caltest import checks
from caltest.calibrators.base import BinaryCalibrator
from caltest.calibrators.binary.binning import NEGLIGIBLE
from caltest.calibrators.inputs import Inputs
from caltest.numerics.loops import njit
from caltest.numerics.sorted_scores import distinct_scores, interpolate
from caltest.types import Flags, Floats, Ints

# Blocks: mass, events, s_left, s_right, first and last score. Those at lambda = 0 come first, then
# one for each merge in order.
Blocks = tuple[Floats, Floats, Ints, Ints, Ints, Ints]
# Lambda of each merge, the two blocks that it merges, and the list of the blocks that are left at
# the end: the one before and the one after each.
Merges = tuple[Floats, Ints, Ints, Ints]
Heap = list[tuple[float, int, int]]  # lambda of a merge that may come, and its two blocks
SAME = 1e-10  # relative difference of lambdas that differ by rounding
FAR = 100.0  # models whose BIC is so much larger than the best weigh less than 1e-21


@dataclass(kw_only=True, eq=False, repr=False)
class ENIR(BinaryCalibrator):
    r"""Ensemble of nearly-isotonic regressions: isotonic regression that may fall at a price.

    For distinct scores in ascending order, with mass w_j and event frequency y_j, a model minimises

    .. math:: \frac{1}{2} \sum_j w_j (y_j - \beta_j)^2
        + \lambda \sum_j (\beta_j - \beta_{j+1})_+ .

    The models are the solutions at all breakpoints of the path in :math:`\lambda`, from the first
    above 0 to isotonic regression; they are weighted by :math:`\exp(-\mathrm{BIC} / 2)`, where
    BIC is :math:`-2 \log L + k \log n` with k the number of blocks of equal :math:`\beta`.
    Between scores the map is linear, below the lowest and above the highest constant. It can be
    0 or 1, as isotonic regression, and need not be monotone.

    The authors' program takes at most 100 breakpoints, :math:`\log n + \log 2 \pi` in the penalty
    and a further smoothing that the paper has not; here the definition is exact.

    Parameters
    ----------
    averaging : bool, default True
        Average the models; otherwise take the one with the lowest BIC.
    from_logits : bool, default False
        Whether the inputs are logits (of shape (n,): log odds) instead of probabilities.
    classes : sequence of length 2, optional
        Names of the columns. By default the sorted labels where each class occurs, and otherwise
        0 and 1.

    Attributes
    ----------
    knots_ : (k,) array
        Scores between which the map is linear.
    values_ : (k,) array
        Calibrated probability at the knots.
    lambdas_, bic_, model_weights_ : (K,) array
        Penalty, BIC and weight of the models whose weight is not negligible.

    Notes
    -----
    Weights count observations: a weight of 2 is a row twice. n is their sum, or the number of
    distinct scores where that is larger. The path takes :math:`O(n \log n)`.

    References
    ----------
    Naeini, Cooper (2016), Binary classifier calibration using an ensemble of near isotonic
    regression models, ICDM. Tibshirani, Hoefling, Tibshirani (2011), Nearly-isotonic regression,
    Technometrics 53, section 3.

    Examples
    --------
    >>> from caltest.calibrators import ENIR
    >>> enir = ENIR().fit([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0, 0, 1, 0, 1, 1])
    >>> enir.predict_proba([0.3, 0.35, 0.4])[:, 1]
    array([0.5, 0.5, 0.5])
    """

    key, title = "enir", "Ensemble of nearly-isotonic regressions"

    averaging: bool = True

    def _fit_event(self, inputs: Inputs, event: Flags, weight: Floats | None) -> None:
        averaging = checks.check_flag(self.averaging, "averaging")
        score, mass, events = distinct_scores(inputs.event, event, weight)
        blocks, merges = solution_path(mass, events)
        models, bic = bic_scores(blocks, merges, max(float(mass.sum()), float(len(mass))))
        share = np.exp((bic.min() - bic) / 2)
        # Of equally good models the one nearest to isotonic regression is taken.
        best = len(bic) - 1 - int(np.argmin(bic[::-1]))
        kept = share > NEGLIGIBLE if averaging else np.arange(len(bic)) == best
        self.bic_ = bic[kept]
        self.model_weights_ = share[kept] / share[kept].sum()
        self.lambdas_ = np.concatenate([[0.0], merges[0]])[models[kept]]
        first, last, values = mean_of_models(blocks, merges, models[kept], self.model_weights_)
        # A block is constant from its first to its last score, which may be the same.
        ends = np.column_stack([first, last]).ravel()
        distinct = np.append(True, ends[1:] > ends[:-1])
        self.knots_ = score[ends[distinct]]
        self.values_ = np.repeat(np.clip(values, 0.0, 1.0), 2)[distinct]

    def _event(self, inputs: Inputs) -> Floats:
        return interpolate(inputs.event, self.knots_, self.values_)


@njit()
def solution_path(mass: Floats, events: Floats) -> tuple[Blocks, Merges]:
    """Merge blocks until no boundary falls, in O(d log d) by a heap of the next meetings."""
    blocks, count = _initial_blocks(mass, events)
    w, e, left, right, first, last = blocks
    before, after = np.arange(-1, 2 * count - 2), np.arange(1, 2 * count)
    after[count - 1] = -1
    alive = np.zeros(2 * count - 1, np.bool_)
    alive[:count] = True
    lambdas, parts = np.empty(count - 1), np.empty((count - 1, 2), np.int64)
    heap = [(0.0, 0, 0)]
    heap.pop()
    for a in range(count - 1):
        _push_meeting(heap, blocks, a, a + 1, 0.0)
    c = count
    while len(heap) > 0:
        now, a, b = heapq.heappop(heap)
        if not (alive[a] and alive[b]):
            continue
        alive[a], alive[b], alive[c] = False, False, True
        w[c], e[c] = w[a] + w[b], e[a] + e[b]
        left[c], right[c], first[c], last[c] = left[a], right[b], first[a], last[b]
        lambdas[c - count], parts[c - count, 0], parts[c - count, 1] = now, a, b
        before[c], after[c] = before[a], after[b]
        if before[c] >= 0:
            after[before[c]] = c
            _push_meeting(heap, blocks, before[c], c, now)
        if after[c] >= 0:
            before[after[c]] = c
            _push_meeting(heap, blocks, c, after[c], now)
        c += 1
    merged = c - count
    return blocks, (lambdas[:merged].copy(), parts[:merged].copy(), before, after)


@njit()
def _initial_blocks(mass: Floats, events: Floats) -> tuple[Blocks, int]:
    """Pool neighbours of equal frequency, compared by cross products, exact for counts."""
    d = mass.size
    w, e = np.zeros(2 * d - 1), np.zeros(2 * d - 1)
    left, right = np.zeros(2 * d - 1, np.int64), np.zeros(2 * d - 1, np.int64)
    first, last = np.zeros(2 * d - 1, np.int64), np.zeros(2 * d - 1, np.int64)
    b = -1
    for j in range(d):
        if j == 0 or events[j - 1] * mass[j] != events[j] * mass[j - 1]:
            b += 1
            first[b] = j
            if j > 0 and events[j - 1] * mass[j] > events[j] * mass[j - 1]:
                right[b - 1], left[b] = 1, 1
        w[b] += mass[j]
        e[b] += events[j]
        last[b] = j
    size = 2 * (b + 1) - 1
    return (w[:size], e[:size], left[:size], right[:size], first[:size], last[:size]), b + 1


@njit()
def _push_meeting(heap: Heap, blocks: Blocks, a: int, b: int, now: float) -> None:
    """Note the lambda at which neighbours a and b become equal, if nothing merges before."""
    w, e, left, right = blocks[0], blocks[1], blocks[2], blocks[3]
    s = right[a]
    apart = e[a] * w[b] - e[b] * w[a]
    if s == 0:
        apart = -apart
        speed = left[a] * w[b] + right[b] * w[a]
    else:
        speed = (1 - left[a]) * w[b] + (1 - right[b]) * w[a]
    if apart <= 0:
        heapq.heappush(heap, (now, a, b))
    elif speed > 0:
        heapq.heappush(heap, (max(apart / speed, now), a, b))


@njit(inline="always")
def _value(blocks: Blocks, a: int, lam: float) -> float:
    value = (blocks[1][a] + (blocks[2][a] - blocks[3][a]) * lam) / blocks[0][a]
    return float(min(max(value, 0.0), 1.0))


@njit()
def bic_scores(blocks: Blocks, merges: Merges, size: float) -> tuple[Ints, Floats]:
    """Score the breakpoints of the path by BIC = -2 log L + (number of blocks) log(size).

    A model is the number of merges that made it. The path is followed back from isotonic
    regression; where the number of blocks alone makes a model far worse than the best, so are all
    before it, and where the frequencies of its blocks would be far worse (a bound that each merge
    changes by three terms), it is passed over. The data themselves, at lambda = 0, are no model
    unless nothing is to be merged.

    Returns
    -------
    models : (K,) array
        Those that matter in ascending order of lambda.
    scores : (K,) array
        Their BIC.
    """
    lambdas, parts, before, after = merges[0], merges[1], merges[2].copy(), merges[3].copy()
    total, count = lambdas.size, (blocks[0].size + 1) // 2
    head = 0  # the block that has the first score at the end of the path
    for t in range(total):
        if parts[t, 0] == head:
            head = count + t
    bound = _deviance(blocks, after, head, np.nan)
    models, scores = np.empty(total + 1, np.int64), np.empty(total + 1)
    found, best, penalty = 0, np.inf, np.log(size)
    for t in range(total, -1, -1):
        price = (count - t) * penalty
        if price > best + FAR or (t == 0 and total > 0):
            break
        lam = lambdas[t - 1] if t > 0 else 0.0
        is_last = t == total or lambdas[t] > lam * (1 + SAME)
        if is_last and bound + price <= best + FAR:
            models[found] = t
            scores[found] = _deviance(blocks, after, head, lam) + price
            best = min(best, scores[found])
            found += 1
        if t > 0:
            a, b, c = parts[t - 1, 0], parts[t - 1, 1], count + t - 1
            bound -= _block_deviance(blocks, c, np.nan)
            bound += _block_deviance(blocks, a, np.nan) + _block_deviance(blocks, b, np.nan)
            head = _split(before, after, a, b, c, head)
    return models[:found][::-1].copy(), scores[:found][::-1].copy()


@njit()
def mean_of_models(
    blocks: Blocks, merges: Merges, models: Ints, weight: Floats
) -> tuple[Ints, Ints, Floats]:
    """Return the weighted mean of models in ascending order of lambda.

    Each block of the first model lies in a block of every other, the one that it is merged into:
    the sums go from the last block down.

    Returns
    -------
    first, last : (blocks,) array
        The first and last score of each block of the first model, in ascending order.
    value : (blocks,) array
        The mean there.
    """
    lambdas, parts = merges[0], merges[1]
    count, total = (blocks[0].size + 1) // 2, merges[0].size
    value, place = np.zeros(count + total), np.full(count, -1)
    death, parent = np.full(count + total, total + 1), np.full(count + total, -1)
    for t in range(total):
        for i in range(2):
            death[parts[t, i]], parent[parts[t, i]] = t + 1, count + t
    for c in range(count + total - 1, -1, -1):
        birth = max(c - count + 1, 0)
        if parent[c] >= 0:
            value[c] = value[parent[c]]
        for k in range(np.searchsorted(models, birth), np.searchsorted(models, death[c])):
            lam = lambdas[models[k] - 1] if models[k] > 0 else 0.0
            value[c] += weight[k] * _value(blocks, c, lam)
        if birth <= models[0] < death[c]:
            # In the place of the block at lambda = 0 with which block c starts.
            place[int(np.searchsorted(blocks[4][:count], blocks[4][c]))] = c
    found = place[place >= 0]
    return blocks[4][found], blocks[5][found], value[found]


@njit()
def _split(before: Ints, after: Ints, a: int, b: int, c: int, head: int) -> int:
    """Put a and b in the place of c in the list of blocks; returns its first."""
    before[a], after[a], before[b], after[b] = before[c], b, a, after[c]
    if after[b] >= 0:
        before[after[b]] = b
    if before[a] < 0:
        return a
    after[before[a]] = a
    return head


@njit()
def _deviance(blocks: Blocks, after: Ints, head: int, lam: float) -> float:
    """Return -2 log L of the blocks in the list."""
    total = 0.0
    a = head
    while a >= 0:
        total += _block_deviance(blocks, a, lam)
        a = after[a]
    return total


@njit()
def _block_deviance(blocks: Blocks, a: int, lam: float) -> float:
    """Return -2 log L of a block at lambda, or with its own frequency where lambda is NaN.

    A block of a single label may have the probability 0 or 1.
    """
    events, others = blocks[1][a], blocks[0][a] - blocks[1][a]
    p = events / blocks[0][a] if np.isnan(lam) else _value(blocks, a, lam)
    total = 0.0
    if events > 0:
        total += events * np.log(max(p, 1e-300))
    if others > 0:
        total += others * np.log(max(1.0 - p, 1e-300))
    return -2.0 * total
