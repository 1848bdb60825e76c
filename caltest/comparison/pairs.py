"""Differences of scores on the same rows, tested by flips of signs and by redrawn labels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from caltest.comparison.calibration_tests import CalibrationTests
from caltest.comparison.midpoint import redrawn_pvalue
from caltest.comparison.scores import (
    Codes,
    ProperScore,
    in_range,
    mean_and_error,
    sums_of_units,
    units_of,
    weights_of,
)
from caltest.htests.combine import adjusted_pvalues
from caltest.numerics.loops import map_threads
from caltest.predictions import Predictions
from caltest.results import ScoreDifference

Floats = NDArray[np.float64]
TIES = 100 * np.finfo(float).eps
BATCH = 64  # draws a seed; changing it changes every seeded p-value
ROWS = 1 << 14  # rows at a time, 8 MiB of signs


def compared_pairs(
    models: Mapping[str, Predictions],
    score: ProperScore,
    scores: Mapping[str, Floats],
    pairs: Sequence[tuple[str, str]],
    *,
    confidence: float,
    tests_of: CalibrationTests,
    seed: int,
) -> tuple[tuple[ScoreDifference, ...], tuple[str, ...]]:
    """Compare pairs of models, with adjusted p-values; notes say what has none."""
    first = next(iter(models.values()))
    weight = weights_of(first)
    units = units_of(first, weight)
    kept = weight > 0
    finite = {
        name: values[kept] for name, values in scores.items() if np.isfinite(values[kept]).all()
    }
    flipped = _pvalues(finite, weight[kept], units, pairs, tests_of, seed)
    compared = []
    for name, other in pairs:
        with np.errstate(invalid="ignore"):  # both infinite
            differences = scores[name] - scores[other]
        mean, stderr = mean_and_error(differences, weight, units)
        low, high = _interval(mean, stderr, int(units.max()) + 1, confidence)
        pvalue = flipped.get((name, other))
        if pvalue is not None:
            sharp = redrawn_pvalue(
                models[name],
                models[other],
                score,
                differences,
                n_resamples=tests_of.n_resamples,
                seed=seed,
                n_jobs=tests_of.n_jobs,
            )
            pvalue = max(pvalue, sharp)
            if pvalue > 1.0 - confidence:
                low, high = _with_0(low, high)
        if low is not None and high is not None:
            low, high = in_range(low, high, score, first.m)
        compared.append(
            ScoreDifference(
                name=name,
                other=other,
                difference=mean,
                stderr=stderr,
                low=low,
                high=high,
                pvalue=pvalue,
            )
        )
    notes = tuple(
        f"{name}: the score is infinite, so that no difference from it has an error or a p-value"
        for name in scores
        if name not in finite
    )
    return _adjusted(compared, tests_of.correction), notes


def _pvalues(
    scores: Mapping[str, Floats],
    weight: Floats,
    units: Codes,
    pairs: Sequence[tuple[str, str]],
    tests_of: CalibrationTests,
    seed: int,
) -> dict[tuple[str, str], float]:
    r"""Return the p-value of each pair; all pairs share the signs, and so do rows of a cluster.

    The sum of the flipped differences is the difference of the flipped sums, so that k columns are
    summed and not k (k - 1) / 2.
    """
    if len(scores) < 2:
        return {}
    table = np.column_stack(list(scores.values()))
    table = (table - table.mean(axis=1, keepdims=True)) * weight[:, None]
    table = sums_of_units(table, units)
    sums = flipped_sums(table, n_resamples=tests_of.n_resamples, seed=seed, n_jobs=tests_of.n_jobs)
    place = {name: column for column, name in enumerate(scores)}
    found = {}
    for name, other in pairs:
        if name in place and other in place:
            a, b = place[name], place[other]
            size = float(np.abs(table[:, a]).sum() + np.abs(table[:, b]).sum())
            observed = abs(float(table[:, a].sum() - table[:, b].sum()))
            extreme = np.abs(sums[:, a] - sums[:, b]) >= observed - TIES * size
            found[name, other] = float(1 + np.count_nonzero(extreme)) / (1 + tests_of.n_resamples)
    return found


def _interval(
    mean: float, stderr: float | None, n: int, confidence: float
) -> tuple[float | None, float | None]:
    from scipy.special import stdtrit

    if stderr is None or not math.isfinite(mean):
        return None, None
    half = float(stdtrit(n - 1, (1.0 + confidence) / 2)) * stderr
    return mean - half, mean + half


def _with_0(low: float | None, high: float | None) -> tuple[float | None, float | None]:
    """Return an interval about the same middle that reaches 0: the test does not reject it."""
    if low is None or high is None or low <= 0.0 <= high:
        return low, high
    return (0.0, low + high) if low > 0.0 else (low + high, 0.0)


def _adjusted(
    compared: Sequence[ScoreDifference], correction: str | None
) -> tuple[ScoreDifference, ...]:
    """Adjust over the pairs that have a p-value."""
    known = [pair.pvalue for pair in compared if pair.pvalue is not None]
    if not known:
        return tuple(compared)
    values = iter(adjusted_pvalues(known, correction)[0].tolist())
    return tuple(
        pair if pair.pvalue is None else replace(pair, adjusted=next(values)) for pair in compared
    )


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
    sizes = [min(BATCH, n_resamples - done) for done in range(0, n_resamples, BATCH)]
    children = np.random.SeedSequence(seed).spawn(len(sizes))
    tasks = [(values, child, size) for child, size in zip(children, sizes, strict=True)]
    return np.concatenate(list(map_threads(_batch, tasks, n_jobs)))


def _batch(values: Floats, child: np.random.SeedSequence, size: int) -> Floats:
    rng = np.random.default_rng(child)
    total = np.zeros((size, values.shape[1]))
    for start in range(0, len(values), ROWS):
        rows = values[start : start + ROWS]
        bits = np.unpackbits(rng.integers(0, 256, (size, -(-len(rows) // 8)), np.uint8), axis=1)
        signs = np.where(bits[:, : len(rows)], 1.0, -1.0)
        total += signs @ rows
    return total
