"""What was tested: sizes, classes, groups, and what a reader should know of the data first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caltest.nulls.cluster import Clusters
from caltest.predictions import Predictions
from caltest.render import Sheet
from caltest.reporting.blocks import MOST_ROWS, Block
from caltest.reporting.content import ClassCount, Data
from caltest.reporting.wording import DASH, count, share
from caltest.results.printable import plain

FEW_ROWS = 100
FEW_EVENTS = 5
BLOCK = 1 << 20  # probabilities at a time
NAMED = 5  # classes that a warning names

Floats = NDArray[np.float64]


def describe_data(predictions: Predictions) -> Data:
    """Count rows by class and group, and collect warnings."""
    m, weight = predictions.m, predictions.sample_weight
    observed = np.bincount(predictions.labels, weight, m)
    predicted = np.bincount(predictions.predicted, weight, m)
    expected = expected_counts(predictions)
    names = predictions.classes.tolist()
    classes = tuple(
        ClassCount(name=plain(name), observed=float(o), expected=float(e), predicted=float(p))
        for name, o, e, p in zip(names, observed, expected, predicted, strict=True)
    )
    return Data(
        source=predictions.source,
        n=predictions.n,
        m=m,
        weighted=weight is not None,
        classes=classes,
        groups=_groups(predictions),
        warnings=tuple(_warnings(predictions, observed)),
    )


def expected_counts(predictions: Predictions) -> Floats:
    """Sum the probabilities of each class, with the weights of the rows."""
    weight = predictions.sample_weight
    if weight is None:
        return np.asarray(predictions.probs.sum(axis=0))
    return np.asarray(weight @ predictions.probs)


def _groups(predictions: Predictions) -> tuple[tuple[object, int], ...]:
    if predictions.groups is None:
        return ()
    names, counts = np.unique(predictions.groups, return_counts=True)
    return tuple(zip(map(plain, names.tolist()), counts.tolist(), strict=True))


def _warnings(predictions: Predictions, observed: NDArray[Any]) -> Iterator[str]:
    n, names = predictions.n, predictions.classes.tolist()
    if n < FEW_ROWS:
        yield f"There are {n} rows only: even large errors may not be seen."
    if never := [name for name, count in zip(names, observed, strict=True) if count == 0]:
        yield f"Classes that were never observed: {_listing(never)}."
    few = [name for name, count in zip(names, observed, strict=True) if 0 < count < FEW_EVENTS]
    if few:
        yield f"Classes observed fewer than {FEW_EVENTS} times: {_listing(few)}."
    low, high, impossible = _extremes(predictions)
    if impossible:
        yield (
            f"{_rows(impossible)} a class of predicted probability 0 was observed: the log loss "
            "is infinite, and no calibrated model could have given these predictions."
        )
    if high:
        yield f"{_rows(high)} one class has probability 1: nothing else may ever happen there."
    if n > 1 and low:
        yield "All rows have the same predictions: tests see the class frequencies only."
    if predictions.sample_weight is not None:
        yield "Rows have weights; counts are sums of weights."
    if predictions.has_dependence:
        yield (
            f"Rows of the same {predictions.unit} may depend on each other; there are "
            f"{Clusters.of(predictions).words()}. Tests, intervals and smooth curves allow for it; "
            "bars and ranges of what a calibrated model gives take rows as independent."
        )


def _rows(count: int) -> str:
    return "In one row" if count == 1 else f"In {count:,} rows"


def _extremes(predictions: Predictions) -> tuple[bool, int, int]:
    """Whether all rows are alike; how many have a certain class, and how many an impossible."""
    probs, labels = predictions.probs, predictions.labels
    alike, certain, impossible = True, 0, 0
    step = max(1, BLOCK // predictions.m)
    for start in range(0, predictions.n, step):
        part = probs[start : start + step]
        alike = alike and bool((part == probs[0]).all())
        certain += int(np.count_nonzero(part.max(axis=1) == 1))
        seen = part[np.arange(len(part)), labels[start : start + step]]
        impossible += int(np.count_nonzero(seen == 0))
    return alike, certain, impossible


def _listing(names: list[object]) -> str:
    shown = ", ".join(map(str, names[:NAMED]))
    return shown if len(names) <= NAMED else f"{shown} and {len(names) - NAMED:,} more"


def data_blocks(data: Data) -> Iterator[Block]:
    """Yield what was tested.

    Yields
    ------
    Block
        Of the section.
    """
    facts = [
        ("source", data.source),
        ("rows (n)", f"{data.n:,}"),
        ("classes (m)", f"{data.m:,}"),
    ]
    if data.groups:
        facts.append(("groups", f"{len(data.groups):,}"))
    yield Block(kind="facts", sheet=Sheet(title="The data", facts=tuple(facts)))
    if not data.classes:
        return
    total = sum(row.observed for row in data.classes)
    ordered = sorted(data.classes, key=lambda row: -abs(row.observed - row.expected))
    kept = data.classes if data.m <= MOST_ROWS else ordered[:MOST_ROWS]
    rows = tuple(
        (
            str(row.name),
            count(row.observed),
            share(row.observed / total),
            f"{row.expected:,.1f}",
            f"{row.observed - row.expected:+z,.1f}".replace("-", "\u2212"),
            DASH if row.predicted is None else count(row.predicted),
        )
        for row in kept
    )
    header = ("class", "observed", "share", "expected", "difference", "predicted")
    closing = (
        (
            "columns",
            (
                "expected is the sum of the probabilities of the class, difference observed less "
                "expected; predicted counts the rows where the class has the largest probability"
            ),
        ),
    )
    sheet = Sheet(title="Balance of the classes", header=header, rows=rows, closing=closing)
    yield Block(kind="sheet", sheet=sheet)
    if len(kept) < data.m:
        text = f"{data.m - len(kept):,} classes whose difference is smaller are not listed."
        yield Block(kind="note", text=text)
