"""Differences of scores on the same rows, tested by flips of signs and by redrawn labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from scipy.special import stdtrit

from caltest.comparison import outcomes, scores
from caltest.htests.combine import adjusted_pvalues
from caltest.intervals.mean import ScoredRows
from caltest.measures.outcome import Ends
from caltest.nulls.base import Draws, drawn_values
from caltest.numerics.labels import resample_keys, row_hashes
from caltest.numerics.loops import map_threads
from caltest.predictions import Predictions, Rows
from caltest.predictions.redrawing import Inversion
from caltest.results import ScoreDifference
from caltest.types import Codes, Floats, Order

Losses = Mapping[str, Floats]  # scores of the rows by model
Pairs = Sequence[tuple[str, str]]
TIES = 100 * np.finfo(float).eps
MANY = 50.0  # labels that carry the variance of the sum, from which on none decides
CELLS = 1 << 20  # numbers at a time, 8 MiB
ROWS = 1 << 14  # rows at a time, 8 MiB of signs
POINTS = 512  # at which a forecast of numbers is redrawn


def compared_pairs(
    models: Mapping[str, Rows],
    score: scores.ProperScore,
    losses: Losses,
    pairs: Pairs,
    confidence: float,
    tests_of: outcomes.CalibrationTests,
    seed: int,
) -> tuple[tuple[ScoreDifference, ...], tuple[str, ...]]:
    """Compare pairs of models, with adjusted p-values; notes say what has none."""
    first = next(iter(models.values()))
    weight = first.weights
    units = scores.units_of(first, weight)
    kept = weight > 0
    own = {name: values[kept] for name, values in losses.items()}
    finite = {name: values for name, values in own.items() if np.isfinite(values).all()}
    jobs, draws_of = tests_of.n_jobs, tests_of.n_resamples
    draws: dict[str, Any] = {"n_resamples": draws_of, "seed": seed, "n_jobs": jobs}
    flipped = _pvalues(finite, weight[kept], units, pairs, draws)
    quantile = float(stdtrit(int(units.max()), (1.0 + confidence) / 2))
    compared = []
    for name, other in pairs:
        with np.errstate(invalid="ignore"):  # both infinite
            differences = losses[name] - losses[other]
        mean, stderr = scores.mean_and_error(differences, weight, units)
        low, high = None, None
        pvalue = flipped.get((name, other))
        if pvalue is not None:
            both = models[name], models[other]
            pvalue = max(pvalue, redrawn_pvalue(*both, score, differences, **draws))
        if stderr is not None and np.isfinite(mean):
            low, high = mean - quantile * stderr, mean + quantile * stderr
            if pvalue is not None:  # a difference that is found stays one
                ends, is_found = Ends(low, high, mean, ""), pvalue <= 1.0 - confidence
                asked: dict[str, Any] = {"level": confidence, "draws": Draws(draws_of, seed)}
                ends = with_row_unseen(*both, score, differences, ends, **asked)
                low = low if is_found and mean > 0 else ends.low
                high = high if is_found and mean < 0 else ends.high
            if pvalue is not None and pvalue > 1.0 - confidence and not low <= 0.0 <= high:
                # The test does not reject 0: the interval about the same middle reaches it.
                low, high = (0.0, low + high) if low > 0.0 else (low + high, 0.0)
            low, high = score.in_range(low, high, first.m)
        found = {"stderr": stderr, "low": low, "high": high, "pvalue": pvalue}
        compared.append(ScoreDifference(name=name, other=other, difference=mean, **found))
    reason = "the score is infinite, so that no difference from it has an error or a p-value"
    notes = tuple(f"{name}: {reason}" for name in losses if name not in finite)
    known = [pair.pvalue for pair in compared if pair.pvalue is not None]
    if known:
        values = iter(adjusted_pvalues(known, tests_of.correction)[0].tolist())
        compared = [x if x.pvalue is None else replace(x, adjusted=next(values)) for x in compared]
    return tuple(compared), notes


def _pvalues(
    losses: Losses, weight: Floats, units: Codes, pairs: Pairs, draws: Mapping[str, Any]
) -> dict[tuple[str, str], float]:
    r"""Return the p-value of each pair; all pairs share the signs, and so do rows of a cluster.

    The sum of the flipped differences is the difference of the flipped sums, so that k columns are
    summed and not k (k - 1) / 2.
    """
    if len(losses) < 2:
        return {}
    table = np.column_stack(list(losses.values()))
    table = (table - table.mean(axis=1, keepdims=True)) * weight[:, None]
    table = scores.sums_of_units(table, units)
    sums = flipped_sums(table, **draws)
    place = {name: column for column, name in enumerate(losses)}
    found = {}
    for name, other in pairs:
        if name in place and other in place:
            a, b = place[name], place[other]
            size = float(np.abs(table[:, a]).sum() + np.abs(table[:, b]).sum())
            observed = abs(float(table[:, a].sum() - table[:, b].sum()))
            extreme = np.abs(sums[:, a] - sums[:, b]) >= observed - TIES * size
            found[name, other] = float(1 + np.count_nonzero(extreme)) / (1 + len(sums))
    return found


def flipped_sums(values: Floats, *, n_resamples: int, seed: int, n_jobs: int | None) -> Floats:
    """Return the sums over rows of s_i v_ij with independent signs s_i = +1 or -1.

    Parameters
    ----------
    values : (n, k) array
        Finite values.
    n_resamples : int
        Number of draws, B.
    seed : int
        The draws come in batches with a seed of their own: they do not depend on `n_jobs`.
    n_jobs : int or None
        Threads, as in joblib.

    Returns
    -------
    (B, k) array
        The columns of a draw have the same signs, so that their differences are the sums of
        differences.
    """

    def batch(rng: np.random.Generator, size: int) -> Floats:
        total = np.zeros((size, values.shape[1]))
        for start in range(0, len(values), ROWS):
            rows = values[start : start + ROWS]
            bits = np.unpackbits(rng.integers(0, 256, (size, -(-len(rows) // 8)), np.uint8), axis=1)
            total += np.where(bits[:, : len(rows)], 1.0, -1.0) @ rows
        return total

    return drawn_values(batch, Draws(n_resamples, seed), n_jobs)


def with_row_unseen(
    first: Rows,
    second: Rows,
    score: scores.ProperScore,
    differences: Floats,
    ends: Ends,
    *,
    level: float,
    draws: Draws,
) -> Ends:
    """Return ends that reach as far as those with a row not seen, where few labels decide.

    Its label is the one that makes most difference, in proportion to its mean probability in both;
    of more than two classes it is one of those that make most, which may all have been missed.
    """
    if first.m < 2 or first.n * first.m > 2 * CELLS:
        return ends
    a, b, table = score.between(first, second)
    if are_many(row_moments(a, b, table), first.weights) or not np.isfinite(table).all():
        return ends
    values = first.weights[:, None] * table, first.weights * differences, -np.inf
    rows = ScoredRows.of_rows(cast("Predictions", first), *values)
    rows = replace(rows, probs=(a + b) / 2.0, in_tail=first.m > 2)
    return rows.with_row_unseen(ends, level, draws)


# ---- labels redrawn from a model between the two -------------------------------------------------


def redrawn_pvalue(
    first: Rows,
    second: Rows,
    score: scores.ProperScore,
    differences: Floats,
    *,
    n_resamples: int,
    seed: int,
    n_jobs: int | None,
) -> float:
    r"""Test the sum of differences of a score by labels redrawn between two models.

    H0: the label of row i has the probabilities :math:`q_i = (1 - t_i) a_i + t_i b_i`, with
    :math:`t_i \in [0, 1]` at which both models have the same expected score. Given the
    predictions, this says all of the labels, so that

    .. math:: p = \frac{1 + \#\{b : |\sum_i w_i d_i(y^*_{bi})| \ge |\sum_i w_i d_i(y_i)|\}}{1 + B},
        \quad y^*_{bi} \sim Cat(q_i),

    is exact under it, with labels that were not observed too. It is the largest of three such
    hypotheses, see `places_between`: the score is the same in each row, or each model is right in
    its own half of what decides, where a few labels do.

    Parameters
    ----------
    first, second : Rows
        Of the same rows, with the same outcomes and weights. An outcome that is a number is drawn
        from the points whose weights give expectations under either forecast.
    score : ProperScore
        What is compared.
    differences : (n,) array
        The score of the first less that of the second in each row, finite where there is weight.
    n_resamples : int
        B.
    seed : int
        That of the redrawn labels.
    n_jobs : int or None
        Threads, as in joblib.

    Returns
    -------
    float
        The p-value.

    References
    ----------
    Rubin (1980), Randomization analysis of experimental data: the Fisher randomization test
    comment, JASA 75 (sharp null hypotheses); Gneiting, Raftery (2007), Strictly proper scoring
    rules, prediction, and estimation, JASA 102, section 2 (expected scores are linear).
    """
    weight = first.weights
    kept = np.flatnonzero(weight > 0)
    keys, weight = resample_keys(seed, n_resamples), weight[kept]
    width = max(1, CELLS // max(n_resamples, first.m, POINTS))
    blocks = np.split(np.arange(kept.size), np.arange(width, kept.size, width))

    def between(rows: Order) -> tuple[Floats, Floats, Floats]:
        return score.between(first.subset(kept[rows]), second.subset(kept[rows]))

    places = places_between(np.hstack([row_moments(*between(rows)) for rows in blocks]), weight)

    def redrawn_sums(rows: Order) -> Floats:
        """Return the sums over rows of differences at outcomes redrawn at each place, (k, B)."""
        a, b, table = between(rows)
        table = weight[rows, None] * table
        sums = []
        for t in places:
            mixed = (1.0 - t[rows])[:, None] * a + t[rows][:, None] * b
            redrawing = Inversion(mixed, row_hashes(kept[rows]))
            sums.append(table[np.arange(rows.size), redrawing.labels(keys)].sum(axis=1))
        return np.array(sums)

    sums = np.sum(list(map_threads(redrawn_sums, [(rows,) for rows in blocks], n_jobs)), axis=0)
    own = weight * differences[kept]
    extreme = np.abs(sums) >= abs(float(own.sum())) - TIES * float(np.abs(own).sum())
    return float(1 + np.count_nonzero(extreme, axis=1).max()) / (1 + n_resamples)


def row_moments(first: Floats, second: Floats, table: Floats) -> Floats:
    r"""Return what decides where between two models labels are redrawn, (6, n).

    Parameters
    ----------
    first, second : (n, m) array
        Probabilities.
    table : (n, m) array
        The score of the first less that of the second, for each label.

    Returns
    -------
    (6, n) array
        The mean difference under the first and under the second model, the place t between them
        where it is 0, its second and fourth moment there, and its range.
    """
    own = np.minimum(np.einsum("ij,ij->i", first, table), 0.0)
    other = np.maximum(np.einsum("ij,ij->i", second, table), 0.0)
    spread = other - own
    t = np.divide(-own, spread, out=np.zeros_like(own), where=spread > 0)
    mixed = (1.0 - t)[:, None] * first + t[:, None] * second
    second_moment = np.einsum("ij,ij->i", mixed, np.square(table))
    fourth = np.einsum("ij,ij->i", mixed, table**4)
    return np.stack([own, other, t, second_moment, fourth, np.ptp(table, axis=1)])


def places_between(moments: Floats, weight: Floats) -> list[Floats]:
    r"""Return mixtures (1 - t) a + t b of two models at which their expected scores are the same.

    With the differences :math:`d_{ij}` of the scores of row i at label j, (n, m), and their means
    :math:`D^a_i = \sum_j a_{ij} d_{ij} \le 0 \le D^b_i` under either model, since the score is
    proper, they are the same in each row at

    .. math:: t_i = -D^a_i / (D^b_i - D^a_i),

    for two classes the only model of that kind. They are the same on the whole, too, where the
    first model is right in some rows and the second in the others, one of them moved towards
    :math:`t_i` until the sum of :math:`w_i D_i` is 0. Then events may be many more in the few rows
    that decide: those whose labels make most difference, up to half of the variance of the sum, are
    taken apart, and either model is right there. Where fifty labels or more carry the variance, by
    :math:`(\sum_i E[d_i^2])^2 / \sum_i E[d_i^4]`, the first mixture is enough.

    Parameters
    ----------
    moments : (6, n) array
        See `row_moments`.
    weight : (n,) array
        Weights of the rows.

    Returns
    -------
    list of (n,) array
        The t of three mixtures, or of the first alone.
    """
    own, other, t, second_moment, _, reach = moments
    if are_many(moments, weight):
        return [t]
    variance = np.square(weight) * second_moment
    order = np.argsort(-weight * reach, kind="stable")
    share = np.cumsum(variance[order])
    decisive = np.zeros(t.size, dtype=bool)
    decisive[order[: np.searchsorted(share, share[-1] / 2.0) + 1]] = True
    places = [t]
    for at_first in (decisive, ~decisive):
        lost = -float((weight * own)[at_first].sum()), float((weight * other)[~at_first].sum())
        if min(lost) > 0:
            kept = min(1.0, lost[1] / lost[0]), min(1.0, lost[0] / lost[1])
            places.append(np.where(at_first, (1.0 - kept[0]) * t, t + kept[1] * (1.0 - t)))
    return places


def are_many(moments: Floats, weight: Floats) -> bool:
    """Tell whether fifty labels or more carry the variance of the sum of differences."""
    square = np.square(weight)
    return bool((square @ moments[3]) ** 2 >= MANY * (np.square(square) @ moments[4]))
