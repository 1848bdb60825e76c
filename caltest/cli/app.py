"""The application: its commands, its exit statuses, and errors in one line.

Exit statuses: 0 done, 1 calibration rejected or an alarm where `--fail` was given and nothing else,
2 bad input, 70 an exception that nobody expected, 130 interrupted, 141 the reader of the output has
gone.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TextIO, cast

import typer

from caltest import __version__
from caltest.cli.calibrate import apply, fit
from caltest.cli.list_ import demo, list_, schema
from caltest.cli.monitor import monitor
from caltest.cli.output import OutputClosed, echo
from caltest.cli.planning import plan_monitoring, power, precision, sample_size
from caltest.cli.report import compare, report, test, verdict
from caltest.cli.wording import epilog, in_words_of_the_command_line, instead
from caltest.errors import InvalidInput, NotApplicable, ReadAsWarning

REJECTED = 1
BAD_INPUT = 2
UNEXPECTED = 70  # EX_SOFTWARE of sysexits.h
INTERRUPTED = 130
BROKEN_PIPE = 141
TRACEBACK = "CALTEST_TRACEBACK"
NUMBER = "it must be a number, such as 0.05 for 5 %"

# click's ClickException: Typer has its own copy of click or not, depending on the release.
_UsageError = cast("type[typer.BadParameter]", typer.BadParameter.mro()[2])

app = typer.Typer(
    name="caltest",
    help="Are a model's probabilities calibrated? Answers with a p-value.",
    epilog="Exit status: 0 done; 1 calibration rejected or an alarm, with --fail only; 2 bad "
    "input, or a file that cannot be read or written; 70 a mistake of caltest; 130 interrupted; "
    "141 the output was closed.",
    pretty_exceptions_enable=False,
    context_settings={
        "help_option_names": ["--help", "-h"],
        "token_normalize_func": lambda name: name.replace("_", "-"),
    },
)
calibrate = typer.Typer()
app.add_typer(calibrate, name="calibrate")
studies = (power, sample_size, precision, monitor, plan_monitoring)
for command in (demo, test, verdict, report, compare, *studies, list_, schema):
    name = command.__name__.strip("_").replace("_", "-")
    app.command(name, epilog=epilog(name))(command)
for command in (fit, apply):
    calibrate.command(epilog=epilog(f"calibrate {command.__name__}"))(command)


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Are a model's probabilities calibrated? Answers with a p-value."""
    if version:
        typer.echo(f"caltest {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@calibrate.callback(invoke_without_command=True)
def start_calibrate(context: typer.Context) -> None:
    """Fit a calibration map to held-out predictions; apply it to new ones."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; an error of the user becomes one line on stderr.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows `caltest`; by default that of the process.

    Returns
    -------
    int
        The exit status.
    """
    with warnings.catch_warnings():
        # What libraries tell each other's developers is nothing that a user could act on.
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.showwarning = partial(_show_warning, set())
        try:
            given = list(sys.argv[1:] if arguments is None else arguments)
            status: int = app(given, prog_name="caltest", standalone_mode=False, obj=given) or 0
            if status == INTERRUPTED:  # Typer makes this status, and no word, of Control-C
                return _ended_by(KeyboardInterrupt())
            return status if "--fail" in given else _but_not_rejected(status)
        except BaseException as error:  # noqa: BLE001 - Rust's panics are no Exception
            return _ended_by(error)


def _ended_by(error: BaseException) -> int:
    """Say in a line what ended the command, and return its exit status."""
    if isinstance(error, SystemExit):  # of Typer: where the output is closed, and of completion
        closed = isinstance(error.__context__, BrokenPipeError)
        return close_output() if closed else _but_not_rejected(error.code)
    if isinstance(error, OutputClosed):
        return close_output()
    # Numba wraps a Control-C that comes while it converts arguments; Typer wraps an end of file.
    if isinstance(error, typer.Abort | SystemError) and error.__cause__ is not None:
        error = error.__cause__
    words, status = str(error), BAD_INPUT
    if isinstance(error, InvalidInput | NotApplicable):
        words = in_words_of_the_command_line(words)
    elif isinstance(error, MemoryError):
        words = f"not enough memory: {error}; take fewer rows"
    elif isinstance(error, OSError):
        words = f"{error.filename or 'output'}: {error.strerror or error}"
    elif isinstance(error, _UsageError):
        words = _words_on_usage(error)
    elif isinstance(error, KeyboardInterrupt | typer.Abort):
        words, status = "interrupted", INTERRUPTED
    else:  # a mistake of caltest; the traceback only where it is wanted
        if os.environ.get(TRACEBACK):
            with contextlib.suppress(OSError, ValueError, OutputClosed):
                echo("".join(traceback.format_exception(error)), err=True)
        name = ": ".join(filter(None, [type(error).__name__, str(error)]))
        words = f"unexpected {name}; please report it, with what {TRACEBACK}=1 prints"
        status = UNEXPECTED
    return _print_error(words, status)


def _but_not_rejected(status: object) -> int:
    """Return what an exit status of another's is here, where 1 says that `--fail` has an answer."""
    if not isinstance(status, int):
        return BAD_INPUT if status else 0
    return BAD_INPUT if status == REJECTED else status


def _words_on_usage(error: typer.BadParameter) -> str:
    """Word a mistake: what is meant, or of an option of other commands, these if they are few."""
    given = [] if error.ctx is None else error.ctx.find_root().obj or []
    first = given[0] if given else ""
    if error.ctx is not None and error.ctx.parent is None and first[:1] != "-":
        meant = f"caltest test {shlex.quote(first)}" if Path(first).exists() else instead(first)
        if meant is not None:
            return f"caltest has no command {shlex.quote(first)}. Try {meant}."
    unknown = type(error).__name__ == "NoSuchOption"
    option = getattr(error, "option_name", None) if unknown else None
    known = dict(_options(typer.main.get_command(app)))
    having = [name for name, options in known.items() if option in options]
    this = "caltest" if error.ctx is None else error.ctx.command_path
    where, meant = f"{this} has no option {option}", instead(option or "") or ""
    if 0 < len(having) <= 3:
        others = " and ".join(filter(None, [", ".join(having[:-1]), having[-1]]))
        return f"{where}; it belongs to {others}. Try {having[0]} --help."
    if meant.startswith("caltest ") or meant.partition(" ")[0] in known.get(this, ()):
        return f"{where}; did you mean {meant}? Try {this} --help."
    if having:
        return f"{where}. Try {this} --help."
    words = error.format_message().rstrip(".")
    words = re.sub(r"Input should be a valid number.*|\S+ is not a valid float", NUMBER, words)
    if "extra argument" in words:
        words += "; join names by commas, and put a pattern of files in quotes"
    return f"{words}{'' if words.endswith('?') else '.'} Try --help."


def _options(group: Any, name: str = "caltest") -> Iterator[tuple[str, list[str]]]:
    """Yield the whole name of each command with its options."""
    for part, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _options(command, f"{name} {part}")
        else:
            yield f"{name} {part}", [one for given in command.params for one in given.opts]


def close_output(stream: TextIO | None = None) -> int:
    """Leave quietly where the reader of the output has gone, as `| head` does."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        # What is left in the buffer would fail again when Python closes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), (stream or sys.stdout).fileno())
    return BROKEN_PIPE


def _print_error(message: str, status: int) -> int:
    with contextlib.suppress(OSError, ValueError, OutputClosed):  # standard error may be full
        echo(f"caltest: {' '.join(message.split())}\n", err=True)
    return status


def _show_warning(
    told: set[str], message: Warning | str, *_place: object, **_stream: object
) -> None:
    """Print a warning once; how a file is read is none."""
    words = in_words_of_the_command_line(str(message))
    if words not in told:
        told.add(words)
        kind = "" if isinstance(message, ReadAsWarning) else "warning: "
        _print_error(f"{kind}{words}", status=0)
