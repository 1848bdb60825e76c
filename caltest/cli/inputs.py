"""Where predictions come from: a file, or standard input where it is `-`."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from caltest import checks
from caltest.checks import check_choice, check_not_empty, check_unused
from caltest.cli import options
from caltest.errors import invalid
from caltest.predictions import files
from caltest.predictions.options import ENGINES, NumberOptions

if TYPE_CHECKING:
    from caltest.predictions import Predictions, tables
    from caltest.predictions.dependence import Dependence
    from caltest.predictions.tables import Table

STREAM = Path("-")


@dataclass(frozen=True, kw_only=True)
class PredictionFile:
    """The file of predictions, and what its columns hold, as the common options say."""

    file: options.File
    label: str
    probs: str | None = None
    classes: str | None = None
    sample_weight: str | None = None
    from_logits: bool = False
    renormalize: bool = False
    input_format: str | None = None

    @cached_property
    def _opened(self) -> tuple[Table, str]:
        return table(self.file, self.input_format)

    @property
    def read_as(self) -> NumberOptions:
        """How the numbers are read."""
        return {"from_logits": self.from_logits, "renormalize": self.renormalize}

    @property
    def is_pattern(self) -> bool:
        """Whether FILE is a pattern that stands for several files."""
        return files.files_of(self.file) is not None

    def lies(self, engine: str, on_error: str, *, weighted: bool = False) -> bool:
        """Tell whether the rows are to be counted where they lie.

        That is so where cells or chunks are asked for, and where they may be chosen: of a pattern,
        of a large file in a format that tells how many rows it has, and where rows that are wrong
        are to be left out. Rows with weights are counted where the command is `weighted`.
        """
        check_choice(engine, ENGINES, "--engine")
        if engine == "rows" or self.file == STREAM:
            return False
        takes_weight = weighted and engine != "chunks"
        if engine in ("cells", "chunks"):
            weight = None if takes_weight else self.sample_weight
            check_unused(f"with --engine {engine}", weight=weight)
            return True
        unweighted = self.sample_weight is None or takes_weight
        if not unweighted or self.input_format is not None:
            return False
        if self.is_pattern or on_error == "skip":
            return True
        if not self.file.is_file() or files.format_of(self.file) not in ("parquet", "feather"):
            return False
        from caltest.sources.sources import ROWS, source_of

        source = source_of(self.file)
        return source is not None and source.has_more_rows(ROWS)[0]

    def columns_asked(self, by: str | None) -> dict[str, object]:
        """Return the arguments of `test_calibration` that name columns and say what they hold."""
        return {
            "label": self.label,
            "probs": options.parse_probs(self.probs),
            "classes": options.parse_classes(self.classes),
            **self.read_as,
            "by": _groups(by, self._names),
        }

    def segments_asked(self, segments: str | None) -> str | list[str] | None:
        """Return the columns that `--segments` names."""
        return _groups(segments, self._names, "--segments")

    @property
    def _names(self) -> Sequence[str]:
        """The columns of the first file."""
        from caltest.sources.sources import source_of

        source = source_of(self.file)
        first = next(iter(source.parts)) if source is not None else None
        return [] if first is None else list(first.open().collect_schema().names())

    def predictions(
        self,
        *,
        by: str | None = None,
        dependence: Dependence | None = None,
        known: Sequence[object] | None = None,
    ) -> Predictions:
        """Return the predictions, with the groups that `--by` gives, and their clusters.

        `known` are classes of rows before, for labels that need not show each of them.
        """
        found = self.read(self.probs, by=by, known=known)[0]
        if dependence is None:
            return found
        return dependence.of_table(self._opened[0], self.label).given_to(found)

    def read(
        self, probs: str | None, *, by: str | None = None, known: Sequence[object] | None = None
    ) -> tuple[Predictions, object]:
        """Return the predictions of some columns, and what these hold, such as logits.

        Parameters
        ----------
        probs : str or None
            As `--probs`. The file is read once, however often columns are asked for.
        by : str, optional
            What `--by` gave.
        known : sequence, optional
            The classes where neither `--classes` nor the columns name them.

        Returns
        -------
        predictions : Predictions
            With their groups and weights.
        values : array_like, shape (n, m) or (n,)
            Not checked.
        """
        from caltest.predictions import Predictions

        raw = self.chosen(self.label, probs, by)
        if raw["classes"] is None and known is not None:
            raw["classes"] = list(known)
        return Predictions(**raw, **self.read_as, source=self._opened[1]), raw["probs"]

    def chosen(self, label: str, probs: str | None, by: str | None) -> tables.Raw:
        """Return the columns that the options name, not checked."""
        from caltest.predictions import tables

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
        if asked is None:
            return None
        with suppress(ValueError):
            return [float(one) for one in asked.split(",")]
        checks.check_not_label(asked, self.label, "--grades")
        opened = self._opened[0]
        return opened.column(check_choice(asked, opened.names, "--grades"))

    def segments(self, names: str | None) -> dict[str, object] | None:
        """Return the columns that `--segments` gave, by name."""
        if names is None:
            return None
        opened = self._opened[0]
        chosen = [names] if names in opened.names else options.split(names) or []
        for name in checks.check_not_empty(chosen, "--segments"):
            check_choice(name, opened.names, "--segments")
            checks.check_not_label(name, self.label, "--segments")
        return {name: opened.column(name) for name in chosen}

    @property
    def columns(self) -> list[str]:
        """The names of the columns of the probabilities."""
        from caltest.predictions import tables

        taken = [name for name in (self.label, self.sample_weight) if name is not None]
        return tables.prob_columns(self._opened[0].names, options.parse_probs(self.probs), taken)


def source(file: Path, input_format: str | None) -> tuple[Path | io.BytesIO, str | None]:
    """Return what to read, and its format where the suffix does not tell it.

    Parameters
    ----------
    file : Path
        A file, or `-`.
    input_format : str or None
        What `--input-format` gave.

    Returns
    -------
    file : Path or BytesIO
        The path, or all of standard input.
    input_format : str or None
        CSV by default for standard input.
    """
    if file != STREAM:
        return file, input_format
    content = sys.stdin.buffer.read()
    if not content:
        raise invalid("FILE - must be given on standard input", "nothing", "pipe a file into it")
    return io.BytesIO(content), input_format or "csv"


def table(file: Path, input_format: str | None) -> tuple[Table, str]:
    """Return the columns of a file, or of standard input, and its name for print."""
    if files.files_of(file) is not None:
        from caltest.predictions import tables
        from caltest.sources.sources import source_of

        several = source_of(file)
        if several is not None:
            return tables.table_of_frame(several.table()), several.name
    path, file_format = source(file, input_format)
    return files.table_of_file(path, file_format=file_format), files.name_of(path)


def _groups(by: str | None, names: Sequence[str], option: str = "--by") -> str | list[str] | None:
    """Return the column of groups, or the columns to be crossed; one may have a comma in it."""
    if by is None or by in names:
        return by
    columns = list(dict.fromkeys(options.split(by) or ()))
    for name in columns:
        check_choice(name, names, option)
    return check_not_empty(columns, option) if len(columns) != 1 else columns[0]
