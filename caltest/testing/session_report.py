"""What a session says of its tests of calibration: the section of the terminal, the HTML page."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from caltest import __version__
from caltest.outputs import write_whole
from caltest.results import wording
from caltest.testing.family import Record

Records = Mapping[str, Sequence[Record]]
COLUMNS = ("outcome", "p", "adjusted", "level", "seed", "n", "test")

PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;
  padding: 0 1rem; }}
h1 {{ font-size: 1.4rem; }} h2 {{ font-size: 1.05rem; overflow-wrap: anywhere; }}
.scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; }}
th, td {{ padding: .25rem .75rem .25rem 0; text-align: left; vertical-align: top; }}
tr {{ border-bottom: 1px solid #8884; }}
section {{ border-top: 1px solid #8888; margin-top: 2rem; }}
pre {{ white-space: pre-wrap; overflow-wrap: anywhere; }}
.bad {{ font-weight: 700; }}
</style></head><body>
<h1>{title}</h1>
<p>{notes}</p>
<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>
{rows}
</tbody></table></div>
{sections}
<footer><p>caltest {version}, {time}</p></footer>
</body></html>
"""


def section(records: Records) -> tuple[str, list[str]]:
    """Return the title of the section, and its lines.

    Parameters
    ----------
    records : mapping of str to sequence of Record
        The records of each test, decided.
    """
    cells = [COLUMNS, *_cells(records)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(COLUMNS) - 1)]
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]])
        for row in cells
    ]
    few = [f"{nodeid}: {one.headline}" for nodeid, one in _each(records) if one.few]
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
    rows, details = [], []
    for k, ((nodeid, record), cells) in enumerate(
        zip(_each(records), _cells(records), strict=True), start=1
    ):
        inner = "".join(f"<td>{escape(cell)}</td>" for cell in cells[:-1])
        mark = ' class="bad"' if record.failed else ""
        rows.append(f'<tr{mark}>{inner}<td><a href="#t{k}">{escape(nodeid)}</a></td></tr>')
        text = f"{record.message}\n{record.decision}\n{record.where}"
        told = f"<pre>{escape(text)}</pre>" if record.failed else record.html
        details.append(f'<section id="t{k}"><h2>{escape(nodeid)}</h2>{told}</section>')
    page = PAGE.format(
        title=escape(_title(records)),
        notes=escape(" ".join(_notes(records))),
        head="".join(f"<th>{name}</th>" for name in COLUMNS),
        rows="\n".join(rows),
        sections="\n".join(details),
        version=__version__,
        time=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, page)


def _each(records: Records) -> Iterator[tuple[str, Record]]:
    return ((nodeid, record) for nodeid, some in records.items() for record in some)


def _title(records: Records) -> str:
    each = [record for _, record in _each(records)]
    failed = sum(record.failed and not record.expected for record in each)
    expected = sum(record.failed and record.expected for record in each)
    count = f"{len(each)} test{'s' if len(each) > 1 else ''} of calibration"
    count += f", {failed} failed" if failed else ", none failed"
    return f"{count}, {expected} expected to fail" if expected else count


def _cells(records: Records) -> Iterator[tuple[str, ...]]:
    for nodeid, record in _each(records):
        if record.within:
            found = "not shown within" if record.failed else "within"
        elif record.failed:
            found = "too few resamples" if record.is_coarse else "rejected"
        elif record.pvalue <= record.level:
            found = "not after adjustment"
        else:
            found = "too few rows" if record.few else "not rejected"
        yield (
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
