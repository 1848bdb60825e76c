"""Results as files: the claims and rows of a run in CSV, a page per run, and README.md."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from paper_checks.check import (
    AGAIN,
    COMPARED,
    DIFFERS,
    FULL_ONLY,
    NO_DATA,
    VERDICTS,
    Claim,
    Outcome,
    Part,
    Row,
)
from paper_checks.runner import RESULTS, load, plain

COLUMNS = (
    "part",
    "where",
    "what",
    "paper",
    "ours",
    "tolerance",
    "reason",
    "verdict",
    "explained",
    "note",
    "wrong",
    "passing",
    "at best",
)


HOW = (
    "The verdicts are explained in [README.md](../README.md). Of long tables only what differs is "
    "listed; every number is in the CSV files beside this page, and so are times, which depend on "
    'the machine. A cell of the paper that is compared twice ("again") is counted once.'
)


PARTS = "<!-- parts -->"  # where a page that includes this one starts


def counts(claims: Iterable[str]) -> Counter[str]:
    """Number of claims by verdict."""
    return Counter(claims)


def poorer(outcome: Outcome, results: Path = RESULTS) -> bool:
    """Whether the kept results of such a run lack fewer numbers for want of data."""
    path = results / f"{outcome.name}_{outcome.setting.mode}.csv"
    verdicts = [claim.verdict for part in outcome.parts for claim in part.claims]
    kept = [row["verdict"] for row in read(path)] if path.exists() else verdicts
    here, there = (sum(v in {NO_DATA, FULL_ONLY} for v in some) for some in (verdicts, kept))
    return here > there


def write(outcome: Outcome, results: Path = RESULTS) -> None:
    """Write the CSV files, the figures and the page of a run."""
    results.mkdir(parents=True, exist_ok=True)
    stem = f"{outcome.name}_{outcome.setting.mode}"
    _write_csv(results / f"{stem}.csv", COLUMNS, _claim_rows(outcome.parts))
    module = load(outcome.name)
    # Rows that hold whole samples are summed up by the check before they are written.
    rows = outcome.rows
    if hasattr(module, "summary"):
        rows = module.summary(rows, outcome.setting)
    names = list(dict.fromkeys(key for row in rows for key in row))
    _write_csv(results / f"{stem}_rows.csv", names, rows)
    if outcome.tasks and rows is outcome.rows:
        _write_csv(results / f"{stem}_tasks.csv", ("key", "rows"), outcome.tasks)
    pictures = _write_figures(module, outcome, results)
    page = _page(outcome, pictures)
    (results / f"{stem}.md").write_text(page, encoding="utf-8")


def read(path: Path) -> list[dict[str, str]]:
    """Claims of a run that count: a cell that another claim compares too is left out."""
    with path.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if not row["where"].startswith(AGAIN)]


# ------------------------------------------------------------------------------------------- CSV


def _claim_rows(parts: Sequence[Part]) -> list[Row]:
    return [
        {
            "part": part.title,
            "where": claim.where,
            "what": claim.what,
            "paper": plain(claim.value),
            "ours": plain(claim.ours),
            "tolerance": plain(claim.tolerance),
            "reason": claim.reason,
            "verdict": claim.verdict,
            "explained": str(claim.explained) if claim.verdict == DIFFERS else "",
            "note": claim.note,
            **_wrong_columns(claim),
        }
        for part in parts
        for claim in part.claims
    ]


def _wrong_columns(claim: Claim) -> Row:
    """How many wrong columns a cell has, and how many pass: now, and by its `floor`."""
    if not claim.others or claim.verdict not in COMPARED:
        return {}
    least = claim.tolerance if claim.floor is None else claim.floor
    now, best = (claim.passing(tolerance) for tolerance in (claim.tolerance, least))
    return {"wrong": len(claim.others), "passing": now, "at best": best}


def _write_csv(path: Path, columns: Sequence[str], rows: Sequence[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: plain(value) for key, value in row.items()} for row in rows)


# --------------------------------------------------------------------------------------- figures


def _write_figures(module: ModuleType, outcome: Outcome, results: Path) -> dict[str, str]:
    """Write the figures of a check; return their captions by file name.

    Where nothing was computed, they stay: what is compared again has the same rows.
    """
    if not hasattr(module, "figures"):
        return {}
    import matplotlib as mpl

    names = {key: f"{outcome.name}_{outcome.setting.mode}_{key}.svg" for key in module.CAPTIONS}
    drawn = module.figures(outcome.rows, outcome.setting) if outcome.seconds else {}
    # Fixed ids and no date: a rerun writes the same file.
    with mpl.rc_context({"svg.hashsalt": "caltest", "svg.fonttype": "none"}):
        for key, figure in drawn.items():
            figure.savefig(results / names[key], metadata={"Date": None}, bbox_inches="tight")
    return {
        names[key]: text for key, text in module.CAPTIONS.items() if (results / names[key]).exists()
    }


# -------------------------------------------------------------------------------------- Markdown


def _page(outcome: Outcome, pictures: Mapping[str, str]) -> str:
    module = load(outcome.name)
    lines = [f"# {outcome.name}, {outcome.setting.mode} run", f"{module.PAPER}.", HOW, PARTS]
    lines += [text for part in outcome.parts for text in _part(part)]
    for name, caption in pictures.items():
        lines += [f"![{caption or name}]({name})", *([caption] if caption else [])]
    return "\n\n".join(lines) + "\n"


def _part(part: Part) -> list[str]:
    found = counts(claim.verdict for claim in part.claims)
    summary = ", ".join(f"{found[verdict]} {verdict}" for verdict in VERDICTS if found[verdict])
    texts = [f"## {part.title}", *([part.text] if part.text else [])]
    texts += [f"{summary}."] if part.claims else []
    shown = part.listed
    if shown:
        header = ("place", "what", "paper", "ours", "tolerance", "verdict")
        texts.append(markdown_table(header, [_cells(claim) for claim in shown]))
    notes = dict.fromkeys(claim.note for claim in shown if claim.note)
    return texts + (["\n".join(f"- {note}" for note in notes)] if notes else [])


def _cells(claim: Claim) -> tuple[str, ...]:
    ours = "" if claim.timed else cell(claim.ours, claim.value)
    tolerance = "" if claim.tolerance is None else f"{claim.tolerance:.2g}, {claim.reason}"
    return (claim.where, claim.what, cell(claim.value), ours, tolerance, claim.said)


def cell(value: Any, beside: Any = None) -> str:
    """Value as the table shows it, with two more decimals than the paper's."""
    if value is None:
        return ""
    if not isinstance(value, float):
        return str(value)
    if not isinstance(beside, int | float) or not math.isfinite(value) or abs(value) < 1e-4:
        return f"{value:.6g}"
    decimals = len(f"{beside:.8g}".partition(".")[2]) if abs(beside) > 1e-4 else 4
    return f"{value:.{min(decimals + 2, 8)}f}"


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    escaped = [[text.replace("|", "\\|") for text in line] for line in lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in escaped)
