"""Tables in files: CSV, TSV, Parquet, Feather or Arrow IPC, JSON lines and NPZ, both ways."""

from __future__ import annotations

import glob
import gzip
import io
import re
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from caltest.checks.options import check_choice, check_separator
from caltest.errors import InvalidInput, invalid
from caltest.outputs import replacing
from caltest.predictions import unpacking
from caltest.predictions.tables import Table, table_of_frame
from caltest.types import AnyArray

if TYPE_CHECKING:
    import polars as pl


Source = Path | io.BytesIO


Columns = Mapping[str, AnyArray]


SAMPLE = 10_000  # rows that tell the types of the columns of a text; four times as fast as all


STREAM = "standard input"


SEPARATED = {".csv": ",", ".tsv": "\t"}


SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".ipc": "feather",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".npz": "npz",
}


FORMATS = tuple(dict.fromkeys(SUFFIXES.values()))


COLUMNAR = {"parquet": ("read_parquet", "scan_parquet"), "feather": ("read_ipc", "scan_ipc")}


TEXT = ("csv", "tsv", "jsonl")


TYPELESS = ("csv", "tsv")


def table_of_file(path: str | Path | BinaryIO, *, file_format: str | None = None) -> Table:
    """Read a file by its suffix, or in the format that is named.

    Parameters
    ----------
    path : str, Path or binary file
        CSV or TSV (also with .gz), Parquet, Feather or Arrow IPC, JSON lines, NPZ.
    file_format : str, optional
        One of `FORMATS`; needed for a binary file, which has no suffix.

    Returns
    -------
    Table
        Its columns; the arrays of an NPZ file.

    Raises
    ------
    InvalidInput
        If there is no such file, the format is not known, or the file is not what it says.
    """
    if _format(path, file_format) == "npz":
        arrays = _read(path, "npz", _read_npz)
        return Table(list(arrays), arrays.__getitem__)
    return table_of_frame(_read(path, file_format, _read_typed))


def raw_table(
    path: str | Path | BinaryIO, *, file_format: str | None = None, as_text: bool = True
) -> Any:
    """Read a file so that it can be written again as it was.

    Parameters
    ----------
    path, file_format : optional
        As for `table_of_file`.
    as_text : bool, default True
        Whether the columns of a CSV or TSV file stay text, which keeps "007" and "0.10". A format
        that has types wants them read.

    Returns
    -------
    polars.DataFrame or dict
        The columns with their types; the arrays of an NPZ file.

    Raises
    ------
    InvalidInput
        As for `table_of_file`.
    """
    reader: Callable[[Source, str], Any] = _read_text if as_text else _read_kept
    if _format(path, file_format) == "npz":
        reader = _read_npz
    return _read(path, file_format, reader)


def write_table(table: Any, target: Path | BinaryIO, *, file_format: str) -> None:
    """Write what `raw_table` gave, with or without further columns.

    Parameters
    ----------
    table : polars.DataFrame or dict
        Columns or arrays.
    target : Path or binary file
        Where to write; a file is replaced when the new one is whole.
    file_format : str
        One of `FORMATS`.

    Raises
    ------
    InvalidInput
        If the format cannot hold the table.
    """
    check_choice(file_format, FORMATS, "file_format")
    if isinstance(target, Path):
        packed = target.suffix.lower() == ".gz"
        with replacing(target) as stream:
            _write(table, stream, file_format, packed=packed)
    else:
        _write(table, target, file_format)


def name_of(path: str | Path | BinaryIO) -> str:
    """Name a file for print, without its folder."""
    return Path(path).name if isinstance(path, str | Path) else STREAM


def format_of(path: str | Path) -> str | None:
    """Return the format that a suffix stands for, or None."""
    ends = Path(Path(path).name.lower())
    if ends.suffix != ".gz":
        return SUFFIXES.get(ends.suffix)
    found = SUFFIXES.get(ends.with_suffix("").suffix)
    return found if found in ("csv", "tsv") else None


def files_of(path: str | Path) -> list[Path] | None:
    """Return the files that a pattern stands for, sorted; None of what is no pattern.

    A path that is there is none, whatever its name; nor is the part of a pattern that is there.
    """
    path = Path(path)
    if path.exists() or not glob.has_magic(str(path)):
        return None
    folder = next(one for one in path.parents if one.exists())
    pattern = Path(glob.escape(str(folder)), path.relative_to(folder))
    return sorted(map(Path, glob.glob(str(pattern), recursive=True)))  # noqa: PTH207 - ** and ~


# ---- reading ------------------------------------------------------------------------------------


def literal(path: Path) -> str:
    """Spell the path of a file for Polars, which would expand patterns in it, and ~."""
    return glob.escape(str(path.absolute()))


