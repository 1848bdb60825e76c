"""`caltest monitor STATE FILE`: take new rows into a monitor that is kept in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from caltest.cli import options
from caltest.cli.inputs import PredictionFile
from caltest.cli.output import FORMATS, Output, choose_format, write_text
from caltest.errors import invalid
from caltest.outputs import check_target, write_whole
from caltest.validation import check_unused

FORMS = [form for form in FORMATS if form != "csv"]  # a verdict is no table

State = Annotated[
    Path,
    typer.Argument(
        metavar="STATE",
        help="Where the monitor is kept, as JSON; made by the first call, changed by each.",
    ),
]
Restart = Annotated[
    bool,
    typer.Option(
        "--restart",
        help="Watch for a change: at least 1 / level rows between false alarms on average.",
    ),
]
Memory = Annotated[
    int | None,
    typer.Option("--memory", metavar="N", help="Rows over which what is learned fades."),
]
Column = Annotated[
    str | None,
    typer.Option("--by", metavar="COLUMNS", help="Watch each group of this column as well."),
]


@options.grouped
def monitor(
    state: State,
    file: PredictionFile,
    *,
    by: Column = None,
    restart: Restart = False,
    memory: Memory = None,
    plan: options.Plan = None,
    level: options.Level = None,
    fail: options.Fail = False,
    out: Output,
) -> None:
    """Watch a model: add new rows, and answer at an error rate that holds however often one looks.

    Groups, --restart, --memory, --level and --plan are fixed by the first call.
    """
    form = choose_format(out.form, out.output, file=file.file, formats=FORMS)
    check_target(state, "STATE", inputs=(file.file,))
    from caltest.monitoring import Monitor, MonitoringPlan

    watch = Monitor.from_json(_read(state)) if state.exists() else None
    predictions = file.predictions(by=by, known=None if watch is None else watch.classes)
    if watch is not None:
        check_unused(
            "on a monitor that exists: its first call has fixed them",
            restart=restart or None,
            memory=memory,
            plan=plan,
        )
        if not watch.groups:
            check_unused("on a monitor whose first call had none", **{"--by": by})
        if level is not None and level != watch.level:
            raise invalid("--level is fixed by the first call", f"{level:g}", "leave it out")
    else:
        if plan is not None:
            check_unused("where --plan has them", restart=restart or None, level=level)
            restart, level = True, MonitoringPlan.read(plan).monitor_level
        groups = predictions.groups
        watch = Monitor(
            groups=None if groups is None else sorted(set(groups.tolist()), key=str),
            restart=restart,
            memory=memory,
            level=0.05 if level is None else level,
        )
    watch.update(predictions)
    write_whole(state, watch.to_json(indent=None))
    write_text(FORMATS[form](watch.verdict()), output=out.output)
    if fail and watch.alarm():
        raise typer.Exit(1)


def _read(state: Path) -> str:
    try:
        return state.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        rule = "STATE must be a file that caltest monitor wrote"
        raise invalid(rule, repr(str(state)), "go on from an earlier state") from error
