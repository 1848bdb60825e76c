"""Tables in files: text, JSON, spreadsheets, Parquet, Feather or Arrow IPC and NPZ, both ways.

The suffix says what a file holds, and what is in it says the rest: how it is packed and encoded,
what stands between columns, whether decimals have commas. What the suffix does not say is reported.
"""

from __future__ import annotations

import codecs
import csv
import glob
import gzip
import io
import json
import os
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Unpack
from urllib.parse import unquote

import numpy as np

from caltest.checks import MISSING_WORDS, check_choice, check_unused, listing, warn_caller
from caltest.errors import InvalidInput, NotApplicable, ReadAsWarning, first_line, invalid, shown
from caltest.lazy import pl
from caltest.outputs import replacing
from caltest.predictions import unpacking
from caltest.predictions.options import FILE_FORMATS, FileOptions
from caltest.predictions.parts import family, place_among, stacked_parts
from caltest.predictions.tables import ColumnTable, table_of_frame
from caltest.types import AnyArray

Source = Path | io.BytesIO
AnyFile = str | Path | BinaryIO


SAMPLE = 10_000  # rows that tell the types of the columns of a text; four times as fast as all


STREAM = "standard input"


HEAD = 1 << 16  # bytes that tell how a text is written


LINES = 200  # of them


SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


OF_EXCEL = re.compile(rb'"?sep=([!-~\t])"?\r?\n')  # its first line may name the separator
SPELLED = {"\\t": "\t", "tab": "\t", "semicolon": ";"}


DEFAULTS = {"csv": ",", "tsv": "\t"}


KINDS = {
    "csv": ".csv .txt .dat",
    "tsv": ".tsv .tab",
    "parquet": ".parquet .pq .parq",
    "feather": ".feather .arrow .ipc",
    "jsonl": ".jsonl .ndjson .json",
    "npz": ".npz",
    "excel": ".xlsx .xlsm .xlsb .xls .ods",
}


SUFFIXES = {suffix: kind for kind, suffixes in KINDS.items() for suffix in suffixes.split()}


MAGIC = {
    b"PAR1": "parquet",
    b"ARROW1": "feather",
    b"\xd0\xcf\x11\xe0": "excel",
    b"PK\x03\x04": "excel",
    b"[": "jsonl",
    b"{": "jsonl",
}


GZIP = b"\x1f\x8b"
ZIP = b"PK\x03\x04"
PACKED = (ZIP, b"BZh", b"\xfd7zXZ\x00", b"(\xb5/\xfd")  # ZIP, bzip2, xz and Zstandard
IN_ZIP = (b"xl/", b"docProps/", b"_rels/", b"[Content_Types]", b"mimetype", b".npy")  # of tables


COLUMNAR = ("parquet", "feather")
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # of a k=v folder, as Spark, Hive and Arrow write it


POLARS = {"parquet": "parquet", "feather": "ipc", "excel": "excel", "jsonl": "ndjson"}


TEXT = ("csv", "tsv", "jsonl")


TYPELESS = ("csv", "tsv")


COMMA = re.compile(r"\s*[+-]?\d*,\d+(e[+-]?\d+)?\s*", re.IGNORECASE)
POINT = re.compile(r"\s*[+-]?\d*\.\d+(e[+-]?\d+)?\s*", re.IGNORECASE)
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*", re.IGNORECASE)
THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+\s*")


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """A file that is about to be read.

    Attributes
    ----------
    source : Path or BytesIO
        Text is UTF-8, and nothing is packed.
    kind : str
        One of `FILE_FORMATS`.
    name : str
        For messages.
    sep, decimal : str
        What stands between columns and in decimals of a text.
    sheet : str, optional
        Of a spreadsheet.
    """

    source: Source
    kind: str
    name: str
    sep: str = ","
    decimal: str = "."
    sheet: str | None = None


