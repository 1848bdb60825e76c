"""What a method of confidence intervals is: it turns predictions into two ends."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from caltest.errors import NotApplicable
from caltest.measures import Measure
from caltest.measures.bins.ece import counted
from caltest.measures.outcome import Ends
from caltest.nulls import REGISTRY as NULLS
from caltest.nulls.base import AT_A_TIME, Draws, drawn_values, redrawn_values
from caltest.numerics.cell_counts import cell_law, draw_counts
from caltest.numerics.labels import resample_keys, row_hashes
from caltest.numerics.loops import blocks, map_threads
from caltest.predictions import Predictions
from caltest.sources import Cells
from caltest.types import Floats, Hashes, SmallInts

FEWEST_ROWS = 5
VERY_MANY = 1 << 30  # rows
BATCH = 32  # resamples that are drawn together
REACHES = (
    "the test does not reject calibration at this level (p = {p:.3g}), so that the interval is "
    "extended to its value, {value:.4g}"
)
REJECTED = (
    "the test rejects calibration (p = {p:.3g}); the interval is conservative near its value, "
    "{value:.4g}, and does not tell how far the truth is from there"
)


@dataclass(frozen=True)
class Method:
    """A method with its key and one-line title; `Measure.intervals` has the keys that apply.

    Attributes
    ----------
    compute : callable
        `compute(measure, predictions, level, draws) -> Ends`, of predictions as the lens shows
        them.
    resamples : bool
        Whether the number of resamples and the seed matter.
    """

    key: str
    title: str
    compute: Callable[[Measure, Predictions, float, Draws], Ends]
    resamples: bool


def compute(measure: Measure, predictions: Predictions, level: float, draws: Draws) -> Ends:
    """Bound a measure by its own method; see `Measure.own_interval`."""
    return measure.own_interval(predictions, level=level)


def resample(evaluate: Callable[[SmallInts], Any], n: int, draws: Draws) -> Floats:
    """Return `evaluate(rows)` for rows drawn with replacement, one resample after the other.

    Returns
    -------
    (n_resamples, ...) array
        What `evaluate` returned for each.
    """

    def batch(rng: np.random.Generator, size: int) -> list[Any]:
        return [evaluate(rng.integers(n, size=n, dtype=np.int32)) for _ in range(size)]

    return drawn_values(batch, draws)


def label_counts(cells: Cells) -> Floats:
    """Return the rows of each cell without the event, and those with it, (2C,)."""
    return np.concatenate([cells.n - cells.events, cells.events]).astype(np.float64)


def resample_cells(evaluate: Callable[[Floats], Floats], cells: Cells, draws: Draws) -> Floats:
    """Return `evaluate(counts)` for resampled `label_counts`, some resamples (B, 2C) at a time.

    A bootstrap of n rows draws multinomial numbers; these are independent Poisson ones, whose sum
    varies, which a ratio to that sum does not see. A Poisson number is the number of events of very
    many rows.
    """
    mean, step = label_counts(cells), max(1, AT_A_TIME // len(cells))
    law = cell_law(np.full(mean.size, VERY_MANY), mean, mean)
    hashes, keys = row_hashes(np.arange(mean.size)), resample_keys(draws.seed, draws.n_resamples)

    def batch(some: Hashes) -> Floats:
        drawn = draw_counts(law, hashes, some)
        parts = (drawn[i : i + step] for i in range(0, len(drawn), step))
        return np.concatenate([evaluate(part) for part in parts])

    return np.concatenate(list(map_threads(batch, [(keys[i],) for i in blocks(keys.size, BATCH)])))


def calibrated_values(measure: Measure, predictions: Predictions, draws: Draws) -> Floats:
    """Return the errors (n_resamples,) for labels redrawn from the predictions."""
    bound = measure.bind(predictions)
    return np.array([bound.estimate(value) for value in redrawn_values(bound, draws).tolist()])


def rows_to_draw(predictions: Predictions) -> Predictions:
    """Return the rows to resample, or raise NotApplicable where they are too few."""
    predictions = predictions.drawn_from
    if predictions.n < FEWEST_ROWS:
        reason = f"a bootstrap interval needs at least {FEWEST_ROWS} observations, and there are "
        raise NotApplicable(f"{reason}{predictions.n}", "collect more, or report the p-value alone")
    return predictions


def widest_tail(values: Floats, a: float) -> float:
    """Return how far from their mean the values reach, leaving out a share `a` at either end.

    The mean takes the place of the estimate, which resampling moves by its bias.
    """
    low, high = np.quantile(values, [a, 1.0 - a]) - values.mean()
    return float(max(-low, high))


def with_unseen(
    measure: Measure, predictions: Predictions, estimate: float, high: float, a: float
) -> float:
    """Return the upper end with what the rows may lack, as an independent reach of its own.

    On the scale of the root where the error is a square; see `Measure.unseen_reach`.
    """
    unseen = measure.unseen_reach(counted(predictions), a)
    if unseen == 0:
        return high
    if not measure.is_squared:
        return estimate + math.hypot(high - estimate, unseen)
    root = math.sqrt(max(estimate, 0.0))
    return (root + math.hypot(math.sqrt(max(high, 0.0)) - root, unseen)) ** 2


# ---- what keeps an interval from contradicting the test of the same predictions ------------------


class Exact(NamedTuple):
    """The default test of a measure: exact, by a formula, or of signs that are flipped by cluster.

    Attributes
    ----------
    statistic_name : str
        The symbol of the measure where the statistic is what the interval bounds.
    pvalue, statistic : float
        Of the observed labels.
    distribution : (B,) array or None
        The statistic of redrawn labels.
    """

    statistic_name: str
    pvalue: float
    statistic: float
    distribution: Floats | None


def exact_test(
    measure: Measure, predictions: Predictions, draws: Draws, null: str | None = None
) -> Exact | None:
    """Run a test of a measure, by default its own; None where the predictions do not allow it."""
    with suppress(NotApplicable):
        found = NULLS[null or measure.nulls[0]].run(measure, predictions, draws)
        return Exact(found.statistic_name, found.pvalue, found.statistic, found.distribution)
    return None


def agreeing(
    ends: Ends,
    measure: Measure,
    exact: Exact,
    value: float | None,
    noise: Callable[[], Floats],
    *,
    level: float,
) -> Ends:
    r"""Return an interval that holds the value of calibration unless the test rejects it.

    The test is inverted at that value: it is left out only where :math:`p \le 1 - level`. An error
    T besides has a lower end of at most :math:`T - q(T^0)`, with :math:`q(T^0)` the quantile of
    :math:`(1 + level) / 2` of redrawn labels: a norm of mean deviations is off by no more than the
    norm of their noise, and under calibration that is :math:`T^0`. Standard errors do not know it;
    where no event is seen among rare ones, they are next to nothing.

    Parameters
    ----------
    ends : Ends
        Those of the method.
    measure : Measure
        What is estimated.
    exact : Exact
        The test.
    value : float or None
        The value of calibration; None where there is none.
    noise : callable
        Returns the errors of redrawn labels, where the test did not redraw them.
    level : float
        Of the interval.
    """
    if value is None:
        return ends
    rejected = exact.pvalue <= 1.0 - level
    bounded = measure.is_error and exact.statistic_name == measure.symbol
    if bounded and ends.low > 0.0 and rejected:
        # What is left beyond the noise of calibration; None where all label vectors were listed.
        drawn = noise() if exact.distribution is None else exact.distribution
        most = float(np.quantile(drawn[np.isfinite(drawn)], 0.5 + level / 2.0))
        ends = replace(ends, low=max(0.0, min(ends.low, exact.statistic - most)))
    above, below = ends.low > value, ends.high < value and not measure.is_one_sided
    if rejected == (above or below):
        return ends
    text = (REJECTED if rejected else REACHES).format(p=exact.pvalue, value=value)
    low, high = (value if above else ends.low), (value if below else ends.high)
    return replace(ends, low=low, high=high, notes=(*ends.notes, text))
