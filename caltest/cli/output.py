"""Where a result goes: standard output or a file, in the format that was asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from caltest.errors import invalid
from caltest.validation import check_choice

if TYPE_CHECKING:
    from caltest.results import HTest, HTestTable

FORMATS: dict[str, Callable[[HTest | HTestTable], str]] = {
    "text": str,
    "json": lambda result: result.to_json() + "\n",
    "markdown": lambda result: result.to_markdown(),
    "csv": lambda result: result.to_csv(),
    "html": lambda result: result.to_html(),
    "latex": lambda result: result.to_latex(),
}

_SUFFIXES = {".json": "json", ".md": "markdown", ".csv": "csv", ".html": "html", ".tex": "latex"}


def choose_format(
    name: str | None,
    output: Path | None,
    *,
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
        If the format is unknown, or the output is a folder or has none to lie in.
    """
    if output is not None and (output.is_dir() or not output.parent.is_dir()):
        rule = "--output must be a file in a folder that exists"
        raise invalid(rule, repr(str(output)), "make the folder, or write elsewhere")
    if name is not None:
        return check_choice(name, formats, "--format")
    found = default if output is None else _SUFFIXES.get(output.suffix.lower(), default)
    return found if found in formats else default


def write(result: HTest | HTestTable, *, form: str, output: Path | None) -> None:
    """Write the result, and nothing else, to the file or to standard output."""
    write_text(FORMATS[form](result), output=output)


def write_text(content: str, *, output: Path | None) -> None:
    """Write a text, and nothing else, to the file or to standard output."""
    if output is None:
        typer.echo(content, nl=False)
    else:
        output.write_text(content, encoding="utf-8")
