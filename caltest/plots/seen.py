"""What a plot of one-dimensional predictions is given: a result, or predictions and a lens."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Unpack

import numpy as np

from caltest.checks import check_choice, check_unused
from caltest.errors import DegenerateDataWarning, NotApplicable, invalid, rows_named
from caltest.intervals import choose
from caltest.lenses import Confidence, Lens, Strong, resolve_lens
from caltest.measures import Measure, outcome
from caltest.measures.bins.reliability_bins import ReliabilityBins, bins_of_cells, bins_of_rows
from caltest.measures.isotonic.confidence_band import ConfidenceBand
from caltest.measures.isotonic.corp import CorpCurve, curve_of_units
from caltest.measures.recalibration.cox import CalibrationIntercept, CalibrationSlope
from caltest.measures.scores.decomposition import ScoreDecomposition, parts_of_cells, parts_of_rows
from caltest.measures.smooth.ici import E90, ICI
from caltest.measures.smooth.smooth_curve import SmoothCurve, curve_of_cells, curve_of_rows
from caltest.nulls.base import Draws
from caltest.plots.base import name_text, pvalue_text
from caltest.predictions import MeasuredOptions, ModelData, Predictions, as_measured
from caltest.render import digits_of
from caltest.results import HTest, htest
from caltest.results.wording import rows_of_slope
from caltest.sources import Cells, Counting, sources
from caltest.types import Floats
from caltest.units import CellUnits, RowUnits, Units, check_one_dimension

OF_TEST = "where the first argument is the result of a test"


AnyLens = str | Lens | None


class View(NamedTuple):
    """An event as a lens shows it, of rows or cells, and the test behind it if there is one."""

    event: Event
    lens: str
    result: HTest | None = None

    @property
    def axis_names(self) -> tuple[str, str]:
        """Names of what is predicted and of what is observed."""
        name = self.lens.partition("[")[0]
        if name in {"confidence", "top-label", "top-1"}:
            return "confidence", "accuracy"
        if name.startswith("top-"):
            return f"predicted probability of rank {name[4:]}", "observed frequency"
        if name.startswith("within-top-"):
            return f"predicted probability of the top {name[11:]}", "observed frequency"
        event = name_text(self.event.names[1])
        return f"predicted probability of {event}", f"observed frequency of {event}"

    def pvalue_text(self, result: HTest, adjusted: float | None = None) -> str:
        """Return the p-value with its test, and its lens where that is another than this one."""
        text = pvalue_text(result if adjusted is None else adjusted)
        about = [name_text(result.test)]
        about += [] if result.lens == self.lens else [f"lens {name_text(result.lens)}"]
        about += [] if adjusted is None else ["adjusted"]
        return f"{text} ({', '.join(about)})"


def view_of(
    source: Any, labels: Any, lens: AnyLens, what: str, asker: Any, **rows: Unpack[MeasuredOptions]
) -> View:
    """Look at a result, at predictions or at cells through a lens; see `seen`.

    Cells are of one event already: they have no other lens.
    """
    if isinstance(source, HTest) and source.counted is not None:
        check_unused(OF_TEST, labels=labels, **rows)
        if lens is not None and str(resolve_lens(lens)) != source.lens:
            rule = f"the cells of this result are those of the lens {source.lens!r}, and lens="
            remedy = "run test_calibration under that lens, or with engine='rows'"
            raise NotApplicable(f"{rule}{str(lens)!r} needs the rows", remedy)
        return View(CellsEvent(source.counted.cells), source.lens, source)
    predictions, shown = seen(source, labels, lens, what, asker, **rows)
    return View(RowsEvent(predictions), str(shown), source if isinstance(source, HTest) else None)


def seen(
    source: Any, labels: Any, lens: AnyLens, what: str, asker: Any, **rows: Unpack[MeasuredOptions]
) -> tuple[Predictions, Lens]:
    """Look at a result or at predictions through a lens that leaves two classes; return the lens.

    Without a lens it is that of the result, or none for two classes; where more than two are left,
    that of the confidence. `what` and `asker`, its function, name the plot in messages.
    """
    if isinstance(source, HTest):
        check_unused(OF_TEST, labels=labels, **rows)
        evidence = htest.required(source, what)
        predictions, given = evidence.predictions, evidence.lens
    else:
        predictions, given = as_measured(source, labels, asker, **rows), Strong()
    resolved = given if lens is None else resolve_lens(lens)
    resolved.claim_of(predictions)  # raises where it is of other rows
    check_single(resolved, resolved.members(predictions) if resolved.is_family else ())
    shown: Any = resolved(predictions)
    if lens is None and shown.m > 2:
        resolved = Confidence()
        shown = resolved(predictions)
    if shown.label_probs is None:
        remedy = "use kind='pit', or a lens that leaves an event, such as 'interval[0.9]'"
        raise NotApplicable(f"{what} is of classes, not of predictive distributions", remedy)
    check_one_dimension(shown, what)
    return shown, resolved


def check_single(lens: Lens, members: Sequence[Lens]) -> None:
    """Raise InvalidInput where a lens is a family."""
    if lens.is_family:
        remedy = f"pass one, such as {str(members[0])!r}, or call reliability_grid for all"
        raise invalid("lens must be a single one", repr(str(lens)), remedy)


Limits = tuple[Floats, Floats, Floats]  # x, lower and upper ends


class UnitsEvent:
    """An event of rows or of cells.

    Attributes
    ----------
    units : Units
        Those with weight.
    n : int
        Rows.
    names : (str, str)
        What happens without the event, and the event.
    values, rows, mass : (k,) array
        Predictions, and the rows and the weight that each stands for.
    happened : (k,) array
        The part of that with the event.
    counts : (int, int)
        Rows without and with the event, of those of which it is known.
    rate, mean : float
        The observed frequency, and the mean prediction.
    bins, smooth, parts : callable
        What is drawn: the bins of a binning, a number and a level with their consistency limits,
        the smooth curve with a band of a level, and the parts of a score.
    """

    bins: Callable[[str, int, float], ReliabilityBins]
    smooth: Callable[[float], SmoothCurve]
    parts: Callable[..., ScoreDecomposition]
    banded = ConfidenceBand()

    def __init__(self, units: Units, n: int, events: int, names: tuple[str, str]) -> None:
        self.units, self.n, self.counts, self.names = units, n, (n - events, events), names
        self.values, self.rows, self.mass = units.mean, units.row_counts, units.mass
        self.happened = units.scale * units.observed
        self.rate = float(self.happened.sum() / self.mass.sum())
        self.mean = float(self.mass @ self.values / self.mass.sum())

    def corp(self) -> CorpCurve:
        """Return the isotonic fit."""
        return curve_of_units(self.units)

    def band(self, level: float) -> Limits:
        """Return the confidence band of the curve of calibration."""
        return self.banded.blocks(self.units).limits(level)


class RowsEvent(UnitsEvent):
    """Rows of two classes."""

    def __init__(self, predictions: Predictions) -> None:
        self.predictions = predictions
        events, (no_event, event) = np.count_nonzero(predictions.labels == 1), predictions.classes
        names = str(no_event), str(event)
        super().__init__(RowUnits(predictions).counted(), predictions.n, int(events), names)
        if predictions.censoring is not None:  # of the others it is not known what happened
            known = predictions.labels[predictions.weights > 0]
            self.counts = int(np.sum(known == 0)), int(np.sum(known == 1))
        self.bins = partial(bins_of_rows, predictions)
        self.smooth = partial(curve_of_rows, predictions)
        self.parts = partial(parts_of_rows, predictions)

    def numbers(self, level: float) -> list[str]:
        """Return the numbers beside the diagram, a line each."""
        rows = self.predictions
        null = "cluster" if rows.has_dependence else None

        def interval(measure: Measure) -> outcome.Ends:
            return choose(measure, null).compute(measure, rows, level, Draws(RESAMPLES, SEED))

        with warnings.catch_warnings(action="ignore", category=DegenerateDataWarning):
            lines = list(_coefficients(interval))
            for error in (ICI(), E90()):
                with suppress(NotApplicable):
                    ends = None if rows.n > MOST_ROWS else interval(error)
                    value = float(error.evaluate(rows)) if ends is None else ends.estimate
                    d = digits_of(value if ends is None else (ends.high - ends.low) / 2)
                    text = f" ({100 * ends.low:.{d}f} to {100 * ends.high:.{d}f})" if ends else ""
                    lines.append(f"{error.symbol} {100 * value:.{d}f} points{text}")
        return lines


class CellsEvent(UnitsEvent):
    """Cells of rows, each at its mean prediction; see `RowsEvent`."""

    banded = ConfidenceBand(method="round")

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        names = cells.no_event, cells.event
        super().__init__(CellUnits(cells), cells.rows, int(cells.hits.sum()), names)
        self.bins = partial(bins_of_cells, cells)
        self.smooth = partial(curve_of_cells, cells)
        self.parts = partial(parts_of_cells, cells)

    def numbers(self, level: float) -> list[str]:
        """Return the numbers beside the diagram, a line each."""
        return list(_coefficients(lambda one: one.cell_interval(self.cells, level=level)))


Event = RowsEvent | CellsEvent


COEFFICIENTS = (CalibrationIntercept(), CalibrationSlope())
RESAMPLES, SEED = 199, 1
MOST_ROWS = 2000  # with which a loess is resampled, as a picture should not take long


def _coefficients(interval: Callable[[Any], outcome.Ends]) -> Iterator[str]:
    """Write each number, and below it of which rows it is, briefly: the legend is near."""
    for measure in COEFFICIENTS:
        with suppress(NotApplicable):
            ends, name = interval(measure), measure.title.removeprefix("calibration ")
            rows = rows_of_slope(ends).replace(" of the", "\n ").replace(" with predictions", "")
            yield f"{name} {ends.estimate:.2f} ({ends.low:.2f} to {ends.high:.2f}){rows}"


def view_of_table(
    data: object, lens: AnyLens, what: str, bins: int, *, engine: str, on_error: str, **columns: Any
) -> View:
    """Look at the rows of frames or files, whose columns are named; see `view_of`.

    Parameters
    ----------
    data : data frame, path, pattern, list of paths or iterator of frames
        Where the rows lie.
    lens : str or Lens, optional
        By default none for two classes, and that of the confidence for more.
    what : str
        The plot, for messages.
    bins : int
        Number of bins of equal width, which will be unions of cells.
    engine : {"auto", "rows", "cells"}
        "auto" counts more than 2 million rows in cells.
    on_error : {"raise", "skip"}
        Whether rows that are wrong are left out of cells.
    **columns
        `label`, `probs` and `classes`, as for `test_calibration`.
    """
    check_choice(engine, sources.ENGINES, "engine")
    source = sources.source_of(data)
    if source is None:
        rule = "label= and probs= name columns of a data frame, of files or of frames that an"
        remedy = "leave them out for arrays, predictions and results"
        raise NotApplicable(f"{rule} iterator gives", remedy)
    if engine == "auto":
        many, source = source.has_more_rows(sources.ROWS)
        engine = "cells" if many else "rows"
    if engine == "rows":
        named = ModelData(None, None, **columns)
        given = replace(named, data=source.table(named.needs))
        with rows_named(source.place):
            return view_of(given.predictions(), None, lens, what, view_of_table)
    reader = sources.Reader(source, columns | {"by": ()}, on_error=on_error)
    read = reader.columns()
    default = Strong() if len(read.classes) == 2 else Confidence()
    chosen = default if lens is None else resolve_lens(lens)
    check_single(chosen, chosen.members_of(read.classes))
    counting = Counting(read, (chosen,), (bins,))
    counting.check()
    (event,) = counting.split(reader.count(counting))
    for note in reader.left_out.notes():
        warnings.warn(note, DegenerateDataWarning, stacklevel=3)
    if not event:
        raise NotApplicable(f"the lens {str(chosen)!r} leaves no rows", "pass another lens")
    return View(CellsEvent(event[None]), str(chosen))
