"""`test_segments`: all overlapping segments, from a model and data to a result."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from caltest import checks
from caltest.errors import DegenerateDataWarning, NotApplicable
from caltest.lenses import Lens, resolve_lens
from caltest.lenses.base import induced
from caltest.measures.gap import LEVEL, gap_of_sums
from caltest.numerics.loops import threads
from caltest.predictions import ModelData, Predictions, models, tables
from caltest.predictions.options import WeightedOptions, check_names
from caltest.predictions.rows import Rows as RowsOf
from caltest.segments import null
from caltest.segments.cells import ColumnCrossing, SegmentBlock, Tables, matrix_chunks
from caltest.segments.inputs import Column, Given, column_of, names_of, read_segments, without_rare
from caltest.segments.result import Segment, SegmentsTest

USUAL_OF_FORECASTS = "interval[0.9]"  # usual lens, which leaves an event
FINER = 2  # cuts whose sides are taken, for each of those between parts


def test_segments(
    model: object = None,
    data: object = None,
    y: object = None,
    *,
    segments: object = None,
    depth: int | None = None,
    bins: int = 10,
    min_size: int = 20,
    lens: str | Lens | None = None,
    statistic: str | Sequence[str] = null.STATISTICS,
    keep: int = 100,
    n_resamples: int = 999,
    rng: object = None,
    n_jobs: int | None = None,
    level: float | None = None,
    progress: Callable[[int, int], None] | None = None,
    **columns: Unpack[WeightedOptions],
) -> SegmentsTest:
    r"""Test the calibration in all segments of the data, which may overlap, in both directions.

    H0: the event happens with the predicted probability whatever segment a row is in,
    :math:`P(Y = 1 \mid p, s) = p`. Segments are the values of columns and their intersections, or
    those of a boolean matrix, and all rows. The p-values are adjusted for all of them together and
    exact at every n.

    Parameters
    ----------
    model, data, y : object
        As in `test_calibration`, whose `segments` takes files and engines too.
    segments : str, list of str, dict, data frame, bool (n, S) array or True, optional
        Columns of the data frame `data` by name, or columns with their values: categories as they
        are, numbers and times with more than `bins` values cut at quantiles, missing values as a
        value. Or a boolean matrix, or a table of two boolean columns or more: one per segment. They
        must not depend on the labels.
    depth : int, optional
        The most conditions that define a segment, by default 2: one- and two-way tables of the
        columns. The segments of a matrix are taken as they are.
    bins : int, default 10
        Into how many parts of equal size numbers are cut; fewer where they would have less than
        `min_size` rows.
    min_size : int, default 20
        The least rows of a segment.
    lens : str or Lens, optional
        One that leaves two classes; by default "confidence" for more than two, and "interval[0.9]"
        of forecasts of numbers.
    statistic : {"mean", "cumulative"} or list of both
        The standardised mean difference, and the standardised cumulative difference: the range of
        the partial sums in the order of the predictions (ECCE / sigma, `kuiper_error` scaled),
        which sees differences of both signs in one segment. The second is left out of segments of
        more conditions where it would take minutes, unless it is asked for alone.
    keep : int, default 100
        How many of the worst segments the result holds.
    n_resamples : int, default 999
        B; the smallest attainable p-value is 1 / (B + 1), for any number of segments.
    rng : None, int, Generator or SeedSequence
        The seed. The redrawn labels are those of `test_calibration` with the same seed.
    n_jobs : int, optional
        Threads, as in joblib; the p-values do not depend on it.
    level : float, optional
        Significance level in (0, 0.5]. The print holds a verdict only where it is given; intervals
        are of 95 % whatever it is.
    progress : callable, optional
        Called with (parts done, parts in all), from any thread but one at a time.
    **columns
        Data options, as for `test_calibration`: `label`, `probs`, `classes`, `from_logits`,
        `renormalize`, `sample_weight`, and `features`.

    Returns
    -------
    SegmentsTest
        The p-value of all segments together, and the worst segments with adjusted p-values.

    Other Parameters
    ----------------
    features : list of str, data frame or (n, d) array, optional
        Where `segments` is left out or True: the columns to scan, by default the X of data = (X,
        y), or all columns of the data frame but label, probabilities and weights. Beside the values
        and parts of columns, a scan takes both sides of each cut of a number, "age <= 30" and "age
        > 30". A list of names says also which features `model` takes.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule; the message names it, its value and the remedy.
    NotApplicable
        If no segment is left, or the lens does not leave two classes and all rows.

    Notes
    -----
    The sum of :math:`w_i (y_i - p_i)` over a segment is divided by its standard deviation
    :math:`\sqrt{\sum w_i^2 p_i (1 - p_i)}` and corrected for skewness by the deviance of a shifted
    Poisson distribution of the same first three moments. A segment's score is -log of the normal
    p-value of that, or of the range of the partial sums, less the log of the number of independent
    segments that would be as extreme as those of its depth in 40 more vectors of redrawn labels,
    which serve nothing else; depths 0, 1 and 2 have shares of the level in proportion
    1 : 2 : 3. So many pairs do not drown few values. All this is fixed by the predictions: the
    adjusted p-value compares the observed score with the largest one over the same and all less
    extreme segments in each of B vectors of redrawn labels.

    Segments that are the same rows as one with a condition less are left out, as are those where
    all predictions are 0 or 1, unless an impossible label is in them.

    References
    ----------
    Westfall, Young (1993), Resampling-based multiple testing, algorithm 2.8; Hebert-Johnson et al.
    (2018), Multicalibration, ICML; Tax et al. (2026), MCGrad: multicalibration at web scale, KDD
    (arXiv 2509.19884), whose multicalibration error is the largest ECCE / sigma; Arrieta-Ibarra et
    al. (2022), Metrics of calibration for probabilistic predictions, JMLR 23; Pierce, Schafer
    (1986), Residuals in generalized linear models, JASA 81.

    Examples
    --------
    >>> import caltest as ct
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> p = rng.uniform(0.05, 0.2, 4000)
    >>> site, sex = rng.choice(list("abcd"), 4000), rng.choice(["f", "m"], 4000)
    >>> bad = (site == "b") & (sex == "f")
    >>> y = rng.random(4000) < p + 0.15 * bad
    >>> columns = {"site": site, "sex": sex}
    >>> result = ct.test_segments(p, y, segments=columns, n_resamples=99, rng=1)
    >>> result.pvalue, result[0].definition
    (0.01, 'site = b & sex = f')
    """
    settings = null.SegmentSettings(
        depth=depth,
        bins=bins,
        min_size=min_size,
        lens=lens,
        statistic=statistic,
        keep=keep,
        n_resamples=n_resamples,
        seed=checks.check_seed(rng),
        level=level,
        progress=progress,
    )
    check_names(columns, WeightedOptions, test_segments)
    with threads(checks.check_jobs(n_jobs)):
        return run_given(ModelData(model, data, y, **columns), segments, settings)


# Or pytest would collect it in a user's test module.
test_segments.__test__ = False  # type: ignore[attr-defined]


def run_given(given: ModelData, segments: object, settings: null.SegmentSettings) -> SegmentsTest:
    """Read the predictions and the segments, and test these, as `test_segments` does."""
    features = given.features
    given = replace(given, features=names_of(features))
    # names of features are for a model that takes columns of a table
    takes = given.model is not None and models.is_model(given.model) and tables.is_table(given.data)
    predictions = (given if takes else replace(given, features=None)).rows()
    source = read_segments(segments, features, given, predictions.n)
    return test_source(source, predictions, settings)


def test_source(source: Given, predictions: RowsOf, settings: null.SegmentSettings) -> SegmentsTest:
    """Test the segments that were read, as `test_segments` does."""
    if predictions.censoring is not None:
        reason = "segments redraw labels, which does not know which rows are censored"
        raise NotApplicable(reason, "pass groups by by=")
    usual = {0: USUAL_OF_FORECASTS, 2: "strong"}.get(predictions.m, "confidence")
    lens = resolve_lens(usual if settings.lens is None else settings.lens)
    checks.check_not_family(lens.is_family, lens)
    claim = lens.claim_of(predictions)
    depth = min(2 if settings.depth is None else settings.depth, len(source.columns))
    if source.members is not None:
        where = "on a boolean matrix, whose segments are taken as they are"
        checks.check_unused(where, depth=settings.depth)
    rows = null.OrderedRows.of(_seen(predictions, lens))
    chunks, without = _chunks(source, rows, depth, settings)
    joint = null.test_jointly(chunks, rows, settings)
    level = settings.level
    chunks = [family.chunk for family in joint.families]
    depths = np.repeat([chunk.depth for chunk in chunks], [chunk.size for chunk in chunks])
    inside = np.isfinite(joint.adjusted)  # others are left out
    return SegmentsTest(
        rows=tuple(_worst(joint, settings.keep)),
        pvalue=float(np.nanmin(joint.adjusted)),
        statistic=float(joint.scores.max()),
        n_segments=tuple(np.bincount(depths[inside], minlength=1 + depths.max()).tolist()),
        n_rejected=None if level is None else int(np.count_nonzero(joint.adjusted <= level)),
        n=rows.n,
        m=predictions.m,
        lens=str(lens),
        claim=f"in every segment, {claim}",
        data_name=predictions.source,
        library=predictions.library,
        source=source.text,
        statistics=_statistics_text(joint.families),
        min_size=settings.min_size,
        confidence=LEVEL,
        n_resamples=settings.n_resamples,
        seed=settings.seed,
        level=level,
        notes=tuple(_notes(predictions, joint.families, without, settings.min_size)),
        null_distribution=joint.largest,
    )


def _seen(predictions: Any, lens: Lens) -> Predictions:
    """Return what the lens shows: two classes and all rows."""
    seen = induced(lens, predictions)
    if seen.m != 2:
        shown = f"{seen.m} classes" if seen.m else "numbers"
        reason = f"segments need an event, and the lens {str(lens)!r} shows {shown}"
        others = "'confidence' or 'classwise[K]'" if predictions.m else repr(USUAL_OF_FORECASTS)
        raise NotApplicable(reason, f"use lens={others}")
    if seen.n != predictions.n:
        reason = f"the lens {str(lens)!r} leaves out rows that segments hold"
        raise NotApplicable(reason, "use lens='confidence' with the predicted class as a column")
    return seen


def _chunks(
    source: Given, rows: null.OrderedRows, depth: int, settings: null.SegmentSettings
) -> tuple[list[SegmentBlock], list[str]]:
    """Return all rows and the segments, and the names of columns that give none.

    A number is cut into fewer parts where they would have fewer rows than a segment.
    """
    least, n, bins = settings.min_size, rows.n, settings.bins
    kept, sided, without = list[Column](), list[Column](), list[str]()
    for name, values in source.columns.items():
        cut = column_of(values, n, name, bins, least=least)
        in_order = cut.codes[rows.order]
        checks.suspicions.suspect_outcome(in_order, rows.event, rows.happens, f"value of {name!r}")
        common = without_rare(cut, least)
        if common is None:
            without.append(name)
            continue
        kept.append(common)
        if source.scan and cut.cuts:  # more finely, for the sides of the cuts
            counts = np.bincount(cut.codes)
            ends = (int(counts[0]), int(counts[len(cut.cuts)]))
            finer = column_of(values, n, name, bins, parts=FINER * bins, least=least)
            common = replace(finer, ends=ends)
        sided.append(common)
    tables, whole = (Tables(tuple(some), rows.order, least) for some in (kept, sided))
    chunks = list(SegmentBlock.of([ColumnCrossing(tables, (), np.zeros(1, np.int64))]))  # all rows
    if source.members is not None:
        chunks += matrix_chunks(source.members, rows.order, source.names, least)
    for d in range(1, min(depth, len(kept)) + 1):
        chunks += SegmentBlock.of(tables.crossed(d))
        if source.scan and "mean" in settings.statistics:
            chunks += SegmentBlock.of(whole.crossed(d, united=True))
    if len(chunks) == 1:
        reason = f"no segment has at least {least} rows and leaves out some"
        raise NotApplicable(
            reason, "pass columns of a few values, two or more, or a smaller min_size"
        )
    return chunks, without


# ---- from numbers to a result -------------------------------------------------------------------


def _worst(joint: null.Joint, keep: int) -> Iterator[Segment]:
    """Yield the segments with the largest scores; of equals, those of fewer conditions first."""
    order = np.argsort(-joint.scores, kind="stable")[:keep]
    ends = np.cumsum([family.chunk.size for family in joint.families])
    for place in order[joint.scores[order] > -np.inf].tolist():
        number = int(np.searchsorted(ends, place, side="right"))
        family, (totals, intervals) = joint.families[number], joint.sums[number]
        chunk, s = family.chunk, place - int(ends[number]) + family.chunk.size
        names = ("mass", "squares", "expected", "deviation", "crossed", "spread")
        own = (float(getattr(family, name)[s]) for name in names)
        mass, squares, expected, deviation, crossed, spread = own
        total = float(totals[s, 0])
        difference = total - expected
        gap = difference / mass
        spread = spread - 2.0 * gap * crossed + gap * gap * squares
        name, n, shares = chunk.definition(s), int(family.n[s]), (expected / mass, total / mass)
        found = gap_of_sums("segment", name, n, *shares, deviation**2, spread, (mass, squares))
        z, cumulative = math.copysign(math.inf, difference), math.inf  # where all is certain
        if deviation > 0:
            z = difference / deviation
            if family.cumulative:
                cumulative = float(intervals[:, s, 0].max()) / deviation
        shared = ("n", "predicted", "observed", "low", "high", "effective")
        yield Segment(
            definition=found.name,
            depth=chunk.depth,
            gap=gap,
            z=z,
            cumulative=cumulative if family.cumulative else None,
            adjusted=float(joint.adjusted[place]),
            **{name: getattr(found, name) for name in shared},
        )


def _statistics_text(families: Sequence[null.Family]) -> str:
    depths = {family.chunk.depth for family in families if family.chunk.in_order}
    cumulative = {family.chunk.depth for family in families if family.cumulative}
    names = []
    if any(family.mean for family in families):
        names.append("standardised mean difference")
    if cumulative:
        where = "" if cumulative == depths else f" up to depth {max(cumulative)}"
        whole = all(family.chunk.in_order for family in families)
        values = "" if whole else " of values (not of <= and >)"
        names.append(f"standardised cumulative difference{values}{where}")
    return ", ".join(names)


def _notes(
    predictions: RowsOf, families: Sequence[null.Family], without: Sequence[str], min_size: int
) -> Iterator[str]:
    """Say what is left out, and that rows are taken as independent where they may not be."""
    if predictions.has_dependence:
        unit = predictions.unit
        yield f"rows of the same {unit} are treated as independent: where alike, p is too small"
    if without:
        some = ", ".join(map(repr, without))
        yield f"no value of {some} has at least {min_size} rows and leaves out some"
    mass, deviation = (
        np.concatenate([getattr(f, x) for f in families]) for x in ("mass", "deviation")
    )
    for some, what in (
        (mass == 0, "all rows have the weight 0: left out"),
        (
            (mass > 0) & (deviation == 0),
            "all predictions are 0 or 1: left out, unless a label is impossible",
        ),
    ):
        if count := int(np.count_nonzero(some)):
            note = f"in {count} segment{'s' * (count > 1)} {what}"
            warnings.warn(note, DegenerateDataWarning, stacklevel=4)
            yield note