def table_of_file(path: AnyFile, **how: Unpack[FileOptions]) -> ColumnTable:
    """Read a file, or all files of a folder or a pattern.

    Parameters
    ----------
    path : str, Path or binary file
        A file by its suffix, and by what is in it where that says nothing; a folder or a pattern
        stands for several, whose k=v folders are columns.
    **how
        `file_format`, one of `FILE_FORMATS`, `sep`, `decimal` and `encoding` of a text, to force,
        and `sheet` of a spreadsheet.

    Returns
    -------
    Table
        Its columns; the arrays of an NPZ file.

    Raises
    ------
    InvalidInput
        If there is no such file, the format is not known, or the file is not what it says.
    NotApplicable
        If a spreadsheet is to be read, and fastexcel is not installed.

    Warns
    -----
    ReadAsWarning
        If a text is written in another way than its suffix says, or there are several sheets.
    """
    if isinstance(path, str | Path) and (paths := files_of(path)) is not None:
        parts = parts_of(path, paths)
        frames = ((one.name, _collected(one, own, how)) for one, own in parts)
        places = [
            (one.name, lambda one=one: _collected(one, {}, how).height, partial(place, one, how))
            for one, _ in parts
        ]
        return replace(table_of_frame(stacked_parts(frames)), place=partial(place_among, places))
    opened = _open(path, how)
    read = _read(opened, _read_csv)
    is_archive = opened.kind == "npz"
    table = ColumnTable(list(read), read.__getitem__) if is_archive else table_of_frame(read)
    return replace(table, place=partial(_place, opened))


def raw_table(path: AnyFile, *, as_text: bool = True, **how: Unpack[FileOptions]) -> Any:
    """Read a file so that it can be written again as it was.

    Parameters
    ----------
    path : str, Path or binary file
        As for `table_of_file`.
    as_text : bool, default True
        Whether the columns of a CSV or TSV file stay text, which keeps "007" and "0.10". A format
        that has types wants them read.
    **how
        As for `table_of_file`.

    Returns
    -------
    polars.DataFrame or dict
        The columns with their types; the arrays of an NPZ file.

    Raises
    ------
    InvalidInput
        As for `table_of_file`.
    """
    opened = _open(path, how)
    return _read(opened, _read_text if as_text and opened.decimal == "." else _read_kept)


def scan(
    path: Path, columns: Mapping[str, object] | None = None, **how: Unpack[FileOptions]
) -> pl.LazyFrame:
    """Return the rows of a file, lazily where its format allows that, with further columns."""
    check_file(path)
    kind = how.get("file_format") or format_of(path)
    if kind == "npz":
        raise invalid("path must be a table", repr(path.name), "use Predictions.read for NPZ")
    if kind in COLUMNAR:
        frame: pl.LazyFrame = getattr(pl, f"scan_{POLARS[kind]}")(literal(path))
    else:
        frame = raw_table(path, as_text=False, **how).lazy()
    more = {n: v for n, v in (columns or {}).items() if n not in frame.collect_schema()}
    return frame.with_columns(pl.lit(value).alias(name) for name, value in more.items())


def _collected(path: Path, columns: Mapping[str, object], how: FileOptions) -> pl.DataFrame:
    kind = how.get("file_format") or format_of(path) or "csv"
    return _valid(path.name, kind, lambda: scan(path, columns, **how).collect())  # type: ignore[no-any-return]


def write_table(table: Any, target: Path | BinaryIO, *, file_format: str) -> None:
    """Write what `raw_table` gave, with or without further columns.

    Parameters
    ----------
    table : polars.DataFrame or dict
        Columns or arrays.
    target : Path or binary file
        Where to write; a file is replaced when the new one is whole.
    file_format : str
        One of `FILE_FORMATS`.

    Raises
    ------
    InvalidInput
        If the format cannot hold the table.
    """
    check_choice(file_format, FILE_FORMATS, "file_format")
    if not isinstance(target, Path):
        _write(table, target, file_format)
        return
    with replacing(target) as stream:
        if target.suffix.lower() != ".gz":
            _write(table, stream, file_format)
            return
        content = io.BytesIO()
        _write(table, content, file_format)
        stream.write(gzip.compress(content.getvalue(), mtime=0))  # the same file each time


def name_of(path: AnyFile) -> str:
    """Name a file for print, without its folder."""
    return Path(path).name if isinstance(path, str | Path) else STREAM


def format_of(path: str | Path) -> str | None:
    """Return the format that a suffix stands for, or None."""
    packed = Path(path).suffix.lower() == ".gz"
    found = SUFFIXES.get((Path(path).with_suffix("") if packed else Path(path)).suffix.lower())
    return found if found in TEXT or not packed else None


