"""The result of `test_segments`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from caltest.drawing import draw
from caltest.measures.gap import Gap, Where
from caltest.render import LEGEND, Sheet, number, pvalue, stars
from caltest.results.base import NULL_UNLESS_ASKED, Decided, Summary, Table
from caltest.results.sheets import gap_columns, sizes_in_words
from caltest.results.wording import answer_of_segments, with_worst
from caltest.types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from caltest.results.verdict import Verdict


SHOWN = 10
LONGEST = 18  # definitions that the grid has room for


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A segment, what the model predicts in it and what was observed.

    Attributes
    ----------
    definition : str
        Its rows in words, such as "age > 65 & site = east".
    depth : int
        The number of conditions.
    n : int
        Its rows.
    predicted, observed : float
        Mean prediction and share of events, weighted as the rows are.
    gap, low, high : float
        observed - predicted, and the ends of its 95 % interval, by itself, as `HTest.size` has it.
    z : float
        The standardised mean difference.
    cumulative : float or None
        The standardised cumulative difference (ECCE / sigma), the range of the partial sums in the
        order of the predictions; None where it was not computed.
    adjusted : float
        The p-value, adjusted for all segments.
    effective : float or None
        The number of independent rows of one prediction that the interval is of; None for n.

    Examples
    --------
    >>> import caltest as ct
    >>> result = ct.test_segments(
    ...     [0.3, 0.4, 0.5, 0.2],
    ...     [0, 0, 1, 1],
    ...     segments={"sex": ["f", "f", "m", "m"]},
    ...     min_size=2,
    ...     n_resamples=99,
    ...     rng=1,
    ... )
    >>> [segment.definition for segment in result]
    ['sex = m', 'sex = f', 'all rows']
    """

    definition: str
    depth: int
    n: int
    predicted: float
    observed: float
    gap: float
    low: float
    high: float
    z: float
    cumulative: float | None
    adjusted: float
    effective: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SegmentsTest(Decided, Table[Segment]):
    """The test of calibration in all segments; `test_segments` returns it.

    Attributes
    ----------
    rows : tuple of Segment
        The worst segments, the worst first.
    pvalue : float
        Of the hypothesis that the predictions are calibrated in every segment.
    statistic : float
        The largest score over all segments, about -log of the least p-value times their number.
    n_segments : tuple of int
        How many segments have 0, 1, 2, ... conditions.
    n_rejected : int or None
        How many have an adjusted p-value of at most the level, if one was given.
    n, m : int
        Numbers of rows and of classes.
    lens, claim : str
        The lens, and the null hypothesis in words.
    data_name, source : str
        What was tested, and what the segments are made of.
    statistics : str
        Which differences were computed, and up to which depth.
    min_size : int
        The least rows of a segment.
    confidence : float
        Of the intervals, each by itself: 0.95.
    n_resamples, seed : int
        How to repeat the resampling.
    level : float or None
        The significance level, if the caller gave one.
    notes : tuple of str
        What a reader of the p-values should see.
    null_distribution : (n_resamples,) array or None
        The largest score for each resample, read-only.

    Examples
    --------
    >>> import caltest as ct
    >>> import numpy as np
    >>> data = ct.datasets.generative_model("M1", n=400, m=2, rng=1)
    >>> ward = np.repeat(["a", "b", "c", "d"], 100)
    >>> result = ct.test_segments(data, segments={"ward": ward}, n_resamples=99, rng=1)
    >>> result.n_segments
    (1, 4)
    """

    schema: ClassVar[str] = "caltest/segments/1"

    rows: tuple[Segment, ...]
    pvalue: float
    statistic: float
    n_segments: tuple[int, ...]
    n_rejected: int | None
    n: int
    m: int
    lens: str
    claim: str
    data_name: str
    source: str
    statistics: str
    min_size: int
    confidence: float
    n_resamples: int
    seed: int
    level: float | None = None
    notes: tuple[str, ...] = ()
    null_distribution: Floats | None = field(
        default=None, compare=False, metadata=NULL_UNLESS_ASKED
    )

    @property
    def tests(self) -> tuple[()]:
        """None: segments are tested together."""
        return ()

    def summary(self) -> Summary:
        """Return the longer print: all the segments that are held, and both statistics."""
        return Summary(self._sheet(long=True))

    def place(self, row: Segment) -> Gap:
        """Return a segment that was picked, with an interval that holds for all at once."""
        measured = Gap.of(
            kind="segment",
            name=row.definition,
            n=row.n,
            predicted=row.predicted,
            observed=row.observed,
            deviation=abs(row.gap / row.z) if row.z else 0.0,
            pvalue=row.adjusted,
            effective=row.effective,
            where=Where(segment=row.definition, lens=self.lens),
        )
        return measured.one_of(sum(self.n_segments))

    def verdict(self) -> Verdict:
        """Return what a person can act on; see `HTest.verdict`.

        Returns
        -------
        Verdict
            Its print begins with the first line of the print of the segments.
        """
        from caltest.results.verdict import verdict_of_segments

        return verdict_of_segments(self, self.pvalue)

    def plot(self, *, rows: int = 20, ax: Axes | None = None) -> Axes:
        """Draw the gaps of the worst segments; see `caltest.plots.segments`.

        Parameters
        ----------
        rows : int, default 20
            The most segments that are shown.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        return draw("places.segments", self, rows=rows, ax=ax)

    def _sheet(self, *, long: bool = False) -> Sheet:
        rows = self.rows if long else self.rows[:SHOWN]
        interval = f"{100 * self.confidence:g} %"
        more = ("z", "ECCE/sigma") if long else ()
        header = ("", "n", "predicted", "observed", "gap", interval, *more, "adjusted", "")
        numbered = max(len(row.definition) for row in rows) > (LONGEST - 16 if long else LONGEST)
        names = [f"[{k}]" if numbered else row.definition for k, row in enumerate(rows, start=1)]
        sizes = ", ".join(f"{k} of depth {d}" for d, k in enumerate(self.n_segments) if d and k)
        made_of = f"all rows, {sizes}, each of at least {self.min_size} rows"
        sampling = f"B = {self.n_resamples}, seed = {self.seed}"
        gap = "gap = observed - predicted, each interval by itself"
        # definitions that are too long for the grid stand under it
        pairs = list(zip(names, rows, strict=True))
        closing = [(name, row.definition) for name, row in pairs if numbered]
        if self.level is not None:
            some = f"{self.n_rejected} of {sum(self.n_segments)} segments"
            closing.append((f"rejected at level {number(self.level)}", some))
        closing.append(("predicted, observed, gap", f"in per cent and percentage points; {gap}"))
        grid = []
        gaps = zip(*gap_columns(rows).values(), strict=True)
        for (name, row), gap_cells in zip(pairs, gaps, strict=True):
            cumulative = "" if row.cumulative is None else f"{row.cumulative:.2f}"
            both = (f"{row.z:.2f}", cumulative) if long else ()
            last = (pvalue(row.adjusted), stars(row.adjusted))
            grid.append((name, str(row.n), *gap_cells, *both, *last))
        return Sheet(
            title="Exact test of calibration in segments",
            headline=with_worst(answer_of_segments(self, self.pvalue)),
            facts=(
                ("data", f"{self.data_name} ({sizes_in_words(self.n, self.m)}), lens: {self.lens}"),
                ("segments", f"{sum(self.n_segments)} of {self.source}: {made_of}"),
                ("statistic", f"the largest over segments: {self.statistics}"),
                ("null", f"exact, labels redrawn from the predictions, {sampling}"),
                ("adjusted", "step-down maximum over all segments, observed and redrawn alike"),
            ),
            numbers=(("T", number(self.statistic)), ("p-value", pvalue(self.pvalue))),
            header=header,
            rows=tuple(grid),
            legend=LEGEND,
            closing=(*closing, *(("note", note) for note in self.notes)),
        )
