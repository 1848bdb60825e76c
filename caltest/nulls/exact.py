"""The exact null: predictions held fixed, labels redrawn from them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from caltest.errors import NotApplicable
from caltest.measures.base import Measure
from caltest.measures.bound import BoundCells, BoundMeasure
from caltest.measures.outcome import Outcome
from caltest.nulls import base
from caltest.numerics.labels import label_dtype, resample_keys
from caltest.predictions import Predictions
from caltest.sources import Cells
from caltest.types import Floats, Labels, Order


def exact_test(measure: Measure, predictions: Predictions, draws: base.Draws) -> Outcome:
    r"""Test a measure by labels redrawn from the predictions, :math:`y^*_i \sim Cat(p_i)`.

    Under the null hypothesis this is the distribution of the labels given the predictions, so
    :math:`p = (1 + \#\{T^* \ge T\}) / (1 + B)` is valid at every sample size, for every measure.
    Where the predictions allow no more than B + 1 label vectors, all of them take the place of
    random ones, with their probabilities: :math:`p = P(T^* \ge T)`.

    Labels are redrawn for binned measures too, not the counts of the bins: a count is a sum of
    unequal Bernoullis, which a binomial distribution would make too variable.

    Returns
    -------
    Outcome
        The p-value is at least 1 / (1 + B), or the probability of the observed labels.

    References
    ----------
    Phipson, Smyth (2010), Permutation p-values should never be zero; Widmann et al. (2019),
    section 6 has the consistency resampling that this conditions on the predictions.
    """
    base.check_applicable(measure, "exact")
    counted = measure.bind_counted(predictions) if draws.may_count else None
    if counted is not None:
        return exact_tests([(measure, counted)], draws)[0]
    bound = measure.bind(predictions)
    most = draws.n_resamples + 1
    listed = enumerate_labels(bound, measure.alternative, most)
    if listed is not None and not bound.combines:
        return enumerated(measure, bound, listed, draws)
    (outcome,) = exact_tests([(measure, bound)], draws)
    if listed is None:
        return outcome
    # The components are those of the redrawn labels, which all of them have.
    return replace(enumerated(measure, bound, listed, draws), parts=outcome.parts)


def exact_tests(bound: Sequence[tuple[Measure, BoundMeasure]], draws: base.Draws) -> list[Outcome]:
    r"""Test measures that are bound to the same rows or cells: all see the same redrawn labels.

    The number of events of a cell is a sum of unequal Bernoullis, which is drawn from the binomial
    distribution with its mean where its variance is small, and else as a normal number corrected
    for skewness and kurtosis. The cost of a resample is that of the cells, whatever the number of
    rows.
    """
    first = bound[0][1]

    def parts(labels: Labels) -> list[Floats]:
        return [np.atleast_2d(one.statistics(labels)) for _, one in bound]

    # The same code path for observed and redrawn labels, so that ties are ties.
    seen = parts(first.observed[np.newaxis])
    of_all = None if len(bound) == 1 else lambda *given: np.concatenate(parts(*given))
    redrawn = np.atleast_2d(base.redrawn_statistics(first, draws, 0, of_all))
    every = np.concatenate([np.concatenate(seen), redrawn], axis=1)
    found = []
    for (measure, one), own in zip(
        bound, np.split(every, np.cumsum([len(part) for part in seen])[:-1]), strict=True
    ):
        values = one.combine(own if one.combines else own[0])
        combined = one.combined_parts(own)
        found.append(base.resampled_outcome(measure, one, values, parts=combined))
    return found


def bind_cells(measure: Measure, cells: Cells) -> BoundCells:
    """Bind a measure to cells, for its exact null.

    Raises
    ------
    NotApplicable
        If the measure needs the rows, or has no exact null.
    """
    if NULL.key not in measure.nulls:
        raise NotApplicable(
            f"{measure.description} has no exact null, and cells have no other", "use engine='rows'"
        )
    return measure.bind_cells(cells)


def enumerated(
    measure: Measure, bound: BoundMeasure, listed: base.Replicates, draws: base.Draws
) -> Outcome:
    """Return the outcome where all label vectors are listed.

    The replicates are the statistics for the labels of the resamples, which are among those listed.
    """
    count = listed.values.size - 1
    vectors = f"all {count} label vectors" if count > 1 else "the only label vector"
    more = {"null_text": f"{vectors} that the predictions allow"}
    labels = bound.redraw(resample_keys(draws.seed, draws.n_resamples))
    possible = bound.label_probs > 0
    free, numbers = possible.sum(axis=1) > 1, np.zeros(len(labels), dtype=np.intp)
    if free.any():  # the number of each label vector in the order of `_vectors`
        place = np.cumsum(possible, axis=1) - 1
        digits = place[np.arange(len(place)), labels][:, free]
        shape = tuple(possible[free].sum(axis=1).tolist())
        numbers = np.asarray(np.ravel_multi_index(tuple(digits.T), shape))
    values = np.append(listed.values[0], listed.values[1:][numbers])
    observed = float(bound.values(bound.observed[np.newaxis])[0])
    return Outcome(
        pvalue=listed.pvalue,
        replicates=replace(listed, values=values, weights=None),
        **base.described(measure, bound, observed) | more,
    )


NULL = base.Null(
    "exact", "labels redrawn from the predictions; valid at every n", exact_test, resamples=True
)


def enumerate_labels(bound: BoundMeasure, alternative: str, at_most: int) -> base.Replicates | None:
    """Evaluate a bound measure for every label vector, or return None where they are too many.

    The probabilities of the label vectors are the weights.

    Parameters
    ----------
    bound : BoundMeasure
        The measure, bound to the predictions.
    alternative : str
        That of the measure.
    at_most : int
        The largest number of label vectors that is enumerated.
    """
    if bound.predictions.probs.size > base.AT_A_TIME:
        return None  # not worth a copy in the order of the measure
    probs = bound.label_probs
    if not probs[np.arange(len(probs)), bound.observed].all():
        return None  # impossible labels have the smallest p-value that B resamples can give
    counts = np.count_nonzero(probs, axis=1)
    if np.log2(counts).sum() > math.log2(at_most) + 1e-9:
        return None
    every = itertools.chain([(bound.observed[np.newaxis], np.zeros(1))], _vectors(probs, counts))
    parts = [(bound.values(rows), weights) for rows, weights in every]
    values, weights = (np.concatenate(each) for each in zip(*parts, strict=True))
    return base.Replicates(bound.comparable(values), bound.scale, alternative, weights)


def _vectors(probs: Floats, counts: Order) -> Iterator[tuple[Labels, Floats]]:
    """Yield label vectors (rows, n) of positive probability, and their probabilities."""
    n, m = probs.shape
    free = np.flatnonzero(counts > 1)
    shape = tuple(counts[free].tolist())
    total = math.prod(shape)
    certain = np.argmax(probs > 0, axis=1).astype(label_dtype(m))
    step = max(8, base.AT_A_TIME // n)
    for first in range(0, total, step):
        numbers = np.arange(first, min(first + step, total))
        labels = np.tile(certain, (numbers.size, 1))
        weights = np.ones(numbers.size)
        digits = np.unravel_index(numbers, shape) if shape else ()
        for row, digit in zip(free, digits, strict=True):
            labels[:, row] = np.flatnonzero(probs[row])[digit]
            weights *= probs[row, labels[:, row]]
        yield labels, weights
