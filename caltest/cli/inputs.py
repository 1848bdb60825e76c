"""Where predictions come from: a file, or standard input where it is `-`."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from caltest import files
from caltest.cli import options
from caltest.errors import invalid
from caltest.validation import check_choice, check_not_empty

if TYPE_CHECKING:
    from caltest.predictions import Predictions
    from caltest.sources import Table

STREAM = Path("-")


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
    path, file_format = source(file, input_format)
    return files.table_of_file(path, file_format=file_format), files.name_of(path)


def read(
    file: Path,
    *,
    label: str,
    probs: str | None = None,
    classes: str | None = None,
    by: str | None = None,
    weight: str | None = None,
    logits: bool = False,
    renormalize: bool = False,
    input_format: str | None = None,
) -> Predictions:
    """Read predictions as the common options say.

    Parameters
    ----------
    file : Path
        A file, or `-`.
    label, probs, classes, by, weight, logits, renormalize, input_format : optional
        The options of the same names.

    Returns
    -------
    Predictions
        The predictions, with their groups and weights.
    """
    from caltest import sources
    from caltest.predictions import Predictions

    opened, name = table(file, input_format)
    raw = sources.choose_columns(
        opened,
        label=label,
        probs=options.parse_probs(probs),
        groups=_groups(by, opened.names),
        sample_weight=weight,
        classes=options.parse_classes(classes),
    )
    return Predictions(**raw, from_logits=logits, renormalize=renormalize, source=name)


def _groups(by: str | None, names: Sequence[str]) -> str | list[str] | None:
    """Return the column of groups, or the columns to be crossed; one may have a comma in it."""
    if by is None or by in names:
        return by
    columns = list(dict.fromkeys(options.split(by) or ()))
    for name in columns:
        check_choice(name, names, "--by")
    return check_not_empty(columns, "--by") if len(columns) != 1 else columns[0]
