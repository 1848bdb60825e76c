"""`caltest calibrate apply MAP NEW`: calibrated probabilities beside the columns of a file."""

from __future__ import annotations

import io
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caltest.cli import calibration_map, completion, inputs, options
from caltest.cli.calibration_map import Map
from caltest.cli.formats import TABLES
from caltest.cli.output import echo, to_file
from caltest.cli.progress import progress_bar
from caltest.errors import InvalidInput, invalid
from caltest.outputs import check_target
from caltest.predictions import files
from caltest.validation import check_choice, listing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from caltest.predictions.sources import Table

Probs = Annotated[
    str | None,
    typer.Option(
        "--probs",
        metavar="NAMES",
        help="Columns of the probabilities, or logits, if other than those of the fit: a prefix, "
        "one name, or names joined by commas in the order of the classes.",
        autocompletion=completion.of_columns,
    ),
]
Prefix = Annotated[
    str,
    typer.Option("--prefix", metavar="TEXT", help="What the names of the new columns begin with."),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help=f"{', '.join(TABLES)}; by default that of --output's suffix, else that of NEW.",
        autocompletion=completion.of_choices(TABLES),
    ),
]


def apply(
    map_: Annotated[
        Path, typer.Argument(metavar="MAP", help="What `caltest calibrate fit` wrote.")
    ],
    file: Annotated[
        Path,
        typer.Argument(
            metavar="NEW",
            help="Predictions without or with labels: CSV, TSV, Parquet, Feather, JSON lines or "
            "NPZ; - for standard input.",
        ),
    ],
    *,
    probs: Probs = None,
    renormalize: options.Renormalize = False,
    prefix: Prefix = "calibrated_",
    input_format: options.InputFormat = None,
    form: Format = None,
    output: options.Output = None,
    quiet: options.Quiet = False,
) -> None:
    """Add calibrated probabilities to a file, whose columns all stay as they are.

    The new columns are named calibrated_CLASS. Those of the probabilities must have the names that
    they had in the fit, or be named by --probs.
    """
    path = to_file(output)
    if path is not None:
        check_target(path, "--output", inputs=(file, map_))
    with progress_bar("calibrating", quiet=quiet):
        fitted = calibration_map.read(map_)
        opened, read_as = inputs.source(file, input_format)
        write_as = _format(form, path, read_as or files.format_of(file))
        table = files.table_of_file(opened, file_format=read_as)
        columns = _columns(fitted, table, probs)
        values = _values(fitted, table, columns, renormalize=renormalize)
        as_text = write_as in files.TYPELESS
        raw = files.raw_table(opened, file_format=read_as, as_text=as_text)
        added = _added(fitted, table, columns, values, prefix)
        _write(_with(raw, added), path, write_as)


def _format(name: str | None, output: Path | None, read_as: str | None) -> str:
    if name is not None:
        return check_choice(name, TABLES, "--format")
    if output is None or not output.suffix:
        return read_as or "csv"
    found = files.format_of(output)
    if found is None:
        rule = f"--output must end in {', '.join(files.SUFFIXES)}, .csv.gz or .tsv.gz"
        raise invalid(rule, repr(output.name), "name the format by --format")
    return found


def _columns(fitted: Map, table: Table, probs: str | None) -> list[str]:
    """Find the columns in the order of the classes."""
    from caltest.predictions import sources

    if probs is None and fitted.columns is not None:
        missing = [name for name in fitted.columns if name not in table.names]
        _check_columns(missing, table.names)
        return fitted.columns
    chosen = options.parse_probs(probs)
    found = sources.prob_columns(table.names, chosen)
    if isinstance(chosen, list) or len(found) == 1:
        return found
    named = dict(zip(sources.stems(found, chosen), found, strict=True))
    _check_classes(list(named), fitted.classes)
    return [named[name] for name in fitted.classes]


