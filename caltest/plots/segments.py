"""The gaps of the worst segments, a row for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from caltest import validation
from caltest.plots.gap_rows import GapRow, draw_rows
from caltest.segments import SegmentsTest

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def segments(result: SegmentsTest, *, rows: int = 20, ax: Axes | None = None) -> Axes:
    """Draw what was observed less what was predicted in the worst segments, with intervals.

    A row for each, the worst first; its size and adjusted p-value are at the right. Segments that
    are rejected are filled where the result has a level.

    Parameters
    ----------
    result : SegmentsTest
        What `test_segments` returned.
    rows : int, default 20
        The most segments that are shown.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    Examples
    --------
    >>> import caltest as ct
    >>> import numpy as np
    >>> data = ct.datasets.generative_model("M1", n=400, m=2, rng=1)
    >>> ward = np.repeat(["a", "b", "c", "d"], 100)
    >>> result = ct.test_segments(data, segments={"ward": ward}, n_resamples=99, rng=1)
    >>> ct.plots.segments(result).get_xlabel()
    'observed - predicted, percentage points, 95 % intervals'
    """
    validation.check_instance(result, SegmentsTest, "result", "pass what ct.test_segments gave")
    validation.check_integer(rows, "rows")
    shown = [
        GapRow(
            name=segment.definition,
            low=segment.low,
            gap=segment.gap,
            high=segment.high,
            n=segment.n,
            pvalue=segment.adjusted,
            is_filled=result.level is None or segment.adjusted <= result.level,
        )
        for segment in result.rows[:rows]
    ]
    return draw_rows(shown, ax, f"{100 * result.confidence:g} % intervals")