def files_of(path: str | Path) -> list[Path] | None:
    """Return the files that a pattern or a folder stands for, sorted; None of what is neither.

    A path that is there is no pattern, whatever its name; nor is the part of one that is there.
    Files and folders whose names begin with a point or an underscore are no part of a folder.

    Raises
    ------
    InvalidInput
        If a folder has no tables, or some of several formats.
    """
    path = Path(path)
    if path.is_dir():
        below = (Path(at, one) for at, _, names in os.walk(path) for one in names if format_of(one))
        found = [p for p in below if not any(name[0] in "._" for name in p.relative_to(path).parts)]
        kinds = {str(format_of(one)) for one in found}
        if len(kinds) == 1:
            return sorted(found)
        got = f"files of {', '.join(sorted(kinds))}" if kinds else "no table"
        remedy = f"pass a pattern, {str(path / '*.csv')!r}" if kinds else "check the spelling"
        rule = "path must name a file, or a folder with tables of one format"
        raise invalid(rule, f"{str(path)!r}, a folder with {got}", remedy)
    if path.exists() or not glob.has_magic(str(path)):
        return None
    folder = next(one for one in path.parents if one.exists())
    pattern = Path(glob.escape(str(folder)), path.relative_to(folder))
    return sorted(map(Path, glob.glob(str(pattern), recursive=True)))  # noqa: PTH207 - ** and ~


def parts_of(given: str | Path, paths: Sequence[Path]) -> list[tuple[Path, dict[str, object]]]:
    """Return files with the columns that k=v folders below what was given are."""
    root = next((one for one in (Path(given), *Path(given).parents) if one.is_dir()), Path())
    below = [p.relative_to(root).parts[:-1] if p.is_relative_to(root) else () for p in paths]
    own = [dict(part.split("=", 1) for part in parts if "=" in part) for parts in below]
    values = {k: [one.get(k, "") for one in own] for k in {k for one in own for k in one}}
    number = re.compile(rf"-?\d+|{NO_VALUE}")
    whole = {k for k, texts in values.items() if all(map(number.fullmatch, texts))}

    def read(name: str, text: str) -> object:
        return None if text == NO_VALUE else int(text) if name in whole else unquote(text)

    return [
        (path, {name: read(name, text) for name, text in columns.items()})
        for path, columns in zip(paths, own, strict=True)
    ]


# ---- reading ------------------------------------------------------------------------------------


def literal(path: Path) -> str:
    """Spell the path of a file for Polars, which would expand patterns in it, and ~."""
    return glob.escape(str(path.absolute()))


def check_file(path: Path) -> None:
    """Check that a path names a file."""
    if not path.exists():
        is_url = re.match(r"\w{2,}:/", str(path))
        remedy = "download it first" if is_url else "check the spelling and the working directory"
        raise invalid("path must name a file", repr(str(path)), remedy)


def _open(path: AnyFile, how: FileOptions) -> Opened:
    """Find out what a file is and how it is written."""
    kind = how.get("file_format")
    if kind is not None:
        check_choice(kind, FILE_FORMATS, "file_format")
    source: Source
    if isinstance(path, str | Path):
        check_file(Path(path))
        kind = kind or format_of(path)
        source = Path(path) if Path(path).is_file() else io.BytesIO(Path(path).read_bytes())
    elif isinstance(path, io.BytesIO):
        source = path
    elif hasattr(path, "read") and isinstance(content := path.read(), bytes):
        source = io.BytesIO(content)
    else:
        rule = "path must be a path or an open binary file"
        remedy = "pass one str or pathlib.Path, which may be a pattern, or open it by 'rb'"
        raise invalid(rule, shown(path), remedy)
    name, head = name_of(path), _head(source)
    if head.startswith(GZIP):
        source = _valid(name, kind or "gz", lambda: unpacking.unpacked(source, name))
        head = _head(source)
    if head.startswith(PACKED) and not (head.startswith(ZIP) and any(x in head for x in IN_ZIP)):
        raise invalid("path must be a table, or one packed by gzip", f"{name!r}", "unpack it")
    opened = Opened(source, kind or _kind_of(head) or "csv", name, sheet=how.get("sheet"))
    if opened.kind != "excel":
        check_unused("where the file is no spreadsheet", sheet=opened.sheet)
    if opened.kind not in TYPELESS:
        check_unused("on this format", sep=how.get("sep"), decimal=how.get("decimal"))
    if opened.kind not in TEXT:
        check_unused("on this format", encoding=how.get("encoding"))
        return opened
    return _valid(name, opened.kind, lambda: _as_text(opened, how))  # type: ignore[no-any-return]


