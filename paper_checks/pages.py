"""Pages for readers: README.md, and one page per paper, table by table and figure by figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from paper_checks.check import (
    DIFFERS,
    FULL_ONLY,
    NO_DATA,
    NO_VALUE,
    NOT_DECIDABLE,
    NOT_IN_PAPER,
    REPRODUCED,
)
from paper_checks.concordance import agreement
from paper_checks.contents import PAPERS, Item, Paper
from paper_checks.report import markdown_table, read
from paper_checks.runner import RESULTS
from paper_checks.verdict_changes import HISTORIES, Change

HERE = Path(__file__).parent
MISSING = (NO_DATA, NO_VALUE, FULL_ONLY)
Claims = list[dict[str, str]]

INTRODUCTION = """\
# The papers, number by number

Five papers define what caltest implements. Their tables, figures and statements are recomputed
with caltest, and each number is compared with the paper's.
"""
HOW = """\
- **reproduced**: within half a unit of the last printed decimal, or within the Monte Carlo error
  of the run (3 standard errors, or the level 0.1 %: of 1000 true numbers 1 to 3 differ by chance).
- **not decidable**: the same, but so are more than half of the other numbers of the row in the
  paper, those of other methods. The cell would also pass if two columns were confused.
- **differs, explained**: an experiment gives the paper's number; the page says which.
- **differs, not explained**: none was found. What was tried is noted.
- **cannot be had**: the data or networks are not at hand, or the paper prints no number.

The pages of the table above go through each paper table by table; each links to lists of single
numbers with their notes. Only what stands in a paper or its supplement counts as the paper's.
Numbers of other versions (repositories, notebooks) are named as such and not counted.

The second table has for each table how many of its *wrong columns* pass, and how many cells are
decidable: today, and at best, with any number of repetitions of ours and our means as they are.
What is left then is the error of the paper's own numbers. Wenger's tables count our folds as
independent of the paper's, but for AdaBoost, where they are seen to be the same; if they are the
same throughout, "at best" is too low there. The order of the columns in each row is a claim of its
own, with a test: Kendall's tau with the paper's order, mean over the rows, with its 95 % interval
over them; W = (1 + mean of Spearman's rho) / 2; how many rows have the same best column; and the
p-value of tau against an order that has nothing to do with the paper's.

[changes.md](changes.md) lists the verdicts that are not those of the first records, with reasons.

## To run it again

In the root of the repository,

    python -m paper_checks [NAME ...] [--data DIR] [--reference DIR] [--full] [--stored] [--jobs N]

A full run takes hours. `--stored` takes the rows that `results/` holds and computes only what is
not there: to compare again takes 7 s of CPU time, and leaves the pictures as they are. `--smoke`
runs a little of each check in 35 s of it without data, in 45 s with them. The exit status is 1
where a check fails to run, and where nothing was compared. The package xgboost fits KITTI's boosted
trees where it is installed. Seeds are fixed: a rerun writes the same pages, but for times, which
depend on the machine.
"""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many claims have which verdict."""

    reproduced: int
    undecidable: int
    explained: int
    unexplained: int
    missing: int

    @classmethod
    def of(cls, claims: Claims) -> Counts:
        """Count the claims on the paper."""
        verdicts = [claim["verdict"] for claim in claims]
        apart = [claim["explained"] == "True" for claim in claims if claim["verdict"] == DIFFERS]
        return cls(
            verdicts.count(REPRODUCED),
            verdicts.count(NOT_DECIDABLE),
            sum(apart),
            len(apart) - sum(apart),
            sum(verdict in MISSING for verdict in verdicts),
        )

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.reproduced + other.reproduced,
            self.undecidable + other.undecidable,
            self.explained + other.explained,
            self.unexplained + other.unexplained,
            self.missing + other.missing,
        )

    @property
    def cells(self) -> tuple[str, ...]:
        """The numbers as a row of a table."""
        numbers = (
            self.reproduced,
            self.undecidable,
            self.explained,
            self.unexplained,
            self.missing,
        )
        return tuple(str(number) for number in numbers)


HEADER = (
    "reproduced",
    "not decidable",
    "differs, explained",
    "differs, not explained",
    "cannot be had",
)


def claims_of(paper: Paper, results: Path = RESULTS) -> Claims:
    """Claims on a paper: of each check the full run if there is one."""
    found: Claims = []
    for name in paper.checks:
        if path := _newest(name, results):
            found += read(path)
    return [claim for claim in found if not claim["where"].startswith(NOT_IN_PAPER)]


def _newest(name: str, results: Path) -> Path | None:
    paths = (results / f"{name}_{mode}.csv" for mode in ("full", "quick"))
    return next((path for path in paths if path.exists()), None)


def item_of(paper: Paper, where: str) -> Item | None:
    """Return the table, figure or section that a claim belongs to: the longest that fits."""
    fitting = [item for item in paper.items if any(where.startswith(s) for s in item.starts)]
    return max(fitting, key=lambda item: max(map(len, item.starts)), default=None)


