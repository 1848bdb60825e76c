"""What a plot of one-dimensional predictions is given: a result, or predictions and a lens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from caltest.errors import NotApplicable, invalid
from caltest.lenses import Confidence, Lens, Strong, resolve_lens
from caltest.measures.one_dimension import check_one_dimension
from caltest.plots.base import name_text, pvalue_text
from caltest.plots.event import CellsEvent, Event, RowsEvent
from caltest.predictions import Predictions, as_measured
from caltest.results import HTest
from caltest.results.evidence import required
from caltest.validation import check_unused


class Seen(NamedTuple):
    """Predictions of two classes as a lens shows them, and the test behind them if there is one."""

    predictions: Predictions
    lens: Lens
    result: HTest | None = None


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


def view_of(source: object, labels: object, lens: str | Lens | None, what: str) -> View:
    """Look at a result, at predictions or at cells through a lens; see `seen`.

    Cells are of one event already: they have no other lens.
    """
    if isinstance(source, HTest) and source.counted is not None:
        check_unused("where the first argument is the result of a test", labels=labels)
        if lens is not None and str(resolve_lens(lens)) != source.lens:
            raise NotApplicable(
                f"the cells of this result are those of the lens {source.lens!r}, and lens="
                f"{str(lens)!r} needs the rows",
                "run test_calibration under that lens, or with engine='rows'",
            )
        return View(CellsEvent(source.counted.cells), source.lens, source)
    shown = seen(source, labels, lens, what)
    return View(RowsEvent(shown.predictions), str(shown.lens), shown.result)


def seen(source: object, labels: object, lens: str | Lens | None, what: str) -> Seen:
    """Look at a result or at predictions through a lens that leaves two classes.

    Without a lens it is that of the result, or none for two classes; where more than two are left,
    that of the confidence. `what` names the plot in messages.
    """
    result = source if isinstance(source, HTest) else None
    if isinstance(source, HTest):
        check_unused("where the first argument is the result of a test", labels=labels)
        evidence = required(source.evidence, what)
        predictions, given = evidence.predictions, evidence.lens
    else:
        predictions, given = as_measured(source, labels), Strong()
    resolved = given if lens is None else resolve_lens(lens)
    if resolved.is_family:
        check_single(resolved, resolved.members(predictions))
    shown = resolved(predictions)
    if lens is None and shown.m > 2:
        resolved = Confidence()
        shown = resolved(predictions)
    check_one_dimension(shown, what)
    return Seen(shown, resolved, result)


def check_single(lens: Lens, members: Sequence[Lens]) -> None:
    """Raise InvalidInput where a lens is a family."""
    if lens.is_family:
        remedy = f"pass one, such as {str(members[0])!r}, or call reliability_grid for all"
        raise invalid("lens must be a single one", repr(str(lens)), remedy)
