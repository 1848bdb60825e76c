"""Files that are written: whole or not at all, beside the old one until they are."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from caltest.errors import invalid, shown

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

# The format that the ending of a file's name stands for.
SUFFIXES = {".txt": "text", ".html": "html", ".htm": "html", ".md": "markdown", ".tex": "latex"}
SUFFIXES |= {f".{form}": form for form in ("json", "csv", "pdf", "docx", "xlsx")}
TAKEN = {errno.EAGAIN, errno.EACCES, errno.EDEADLK}  # what a lock says that another one has


def check_target(
    path: str | Path, name: str = "path", *, inputs: Sequence[str | Path] = ()
) -> os.stat_result | None:
    """Check that a file can be written and is none of those that are read.

    Parameters
    ----------
    path : str or Path
        The file; what is no plain file, such as a pipe, is one too.
    name : str
        The argument, as the message names it.
    inputs : sequence of str or Path
        Files that are read.

    Returns
    -------
    os.stat_result or None
        That of the file, where there is one.

    Raises
    ------
    InvalidInput
        If it is a folder, has none to lie in, may not be written, or is one of `inputs`.
    """
    rule, remedy = f"{name} must be a file that can be written", "write elsewhere"
    got = shown(str(path))
    try:
        found = _status(path)
        folder = Path(os.path.realpath(path)).parent
        is_folder = folder.is_dir()
    except (OSError, ValueError) as error:  # a name of 300 characters, a loop of links, NUL
        why = getattr(error, "strerror", None) or error
        raise invalid(rule, f"{got}: {why}", remedy) from error
    if stat.S_ISDIR(found.st_mode) if found is not None else not is_folder:
        rule = f"{name} must be a file in a folder that exists"
        wrong = (got, "make the folder, or write elsewhere")
        raise invalid(
            rule, *(wrong if found is None else (f"{got}, a folder", "name a file in it"))
        )
    if found is not None and not os.access(path, os.W_OK):
        raise invalid(rule, f"{got}: it is read-only", remedy)
    if (found is None or _is_plain(found)) and not os.access(folder, os.W_OK):
        raise invalid(rule, f"{got}: its folder is read-only", remedy)
    for one in inputs:
        other = _status(one)
        if found is not None and other is not None and os.path.samestat(found, other):
            raise invalid(f"{name} must not be a file that is read", got, remedy)
    return found


@contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file to write that takes the place of `path` once it is whole and on the disk.

    Until then the old one stays, whatever ends the writing: a full disk, an exception, a signal.
    The new one has no name before, where the system allows that, so that not even SIGKILL leaves it
    behind. A link stays one, and its target is replaced; mode and owner stay. What is no plain
    file, such as a pipe, and where standard output goes, is written to itself.

    Parameters
    ----------
    path : str or Path
        The file.

    Yields
    ------
    binary file
        To write to.

    Raises
    ------
    InvalidInput
        As for `check_target`.
    OSError
        Where the system cannot write, with `path` as its file name.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "state.json"
    ...     with replacing(path) as file:
    ...         _ = file.write(b"{}")
    ...     path.read_bytes()
    b'{}'
    """
    old = check_target(path)
    try:
        if old is not None and not _is_plain(old):
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND), "wb") as itself:
                yield itself
            return
        target = Path(os.path.realpath(path))
        beside = target.with_name(f"{_mark(target)}-{secrets.token_hex(8)}")
        try:
            with _unnamed(beside, 0o666 if old is None else 0o600) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
                if not beside.exists():  # `_unnamed` opened it without a name
                    # The folder of an absolute path is no matter; one that is named makes links be
                    # followed.
                    own = f"/proc/self/fd/{file.fileno()}"
                    os.link(own, beside, src_dir_fd=file.fileno())
            if old is not None:  # its owner and mode; another's file becomes one's own
                with suppress(OSError, AttributeError):
                    os.chown(beside, old.st_uid, old.st_gid)
                beside.chmod(stat.S_IMODE(old.st_mode))
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
        _sync_folder(target.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write a text (as UTF-8) or bytes as `replacing` does.

    Parameters
    ----------
    path : str or Path
        The file.
    content : str or bytes
        What is to be in it, and nothing else.

    Raises
    ------
    InvalidInput, OSError
        As for `replacing`.
    """
    # Half a surrogate pair, of a name that is no UTF-8, becomes what JSON reads as the same.
    data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
    with replacing(path) as file:
        file.write(data)


@contextmanager
def locked(path: str | Path, *, timeout: float = 60.0) -> Iterator[None]:
    """Let one process at a time read a file and replace it; the others wait.

    The system gives a lock back however its process ends. It lies in a file of its own, since
    `path` is replaced, beside the target of a link; it is gone when the last process is done.

    Parameters
    ----------
    path : str or Path
        The file, which need not exist.
    timeout : float
        Seconds to wait for another process.

    Raises
    ------
    InvalidInput
        If another process keeps the lock for longer.
    OSError
        Where no lock can be had, as of some network drives.
    """
    target = Path(os.path.realpath(path))
    lock = target.with_name(f"{_mark(target)}.lock")
    until = time.monotonic() + timeout
    while (opened := _locked(lock)) is None:
        if time.monotonic() > until:
            rule = f"{str(path)!r} must not be in use by another process"
            raise invalid(rule, f"one that took more than {timeout:g} s", "try again later")
        time.sleep(0.05)
    try:
        for left in target.parent.glob(f"{_mark(target)}-*"):  # by a process that was killed
            left.unlink(missing_ok=True)
        yield
    finally:
        with suppress(OSError):  # Windows deletes no open file, and the next call takes it over
            lock.unlink()
        os.close(opened)


def _locked(lock: Path) -> int | None:
    """Open and lock a file that still has its name then; None if another process has it."""
    opened = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        if sys.platform == "win32":
            msvcrt.locking(opened, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        found = _status(lock)
        if found is not None and os.path.samestat(found, os.fstat(opened)):
            return opened
    except OSError as error:
        if error.errno not in TAKEN:
            os.close(opened)
            raise type(error)(error.errno, error.strerror, str(lock)) from error
    os.close(opened)
    return None


def _mark(target: Path) -> str:
    """Name what lies beside a file for a while, short where the name of the file is long."""
    return f".caltest-{zlib.crc32(target.name.casefold().encode(errors='replace')):08x}"


def _status(path: str | Path) -> os.stat_result | None:
    try:
        return Path(path).stat()  # of the folder "." for an empty name
    except (FileNotFoundError, NotADirectoryError):
        return None


def _is_plain(found: os.stat_result) -> bool:
    """Tell whether a file can be replaced: it is none of its own kind, nor where output goes."""
    for stream in (1, 2):
        with suppress(OSError):
            if os.path.samestat(found, os.fstat(stream)):
                return False
    return stat.S_ISREG(found.st_mode)


def _unnamed(beside: Path, mode: int) -> BinaryIO:
    """Open a new file that has no name yet; one that has where the system knows no others."""
    if Path("/proc/self/fd").is_dir():
        with suppress(OSError, AttributeError):
            return os.fdopen(os.open(beside.parent, os.O_TMPFILE | os.O_WRONLY, mode), "wb")
    new = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(beside, new, mode), "wb")


def _sync_folder(folder: Path) -> None:
    """Make the new name last as well, where folders can be opened."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
