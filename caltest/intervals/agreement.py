"""What keeps an interval from contradicting the exact test of the same predictions."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from caltest.errors import NotApplicable
from caltest.measures import Measure
from caltest.measures.outcome import Ends
from caltest.nulls import REGISTRY as NULLS
from caltest.nulls.base import Draws
from caltest.predictions import Predictions
from caltest.types import Floats

REACHES = (
    "the exact test does not reject calibration at this level (p = {p:.3g}), so that the interval "
    "is extended to its value, {value:.4g}"
)
REJECTED = (
    "the exact test rejects calibration (p = {p:.3g}); the interval is conservative near its "
    "value, {value:.4g}, and does not tell how far the truth is from there"
)


@dataclass(frozen=True)
class Exact:
    """The default test of a measure: exact, or a formula such as that of a number of defaults.

    Attributes
    ----------
    pvalue, statistic : float
        Of the observed labels.
    distribution : (B,) array or None
        The statistic of redrawn labels.
    """

    pvalue: float
    statistic: float
    distribution: Floats | None


def exact_test(measure: Measure, predictions: Predictions, draws: Draws) -> Exact | None:
    """Run the default test of a measure; None where the predictions do not allow it."""
    with suppress(NotApplicable):
        found = NULLS[measure.nulls[0]].run(measure, predictions, draws)
        return Exact(found.pvalue, found.statistic, found.distribution)
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
    r"""Return an interval that holds the value of calibration unless the exact test rejects it.

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
    if measure.is_error and ends.low > 0.0 and rejected:
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
