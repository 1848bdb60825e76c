"""The exact null: predictions held fixed, labels redrawn from them, as many as the answer needs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from caltest.errors import NotApplicable
from caltest.measures.base import Measure
from caltest.measures.bound import BoundCells, BoundChunks, BoundMeasure
from caltest.measures.outcome import Outcome, Part
from caltest.nulls import base
from caltest.numerics.joint import tie_tolerance
from caltest.numerics.labels import label_dtype, resample_keys
from caltest.predictions import Predictions
from caltest.sources import Cells
from caltest.sources.chunks import Chunk, Redraw, Survey
from caltest.types import Floats, Hashes, Ints, Labels, Order

UNIT = (0, 0)  # that all rows are of


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
    alone = draws.alone
    if draws.may_count and alone and measure.takes_chunks_of(predictions, draws.n_resamples):
        return _test_by_chunks(measure, predictions, draws)
    counted = measure.bind_counted(predictions, alone=alone) if draws.may_count else None
    if counted is not None:
        return exact_tests([(measure, counted)], draws)[0]
    bound = measure.bind(predictions)
    listed = enumerate_labels(bound, measure.alternative, draws.n_resamples + 1)
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
    first, sizes = bound[0][1], [0]

    def of_all(labels: Labels) -> Floats:
        parts = [np.atleast_2d(one.statistics(labels)) for _, one in bound]
        sizes[:] = map(len, parts)
        return np.concatenate(parts)

    evaluate = None if len(bound) == 1 else of_all
    every = np.atleast_2d(base.redrawn_statistics(first, draws, 0, evaluate, with_observed=True))
    found = []
    for (measure, one), own in zip(bound, np.split(every, np.cumsum(sizes)[:-1]), strict=True):
        values, parts = one.with_parts(own)
        found.append(base.resampled_outcome(measure, one, values, parts=parts))
    return found


def chunk_tests(
    bound: Sequence[tuple[Measure, BoundChunks]], draws: base.Draws, redraw: Callable[..., Any]
) -> list[Outcome]:
    """Test measures that are bound to the same rows by chunks: all see the same redrawn labels.

    Parameters
    ----------
    bound : sequence of pairs
        Measures, and what remains of each.
    draws : Draws
        The number of resamples and the seed.
    redraw : callable
        ``redraw(make, keys)`` redraws the labels, and adds up what ``make()`` returns.
    """
    # The keys that measures take for themselves are the same.
    references = max((one.references(draws.n_resamples) for _, one in bound), key=len)
    keys = np.concatenate([resample_keys(draws.seed, draws.n_resamples), references])
    totals = redraw(partial(_totals, [one.make for _, one in bound], 1 + keys.size), keys)
    found = []
    for (measure, one), some in zip(bound, totals, strict=True):
        values, parts = one.values(some, draws.n_resamples)
        found.append(base.resampled_outcome(measure, one, values, parts=parts))
    return found


def _totals(makes: Sequence[Callable[[int], Any]], size: int) -> list[Any]:
    """Make the sums of several measures, on a worker."""
    return [make(size) for make in makes]


def _test_by_chunks(measure: Measure, predictions: Predictions, draws: base.Draws) -> Outcome:
    """Test rows in memory by chunks, as those that lie elsewhere."""
    chunks = partial(Chunk.of, predictions.probs, predictions.labels)
    survey, names = Survey.of(predictions.m, UNIT, chunks()), list(map(str, predictions.classes))

    def redraw(make: Callable[[], Any], keys: Hashes) -> list[Any]:
        return Redraw(make, keys, survey.numbering())(UNIT, chunks()).totals

    bound = measure.bind_chunks(survey, names, predictions)
    return chunk_tests([(measure, bound)], draws, redraw)[0]


def bind_cells(measure: Measure, cells: Cells, *, alone: bool = False) -> BoundCells:
    """Bind a measure to cells, for its exact null; alone where no other sees their numbers.

    Raises
    ------
    NotApplicable
        If the measure needs the rows, or has no exact null.
    """
    if NULL.key not in measure.nulls:
        raise NotApplicable(
            f"{measure.description} has no exact null, and cells have no other", "use engine='rows'"
        )
    return measure.bind_cells(cells, alone=alone)


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
    possible = np.asarray(bound.label_probs) > 0
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
        replicates=replace(listed, values=values, weights=None, statistics=None, law=listed),
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
    table: Floats | None = bound.predictions.label_probs
    if table is None or table.size > base.AT_A_TIME:
        return None  # not worth a copy in the order of the measure
    probs = np.asarray(bound.label_probs)
    if not probs[np.arange(len(probs)), bound.observed].all():
        return None  # impossible labels have the smallest p-value that B resamples can give
    counts = np.count_nonzero(probs, axis=1)
    if np.log2(counts).sum() > math.log2(at_most) + 1e-9:
        return None
    every = itertools.chain([(bound.observed[np.newaxis], np.zeros(1))], _vectors(probs, counts))
    parts = [(bound.values(rows), weights) for rows, weights in every]
    values, weights = (np.concatenate(each) for each in zip(*parts, strict=True))
    comparable = bound.comparable(values)
    return base.Replicates(comparable, bound.scale, alternative, weights, statistics=values)


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


ADAPTIVE = "adaptive"
LEVEL = 0.05  # where the caller gives none
MOST = 10**6  # resamples
CLEAR = 100  # as extreme: the standard error of the p-value is a tenth of it
FEW = 20  # the same far below the level, where it is a fifth
FIRST = 256  # resamples that are drawn at once, and half as many again each time
LISTED = 1 << 14  # label vectors that are enumerated
OF_PARTS = 999  # resamples that judge the components of a combination
KEPT = 100_000  # resampled values that the result holds


class Stop(NamedTuple):
    """Where the drawing ended: the number of resamples, the p-value, and the rule in words."""

    drawn: int
    pvalue: float
    rule: str


@dataclass(frozen=True)
class StoppingRule:
    r"""When labels have been redrawn often enough, and the p-value then.

    With g the number of redrawn statistics that are as extreme as the observed one (of a two-sided
    test, in the tail that has fewer), drawing ends

    - at the l-th resample, up to :math:`l_1 = 100 / \alpha`, that makes g = 100: p = 100 / l;
    - at :math:`l_1`, where g is at least 20: :math:`p = (1 + g) / (1 + l_1)`;
    - at the l-th resample, beyond :math:`l_1`, that makes g = 20: p = 20 / l;
    - at the last one, B = 10^6: p = (1 + g) / (1 + B).

    A two-sided test takes twice that, with :math:`l_1 = 200 / \alpha`.

    Attributes
    ----------
    level : float
        The level :math:`\alpha` at which the decision is to be clear.
    sides : int
        2 for a two-sided test, else 1.
    most : int
        The largest number of resamples.
    reason : str
        Why no more than the first are drawn, for print.
    """

    level: float = LEVEL
    sides: int = 1
    most: int = MOST
    reason: str = ""

    @property
    def first(self) -> int:
        """The number of resamples after which fewer have to be as extreme."""
        return min(self.most, math.ceil(self.sides * CLEAR / self.level))

    def stop(self, extreme: Ints) -> Stop | None:
        """Return where the drawing ends, or None where more is to be drawn.

        Parameters
        ----------
        extreme : (l,) array
            The number of statistics that are as extreme among the first 1, 2, ... resamples.
        """
        many, later = extreme[: self.first], extreme[self.first :]
        until = "until "
        if many.size and many[-1] >= CLEAR:
            drawn, count = int(np.searchsorted(many, CLEAR)) + 1, CLEAR
        elif many.size == self.first and (many[-1] >= FEW or self.first == self.most):
            drawn, count, until = self.first, int(many[-1]), ""
        elif later.size and later[-1] >= FEW:
            drawn, count = self.first + int(np.searchsorted(later, FEW)) + 1, FEW
        elif extreme.size >= self.most:
            drawn, count, until = self.most, int(extreme[-1]), ""
        else:
            return None
        tail = count / drawn if until else (1 + count) / (1 + drawn)
        side = " on the smaller side" if self.sides == 2 else ""
        text = f"adaptive, Besag-Clifford: {until}{count} were as extreme{side}{self.reason}"
        return Stop(drawn, min(1.0, self.sides * tail), text)


def adaptive_test(
    measure: Measure, predictions: Predictions, draws: base.Draws, *, level: float
) -> Outcome:
    r"""Test a measure by the exact null, with labels redrawn until the answer is clear.

    For a number l, the observed statistic and l - 1 redrawn ones are exchangeable under the null
    hypothesis, so that with probability at most h / l fewer than h of the redrawn ones are as
    extreme: the p-value h / l, and each other one of `StoppingRule`, is attained with at most its
    own probability. The p-value is valid at every n, as that of a fixed number of resamples.

    The resamples are the first ones of the same test with a fixed number and the same seed, and the
    p-value depends on neither the threads nor how many are drawn at once.

    An observed class of probability 0, which has no chance under the null hypothesis, is never
    redrawn: a million resamples would only say so more often, and drawing ends at :math:`l_1`.

    References
    ----------
    Besag, Clifford (1991), Sequential Monte Carlo p-values, Biometrika 78.
    """
    base.check_applicable(measure, "exact")
    bound = measure.bind(predictions)
    listed = enumerate_labels(bound, measure.alternative, LISTED)
    if listed is not None:
        outcome = enumerated(measure, bound, listed, draws._replace(n_resamples=1))
        return replace(outcome, replicates=None, parts=_parts(bound, draws))
    sides = 2 if measure.alternative == "two-sided" else 1
    rule = StoppingRule(level, sides, draws.n_resamples)
    if bound.predictions.has_impossible:
        rule = replace(rule, most=rule.first, reason=f", and {predictions.ruled_out}")
    observed = bound.values(bound.observed[np.newaxis])
    compared = bound.comparable(observed)
    tolerance = tie_tolerance(compared, bound.scale)
    values, stop = np.empty(0), None
    while stop is None:  # each time half as many as there are already
        size = min(rule.most, values.size + max(FIRST, values.size // 2))
        drawn = base.redrawn_statistics(bound, draws._replace(n_resamples=size), values.size)
        values = np.append(values, bound.combine(drawn))
        others = bound.comparable(values)
        if np.isnan(compared).any() or np.isnan(others).any():
            raise NotApplicable(*base.NOT_A_NUMBER)
        extreme = [others >= compared - tolerance, others <= compared + tolerance][:sides]
        stop = rule.stop(np.cumsum(extreme, axis=1).min(axis=0))  # of the first 1, 2, ... values
    return Outcome(
        pvalue=stop.pvalue,
        distribution=values[: min(stop.drawn, KEPT)],
        n_resamples=stop.drawn,
        stopping=stop.rule,
        parts=_parts(bound, draws),
        **base.described(measure, bound, float(observed[0])),
    )


def _parts(bound: BoundMeasure, draws: base.Draws) -> tuple[Part, ...]:
    """Return what the measure combines, with a number of resamples that is fixed."""
    if not bound.combines:
        return ()
    seen = bound.statistics(bound.observed[np.newaxis])
    redrawn = base.redrawn_statistics(bound, draws._replace(n_resamples=OF_PARTS))
    return bound.with_parts(np.concatenate([seen, redrawn], axis=-1))[1]


def adaptive_null(null: base.Null, level: float) -> base.Null:
    """Return a null whose resamples are drawn until the answer is clear at a level.

    Parameters
    ----------
    null : Null
        One that resamples nothing stays as it is.
    level : float
        That of the decision.

    Raises
    ------
    NotApplicable
        If the null resamples and is not the exact one.
    """
    if not null.resamples:
        return null
    if null.key != "exact":
        raise NotApplicable(
            f"null {null.key!r} has no adaptive number of resamples",
            "use null='exact' or n_resamples=999",
        )
    return replace(null, run=partial(adaptive_test, level=level))
