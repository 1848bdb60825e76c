"""`caltest monitor STATE FILE`: take new rows into a monitor that is kept in a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from caltest.checks import as_array, check_choice, check_groups, check_unused, label_values
from caltest.cli import options, output
from caltest.cli.inputs import RowsFile
from caltest.errors import invalid
from caltest.outputs import check_target, locked, write_whole
from caltest.render import number
from caltest.types import AnyArray

if TYPE_CHECKING:
    from caltest.monitoring import Monitor

# What `Monitor.update` takes, groups, and the classes that columns are named after.
MonitorInput = tuple[object, AnyArray | None, Sequence[object] | None]


@dataclass(frozen=True, kw_only=True)
class WatchedFile(RowsFile):
    """The file of rows; where `--ids` names them, their outcomes may come in a later one."""

    ids: str | None = None

    def names(self) -> list[str] | None:
        """Return the names of the rows, as text; the file is read here at the latest."""
        if self.ids is not None:
            return [str(value) for value in self.values(self.ids, "--ids").tolist()]
        if self.label is None:
            rule = "--label must name the column of the labels, without --ids"
            raise invalid(rule, "none", "pass it, or --ids for outcomes that come later")
        check_choice(self.label, self._opened[0].names, "--label")
        return None

    def rows(self, by: str | None, known: Sequence[object] | None) -> MonitorInput:
        """Return what `Monitor.update` takes; the rows have labels where there are some."""
        from caltest.monitoring import waiting

        if self.label is not None or self.ids is None:
            with waiting.outcomes_that_wait():
                found = self.predictions(by=by, known=known)
            return found, found.groups, None
        check_unused("on a monitor", **{"--weight": self.sample_weight})
        raw = self.chosen(self.ids, self.probs, by)
        probs, groups = as_array(raw["probs"], "probs"), raw["groups"]
        named = raw["classes"] if probs.ndim == 2 else None
        columns = ",".join(f'"{x}"' for x in named) if isinstance(named, list) else None
        classes = options.parse_classes(self.classes or columns)
        if known and classes and [str(name) for name in known] != [str(name) for name in classes]:
            raise waiting.other_classes(str(classes), known)
        return probs, None if groups is None else check_groups(groups, len(probs)), classes

    def values(self, name: str | None, option: str) -> AnyArray:
        """Return the names or the labels that an option names, of a file that may have no more."""
        opened = self._opened[0]
        with self.rows_named():
            return label_values(opened.column(check_choice(name, opened.names, option)), option)


@options.grouped(
    state="STATE: Where the monitor is kept, as JSON; made by the first call, changed by each.",
    label="Column of the true labels; with --ids it may be left out, and the rows wait.",
    ids="COLUMN: Names of the rows. Rows without --label wait; a file with --label and no --probs "
    "has the outcomes of rows that wait.",
    batch_id="ID: Name of these rows, such as their day; a name is counted once. By default the "
    "rows themselves are known again, whatever the file.",
    again="Count rows that were counted before once more.",
    by="Watch each group of this column as well.",
    restart="Watch for a change: at least 1 / level rows between false alarms on average.",
    memory="N: Rows over which what is learned fades.",
    fail="Exit with status 1 where there was an alarm.",
)
def monitor(
    state: Path,
    file: WatchedFile,
    *,
    batch_id: str | None = None,
    again: bool = False,
    by: str | None = None,
    restart: bool = False,
    memory: int | None = None,
    plan: Path | None = None,
    level: float | None = None,
    fail: bool = False,
    out: output.Output,
) -> None:
    """Watch a model: add new rows, and answer at an error rate that holds however often one looks.

    Groups, --restart, --memory, --level and --plan are fixed by the first call, and may be said
    again. Rows are counted once: a batch that was counted is refused, and calls at the same time
    wait for each other.
    """
    form = output.choose_format(out.form, out.output, file=file.file, formats=output.OF_VERDICTS)
    check_target(state, "STATE", inputs=(file.file,))
    if str(state) == "-" or (state.exists() and not state.is_file()):
        raise invalid("STATE must be a plain file", repr(str(state)), "write elsewhere")
    if out.output is not None and out.output.resolve() == state.resolve():
        raise invalid("--output must not be STATE", repr(str(state)), "write elsewhere")
    from caltest.monitoring import Monitor, MonitoringPlan

    names = file.names()
    if plan is not None:
        check_unused("where --plan has them", restart=restart or None, level=level)
        restart, level = True, MonitoringPlan.read(plan).monitor_level
    with locked(state):
        watch = None
        if state.exists():
            watch = _read(state, by, level=level, restart=restart or None, memory=memory)
        if names is not None and file.label is not None and file.probs is None:  # outcomes alone
            check_unused("on outcomes", **{"--batch-id": batch_id, "--again": again or None})
            watch = (watch or Monitor()).resolve(names, file.values(file.label, "--label"))
        else:
            rows, groups, classes = file.rows(by, None if watch is None else watch.classes)
            if watch is None:
                own = None if groups is None else sorted(set(groups.tolist()), key=str)
                fixed: dict[str, Any] = {"memory": memory, "restart": restart}
                fixed |= {} if level is None else {"level": level}
                watch = Monitor(classes=classes, groups=own, **fixed)
            with file.rows_named():
                watch.update(
                    rows, groups=groups, ids=names, batch_id=batch_id, again=again, **file.read_as
                )
        try:
            output.write_text(output.FORMATS[form](watch.verdict()), output=out.output)
        except output.OutputClosed:  # by a reader who has read enough: the rows count
            write_whole(state, watch.to_json(indent=None))
            raise
        write_whole(state, watch.to_json(indent=None))
    if fail and watch.alarm():
        raise typer.Exit(1)


def _read(state: Path, by: str | None, **fixed: float | None) -> Monitor:
    """Read a monitor, of which nothing may be asked that its first call has fixed otherwise."""
    from caltest.monitoring import Monitor

    try:
        watch = Monitor.from_json(state.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        rule = "STATE must be a file that caltest monitor wrote"
        raise invalid(rule, repr(str(state)), "go on from an earlier state") from error
    if not watch.groups:
        check_unused("on a monitor whose first call had none", **{"--by": by})
    for name, asked in fixed.items():
        if asked is not None and asked != getattr(watch, name):
            raise invalid(f"--{name} is fixed by the first call", number(asked), "leave it out")
    return watch