def check_file(path: Path) -> None:
    """Check that a path names a file; of a folder the pattern that stands for its files is told."""
    rule, remedy = "path must name a file", "check the spelling and the working directory"
    if path.is_dir():
        suffix = next((one.suffix for one in path.rglob("*.*") if one.suffix in SUFFIXES), None)
        if suffix is not None:
            pattern = str(path / "**" / f"*{suffix}")
            remedy = f"pass the pattern {pattern!r} for all files in it"
        raise invalid(rule, f"{str(path)!r}, a folder", remedy)
    if not path.exists():
        raise invalid(rule, repr(str(path)), remedy)


def _format(path: str | Path | BinaryIO, file_format: str | None) -> str:
    """Return the format, and check that there is such a file."""
    if file_format is not None:
        check_choice(file_format, FORMATS, "file_format")
    if not isinstance(path, str | Path):
        if file_format is None:
            remedy = f"pass one of {', '.join(FORMATS)}"
            raise invalid("file_format must be given for an open file", "None", remedy)
        return file_format
    path = Path(path)
    check_file(path)
    found = file_format or format_of(path)
    if found is None:
        rule = f"path must end in {', '.join(SUFFIXES)}, .csv.gz or .tsv.gz"
        remedy = "convert the file, name its format by file_format=, or load it and use from_frame"
        raise invalid(rule, repr(path.name), remedy)
    return found


def _read(
    path: str | Path | BinaryIO, file_format: str | None, reader: Callable[[Source, str], Any]
) -> Any:
    kind = _format(path, file_format)
    try:
        return reader(_source(path), kind)
    except InvalidInput:
        raise
    except Exception as error:  # each reader has errors of its own
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the system's, not that of what is in the file
        lines = (line.strip() for line in str(error).splitlines())
        first = next(filter(None, lines), type(error).__name__)
        remedy = "correct the file, or load it and use from_frame"
        got = f"{name_of(path)!r}; the reader reports: {first}"
        raise invalid(f"path must be a valid {_shown(path, kind)} file", got, remedy) from error


def _shown(path: str | Path | BinaryIO, kind: str) -> str:
    """Name the format by the suffix where that gave it."""
    suffix = Path(path).suffix.lower() if isinstance(path, str | Path) else ""
    return suffix if SUFFIXES.get(suffix) == kind else f".{kind}"


def _source(path: str | Path | BinaryIO) -> Source:
    """Return a path, or the content where that is compressed or cannot be read twice."""
    if isinstance(path, str | Path) and Path(path).suffix.lower() == ".gz":
        return unpacking.unpacked(Path(path))
    if isinstance(path, str | Path) and Path(path).is_file():
        return Path(path)
    if isinstance(path, str | Path):
        return io.BytesIO(Path(path).read_bytes())
    return path if isinstance(path, io.BytesIO) else io.BytesIO(path.read())


def _csv(source: Source, kind: str, **options: Any) -> pl.DataFrame:
    import polars as pl

    return pl.read_csv(_opened(source), separator=SEPARATED[f".{kind}"], **options)


def _read_typed(source: Source, kind: str) -> pl.DataFrame:
    return _read_csv(source, kind) if kind in ("csv", "tsv") else _read_binary(source, kind)


def _read_text(source: Source, kind: str) -> pl.DataFrame:
    if kind not in ("csv", "tsv"):
        return _read_binary(source, kind)
    return _named_once(_csv(source, kind, infer_schema=False))


def _read_kept(source: Source, kind: str) -> pl.DataFrame:
    """Read the types, but as text where whole numbers are written with leading zeros: "007"."""
    import polars as pl

    frame = _read_typed(source, kind)
    if kind not in TYPELESS:
        return frame
    text = dict(zip(frame.columns, _read_text(source, kind), strict=True))
    whole = frame.select(pl.selectors.integer()).columns
    codes = [name for name in whole if text[name].str.contains(r"^\s*[+-]?0\d").any()]
    return frame.with_columns(text[name].alias(name) for name in codes)


def _read_csv(source: Source, kind: str) -> pl.DataFrame:
    import polars as pl

    separator = SEPARATED[f".{kind}"]
    try:
        frame = _csv(source, kind, infer_schema_length=SAMPLE)
    except pl.exceptions.ComputeError:  # labels may be 0 and 1 for long before an "unknown"
        head = _csv(source, kind, n_rows=0, infer_schema=False, truncate_ragged_lines=True)
        check_separator(head.columns, separator)
        frame = _csv(source, kind, infer_schema_length=None)
    check_separator(frame.columns, separator)
    if any(name != name.strip() for name in frame.columns):  # then numbers were read as text too
        stripped = frame.select(pl.col(pl.String).str.strip_chars().name.keep())
        plain = frame.with_columns(stripped).rename(str.strip).write_csv()
        frame = pl.read_csv(plain.encode(), infer_schema_length=None)
    return _named_once(frame.with_columns(_numbers_with_nan(frame)))


