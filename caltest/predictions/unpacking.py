"""The bound on what a packed file may unpack to: NPZ, CSV and TSV with .gz, Parquet and Feather.

A file of a few kilobytes can hold gigabytes of zeros. Real tables of probabilities unpack to 2 to
30 times their size, so what would unpack to more than 100 times, and to more than 256 MiB, is
refused before it is unpacked.
"""

from __future__ import annotations

import gzip
import io
import math
import zipfile
from pathlib import Path

import numpy as np

from caltest.errors import invalid

ALWAYS = 256 << 20  # bytes that any file may unpack to
TIMES = 100  # its own size, for larger ones
PIECE = 1 << 20
CELL = 8  # bytes of a number in a column
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def bound(packed: int) -> int:
    """Return how many bytes a file of this size may unpack to."""
    return max(ALWAYS, TIMES * packed)


def unpacked(source: Path | io.BytesIO, name: str) -> io.BytesIO:
    """Unpack a file compressed by gzip.

    Raises
    ------
    InvalidInput
        If it is beyond the bound.
    """
    content = io.BytesIO()
    with gzip.open(source) as packed:
        while content.write(packed.read(PIECE)):
            check_bound(content.tell(), source, name)
    content.seek(0)
    return content


def check_archive(source: Path | io.BytesIO, name: str) -> None:
    """Check what the arrays of an NPZ file announce, before any is read.

    Raises
    ------
    InvalidInput
        If they are together beyond the bound, or one announces more than the file holds of it.
    """
    check_size(source, name)
    with zipfile.ZipFile(source) as archive:
        for member in archive.infolist():
            with archive.open(member) as stream:
                header = HEADERS.get(np.lib.format.read_magic(stream))
                if header is None:  # of names of fields that are not ASCII
                    continue
                shape, _, dtype = header(stream)
                held = member.file_size - stream.tell()
            if math.prod(shape) * dtype.itemsize > held and not dtype.hasobject:
                got = f"{held:,} bytes for the shape {shape} of {member.filename!r}"
                raise invalid(f"the arrays of {name!r} must be whole", got, "write the file again")


def check_size(source: Path | io.BytesIO, name: str) -> None:
    """Check what the members of an archive announce: an NPZ file, or a spreadsheet.

    Raises
    ------
    InvalidInput
        If they are together beyond the bound.
    """
    with zipfile.ZipFile(source) as archive:
        check_bound(sum(member.file_size for member in archive.infolist()), source, name)


def check_bound(content: int, source: Path | io.BytesIO, name: str, what: str = "of") -> None:
    """Check how many bytes a file unpacks to.

    Raises
    ------
    InvalidInput
        If it is beyond the bound.
    """
    size = source.stat().st_size if isinstance(source, Path) else source.getbuffer().nbytes
    if content > bound(size):
        rule = f"a packed file must unpack to at most {TIMES} times its size, or {ALWAYS >> 20} MiB"
        most = f"more than {bound(size) >> 20:,} MiB"
        remedy = f"unpack it yourself if it is to have {most}, and read that"
        raise invalid(rule, f"{name!r}, {what} {size:,} bytes", remedy)
