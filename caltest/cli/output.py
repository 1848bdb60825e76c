"""Where a result goes: standard output or a file, in a format; and progress, on stderr."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from operator import methodcaller
from pathlib import Path
from threading import Timer
from typing import Any, ClassVar

import typer

from caltest.checks import check_choice
from caltest.errors import invalid
from caltest.outputs import SUFFIXES, check_target, write_whole

FORMATS: dict[str, Callable[[Any], str]] = {
    "text": str,
    "json": lambda result: result.to_json() + "\n",
    **{form: methodcaller(f"to_{form}") for form in ("markdown", "csv", "html", "latex")},
}
OF_VERDICTS = [form for form in FORMATS if form != "csv"]  # a verdict is no table
_STREAM = Path("-")
DELAY = 1.0  # seconds before a progress bar shows
ROWS = 100_000  # steps from which on they are rows of data, and their number in a second is shown


@dataclass(frozen=True, kw_only=True)
class Output:
    """Where a result goes and in which format, as the common options say."""

    form: str | None = None
    output: Path | None = None
    quiet: bool = False

    is_verdict: ClassVar[bool] = False

    def writer(self, file: Path | None) -> Callable[..., Any]:
        """Return what writes a result.

        That it can be written is checked before any work.

        Parameters
        ----------
        file : Path or None
            What is read, and must not be written over.
        """
        formats = OF_VERDICTS if self.is_verdict else FORMATS
        form = choose_format(self.form, self.output, file=file, formats=formats)
        return lambda result: write_text(FORMATS[form](result), output=self.output)


class VerdictOutput(Output):
    """The same where it is the verdict on a result that is written, which is no table."""

    is_verdict = True


class OutputClosed(Exception):  # noqa: N818, no error: `| head` has read enough
    """The reader of standard output has gone."""


def choose_format(
    name: str | None,
    output: Path | None,
    *,
    file: Path | None = None,
    formats: Collection[str] = FORMATS,
    default: str = "text",
) -> str:
    """The format by name, else by the suffix of the output file, else the default.

    Parameters
    ----------
    name : str or None
        What `--format` gave.
    output : Path or None
        What `--output` gave. Checked here, before any work whose result could not be written.
    file : Path, optional
        What is read, and must not be written over.
    formats : collection of str
        The formats there are.
    default : str
        One of them.

    Returns
    -------
    str
        One of `formats`.

    Raises
    ------
    InvalidInput
        If the format is unknown, or the output is what is read, a folder, or has none to lie in.
    """
    path = to_file(output)
    if path is not None:
        check_target(path, "--output", inputs=() if file is None else (file,))
    if name is not None:
        return check_choice(name, formats, "--format")
    if path is None or not path.suffix:
        return default
    found = SUFFIXES.get(path.suffix.lower(), "text")
    if found not in formats:
        known = [suffix for suffix, form in SUFFIXES.items() if form in formats]
        rule = f"the suffix of --output must be one of {', '.join(known)}"
        suffix = next(one for one in known if SUFFIXES[one] == default)
        remedy = f"write to a file such as {path.stem}{suffix}"
        raise invalid(f"{rule} where no --format is given", repr(path.name), remedy)
    return found


def to_file(output: Path | None) -> Path | None:
    """Return the file to write, or None where that is standard output."""
    return None if output == _STREAM else output


def write_text(content: str | bytes, *, output: Path | None) -> None:
    """Write a text or bytes, and nothing else, to the file or to standard output."""
    path = to_file(output)
    if path is None:
        if isinstance(content, bytes) and sys.stdout.isatty():
            remedy = "name a file by --output"
            raise invalid("a terminal cannot show this format", "no --output", remedy)
        echo(content)
    else:
        write_whole(path, content)


def echo(content: str | bytes, *, err: bool = False) -> None:
    """Write to standard output, or to standard error, as it is where its encoding has that."""
    encoding = getattr(sys.stderr if err else sys.stdout, "encoding", None) or "utf-8"
    if isinstance(content, str) and content.encode(encoding, "ignore").decode(encoding) != content:
        # What the encoding lacks is written as \uXXXX, which JSON reads as the same.
        safe = (one if one.encode(encoding, "ignore") else json.dumps(one)[1:-1] for one in content)
        content = "".join(safe)
    try:
        typer.echo(content, nl=False, err=err)
    except BrokenPipeError as error:  # Typer would exit with 1, which --fail has a meaning for
        raise OutputClosed from error


# ---- progress ------------------------------------------------------------------------------------


@contextmanager
def progress_bar(what: str, *, quiet: bool = False) -> Iterator[Callable[..., None]]:
    """Context whose value is to be called with (done, total): a bar on a terminal, after a second.

    `what=` says what is done now.

    Parameters
    ----------
    what : str
        A word before the bar.
    quiet : bool
        Whether to show nothing in any case, and no warnings either.

    Yields
    ------
    callable
        Takes the numbers of steps done and in all; the bar pulses until its first call.
    """
    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore")
        if quiet or not sys.stderr.isatty():
            yield lambda *_done, **_words: None
            return
        from rich.console import Console
        from rich.progress import Progress, TextColumn

        columns = (*Progress.get_default_columns(), TextColumn("{task.fields[speed]}"))
        bar = Progress(*columns, console=Console(stderr=True), transient=True)
        task = bar.add_task(what, total=None, speed="")

        def update(done: Any = None, total: Any = None, what: str | None = None) -> None:
            bar.update(task, completed=done, total=total, description=what)
            speed = bar.tasks[0].speed
            if speed and (total or 0) >= ROWS:
                bar.update(task, speed=f"{speed:,.0f} rows/s")

        timer = Timer(DELAY, bar.start)
        timer.daemon = True
        timer.start()
        try:
            yield update
        finally:
            timer.cancel()
            timer.join()
            bar.stop()