def _kind_of(head: bytes) -> str | None:
    """Tell a format by its first bytes."""
    if head.startswith(b"PK") and b".npy" in head:
        return "npz"
    return next((kind for magic, kind in MAGIC.items() if head.lstrip().startswith(magic)), None)


def _stream(source: Source) -> BinaryIO:
    return io.BytesIO(source.getbuffer()) if isinstance(source, io.BytesIO) else source.open("rb")


def _head(source: Source) -> bytes:
    with _stream(source) as stream:
        return stream.read(HEAD)


def _as_text(opened: Opened, how: FileOptions) -> Opened:
    """Decode a text, and find its separator and decimal mark; say what the suffix does not."""
    given, source = how.get("encoding"), opened.source
    if given is not None:
        _check_encoding(given)
    encoding = given or _encoding(opened)
    if encoding != "utf-8":
        source = io.BytesIO(_content(source).decode(encoding).encode())
    head = _head(source)
    if b"\r" in head and b"\n" not in head:  # lines as old spreadsheets end them
        source = io.BytesIO(_content(source).replace(b"\r", b"\n"))
    said = [] if given or encoding.startswith("utf-8") else [f"encoding {encoding}"]
    default = sep = DEFAULTS.get(opened.kind, "")
    told: Any = how.get("sep")
    decimal = how.get("decimal") or "."
    check_choice(decimal, (".", ","), "decimal")
    if opened.kind in TYPELESS:
        head = _head(source)
        if first := OF_EXCEL.match(head):
            source, told = io.BytesIO(_content(source)[first.end() :]), told or first[1].decode()
            head = _head(source)
        lines = head.decode(errors="replace").splitlines(keepends=True)
        lines = lines[: LINES if len(head) < HEAD else min(LINES, len(lines) - 1)]
        sep = _separator(lines, default, told)
        decimal = how.get("decimal") or _decimal(lines, sep)
    if decimal == "," and not how.get("decimal"):
        said.insert(0, "decimal commas")
    if sep != default and not told:
        said.insert(0, f"{SEPARATORS[sep]} between columns")
    if said:
        options = "sep=, decimal= and encoding= say otherwise"
        warn_caller(f"the text is read with {', '.join(said)}; {options}", ReadAsWarning)
    return replace(opened, source=source, sep=sep, decimal=decimal)


def _check_encoding(name: str) -> None:
    try:
        codecs.lookup(name)
    except (LookupError, TypeError):
        remedy = "pass utf-8, utf-16 or latin-1, for example"
        raise invalid("encoding must be one that Python knows", shown(name), remedy) from None


def _encoding(opened: Opened) -> str:
    """Tell an encoding by its marks; what is no UTF-8 is taken for that of Windows."""
    head = _head(opened.source)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-32" if head.startswith(codecs.BOM_UTF32_LE) else "utf-16"
    if b"\0" in head:
        if 0 not in head[::2] and len(head) % 2 == 0 and head[1::2].count(0) > len(head) // 8:
            return "utf-16-le"
        found = _kind_of(head)
        remedy = f"name its format by file_format={found!r}" if found else "convert the file"
        got = f"{opened.name!r}, which holds binary data"
        raise invalid(f"path must be a valid {_shown(opened.name, opened.kind)} file", got, remedy)
    if head.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    for encoding in ("utf-8", "cp1252"):
        with suppress(UnicodeDecodeError), _stream(opened.source) as stream:
            for _ in codecs.iterdecode(iter(partial(stream.read, HEAD), b""), encoding):
                pass
            return encoding
    return "latin-1"


def _content(source: Source) -> bytes:
    return source.getvalue() if isinstance(source, io.BytesIO) else source.read_bytes()


def _separator(lines: Sequence[str], default: str, told: Any) -> str:
    """Return what is told, or what parts the header into most names, all lines into as many."""
    fits = {}
    for one in SEPARATORS:
        widths = [len(fields) for fields in csv.reader(lines, delimiter=one) if fields]
        if widths and widths[0] > 1:
            fits[one] = (len(set(widths)) == 1, widths[0], one == default)
    found = max(fits, key=fits.__getitem__, default=default)
    asked = told or found
    sep: Any = SPELLED.get(str(asked), asked)
    if not isinstance(sep, str) or len(sep.encode()) != 1:
        raise invalid("sep must be one ASCII character", shown(told), "pass ';' or 'tab'")
    if lines and sep not in lines[0] and found in lines[0]:
        rule = f"sep must stand in the first line, {shown(lines[0].strip())}"
        raise invalid(rule, shown(told), f"pass {found!r}")
    return sep