def _numbers_with_nan(frame: pl.DataFrame) -> list[pl.Series]:
    """Return the columns that are text only since a missing number is "nan" there, not "NaN"."""
    import polars as pl

    texts = frame.select(pl.col(pl.String)).get_columns()
    nan = [text for text in texts if text.str.contains("(?i)^ *nan *$").any()]
    numbers = [text.str.strip_chars().cast(pl.Float64, strict=False) for text in nan]
    return [
        number
        for number, text in zip(numbers, nan, strict=True)
        if number.null_count() == text.null_count() and not number.is_nan().all()
    ]


def _named_once(frame: pl.DataFrame) -> pl.DataFrame:
    twice = [name for name in frame.columns if re.search(r"_duplicated_\d+$", name)]
    if twice:  # as polars renames them
        raise ValueError(f"{twice[0].rpartition('_duplicated_')[0]!r} names two columns")
    return frame


def _read_binary(source: Source, kind: str) -> pl.DataFrame:
    import polars as pl

    if kind in COLUMNAR:
        read, scan = COLUMNAR[kind]
        lazy = getattr(pl, scan)(_opened(source))
        rows = lazy.select(pl.len()).collect().item()
        unpacking.check_cells(rows, len(lazy.collect_schema()), source, _name(source))
        return getattr(pl, read)(_opened(source))  # type: ignore[no-any-return]  # a data frame
    return pl.read_ndjson(_opened(source), infer_schema_length=None)


def _read_npz(source: Source, _kind: str) -> dict[str, AnyArray]:
    unpacking.check_archive(source, _name(source))
    _opened(source)
    with np.load(source, allow_pickle=False) as file:
        return dict(file)


def _opened(source: Source) -> str | io.BytesIO:
    """Return what Polars is to read, from its beginning."""
    if isinstance(source, Path):
        return literal(source)
    source.seek(0)
    return source


def _name(source: Source) -> str:
    return source.name if isinstance(source, Path) else STREAM


# ---- writing ------------------------------------------------------------------------------------


def _write(table: Any, target: BinaryIO, file_format: str, *, packed: bool = False) -> None:
    if file_format == "npz":
        _write_npz(_arrays(table), target)
        return
    frame = _frame(table)
    if file_format in TYPELESS:
        _write_csv(frame, target, file_format, packed=packed)
    elif file_format == "parquet":
        content = io.BytesIO()  # a full disk would be one of Polars' errors of computation
        frame.write_parquet(content)
        target.write(content.getbuffer())
    elif file_format == "feather":
        frame.write_ipc(target)
    else:
        frame.write_ndjson(target)


def _write_npz(arrays: Columns, target: BinaryIO) -> None:
    """Write arrays of any name; `numpy.savez` takes none that is called `file`."""
    with zipfile.ZipFile(target, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, array, allow_pickle=False)


def _write_csv(frame: pl.DataFrame, target: BinaryIO, kind: str, *, packed: bool) -> None:
    nested = [name for name, dtype in frame.schema.items() if dtype.is_nested()]
    if nested:
        rule = f"columns of a {kind.upper()} file must be plain values"
        got = f"{nested[0]!r} of type {frame.schema[nested[0]]}"
        raise invalid(rule, got, "write Parquet or JSON lines")
    if packed:
        content = io.BytesIO()
        frame.write_csv(content, separator=SEPARATED[f".{kind}"])
        target.write(gzip.compress(content.getvalue(), mtime=0))  # the same file each time
    else:
        frame.write_csv(target, separator=SEPARATED[f".{kind}"])


def _frame(table: Any) -> pl.DataFrame:
    """Return the columns; each array of an NPZ file is one."""
    import polars as pl

    if isinstance(table, pl.DataFrame):
        return table
    wide = [name for name, array in table.items() if array.ndim != 1]
    sizes = {len(array) for array in table.values() if array.ndim}
    if wide or len(sizes) > 1:
        got = f"{wide[0]!r} of shape {table[wide[0]].shape}" if wide else f"lengths {sorted(sizes)}"
        raise invalid("a table must have columns of one length", got, "write an NPZ file")
    return pl.DataFrame(dict(table))


def _arrays(table: Any) -> dict[str, AnyArray]:
    """Return one array per column; NPZ has no missing text."""
    if isinstance(table, Mapping):
        return dict(table)
    arrays = {}
    for name in table.columns:
        array = table[name].to_numpy()
        if array.dtype.kind == "O":
            if table[name].null_count() or str(table[name].dtype) not in ("String", "Categorical"):
                got = f"{name!r} of type {table[name].dtype}, {table[name].null_count()} missing"
                remedy = "write Parquet"
                raise invalid("columns of an NPZ file must be numbers or whole text", got, remedy)
            array = array.astype(str)
        arrays[name] = array
    return arrays
