"""Diagrams of very many rows, counted in cells where they lie."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

from caltest.errors import DegenerateDataWarning, NotApplicable
from caltest.lenses import Confidence, Lens, Strong, resolve_lens
from caltest.plots.seen import CellsEvent, RowsEvent, View, check_single, seen
from caltest.predictions import ModelData
from caltest.scale import Counting
from caltest.scale.sources import ENGINES, ROWS, Reader, source_of
from caltest.validation import check_choice


def view_of_table(
    data: object,
    lens: str | Lens | None,
    what: str,
    *,
    label: str,
    probs: str | Sequence[str] | None,
    classes: object,
    bins: int,
    engine: str,
    on_error: str,
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
    label, probs, classes : str, str or sequence of str, and array
        The columns, as for `test_calibration`.
    bins : int
        Number of bins of equal width, which will be unions of cells.
    engine : {"auto", "rows", "cells"}
        "auto" counts more than 2 million rows in cells.
    on_error : {"raise", "skip"}
        Whether rows that are wrong are left out of cells.
    """
    check_choice(engine, ENGINES, "engine")
    source = source_of(data)
    if source is None:
        raise NotApplicable(
            "label= and probs= name columns of a data frame, of files or of frames that an "
            "iterator gives",
            "leave them out for arrays, predictions and results",
        )
    if engine == "auto":
        many, source = source.has_more_rows(ROWS)
        engine = "cells" if many else "rows"
    if engine == "cells":
        columns = {"label": label, "probs": probs, "classes": classes, "by": ()}
        return _of_cells(Reader(source, columns, on_error=on_error), lens, bins)
    named = ModelData(None, None, label=label, probs=probs, classes=classes)
    given = replace(named, data=source.table(named.needs))
    shown = seen(given.predictions(), None, lens, what)
    return View(RowsEvent(shown.predictions), str(shown.lens))


def _of_cells(reader: Reader, lens: str | Lens | None, bins: int) -> View:
    columns = reader.columns()
    default = Strong() if len(columns.classes) == 2 else Confidence()
    chosen = default if lens is None else resolve_lens(lens)
    check_single(chosen, chosen.members_of(columns.classes))
    counting = Counting(columns, (chosen,), (bins,))
    counting.check()
    counted = reader.count(counting)
    for note in counted.left_out.notes():
        warnings.warn(note, DegenerateDataWarning, stacklevel=4)
    (event,) = counting.split(counted.table)
    if not event:
        raise NotApplicable(f"the lens {str(chosen)!r} leaves no rows", "pass another lens")
    return View(CellsEvent(event[None]), str(chosen))