def _decimal(lines: Sequence[str], sep: str) -> str:
    """Tell decimal commas: numbers have some, which are no thousands, and none has a point."""
    fields = [v for row in islice(csv.reader(lines, delimiter=sep), 1, None) for v in row]
    commas = [v for v in fields if COMMA.fullmatch(v)]
    points = any(POINT.fullmatch(v) for v in fields)
    return "," if not points and not all(THOUSANDS.fullmatch(v) for v in commas) else "."


def _read(opened: Opened, of_text: Callable[[Opened], Any]) -> Any:
    """Read a file by its format, and by what is given where that has no types."""

    def read() -> Any:
        found: Any = READERS.get(opened.kind, of_text)(opened)
        if not list(found):
            raise ValueError("it has no columns")
        return found

    return _valid(opened.name, opened.kind, read)


def _valid(name: str, kind: str, read: Callable[[], Any]) -> Any:
    """Read, and word what a reader says of a file that is not what it should be."""
    try:
        return read()
    except (InvalidInput, NotApplicable):
        raise
    except Exception as error:  # each reader has errors of its own
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the system's, not that of what is in the file
        remedy = "correct the file, or load it and use from_frame"
        got = f"{name!r}; the reader reports: {first_line(error)}"
        raise invalid(f"path must be a valid {_shown(name, kind)} file", got, remedy) from error


def _shown(name: str, kind: str) -> str:
    """Name the format by the suffix where that gave it."""
    suffix = Path(name).suffix.lower()
    return suffix if SUFFIXES.get(suffix) == kind else f".{kind}"


def _csv(opened: Opened, **options: Any) -> pl.DataFrame:
    """Read a text without its blank lines."""
    options |= {"separator": opened.sep, "decimal_comma": opened.decimal == ","}
    try:
        frame = pl.read_csv(_polars(opened), **options)
    except pl.exceptions.ComputeError as error:
        if not str(error).startswith(("CSV malformed", 'could not parse `"')):
            raise
        # A quote inside a field that none surrounds, 5" pipe, stands for itself; one before a
        # field may take in the next lines.
        quoted = io.StringIO()
        writer = csv.writer(quoted, delimiter=opened.sep)
        for number, line in enumerate(_lines(opened), start=1):
            try:
                writer.writerows(csv.reader([line], delimiter=opened.sep, strict=True))
            except csv.Error:
                raise _unclosed(line, number, opened) from error
        frame = pl.read_csv(quoted.getvalue().encode(), **options)
    if not frame.height and any("\n" in name for name in frame.columns):
        raise _unclosed(next(_lines(opened)), 1, opened)
    frame = frame.rename(lambda name: name.replace('""', '"'))  # as Polars reads the fields below
    empty = pl.all_horizontal(pl.all().is_null())
    return frame.filter(~empty) if frame.width > 1 and frame.height else frame


def _lines(opened: Opened) -> Iterator[str]:
    return iter(io.TextIOWrapper(io.BytesIO(_content(opened.source)), "utf-8-sig"))


def _unclosed(line: str, number: int, opened: Opened) -> InvalidInput:
    rule = "a field that starts with a quote must end with one on the same line"
    got = f"{line.strip()!r} at line {number} of {opened.name!r}"
    return invalid(rule, got, 'close it, and write each quote within it twice, as in "5"" pipe"')


def _read_text(opened: Opened) -> pl.DataFrame:
    return _named_once(_csv(opened, infer_schema=False))


def _read_kept(opened: Opened) -> pl.DataFrame:
    """Read the types, but as text where whole numbers are written with leading zeros: "007"."""
    frame = _read_csv(opened)
    text = dict(zip(frame.columns, _read_text(opened), strict=True))
    whole = frame.select(pl.selectors.integer()).columns
    codes = [name for name in whole if text[name].str.contains(r"^\s*[+-]?0\d").any()]
    return frame.with_columns(text[name].alias(name) for name in codes)


