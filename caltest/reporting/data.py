"""What was tested: sizes, classes, groups, and what a reader should know of the data first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from caltest.nulls.cluster import Clusters
from caltest.reporting.content import MOST_ROWS, Block, ClassCount, Data, facts, notes, table
from caltest.reporting.reading import DASH, MINUS, count, share
from caltest.results import HTestTable

if TYPE_CHECKING:
    from caltest.reporting.source import Source

FEW_ROWS = 100
FEW_EVENTS = 5
NAMED = 5  # classes that a warning names


def describe_data(source: Source, tested: HTestTable | None = None) -> Data:
    """Count rows by class and group, and collect warnings; `tested` are the groups that were."""
    classes = source.class_counts()
    return Data(
        source=source.name,
        n=source.n,
        m=source.m,
        weighted=source.weight is not None,
        classes=classes,
        groups=source.group_sizes(tested),
        warnings=tuple(_warnings(source, classes)),
    )


def _warnings(source: Source, classes: tuple[ClassCount, ...]) -> Iterator[str]:
    yield from source.cautions
    if source.n < FEW_ROWS:
        yield f"There are {source.n} rows only: even large errors may not be seen."
    if never := [one.name for one in classes if one.observed == 0]:
        yield f"Classes that were never observed: {_listing(never)}."
    if few := [one.name for one in classes if 0 < one.observed < FEW_EVENTS]:
        yield f"Classes observed fewer than {FEW_EVENTS} times: {_listing(few)}."
    alike, certain, impossible = source.extremes()
    if impossible:
        yield (
            f"{_rows(impossible)} a class of predicted probability 0 was observed: the log loss "
            "is infinite, and no calibrated model could have given these predictions."
        )
    if certain:
        yield f"{_rows(certain)} one class has probability 1: nothing else may ever happen there."
    if source.n > 1 and alike:
        yield "All rows have the same predictions: tests see the class frequencies only."
    if source.weight is not None:
        yield "Rows have weights; counts are sums of weights."
    if source.predictions is not None and source.predictions.has_dependence:
        yield (
            f"Rows of the same {source.predictions.unit} may depend on each other; there are "
            f"{Clusters.of(source.predictions).words()}. Tests, intervals and smooth curves allow "
            "for it; bars and ranges of what a calibrated model gives take rows as independent."
        )


def _rows(count: int) -> str:
    return "In one row" if count == 1 else f"In {count:,} rows"


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
    sizes = {"rows (n)": data.n, "classes (m)": data.m, "groups": len(data.groups)}
    known = [(name, f"{size:,}") for name, size in sizes.items() if size]
    yield facts("The data", [("source", data.source), *known])
    if not data.classes:
        return
    total = sum(row.observed for row in data.classes)
    ordered = sorted(data.classes, key=lambda row: -abs(row.observed - row.expected))
    kept = data.classes if data.m <= MOST_ROWS else ordered[:MOST_ROWS]
    rows = [
        (
            str(row.name),
            count(row.observed),
            share(row.observed / total),
            f"{row.expected:,.1f}",
            f"{row.observed - row.expected:+z,.1f}".replace("-", MINUS),
            DASH if row.predicted is None else count(row.predicted),
        )
        for row in kept
    ]
    yield table(
        "Balance of the classes",
        ("class", "observed", "share", "expected", "difference", "predicted"),
        rows,
        explained="columns: expected is the sum of the probabilities of the class, difference "
        "observed less expected; predicted counts the rows where the class has the largest "
        "probability",
    )
    if len(kept) < data.m:
        text = f"{data.m - len(kept):,} classes whose difference is smaller are not listed."
        yield from notes([text])