def write(folder: Path = HERE, results: Path = RESULTS) -> None:
    """Write README.md and the pages of the papers from the kept results."""
    lines, tables, total = [], [], Counts(0, 0, 0, 0, 0)
    for paper in PAPERS:
        claims = claims_of(paper, results)
        counts = Counts.of(claims)
        total += counts
        lines.append((f"[{paper.name}]({paper.key}.md)", *counts.cells))
        tables += _tables(paper, claims)
        (folder / f"{paper.key}.md").write_text(_page(paper, claims, results), encoding="utf-8")
    table = markdown_table(("paper", *HEADER), [*lines, ("all", *total.cells)])
    found = "\n".join(f"- **{paper.name}**: {paper.summary}" for paper in PAPERS)
    wrong = markdown_table(DECIDABLE, tables)
    text = f"{INTRODUCTION.rstrip()}\n\n{table}\n\n{found}\n\n{wrong}\n\n{HOW.rstrip()}"
    (folder / "README.md").write_text(text + "\n", encoding="utf-8")
    (folder / "changes.md").write_text(_changes(results), encoding="utf-8")


DECIDABLE = (
    "table",
    "cells",
    "wrong columns that pass",
    "decidable",
    "at best",
    "tau with the paper's order",
    "W",
    "same best",
    "p",
)


def _tables(paper: Paper, claims: Claims) -> list[tuple[str, ...]]:
    """Return, for each table and figure of a paper, how many wrong columns would pass."""
    found: dict[str, Claims] = {}
    for claim in claims:
        if claim.get("wrong"):
            found.setdefault(_table_of(claim["where"]), []).append(claim)
    return [(f"{paper.name.split()[0]}, {name}", *_row_of(some)) for name, some in found.items()]


def _table_of(where: str) -> str:
    """Return the table of a cell: "supplement, table 5" of "supplement, table 5, tree, Uncal"."""
    parts = where.split(", ")
    return ", ".join(parts[: 2 if parts[0] == "supplement" else 1])


def _row_of(claims: Claims) -> tuple[str, ...]:
    wrong, passing, best = (
        [int(claim[key]) for claim in claims] for key in ("wrong", "passing", "at best")
    )
    shares = (
        sum(2 * k <= n for k, n in zip(some, wrong, strict=True)) / len(claims)
        for some in (passing, best)
    )
    numbers = (str(len(claims)), *(f"{s:.0%}" for s in (sum(passing) / sum(wrong), *shares)))
    return (*numbers, *agreement(claims))


CHANGED = """\
# Verdicts that have changed

Beside the counts of the first full record of each check stand today's, and below them every number
or statement that was called reproduced and differs, or the reverse. Cells that are not decidable
follow: they are within the tolerance, and so are most of the other numbers of their row.
"""


def _changes(results: Path) -> str:
    parts = [CHANGED.rstrip()]
    for paper in PAPERS:
        if (history := HISTORIES.get(paper.key)) is None:
            continue
        claims = claims_of(paper, results)
        now = Counts.of(claims)
        reproduced, differs = history.first
        today = f"{now.reproduced} and {now.explained + now.unexplained}"
        counted = f"First {reproduced} reproduced and {differs} differing numbers, today {today}."
        if now.undecidable:
            counted += f" Not decidable: {now.undecidable}."
        parts += [f"## [{paper.name}]({paper.key}.md)", f"{counted} {history.others}"]
        if history.changes:
            rows = [_changed(change) for change in history.changes]
            parts.append(markdown_table(("place", "what", "first", "today", "reason"), rows))
        if rows := _undecided(claims):
            parts.append(markdown_table(("table", "not decidable", "cells"), rows))
    return "\n\n".join(parts) + "\n"


def _undecided(claims: Claims) -> list[tuple[str, ...]]:
    """Return the cells that are not decidable, by table and row."""
    tables: dict[str, dict[str, list[str]]] = {}
    for claim in claims:
        if claim["verdict"] == NOT_DECIDABLE:
            table = _table_of(claim["where"])
            row, _, column = claim["where"].rpartition(", ")
            if "table" not in table:  # of curves and means the column is the quantity
                row, column = claim["where"], claim["what"].partition(" at the level")[0]
            line = tables.setdefault(table, {}).setdefault(row.removeprefix(f"{table}, "), [])
            line.append(column.removeprefix("column "))
    return [
        (
            name,
            str(sum(map(len, rows.values()))),
            "; ".join(f"{row}: {', '.join(columns)}" for row, columns in rows.items()),
        )
        for name, rows in tables.items()
    ]


def _changed(change: Change) -> Sequence[str]:
    what = f"{change.what}: {change.statement}" if change.statement else change.what
    return (change.where, what, change.before, change.now, change.reason)


def _page(paper: Paper, claims: Claims, results: Path) -> str:
    by_item: dict[str, Claims] = {item.name: [] for item in paper.items}
    for claim in claims:
        item = item_of(paper, claim["where"])
        if item is None:
            raise ValueError(f"{paper.key}: no table or figure for {claim['where']!r}")
        by_item[item.name].append(claim)
    rows = [_row(item, by_item[item.name]) for item in paper.items]
    links = [
        f"[{name}](results/{path.stem}.md) ([CSV](results/{path.name}))"
        for name in paper.checks
        if (path := _newest(name, results))
    ]
    parts = [
        f"# {paper.name}",
        f"{paper.citation}.",
        paper.summary[0].upper() + paper.summary[1:],
        f"Single numbers, notes and pictures: {', '.join(links)}." if links else "",
        "The verdicts are explained in [README.md](README.md).",
        markdown_table(("where", "what", *HEADER, "why"), rows),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _row(item: Item, claims: Claims) -> Sequence[str]:
    if not claims:
        return (item.name, item.what, "", "", "", "", "all" if item.absent else "", item.why)
    cells = ("" if number == "0" else number for number in Counts.of(claims).cells)
    return (item.name, item.what, *cells, item.why)