def _values(
    fitted: Map, table: Table, columns: list[str], *, renormalize: bool
) -> NDArray[np.float64]:
    """Return the calibrated probabilities, (n, m)."""
    from caltest.calibrators.inputs import Inputs
    from caltest.predictions import sources
    from caltest.validation import check_logits, check_probs

    calibrator = fitted.calibrator
    raw = sources.numbers_of_columns(table, columns)
    _check_width(raw.shape, len(fitted.classes))
    logits = bool(calibrator.from_logits)
    try:
        checked = (
            check_logits(raw)
            if logits
            else check_probs(raw, renormalize=renormalize, classes=calibrator.classes_)
        )
    except InvalidInput as error:  # the map says what its columns hold
        remedy = error.remedy.replace("or from_logits=True", "as in the fit")
        raise InvalidInput(error.rule, error.got, remedy) from error
    return calibrator.calibrate(Inputs(checked, from_logits=logits))


def _added(
    fitted: Map, table: Table, columns: list[str], values: NDArray[np.float64], prefix: str
) -> dict[str, NDArray[np.float64]]:
    """Name the new columns: one where the file has one, of the second of two classes."""
    is_matrix = len(columns) == 1 and table.column(columns[0]).ndim == 2
    if is_matrix:
        added = {prefix.rstrip("_"): values}
    else:
        shown = range(values.shape[1]) if len(columns) > 1 else [1]
        added = {f"{prefix}{fitted.classes[k]}": values[:, k] for k in shown}
    _check_new(list(added), table.names)
    return added


def _with(raw: Any, added: dict[str, NDArray[np.float64]]) -> Any:
    """Return the table with the new columns at its end."""
    if isinstance(raw, dict):
        return raw | added
    import polars as pl

    return raw.with_columns([pl.Series(name, values) for name, values in added.items()])


def _write(table: Any, path: Path | None, file_format: str) -> None:
    if path is not None:
        files.write_table(table, path, file_format=file_format)
        return
    content = io.BytesIO()
    files.write_table(table, content, file_format=file_format)
    if file_format not in files.TEXT and sys.stdout.isatty():
        rule = f"--output must be a file for {file_format}, which is not text"
        raise invalid(rule, "a terminal", "add -o FILE")
    echo(content.getvalue())


# ---- checks -------------------------------------------------------------------------------------


def _check_columns(missing: Sequence[str], names: Sequence[str]) -> None:
    """Check that the columns that a map was fitted on are there."""
    if missing:
        rule = f"NEW must have the columns of the fit, {listing(list(missing), limit=10)}"
        got = f"the columns {listing(list(names), limit=30)}"
        raise invalid(rule, got, "name its columns by --probs, in the order of the classes")


def _check_classes(found: Sequence[str], classes: Sequence[str]) -> None:
    """Check that the columns under a prefix are named after the classes of the fit."""
    if sorted(found) != sorted(classes):
        rule = f"columns of --probs must be those of the classes {listing(list(classes), limit=10)}"
        remedy = "join the names of the columns by commas, in the order of the classes"
        raise invalid(rule, listing(list(found), limit=10), remedy)


def _check_width(shape: tuple[int, ...], m: int) -> None:
    """Check that there is a column for each class of the fit, or one of two classes."""
    width = shape[1] if len(shape) == 2 else 1
    if width != m and not (width == 1 and m == 2):
        rule = f"NEW must have a column for each of the {m} classes of the fit"
        remedy = "name the columns by --probs, in the order of the classes"
        raise invalid(rule, f"{width}", remedy)


def _check_new(names: Sequence[str], taken: Collection[str]) -> None:
    """Check that new columns do not replace old ones."""
    twice = [name for name in names if name in taken]
    if twice or len(set(names)) < len(names):
        found = twice or [name for name in names if names.count(name) > 1]
        rule = "columns that are added must have new names"
        raise invalid(rule, listing(found[:3]), "choose another --prefix")
