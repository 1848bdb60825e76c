"""Intervals with a jackknife standard error, for estimates whose bias is removed."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from caltest.intervals.base import Draws, Method, check_rows, with_unseen
from caltest.intervals.row_functions import jackknife_error, row_function
from caltest.measures import Measure
from caltest.measures.outcome import Ends
from caltest.numerics.tails import student_isf
from caltest.predictions import Predictions


def compute(
    measure: Measure, predictions: Predictions, *, level: float, **draws: Unpack[Draws]
) -> Ends:
    r"""Interval of a measure by Student's t with the jackknife standard error.

    With the values :math:`T_g` without one of G groups of rows,
    :math:`se^2 = \frac{G - 1}{G} \sum_g (T_g - \bar T)^2`, and the ends are :math:`T \pm t \, se`,
    not below 0. A squared error is steadier on the scale of its root, as its standard error grows
    with it; there the upper end is

    .. math:: \max(T, 0) + t \, se + \frac{(t \, se)^2}{4 \max(T, t \, se / 2)}.

    What the rows may lack, such as events among rare ones, is added to it; see `with_unseen`.

    References
    ----------
    Efron, Tibshirani (1993), An introduction to the bootstrap, sections 11.5 and 11.7.
    """
    check_rows(predictions)
    function = row_function(measure, predictions)
    estimate = function(np.arange(predictions.n, dtype=np.int32))
    without = function.without_groups(draws["seed"])
    groups, error = without.size, jackknife_error(measure, estimate, without, "row")
    reach = student_isf((1.0 - level) / 2.0, groups - 1) * error
    method_text = f"Student's interval, jackknife over {groups} groups of rows"
    high = max(estimate, 0.0) + reach
    if measure.is_squared:
        high += reach * reach / (4.0 * max(estimate, reach / 2.0))
    high = with_unseen(measure, predictions, estimate, high, (1.0 - level) / 2.0)
    return Ends(max(estimate - reach, 0.0), high, estimate, method_text)


METHOD = Method("jackknife", "Student's limit, jackknife error", compute, resamples=False)
