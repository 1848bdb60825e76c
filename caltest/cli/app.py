"""The application: its commands, their examples, its exit statuses, and errors in one line.

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
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TextIO, cast

import typer

from caltest import __version__
from caltest.cli.calibrate import apply, fit
from caltest.cli.list_ import demo, list_, schema
from caltest.cli.monitor import monitor
from caltest.cli.options import flag_of
from caltest.cli.output import OutputClosed, echo
from caltest.cli.planning import plan_monitoring, power, precision, sample_size
from caltest.cli.report import compare, report, test, verdict
from caltest.errors import InvalidInput, NotApplicable, ReadAsWarning

INSTEAD = {  # what people type first, and what they mean
    "--label": "labels target y y-true truth outcome actual observed",
    "--probs": "prob proba p pred preds predictions predicted y-prob y-pred score scores",
    "--by": "group groups groupby group-by subgroup subgroups stratify",
    "--level": "alpha significance confidence threshold",
    "--test": "metric method measure statistic",
    "--set bins=10": "bins n-bins num-bins",
    "--weight": "weights sample-weight sample-weights",
    "--n-resamples": "n permutations n-permutations bootstrap b",
    "--seed": "random-state random-seed rng",
    "--jobs": "n-jobs workers threads",
    "--sep": "separator delimiter delim",
    "--format": "json md markdown",
    "--output": "out out-file outfile save",
    "--help": "help",
    "--version": "version v",
    "caltest test FILE": "check run evaluate validate",
    "caltest report FILE": "plot html pdf",
}


def instead(word: str) -> str | None:
    """Return what is meant by a name of an option or a command that there is not.

    Examples
    --------
    >>> instead("--alpha"), instead("--n_bins"), instead("--xyz")
    ('--level', '--set bins=10', None)
    """
    name = word.lstrip("-").lower().replace("_", "-")
    return next((one for one, names in INSTEAD.items() if name in names.split()), None)


TRUTHS = "temperature|slope|intercept|ratio|noise"


def _flagged(found: re.Match[str]) -> str:
    """Name the option that stands for an argument, before what follows it."""
    return " ".join([flag_of(found[1]).split()[0], *found.groups()[1:]])


def _listed(names: re.Match[str]) -> str:
    """Write classes as the option takes them, in a shell: one with a comma in quotes."""
    each = (name.strip("'") for name in re.findall(r"'[^']*'|[^, ]+", names[1]))
    return "--classes " + shlex.quote(",".join(f'"{x}"' if "," in x else x for x in each))


def _numbered(ends: re.Match[str]) -> str:
    """Write classes that are numbered as the option takes them, beyond ten by their ends."""
    names = [str(k) for k in range(int(ends[1]), int(ends[2]))]
    shown = names if len(names) <= 10 else [*names[:2], "...", names[-1]]
    return f"--classes {','.join(shown)}"


# What messages say of Python arguments, and the options that stand for them.
OPTIONS: dict[str, str | Callable[[re.Match[str]], str]] = {
    r"\bsep=, decimal= and encoding=": "--sep, --decimal and --encoding",
    r"\bsheet= names": "--sheet names",
    r"^resolve needs": "outcomes need",
    r"; pass them to update first$": "; pass their predictions first",
    r"; pass names given to update$": "; name rows that wait, or pass predictions too, by --probs",
    r"\bclasses=\[\.\.\.\]": "--classes NAMES",
    r"\bclasses=\[(.*?)\]": _listed,
    r"\bclasses=range\((\d+), (\d+)\)": _numbered,
    r"\b(renormalize|from_logits|again)=True": _flagged,
    r"\b(engine|on_error|null|lens|file_format|n_resamples)='([\w.\[\]-]+)'": _flagged,
    r"\btime= and lag=": "--time and --lag",
    r"\b(tolerance)=([\d.]+)": _flagged,
    r"\b(batch_id|ids|classes|truth|design|probs|mean|scale|members|quantiles|cluster|segments|grades|"
    rf"recalibrate|tolerance|{TRUTHS})=(?=[,; ]|$)": _flagged,
    r"; pass one of mean and scale, distribution, .*": "; pass one of these",
    r"^time and lag must (.*); got (\w+)": r"--time and --lag must \1; got --\2",
    r"\buse by= or --segments": "use --by or --segments",
    r"\blag=h-1": "--lag h-1",
    r"^(null|time|lag|ordinal|renormalize|from_logits)= (needs the rows)": _flagged,
    r"^(probs|by|engine|from_logits|renormalize|ordinal|segments|weight) (has no effect)": _flagged,
    r"\btest without by=$": "leave out --by",
    r"\bat row (\d+)\b(?! of)": r"at row \1 (counted from 0)",
    r"^probs must come before labels; got (.*); swap the two arguments": (
        r"--label must name the labels and --probs the probabilities; got \1; swap the two options"
    ),
    r"; got tolerance=None;": "; got none;",
    r"leave out null or tolerance$": "leave out --null or --tolerance",
    r"\bestimator='unbiased'": "--test skce",
    r"\bestimator='biased'": "--test kce",
    r"\binternal=True": "--set internal=true",
    r"\btest=('[\w-]+'(?:, '[\w-]+')*(?: or '[\w-]+')?)": r"--test \1",
    r"^groups must": "--by must",
    r"^(slopes|reference) (has no effect|must be one of the classes)": r"--set \1 \2",
    r"\bwithout slopes='reference'": "without --set slopes=reference",
    r"^n_jobs must be None or": "--jobs must be",
    r"^models must": "--n-models must",
    r"^path must (name|be)": r"FILE must \1",
    r"^(label|null|lens|test|level|correction|recalibrate|tolerance|equivalence|classes|"
    rf"calibrators|score|reference|cluster|time|lag|{TRUTHS}|sample_weight|n_resamples|n_datasets|"
    r"file_format|cv|inner_cv|power|n|batch_id|ids|sep|decimal|encoding|sheet|mean|scale|design|"
    r"memory|restart|plan|rows_per_day|false_alarms_per_year|checks_per_day|n_streams|members|"
    r"quantiles|profile) "
    r"(must|has|is about)": _flagged,
    r"\b(ratio|slope|intercept|coverage|bias|spread)_width\b": r"--\1-width",
    r"\bn_(min|max)\b": r"--n-\1",
    r"^sample_size must": "caltest sample-size must",
    r"; call sample_size once for each$": "; run it once for each",
    r"^(the truth must be stated once: )(.*)": lambda words: (
        words[1] + re.sub(r"\btruth\b", "--map", re.sub(rf"\b({TRUTHS})\b", r"--\1", words[2]))
    ),
    r"; pass the probabilities of one class, \(n,\)$": "; name the column of one class by --probs",
    r"^null '([\w-]+)' (has|takes)": r"--null \1 \2",
    r"^k must be one of the classes": "--lens must name one of the classes",
    r"(^(?:column '.*'|--weight) must be numbers; .*); convert them to floats first": (
        r"\1; correct that row, or choose another column"
    ),
    r"; got None for the columns": "; got no p_... and no prob_... among",
    r"^probs must (be a column|be one of|not be)": r"--probs must \1",
    r", or load it and use from_frame": "",
    r"^rng must be [^;]*; got ([^;]*); .*": r"--seed must be an integer of at least 0; got \1",
}


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


# ---- Examples of each command: what `--help` ends with, and what a test runs --------------------

EXAMPLES: dict[str, list[str]] = {}
for line in """\
demo: caltest demo --seed 1
test: caltest test predictions.csv --label y --probs p_
test: caltest test predictions.csv --label y --lens confidence,classwise
test: caltest test predictions.csv --label y --test ece --set bins=10 -o ece.json
test: caltest test predictions.csv --label y --by ward --level 0.05 --fail
test: caltest test predictions.csv --label y --segments ward --level 0.05
test: cat predictions.csv | caltest test - --label y --format markdown
verdict: caltest verdict predictions.csv --label y --probs p_
verdict: caltest verdict predictions.csv --label y --by ward --level 0.05 --fail
report: caltest report predictions.csv --label y -o report.html
report: caltest report predictions.csv --label y --by ward --level 0.05 -o report.md
compare: caltest compare predictions.csv --label y --probs p_
compare: caltest compare val.csv --label y --calibrators vector,dirichlet -o c.md
compare: caltest compare models.csv --label y --models forest_,boosting_ --level 0.05
power: caltest power --beta 2,5 --temperature 1.5 --n 100,200,500
power: caltest power val.csv --noise 0.2 --test skce,ece --n 200
power: caltest power --dirichlet 1,1,1 --test brier --n 50 -o size.json
sample-size: caltest sample-size --beta 2,5 --slope 0.7 --test cox --null asymptotic
sample-size: caltest sample-size val.csv --temperature 2 --test brier --power 0.9
precision: caltest precision --beta 2,5
precision: caltest precision risks.csv --ratio-width 0.1 --intercept-width 0.4
precision: caltest precision days.csv --mean mu --scale sd --coverage-width 0.06
monitor: caltest monitor state.json predictions.csv --label y --level 0.01
monitor: caltest monitor watch.json predictions.csv --label y --by ward --fail
plan-monitoring: caltest plan-monitoring --beta 2,5 --rows-per-day 500 --n-streams 2
plan-monitoring: caltest plan-monitoring val.csv --rows-per-day 9 --slope 0.5 -o plan.json
calibrate fit: caltest calibrate fit val.csv --label y --method temperature -o map.json
calibrate fit: caltest calibrate fit val.csv --label y --method auto -o map.json
calibrate fit: caltest calibrate fit val.csv --label y --method matrix --set lam=1 -q
calibrate apply: caltest calibrate apply map.json new.csv -o calibrated.csv
calibrate apply: caltest calibrate apply map.json new.csv --prefix q_ -o calibrated.parquet
calibrate apply: caltest test calibrated.csv --label y --probs calibrated_
list: caltest list
list: caltest list tests ece
list: caltest list calibrators
schema: caltest schema
schema: caltest schema htest -o htest.schema.json
""".splitlines():
    command, _, example = line.partition(": ")
    EXAMPLES.setdefault(command, []).append(example)


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
    "input, or a file that cannot be read or written; 70 a bug in caltest; 130 interrupted; "
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
for function in (demo, test, verdict, report, compare, *studies, list_, schema, fit, apply):
    name = function.__name__.strip("_").replace("_", "-")
    group, whole = (calibrate, f"calibrate {name}") if function in (fit, apply) else (app, name)
    # Typer wants blank lines between examples, and keeps breaks after the first paragraph.
    shown = "\n\n".join(["Examples:", *(f"$ {line}" for line in EXAMPLES[whole])])
    said = "\n\n".join(" ".join(part.split()) for part in str(function.__doc__).split("\n\n"))
    group.command(name, help=said, epilog=shown)(function)


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
    # What libraries tell each other's developers is nothing that a user could act on.
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
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
    else:  # a bug in caltest; the traceback only where it is wanted
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
    words = re.sub(r"Input should be a valid integer.*", "it must be a whole number", words)
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


def _show_warning(shown: set[str], message: Warning | str, *_: object, **_more: object) -> None:
    """Print a warning once; how a file is read is none."""
    words = in_words_of_the_command_line(str(message))
    if words not in shown:
        shown.add(words)
        kind = "" if isinstance(message, ReadAsWarning) else "warning: "
        _print_error(f"{kind}{words}", status=0)
