"""Differences of scores tested by labels redrawn from a model between the two."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from caltest.comparison.scores import ProperScore, weights_of
from caltest.numerics.labels import resample_keys, row_hashes
from caltest.numerics.loops import map_threads
from caltest.predictions import Predictions
from caltest.predictions.redrawing import Inversion

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
TIES = 100 * np.finfo(float).eps
CELLS = 1 << 20  # numbers at a time, 8 MiB


def redrawn_pvalue(
    first: Predictions,
    second: Predictions,
    score: ProperScore,
    differences: Floats,
    *,
    n_resamples: int,
    seed: int,
    n_jobs: int | None,
) -> float:
    r"""Test the sum of differences of a score by labels redrawn between two models.

    H0: the label of row i has the probabilities :math:`q_i = (1 - t_i) a_i + t_i b_i`, with the
    :math:`t_i \in [0, 1]` at which both models have the same expected score. Given the
    predictions, this says all of the labels, so that

    .. math:: p = \frac{1 + \#\{b : |\sum_i w_i d_i(y^*_{bi})| \ge |\sum_i w_i d_i(y_i)|\}}{1 + B},
        \quad y^*_{bi} \sim Cat(q_i),

    is exact under it, with labels that were not observed too.

    Parameters
    ----------
    first, second : Predictions
        Of the same rows, with the same labels and weights.
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
    weight = weights_of(first)
    kept = np.flatnonzero(weight > 0)
    keys = resample_keys(seed, n_resamples)
    width = max(1, CELLS // max(n_resamples, first.m))
    tasks = [
        (first.probs[rows], second.probs[rows], weight[rows], rows, score, keys)
        for rows in np.split(kept, np.arange(width, kept.size, width))
    ]
    sums = np.sum(list(map_threads(_redrawn_sums, tasks, n_jobs)), axis=0)
    own = weight[kept] * differences[kept]
    extreme = np.abs(sums) >= abs(float(own.sum())) - TIES * float(np.abs(own).sum())
    return float(1 + np.count_nonzero(extreme)) / (1 + n_resamples)


def _redrawn_sums(
    first: Floats,
    second: Floats,
    weight: Floats,
    rows: Rows,
    score: ProperScore,
    keys: NDArray[np.uint64],
) -> Floats:
    """Return the sum over rows of the differences at redrawn labels, (B,)."""
    table = score.of_classes(first) - score.of_classes(second)
    redrawing = Inversion(between(first, second, table))
    redrawing.rows = row_hashes(rows)
    labels = redrawing.labels(keys)
    values: Floats = (weight[:, None] * table)[np.arange(rows.size), labels].sum(axis=1)
    return values


def between(first: Floats, second: Floats, table: Floats) -> Floats:
    r"""Return the mixture of two models at which their expected scores are the same.

    With the differences :math:`d_{ij}` of the scores of row i at label j, (n, m), and their means
    :math:`D^a_i = \sum_j a_{ij} d_{ij} \le 0 \le D^b_i` under either model, since the score is
    proper,

    .. math:: q_i = (1 - t_i) a_i + t_i b_i, \quad t_i = -D^a_i / (D^b_i - D^a_i).

    Of two classes it is the only model with this property.

    Parameters
    ----------
    first, second : (n, m) array
        Probabilities.
    table : (n, m) array
        The score of the first less that of the second, for each label.

    Returns
    -------
    (n, m) array
        Probabilities; the first where both models agree.
    """
    own = np.minimum(np.einsum("ij,ij->i", first, table), 0.0)
    other = np.maximum(np.einsum("ij,ij->i", second, table), 0.0)
    spread = other - own
    t = np.divide(-own, spread, out=np.zeros_like(own), where=spread > 0)[:, None]
    mixed: Floats = (1.0 - t) * first + t * second
    return mixed
