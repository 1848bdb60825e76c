"""Pages for readers: README.md, and one page per paper, table by table and figure by figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from paper_checks.check import DIFFERS, FULL_ONLY, NO_DATA, NO_VALUE, NOT_IN_PAPER, REPRODUCED
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
- **differs, explained**: an experiment gives the paper's number; the page says which.
- **differs, not explained**: none was found. What was tried is noted.
- **cannot be had**: the data or networks are not at hand, or the paper prints no number.

The pages of the table above go through each paper table by table; each links to lists of single
numbers with their notes. Only what stands in a paper or its supplement counts as the paper's.
Numbers of other versions (repositories, notebooks) are named as such and not counted.

[changes.md](changes.md) lists the verdicts that are not those of the first records, with reasons.

## To run it again

In the root of the repository,

    python -m paper_checks [NAME ...] [--data DIR] [--reference DIR] [--full] [--stored] [--jobs N]

A full run takes hours. `--stored` takes the rows that `results/` holds and computes only what is
not there: to compare again takes seconds. Seeds are fixed: a rerun writes the same pages, but for
times, which depend on the machine.
"""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many claims have which verdict."""

    reproduced: int
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
            sum(apart),
            len(apart) - sum(apart),
            sum(verdict in MISSING for verdict in verdicts),
        )

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.reproduced + other.reproduced,
            self.explained + other.explained,
            self.unexplained + other.unexplained,
            self.missing + other.missing,
        )

    @property
    def cells(self) -> tuple[str, ...]:
        """The numbers as a row of a table."""
        numbers = (self.reproduced, self.explained, self.unexplained, self.missing)
        return tuple(str(number) for number in numbers)


HEADER = ("reproduced", "differs, explained", "differs, not explained", "cannot be had")


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
    lines, total = [], Counts(0, 0, 0, 0)
    for paper in PAPERS:
        claims = claims_of(paper, results)
        counts = Counts.of(claims)
        total += counts
        lines.append((f"[{paper.name}]({paper.key}.md)", *counts.cells))
        (folder / f"{paper.key}.md").write_text(_page(paper, claims, results), encoding="utf-8")
    table = markdown_table(("paper", *HEADER), [*lines, ("all", *total.cells)])
    found = "\n".join(f"- **{paper.name}**: {paper.summary}" for paper in PAPERS)
    text = f"{INTRODUCTION.rstrip()}\n\n{table}\n\n{found}\n\n{HOW.rstrip()}"
    (folder / "README.md").write_text(text + "\n", encoding="utf-8")
    (folder / "changes.md").write_text(_changes(results), encoding="utf-8")


CHANGED = """\
# Verdicts that have changed

Beside the counts of the first full record of each check stand today's, and below them every number
or statement that was called reproduced and differs, or the reverse.
"""


def _changes(results: Path) -> str:
    parts = [CHANGED.rstrip()]
    for paper in PAPERS:
        if (history := HISTORIES.get(paper.key)) is None:
            continue
        now = Counts.of(claims_of(paper, results))
        reproduced, differs = history.first
        today = f"{now.reproduced} and {now.explained + now.unexplained}"
        counted = f"First {reproduced} reproduced and {differs} differing numbers, today {today}."
        parts += [f"## [{paper.name}]({paper.key}.md)", f"{counted} {history.others}"]
        if history.changes:
            rows = [_changed(change) for change in history.changes]
            parts.append(markdown_table(("place", "what", "first", "today", "reason"), rows))
    return "\n\n".join(parts) + "\n"


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
        return (item.name, item.what, "", "", "", "all" if item.absent else "", item.why)
    cells = ("" if number == "0" else number for number in Counts.of(claims).cells)
    return (item.name, item.what, *cells, item.why)
