"""Recompute the papers' numbers: `python -m paper_checks --help`."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from paper_checks import pages, report
from paper_checks.check import AGAIN, COMPARED, VERDICTS, Outcome, Setting
from paper_checks.runner import CHECKS, load, run

EXAMPLES = """\
examples:
  python -m paper_checks                        quick, what needs no data
  python -m paper_checks --data ../shared/data --reference ../shared/reference
  python -m paper_checks skce_tests --full --jobs 4
  python -m paper_checks splines --stored           compare the numbers of the last full run again
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the checks that are named; 0 unless one fails to run, or nothing is compared."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.names if name not in CHECKS]:
        parser.error(f"NAME must be one of {', '.join(CHECKS)}; got {unknown[0]!r}")
    if options.list:
        _print_list()
        return 0
    mode = "smoke" if options.smoke else "full" if options.full or options.stored else "quick"
    folders = [_folder(parser, name, getattr(options, name)) for name in ("data", "reference")]
    setting = Setting(mode, *folders)
    if options.jobs < 0:
        parser.error(f"--jobs must be at least 1, or 0 for one per core; got {options.jobs}")
    jobs = options.jobs or os.cpu_count() or 1
    outcomes, failed = [], []
    for name in options.names or CHECKS:
        try:
            outcome = run(
                name,
                setting,
                jobs=jobs,
                fresh=options.fresh,
                quiet=options.quiet,
                stored=options.stored,
            )
        except KeyboardInterrupt:
            print(f"{name}: stopped; what has ended is kept, and the next run goes on from there")
            return 130
        except Exception:  # noqa: BLE001  (one check that fails must not stop the others)
            traceback.print_exc()
            failed.append(name)
            continue
        outcomes.append(outcome)
        _print_outcome(outcome)
        if mode == "smoke":
            continue
        if report.poorer(outcome):
            print(f"{name}: the kept results had more data, and stay; pass --data and --reference")
        elif not _written(outcome):
            return 1
    compared = _print_summary(outcomes, failed)
    return 1 if failed or not compared else 0


def _written(outcome: Outcome) -> bool:
    try:
        report.write(outcome)
        pages.write()
    except OSError as error:
        print(f"{outcome.name}: the results cannot be written: {error}", file=sys.stderr)
        return False
    return True


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m paper_checks",
        description="Recompute what the papers report, and compare. Tasks that have ended are kept "
        "in paper_checks/.cache: a run that was stopped goes on where it stopped.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help=f"by default all: {', '.join(CHECKS)}")
    add("--data", default=os.environ.get("CALTEST_DATA"), help="folder of logits/ and uci/")
    add(
        "--reference",
        default=os.environ.get("CALTEST_REFERENCE"),
        help="folder of the papers' curves",
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--full", action="store_true", help="as large as the papers' (hours)")
    size.add_argument("--smoke", action="store_true", help="less than a minute; writes nothing")
    add("--jobs", type=int, default=0, help="processes; by default one per core")
    add("--fresh", action="store_true", help="compute again what is kept")
    add("--stored", action="store_true", help="take rows of full runs, run only what is not there")
    add("--quiet", action="store_true", help="no progress")
    add("--list", action="store_true", help="print the checks and the files they read")
    return parser


def _folder(parser: argparse.ArgumentParser, option: str, name: str | None) -> Path | None:
    if not name:
        return None
    path = Path(name).resolve()
    if not path.is_dir():
        parser.error(f"--{option} must be a folder; got {name!r}, which is not one")
    return path


def _print_list() -> None:
    for name in CHECKS:
        module = load(name)
        print(f"{name}: {module.PAPER}")
        for needed in module.NEEDS:
            print(f"    {needed}")


def _print_outcome(outcome: Outcome) -> None:
    """Claims of a check as a table; folded parts as their counts and what differs."""
    from rich.console import Console
    from rich.table import Table

    wide = None if sys.stdout.isatty() else 160
    console = Console(width=wide, highlight=False, markup=False)
    for part in outcome.parts:
        shown = part.listed
        title = f"{outcome.name}: {part.title}"
        table = Table("place", "what", "paper", "ours", "tolerance", "verdict", title=title)
        for claim in shown:
            tolerance = "" if claim.tolerance is None else f"{claim.tolerance:.2g}"
            ours = report.cell(claim.ours, claim.value)
            table.add_row(
                claim.where, claim.what, report.cell(claim.value), ours, tolerance, claim.said
            )
        console.print(table if shown else title)
        if part.claims:
            console.print(_counted([claim.verdict for claim in part.claims]), "\n")
        else:
            console.print(part.text, "\n")


def _counted(verdicts: Sequence[str]) -> str:
    found = report.counts(verdicts)
    return ", ".join(f"{found[verdict]} {verdict}" for verdict in VERDICTS if found[verdict])


def _print_summary(outcomes: Sequence[Outcome], failed: Sequence[str]) -> int:
    """Print the verdicts of each check, and return how many numbers and statements have one."""
    total = compared = 0
    for outcome in outcomes:
        claims = [claim for part in outcome.parts for claim in part.claims]
        verdicts = [claim.verdict for claim in claims if not claim.where.startswith(AGAIN)]
        print(f"{outcome.name} ({outcome.seconds:.0f} s): {_counted(verdicts) or 'no claims'}")
        total += len(verdicts)
        compared += sum(verdict in COMPARED for verdict in verdicts)
    for name in failed:
        print(f"{name}: failed, see the traceback above")
    print(f"{compared or 'Nothing'} of {total} numbers and statements compared with the papers'.")
    if compared < total and not outcomes[0].setting.data:
        print("The others need the data sets: pass --data and --reference.")
    return compared


if __name__ == "__main__":
    sys.exit(main())