def _read_csv(opened: Opened) -> pl.DataFrame:
    try:
        frame = _csv(opened, infer_schema_length=SAMPLE)
    except pl.exceptions.ComputeError as error:
        # Labels may be 0 and 1 for long before an "unknown".
        records = _records(opened)
        header = next(records, (1, []))[1]
        for line, fields in records:
            if len(fields) > len(header):
                rule = "each line of the file must have as many fields as its header"
                got = f"{len(fields)} for {len(header)} at line {line} of {opened.name!r}"
                remedy = (
                    f"correct that line; quote fields that hold {opened.sep!r}"
                    if len(header) > 1
                    else "drop what stands above the names of the columns"
                )
                raise invalid(rule, got, remedy) from error
        frame = _csv(opened, infer_schema_length=None)
    frame = _named_once(frame.rename(str.strip))
    if not frame.height:
        return frame.cast(pl.Null)  # of which the other files of a folder tell the types
    texts = frame.select(pl.col(pl.String).str.strip_chars().name.keep())
    return frame.with_columns(map(_number, texts))


def _number(text: pl.Series) -> pl.Series:
    """Read a column as numbers if it is text only for blanks and for missing values."""
    missing = text.str.to_lowercase().is_in(MISSING_WORDS)
    whole, number = text.cast(pl.Int64, strict=False), text.cast(pl.Float64, strict=False)
    has_words = (number.is_null() & text.is_not_null() & ~missing).any()
    if has_words or missing.sum() + text.null_count() == len(text):
        return text
    return whole if whole.null_count() == text.null_count() else number


