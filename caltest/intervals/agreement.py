"""What keeps an interval from contradicting the exact test of the same predictions."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.intervals.resampling import calibrated_values
from caltest.measures import Measure
from caltest.measures.base import Ends
from caltest.nulls import REGISTRY as NULLS
from caltest.predictions import Predictions

Floats = NDArray[np.float64]

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


def exact_test(
    measure: Measure,
    predictions: Predictions,
    *,
    n_resamples: int,
    seed: int,
    n_jobs: int | None,
) -> Exact | None:
    """Run the default test of a measure; None where the predictions do not allow it."""
    with suppress(NotApplicable):
        null = NULLS[measure.nulls[0]]
        found = null.test(measure, predictions, n_resamples=n_resamples, seed=seed, n_jobs=n_jobs)
        return Exact(found.pvalue, found.statistic, found.distribution)
    return None


def agreeing(
    ends: Ends,
    measure: Measure,
    predictions: Predictions,
    exact: Exact,
    *,
    level: float,
    n_resamples: int,
    seed: int,
    n_jobs: int | None,
) -> Ends:
    r"""Return an interval that holds the value of calibration unless the exact test rejects it.

    The test is inverted at that value: it is left out only where :math:`p \le 1 - level`. An error
    T besides has a lower end of at most :math:`T - q(T^0)`, with :math:`q(T^0)` the quantile of
    :math:`(1 + level) / 2` of redrawn labels: a norm of mean deviations is off by no more than the
    norm of their noise, and under calibration that is :math:`T^0`. Standard errors do not know it;
    where no event is seen among rare ones, they are next to nothing.
    """
    value = measure.calibrated_value(predictions)
    if value is None:
        return ends
    if measure.is_error:
        settings = {"n_resamples": n_resamples, "seed": seed, "n_jobs": n_jobs}
        ends = _above_noise(ends, measure, predictions, exact, level=level, settings=settings)
    above, below = ends.low > value, ends.high < value and not measure.is_one_sided
    rejected = exact.pvalue <= 1.0 - level
    if rejected == (above or below):
        return ends
    text = (REJECTED if rejected else REACHES).format(p=exact.pvalue, value=value)
    low, high = (value if above else ends.low), (value if below else ends.high)
    return replace(ends, low=low, high=high, notes=(*ends.notes, text))


def _above_noise(
    ends: Ends,
    measure: Measure,
    predictions: Predictions,
    exact: Exact,
    *,
    level: float,
    settings: dict[str, Any],
) -> Ends:
    """Lower the lower end of an error to what is left of it beyond the noise of calibration."""
    if ends.low <= 0.0 or exact.pvalue > 1.0 - level:
        return ends
    noise = exact.distribution
    if noise is None:  # all label vectors were listed
        noise = calibrated_values(measure, predictions, **settings)
    noise = noise[np.isfinite(noise)]
    beyond = exact.statistic - float(np.quantile(noise, 0.5 + level / 2.0))
    return replace(ends, low=max(0.0, min(ends.low, beyond)))
