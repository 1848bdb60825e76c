"""What a session says of its tests of calibration: the section of the terminal, the HTML page."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

from caltest import __version__
from caltest.outputs import write_whole
from caltest.results import wording
from caltest.testing.family import Record

Records = Mapping[str, Sequence[Record]]
COLUMNS = ("outcome", "p", "adjusted", "level", "seed", "n", "test")


def section(records: Records) -> tuple[str, list[str]]:
    """Return the title of the section, and its lines.

    Parameters
    ----------
    records : mapping of str to sequence of Record
        The records of each test, decided.
    """
    each = _each(records)
    cells = [COLUMNS, *itertools.starmap(_cells, each)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(map(str.ljust, row, [*widths[:-1], 0])) for row in cells]
    few = [f"{nodeid}: {one.headline}" for nodeid, one in each if one.few]
    return _title(records), [*lines, *_notes(records), *few]


def write_report(path: Path, records: Records) -> None:
    """Write the HTML page.

    Parameters
    ----------
    path : Path
        The file; its folder is made where it does not exist.
    records : mapping of str to sequence of Record
        The records of each test, decided.
    """
    from jinja2 import Environment, PackageLoader

    loader = PackageLoader("caltest.testing")
    environment = Environment(
        loader=loader, autoescape=True, trim_blocks=True, keep_trailing_newline=True
    )
    page = environment.get_template("session.html.j2").render(
        title=_title(records),
        notes=_notes(records),
        columns=COLUMNS,
        tests=[(record, _cells(nodeid, record)) for nodeid, record in _each(records)],
        version=__version__,
        time=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, page)


def _each(records: Records) -> list[tuple[str, Record]]:
    return [(nodeid, record) for nodeid, some in records.items() for record in some]


def _title(records: Records) -> str:
    each = [record for _, record in _each(records)]
    failed = sum(record.failed and not record.expected for record in each)
    expected = sum(record.failed and record.expected for record in each)
    count = f"{len(each)} test{'s' if len(each) > 1 else ''} of calibration"
    count += f", {failed} failed" if failed else ", none failed"
    return f"{count}, {expected} expected to fail" if expected else count


def _cells(nodeid: str, record: Record) -> tuple[str, ...]:
    if record.within:
        found = "not shown within" if record.failed else "within"
    elif record.failed:
        found = "too few resamples" if record.is_coarse else "rejected"
    elif record.pvalue <= record.level:
        found = "not after adjustment"
    else:
        found = "too few rows" if record.few else "not rejected"
    return (
        f"{found}, as expected" if record.failed and record.expected else found,
        wording.short(record.pvalue).removeprefix("= "),
        "-" if record.within else wording.short(record.adjusted).removeprefix("= "),
        f"{record.level:g}",
        str(record.seed),
        f"{record.n:,}",
        nodeid,
    )


def _notes(records: Records) -> list[str]:
    """Say how the p-values were adjusted."""
    family = [record for _, record in _each(records) if not record.within]
    notes = []
    if len(family) > 1:
        joint = max(record.size for record in family)
        how = "Holm's method"
        if joint == len(family):
            how = "jointly: the same data, the same redrawn labels"
        elif joint > 1:
            how = "jointly where the data are the same, by Holm's method over the data"
        notes.append(f"p-values are adjusted for {len(family)} tests, {how}.")
    if any(record.within for _, record in _each(records)):
        notes.append("A claim within a tolerance is decided by itself: all of them must be shown.")
    seeds = sorted({record.seed for _, record in _each(records)})
    if len(seeds) == 1:
        notes.append(f"To repeat: --calibration-seed={seeds[0]}.")
    return notes
