"""The application: its commands, its exit statuses, and errors in one line.

Exit statuses: 0 done, 1 calibration rejected where `--fail` was given, 2 bad input, 130
interrupted, 141 the reader of the output has gone.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, cast

import typer

from caltest import __version__
from caltest.cli.calibrate_apply import apply
from caltest.cli.calibrate_fit import fit
from caltest.cli.compare import compare
from caltest.cli.demo import demo
from caltest.cli.examples import epilog
from caltest.cli.list_ import list_
from caltest.cli.monitor import monitor
from caltest.cli.output import OutputClosed
from caltest.cli.plan_monitoring import plan_monitoring
from caltest.cli.planning import power, precision, sample_size
from caltest.cli.report import report
from caltest.cli.schema import schema
from caltest.cli.test import test
from caltest.cli.wording import in_words_of_the_command_line
from caltest.errors import InvalidInput, NotApplicable

BAD_INPUT = 2
INTERRUPTED = 130
BROKEN_PIPE = 141

# click's ClickException: Typer has its own copy of click or not, depending on the release.
_UsageError = cast("type[typer.BadParameter]", typer.BadParameter.mro()[2])

app = typer.Typer(
    name="caltest",
    help="Are a model's probabilities calibrated? Answers with a p-value.",
    pretty_exceptions_enable=False,
)
app.command(epilog=epilog("demo"))(demo)
app.command(epilog=epilog("test"))(test)
app.command(epilog=epilog("report"))(report)
app.command(epilog=epilog("compare"))(compare)
app.command(epilog=epilog("power"))(power)
app.command("sample-size", epilog=epilog("sample-size"))(sample_size)
app.command(epilog=epilog("precision"))(precision)
app.command(epilog=epilog("monitor"))(monitor)
app.command("plan-monitoring", epilog=epilog("plan-monitoring"))(plan_monitoring)

calibrate = typer.Typer()
calibrate.command(epilog=epilog("calibrate fit"))(fit)
calibrate.command(epilog=epilog("calibrate apply"))(apply)
app.add_typer(calibrate, name="calibrate")

app.command("list", epilog=epilog("list"))(list_)
app.command(epilog=epilog("schema"))(schema)


def _show_version(value: bool) -> None:
    if value:
        typer.echo(f"caltest {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", is_eager=True, callback=_show_version),
    ] = False,
) -> None:
    """Are a model's probabilities calibrated? Answers with a p-value."""
    if context.invoked_subcommand is None and not version:
        typer.echo(context.get_help())


@calibrate.callback(invoke_without_command=True)
def start_calibrate(context: typer.Context) -> None:
    """Fit a calibration map to held-out predictions; apply it to new ones."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit status.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows `caltest`; by default that of the process.

    Raises
    ------
    SystemExit
        Always.
    """
    sys.exit(run(arguments))


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
        warnings.showwarning = _show_warning
        try:
            given = list(sys.argv[1:] if arguments is None else arguments)
            status: int = app(given, prog_name="caltest", standalone_mode=False, obj=given) or 0
            # Typer makes this status, and no word, of Control-C.
            return _print_error("interrupted", INTERRUPTED) if status == INTERRUPTED else status
        except (InvalidInput, NotApplicable) as error:
            return _print_error(in_words_of_the_command_line(str(error)), BAD_INPUT)
        except OutputClosed:
            return _close_output()
        except (OSError, MemoryError) as error:
            return _print_error(_words_of_the_system(error), BAD_INPUT)
        except _UsageError as error:
            return _print_error(_words_on_usage(error), BAD_INPUT)
        except (KeyboardInterrupt, typer.Abort, SystemError) as error:
            # Numba wraps a Control-C that comes while it converts arguments.
            wrapped = isinstance(error.__cause__, KeyboardInterrupt)
            if isinstance(error, SystemError) and not wrapped:
                raise
            return _print_error("interrupted", INTERRUPTED)


def _words_on_usage(error: typer.BadParameter) -> str:
    """Word a mistake; of an option of other commands, name these where they are few."""
    unknown = type(error).__name__ == "NoSuchOption"
    option = getattr(error, "option_name", None) if unknown else None
    having = [name for name, known in _options(typer.main.get_command(app)) if option in known]
    this = "caltest" if error.ctx is None else error.ctx.command_path
    if having:
        where = f"{this} has no option {option}"
        if len(having) > 3:
            return f"{where}. Try {this} --help."
        others = " and ".join(filter(None, [", ".join(having[:-1]), having[-1]]))
        return f"{where}; it belongs to {others}. Try {having[0]} --help."
    words = error.format_message().rstrip(".")
    return f"{words}{'' if words.endswith('?') else '.'} Try --help."


def _options(group: Any, name: str = "caltest") -> Iterator[tuple[str, list[str]]]:
    """Yield the whole name of each command with its options."""
    for part, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _options(command, f"{name} {part}")
        else:
            yield f"{name} {part}", [one for given in command.params for one in given.opts]


def _words_of_the_system(error: OSError | MemoryError) -> str:
    if isinstance(error, MemoryError):
        return f"not enough memory: {error}; take fewer rows"
    return f"{error.filename or 'output'}: {error.strerror}"


def _close_output() -> int:
    """Leave quietly where the reader of the output has gone, as `| head` does."""
    with contextlib.suppress(OSError, ValueError):
        # What is left in the buffer would fail again when Python closes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return BROKEN_PIPE


def _print_error(message: str, status: int) -> int:
    typer.echo(f"caltest: {' '.join(message.split())}", err=True)
    return status


def _show_warning(message: Warning | str, *_place: object, **_stream: object) -> None:
    _print_error(f"warning: {message}", status=0)
