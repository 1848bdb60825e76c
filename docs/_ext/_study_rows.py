"""The rows of one test in the tables of the studies, as Markdown; needs no Sphinx."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

RATES = "studies/size_and_power.md"
GRADES = "studies/risk_groups_and_grades.md"
TOLERANCE = "studies/tolerance.md"
MODELS = ("M1", "M2", "M3", "T1.2")
SIZES = ("50", "250", "2000")
BETWEEN = ",\N{NO-BREAK SPACE}"

# How the second study names the tests in the heads of its columns.
COLUMNS: Mapping[str, str] = {
    "hosmer-lemeshow": "HL",
    "pigeon-heyse": "PH",
    "le-cessie-van-houwelingen": "CH",
    "binomial": "binomial",
    "jeffreys": "Jeffreys",
    "normal": "normal",
    "vasicek": "Vasicek",
}

LEGEND = (
    "Rejections in % of simulated data sets at level 5 %, for n = 50, 250 and 2000. M1 is "
    "calibrated, so that 5 is right there and less is conservative; a dagger marks a size that is "
    "too large. M2 (half of the labels are class 0), M3 (labels ignore the predictions) and T1.2 "
    "(labels drawn from the predictions at temperature 1.2) are power. A ring marks a rate of the "
    "data sets that have a p-value, a dash what was not run. The standard error of a size is about "
    "2 points, 4 for n = 2000 and the consistency null: 10 there proves nothing. Predictions are "
    "Dirichlet(0.1), most of them near 0 or 1; with others the power differs. "
    "Settings: "
    f"[size and power of every test](../{RATES})."
)
MORE = (
    "Sizes on other data in % († above, ‡ below 5 %), from "
    "[risk groups and rating grades](../{page}): {title}."
)
WITHIN = (
    "With a tolerance, in % for n = 250 and 2000: sizes where the tolerance is the true error of "
    "models that are off by a known function; power against half of it, and power to show that a "
    "calibrated model is within it. Settings: "
    f"[tolerance tests](../{TOLERANCE})."
)


@dataclass(frozen=True)
class Table:
    """A pipe table, and the heading above it."""

    heading: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def column(self, name: str) -> int:
        """Return the place of a column."""
        return self.head.index(name)


def pipe_tables(text: str) -> Iterator[Table]:
    r"""Yield the pipe tables of a Markdown text.

    Examples
    --------
    >>> [table] = pipe_tables("## A\n\n| x | y |\n|--|--|\n| 1 | 2 |\n")
    >>> table.heading, table.head, table.rows
    ('A', ('x', 'y'), (('1', '2'),))
    """
    heading, block = "", []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            block.append(tuple(cell.strip() for cell in line.strip().strip("|").split("|")))
            continue
        if len(block) > 2:
            yield Table(heading, block[0], tuple(block[2:]))
        block = []
        if line.startswith("#"):
            heading = line.lstrip("# ")


def rate_lines(key: str, text: str) -> list[str]:
    """Return a pipe table of the sizes and powers of one test; its three n share a cell."""
    lines = ["| m | null | lens | M1: size | M2 | M3 | T1.2 |", "|--:|---|---|---|---|---|---|"]
    empty = len(lines)
    for table in pipe_tables(text):
        if table.head[:3] != ("test", "null", "lens"):
            continue
        classes = table.heading.split()[2]
        for row in table.rows:
            if row[0] == key:
                cells = (_joined(table, row, model) for model in MODELS)
                lines.append(_line((classes, row[1], row[2], *cells)))
    return lines if len(lines) > empty else []


def _joined(table: Table, row: tuple[str, ...], model: str) -> str:
    return BETWEEN.join(row[table.column(f"{model}, {n}")].replace(" ", "") for n in SIZES)


def column_tables(key: str, text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield heading and pipe table of the columns of one test, and of those that say of what."""
    name = COLUMNS.get(key)
    for table in pipe_tables(text):
        own = [i for i, head in enumerate(table.head) if name and head.split(",")[0] == name]
        if own:
            tests = {*COLUMNS.values()}
            about = [i for i, head in enumerate(table.head) if head.split(",")[0] not in tests]
            kept = [*about, *own]
            rows = [_line(row[i] for i in kept) for row in table.rows]
            head = _line(table.head[i] for i in kept)
            rule = _line(["---"] * len(about) + ["--:"] * len(own))
            yield table.heading, [head, rule, *rows]


def tolerance_lines(key: str, text: str) -> list[str]:
    """Return a pipe table of the sizes and powers with a tolerance; the n share a cell."""
    pooled: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    head: tuple[str, ...] = ()
    for table in pipe_tables(text):
        if table.head[:4] == ("test", "model", "error", "n"):
            head = table.head
            for row in table.rows:
                if row[0].partition(",")[0] == key:
                    pooled.setdefault(row[:3], []).append(row[4:])
    if not pooled:
        return []
    rule = ["---", "---", "--:", *["---"] * len(head[4:])]
    cells = (
        (*model, *map(BETWEEN.join, zip(*rates, strict=True))) for model, rates in pooled.items()
    )
    return [_line((*head[:3], *head[4:])), _line(rule), *map(_line, cells)]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def section_lines(key: str, source: Path) -> list[str]:
    """Return the Markdown of all tables of one test.

    Raises
    ------
    ValueError
        If the studies have no row of the test.
    """
    rates = rate_lines(key, (source / RATES).read_text(encoding="utf-8"))
    lines = [LEGEND, "", *rates] if rates else []
    grades = (source / GRADES).read_text(encoding="utf-8")
    for heading, table in column_tables(key, grades):
        title = heading[:1].lower() + heading[1:]
        lines += ["", MORE.format(page=GRADES, title=title), "", *table]
    within = tolerance_lines(key, (source / TOLERANCE).read_text(encoding="utf-8"))
    lines += ["", WITHIN, "", *within] if within else []
    if not lines:
        raise ValueError(f"no study has a row of the test {key!r}")
    return lines