def _records(opened: Opened) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of a text with the number of their line, as editors count."""
    source = io.BytesIO(_content(opened.source))
    reader = csv.reader(io.TextIOWrapper(source, "utf-8-sig", newline=""), delimiter=opened.sep)
    line = 1
    for fields in reader:
        if any(fields):
            yield line, fields
        line = reader.line_num + 1


def place(path: str | Path, how: FileOptions, row: int) -> str:
    """Name a row of a file as a person counts it there."""
    return _place(_open(path, how), row)


def _place(opened: Opened, row: int) -> str:
    """Name a row as a person counts it in the file."""
    if opened.kind in TYPELESS:
        with suppress(csv.Error):
            return f"line {next(islice(_records(opened), row + 1, None))[0]}"
    if opened.kind == "jsonl":
        with suppress(StopIteration), _stream(opened.source) as lines:
            whole = (k for k, x in enumerate(lines, start=1) if re.fullmatch(rb"\s*{.*}\s*", x))
            return f"line {next(islice(whole, row, None))}"
    if opened.kind == "excel":  # of which no blank rows are read
        return f"row {row + 1}, blank ones aside, below the header of the sheet"
    return f"row {row + 1} of the file"


def _named_once(frame: pl.DataFrame) -> pl.DataFrame:
    names = [re.sub(r"_duplicated_\d+$", "", name) for name in frame.columns]
    if all(NUMBER.fullmatch(name) for name in names) and any("." in name for name in names):
        rule = "the first line of a file must name its columns"
        raise invalid(rule, listing(names), "write their names above it")
    twice = [name for name in frame.columns if re.search(r"_duplicated_\d+$", name)]
    if twice:  # as polars renames them
        raise ValueError(f"{twice[0].rpartition('_duplicated_')[0]!r} names two columns")
    return frame


def _read_columnar(opened: Opened) -> pl.DataFrame:
    kind = POLARS[opened.kind]
    lazy = getattr(pl, f"scan_{kind}")(_polars(opened))
    rows, columns = lazy.select(pl.len()).collect().item(), len(lazy.collect_schema())
    # A file of columns may hold a value once for all rows.
    held, what = unpacking.CELL * rows * columns, f"{rows:,} rows of {columns} columns in"
    unpacking.check_bound(held, opened.source, opened.name, what)
    return getattr(pl, f"read_{kind}")(_polars(opened))  # type: ignore[no-any-return]


def _read_json(opened: Opened) -> pl.DataFrame:
    """Read an object a line, a list of them, or the columns of one, as pandas writes them."""
    if _head(opened.source).lstrip().startswith(b"["):
        return pl.read_json(_polars(opened), infer_schema_length=None)
    try:
        frame = pl.read_ndjson(_polars(opened), infer_schema_length=None)
    except pl.exceptions.ComputeError:  # objects in several lines, or NaN, which Python writes
        frame = pl.DataFrame(list(_objects(opened)), infer_schema_length=None, strict=False)
    if frame.height != 1 or not all(dtype.is_nested() for dtype in frame.dtypes):
        return frame
    values = json.loads(_content(opened.source)).items()
    return pl.DataFrame({n: list(v.values() if isinstance(v, dict) else v) for n, v in values})


def _objects(opened: Opened) -> Iterator[Any]:
    """Yield the objects of a JSON text; where it is broken, the error has the line."""
    text, at = _content(opened.source).decode().strip(), 0
    while at < len(text):
        found, at = json.JSONDecoder().raw_decode(text, at)
        yield found
        at += len(re.compile(r"\s*").match(text, at)[0])  # type: ignore[index]  # all do


def _read_sheet(opened: Opened) -> pl.DataFrame:
    """Read a sheet, by default the first; say which where there are several."""
    if zipfile.is_zipfile(opened.source):
        unpacking.check_size(opened.source, opened.name)
    try:
        import fastexcel

        names = fastexcel.read_excel(_content(opened.source)).sheet_names
        sheet = check_choice(opened.sheet or names[0], names, "sheet")
        if opened.sheet is None and len(names) > 1:
            others = "sheet= names another of " + ", ".join(map(repr, names))
            warn_caller(f"the sheet {sheet!r} of {opened.name!r} is read; {others}", ReadAsWarning)
        return _named_once(pl.read_excel(opened.source, sheet_name=sheet))
    except ModuleNotFoundError as error:
        needs = f"{opened.name!r} is a spreadsheet, which needs fastexcel"
        raise NotApplicable(needs, "pip install caltest[excel]") from error


def _read_npz(opened: Opened) -> dict[str, AnyArray]:
    unpacking.check_archive(opened.source, opened.name)
    _polars(opened)
    with np.load(opened.source, allow_pickle=False) as file:
        return dict(file)


READERS: dict[str, Callable[[Opened], Any]] = dict.fromkeys(COLUMNAR, _read_columnar)
READERS |= {"jsonl": _read_json, "excel": _read_sheet, "npz": _read_npz}


def _polars(opened: Opened) -> str | io.BytesIO:
    """Return what Polars is to read, from its beginning."""
    if isinstance(opened.source, Path):
        return literal(opened.source)
    opened.source.seek(0)
    return opened.source


# ---- writing ------------------------------------------------------------------------------------


def _write(table: Any, target: BinaryIO, file_format: str) -> None:
    if file_format == "npz":
        with zipfile.ZipFile(target, "w") as archive:  # numpy.savez takes no array called "file"
            for name, array in _arrays(table).items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                    np.lib.format.write_array(stream, array, allow_pickle=False)
        return
    frame = _frame(table)
    if file_format not in COLUMNAR:
        for name, dtype in frame.schema.items():
            if _cannot_hold(file_format, dtype):
                kind = {"excel": "an Excel", "jsonl": "a JSON"}.get(file_format)
                rule = f"columns of {kind or 'a ' + file_format.upper()} file must be plain values"
                raise invalid(rule, f"{name!r} of type {dtype}", "write Parquet")
    if file_format in TYPELESS:
        frame.write_csv(target, separator=DEFAULTS[file_format])
        return
    content = io.BytesIO()  # a full disk would be one of Polars' errors of computation
    getattr(frame, f"write_{POLARS[file_format]}")(content)
    target.write(content.getbuffer())


def _cannot_hold(file_format: str, dtype: Any) -> bool:
    """Tell whether a format other than those of columns has no way to write a type."""
    if file_format in TYPELESS and (dtype.is_nested() or dtype == pl.Duration):
        return True
    has_zone = isinstance(dtype, pl.Datetime) and dtype.time_zone is not None
    return (has_zone and file_format == "excel") or dtype in (pl.Binary, pl.Object)


def _frame(table: Any) -> pl.DataFrame:
    """Return the columns; each array of an NPZ file is one."""
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
    import narwhals as nw

    if isinstance(table, Mapping):
        return dict(table)
    wide = "Int128", "UInt128"  # which NumPy has not
    arrays = {
        x.name: np.array(x.to_list(), object) if str(x.dtype) in wide else x.to_numpy()
        for x in table
    }
    for name in [name for name, array in arrays.items() if array.dtype.kind == "O"]:
        if table[name].null_count() or family(nw.from_native(table).schema[name]) != "text":
            got = f"{name!r} of type {table[name].dtype}, {table[name].null_count()} missing"
            rule = "columns of an NPZ file must be numbers or whole text"
            raise invalid(rule, got, "write Parquet")
        arrays[name] = arrays[name].astype(str)
    return arrays
