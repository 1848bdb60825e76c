"""The application: its commands, its exit statuses, and errors in one line.

Exit statuses: 0 done, 1 calibration rejected where `--fail` was given, 2 bad input.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, cast

import typer

from caltest import __version__
from caltest.cli.demo import demo
from caltest.cli.list_ import list_
from caltest.cli.report import report
from caltest.cli.test import test
from caltest.errors import InvalidInput, NotApplicable

BAD_INPUT = 2
INTERRUPTED = 130

# click's ClickException: Typer has its own copy of click or not, depending on the release.
_UsageError = cast("type[typer.BadParameter]", typer.BadParameter.mro()[2])

app = typer.Typer(
    name="caltest",
    help="Are a model's probabilities calibrated? Answers with a p-value.",
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(demo)
app.command()(test)
app.command()(report)
app.command("list")(list_)


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


# What messages say of Python arguments, and the options that stand for them.
OPTIONS = {
    r"\brenormalize=True": "--renormalize",
    r"\bfrom_logits=True": "--logits",
    r"\bclasses=": "--classes ",
    r"\bnull='([\w-]+)'": r"--null \1",
    r"\blens='([\w-]+)'": r"--lens \1",
    r"\bestimator='unbiased'": "--test skce",
    r"\bestimator='biased'": "--test kce",
    r"^groups must": "--by must",
    r"^recalibrate must": "--recalibrate must",
    r"^n_jobs must": "--jobs must",
    r"^rng must be [^;]*; got ([^;]*); .*": r"--seed must be an integer of at least 0; got \1",
}


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
            return app(given, prog_name="caltest", standalone_mode=False, obj=given) or 0
        except (InvalidInput, NotApplicable) as error:
            return _say(in_words_of_the_command_line(str(error)), BAD_INPUT)
        except OSError as error:
            return _say(f"{error.filename or 'output'}: {error.strerror}", BAD_INPUT)
        except _UsageError as error:
            return _say(f"{error.format_message()} Try --help.", BAD_INPUT)
        except (KeyboardInterrupt, typer.Abort):
            return _say("interrupted", INTERRUPTED)


def in_words_of_the_command_line(message: str) -> str:
    """Name the option where a message names the argument of the Python function.

    Examples
    --------
    >>> in_words_of_the_command_line("pass renormalize=True")
    'pass --renormalize'
    """
    for argument, option in OPTIONS.items():
        message = re.sub(argument, option, message)
    return message


def _say(message: str, status: int) -> int:
    typer.echo(f"caltest: {' '.join(message.split())}", err=True)
    return status


def _show_warning(message: Warning | str, *_place: object, **_stream: object) -> None:
    _say(f"warning: {message}", status=0)
