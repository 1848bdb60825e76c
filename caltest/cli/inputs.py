"""Where predictions come from: a file, or standard input where it is `-`."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from caltest import checks
from caltest.cli import options
from caltest.errors import ReadAsWarning, invalid, rows_named, shown
from caltest.predictions import Predictions, files, tables
from caltest.predictions.dependence import Dependence
from caltest.predictions.options import ENGINES, ON_ERROR, FileOptions, ForecastOptions, names_of
from caltest.types import Floats

STREAM = Path("-")


LABELS = ("y", "label", "labels", "target", "outcome", "y_true", "observed")


@dataclass(frozen=True, kw_only=True)
class FileForm:
    """How a file is read where what is in it is not to tell."""

    file_format: str | None = None
    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheet: str | None = None

    @property
    def how(self) -> FileOptions:
        """The options of `caltest.predictions.files`."""
        return cast("FileOptions", {name: getattr(self, name) for name in names_of(FileOptions)})


@dataclass(frozen=True, kw_only=True)
class NumberColumns:
    """The columns of forecasts of numbers."""

    mean: str | None = None
    scale: str | None = None
    members: str | None = None
    quantiles: str | None = None

    @property
    def forecasts(self) -> dict[str, Any]:
        """The columns of forecasts that are named, if any."""
        given = {name: getattr(self, name) for name in names_of(ForecastOptions)}
        return {name: value for name, value in given.items() if value is not None}

    def forecasts_from(self, start: str = "") -> dict[str, Any]:
        """Return the columns as `choose_forecasts` takes them; their names begin with `start`."""
        columns = {k: start + text.replace(",", f",{start}") for k, text in self.forecasts.items()}
        with suppress(ValueError):
            columns["scale"] = float(self.scale or "")
        if "," in columns.get("members", ""):
            columns["members"] = options.split(columns["members"])
        return columns


@dataclass(frozen=True, kw_only=True)
class RowsFile(NumberColumns, FileForm):
    """A file of predictions or of forecasts of numbers, and what its columns hold."""

    file: Path
    label: str | None = None
    probs: str | None = None
    classes: str | None = None
    sample_weight: str | None = None
    from_logits: bool = False
    renormalize: bool = False
    ordinal: bool = False

    @cached_property
    def _opened(self) -> tuple[tables.ColumnTable, str]:
        return table(self.file, self.how)

    @cached_property
    def unread(self) -> Any:
        """Where the rows lie."""
        from caltest.sources.sources import source_of

        return source_of(self.file, **self.how)

    @cached_property
    def observed(self) -> str:
        """The column of the labels: what `--label` names, else the only one of a usual name."""
        names = self._opened[0].names if "_opened" in vars(self) else self._names
        if self.label is not None:
            return self.label
        found = [name for name in names if name.lower() in LABELS]
        if len(found) != 1:
            rule = "--label must name the column of the observed classes"
            got = f"none for the columns {checks.listing(names, limit=30)}"
            raise invalid(rule, got, f"pass --label {(found or ['COLUMN'])[0]}")
        text = f"the labels are taken from {found[0]!r}; --label says otherwise"
        checks.warn_caller(text, ReadAsWarning)
        return found[0]

    @property
    def read_as(self) -> dict[str, Any]:
        """How the numbers are read."""
        return {"from_logits": self.from_logits, "renormalize": self.renormalize}

    def lies(self, engine: str, on_error: str, *, weighted: bool = False) -> bool:
        """Tell whether the rows are to be counted where they lie.

        That is so where cells or chunks are asked for, and where they may be chosen: of a pattern,
        of a large file in a format that tells how many rows it has, and where rows that are wrong
        are to be left out. Rows with weights are counted where the command is `weighted`.
        """
        checks.check_choice(engine, ENGINES, "--engine")
        checks.check_choice(on_error, ON_ERROR, "--on-error")
        if engine == "rows" or self.file == STREAM:
            return False
        weight = None if weighted and engine != "chunks" else self.sample_weight
        if engine in ("cells", "chunks"):
            checks.check_unused(f"with --engine {engine}", weight=weight)
            return True
        if weight is not None:
            return False
        if files.files_of(self.file) is not None or on_error == "skip":
            return True
        if not self.file.is_file() or files.format_of(self.file) not in ("parquet", "feather"):
            return False
        from caltest.sources.sources import ROWS

        return bool(self.unread.has_more_rows(ROWS)[0])

    def columns_asked(self, by: str | None, segments: str | None) -> dict[str, object]:
        """Return the arguments of `test_calibration` that name columns and say what they hold."""
        return {
            "label": self.observed,
            "probs": options.parse_probs(self.probs),
            "classes": options.parse_classes(self.classes),
            "ordinal": self.ordinal,
            **self.read_as,
            "by": _groups(by, self._names),
            "segments": _groups(segments, self._names, "--segments"),
            **self.forecasts_from(),
        }

    @property
    def _names(self) -> Sequence[str]:
        """The columns of the first file."""
        first = next(iter(self.unread.parts))
        with first.readable():
            return list(first.open().collect_schema().names())

    def predictions(
        self,
        probs: str | None = None,
        *,
        by: str | None = None,
        dependence: Dependence = Dependence(),  # noqa: B008 - frozen
        known: Sequence[object] | None = None,
    ) -> Any:
        """Return the rows, with the groups that `--by` gives, their weights and clusters.

        Parameters
        ----------
        probs : str, optional
            In the place of `--probs`, or what the columns of forecasts begin with. The file is read
            once, however often columns are asked for.
        by : str, optional
            What `--by` gave.
        dependence : Dependence
            Which rows may depend on each other.
        known : sequence, optional
            The classes where neither `--classes` nor the columns name them, as of rows before, for
            labels that need not show each of them.
        """
        with self.rows_named():
            found = self._read(probs, by, known)
            found.named_by(self._opened[0], _groups(by, self._opened[0].names))
            return dependence.of_table(self._opened[0], self.observed).given_to(found)

    def _read(self, probs: str | None, by: str | None, known: Sequence[object] | None) -> Any:
        if self.forecasts:
            from caltest.forecasts import Forecasts

            flags = {name: on or None for name, on in self.read_as.items()}
            flags["ordinal"] = self.ordinal or None
            checks.check_unused("with forecasts", probs=self.probs, classes=self.classes, **flags)
            groups = _groups(by, self._opened[0].names)
            columns = self.forecasts_from(probs or "")
            columns |= {"groups": groups, "sample_weight": self.sample_weight}
            return Forecasts._of_table(*self._opened, self.observed, columns)  # noqa: SLF001
        raw = self.chosen(self.observed, probs or self.probs, by)
        if raw["classes"] is None and known is not None:
            raw["classes"] = list(known)
        return Predictions(**raw, ordinal=self.ordinal, **self.read_as, source=self._opened[1])

    @property
    def logits(self) -> object:
        """The columns as they stand where they hold logits, else None."""
        return self.chosen(self.observed, self.probs)["probs"] if self.from_logits else None

    def rows_named(self) -> AbstractContextManager[None]:
        """Name rows in errors as a person counts them in the file."""
        return rows_named(self._opened[0].place)

    def chosen(self, label: str, probs: str | None, by: str | None = None) -> dict[str, Any]:
        """Return the columns that the options name, not checked."""
        opened = self._opened[0]
        return tables.choose_columns(
            opened,
            label=label,
            probs=options.parse_probs(probs),
            groups=_groups(by, opened.names),
            sample_weight=self.sample_weight,
            classes=options.parse_classes(self.classes),
        )

    def grades(self, asked: str | None) -> object:
        """Return the column that `--grades` names, or the PDs between grades."""
        opened = self._opened[0]
        if asked is None:
            return None
        if asked not in opened.names:
            with suppress(ValueError):
                return [float(one) for one in asked.split(",")]
            if "," in asked:
                rule = "--grades must be one column, or PDs between grades"
                raise invalid(rule, shown(asked), "write PDs as 0.01,0.05")
        checks.check_not_label(self.observed, "--grades", asked)
        column = opened.column(checks.check_choice(asked, opened.names, "--grades"))
        with self.rows_named():
            return checks.check_groups(column, len(column), "--grades")

    def by_name(self, names: str | None, option: str) -> dict[str, object] | None:
        """Return the columns that an option gave, by name."""
        if names is None:
            return None
        opened = self._opened[0]
        chosen = [names] if names in opened.names else options.split(names) or []
        for name in checks.check_not_empty(chosen, option):
            checks.check_choice(name, opened.names, option)
            checks.check_not_label(self.observed, option, name)
        return {name: opened.column(name) for name in chosen}

    def design(self, names: str) -> dict[str, Floats]:
        """Return the columns of features, as numbers."""
        columns = self.by_name(names, "--design")
        with self.rows_named():
            return tables.design_columns(columns)

    @property
    def columns(self) -> Any:
        """The names of the columns of the probabilities, or those of forecasts by what they are."""
        if self.forecasts:
            return self.forecasts
        taken = [name for name in (self.observed, self.sample_weight) if name is not None]
        return tables.prob_columns(self._opened[0].names, options.parse_probs(self.probs), taken)


def opened(file: Path) -> Path | io.BytesIO:
    """Return what to read: a path, or all of standard input where it is `-`."""
    if file != STREAM:
        return file
    content = sys.stdin.buffer.read()
    if not content:
        raise invalid("FILE - must be given on standard input", "nothing", "pipe a file into it")
    return io.BytesIO(content)


def table(file: Path, how: FileOptions) -> tuple[tables.ColumnTable, str]:
    """Return the columns of a file, or of standard input, and its name for print."""
    path = opened(file)
    return files.table_of_file(path, **how), files.name_of(path)


def _groups(by: str | None, names: Sequence[str], option: str = "--by") -> str | list[str] | None:
    """Return the column of groups, or the columns to be crossed; one may have a comma in it."""
    if by is None or by in names:
        return by
    columns = list(dict.fromkeys(options.split(by) or ()))
    for name in columns:
        checks.check_choice(name, names, option)
    return checks.check_not_empty(columns, option) if len(columns) != 1 else columns[0]
