"""Options that commands share, each declared once, and the groups that they come in."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from caltest.cli import completion
from caltest.cli.formats import CORRECTIONS, ENGINES, ON_ERROR, RESULTS, TABLES

# ---- what is read -------------------------------------------------------------------------------

File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="One row per observation: CSV, TSV, Parquet, Feather, JSON lines or NPZ; - for "
        "standard input; a pattern in quotes, 'day=*/part-*.parquet', for several files.",
    ),
]
InputFormat = Annotated[
    str | None,
    typer.Option(
        "--input-format",
        metavar="NAME",
        help=f"{', '.join(TABLES)}; by default that of FILE's suffix, csv for standard input.",
        autocompletion=completion.of_choices(TABLES),
    ),
]
Label = Annotated[
    str,
    typer.Option(
        "--label",
        metavar="COLUMN",
        help="Column of the true labels.",
        autocompletion=completion.of_columns,
    ),
]
Probs = Annotated[
    str | None,
    typer.Option(
        "--probs",
        metavar="NAMES",
        help="Columns of the probabilities: a prefix (p_), one name (binary: the probability of "
        "the second class), or names joined by commas.",
        autocompletion=completion.of_columns,
    ),
]
Classes = Annotated[
    str | None,
    typer.Option(
        "--classes",
        metavar="NAMES",
        help="Classes in the order of the probabilities, joined by commas.",
    ),
]
Weight = Annotated[
    str | None,
    typer.Option(
        "--weight",
        metavar="COLUMN",
        help="Column of the weights of the rows.",
        autocompletion=completion.of_columns,
    ),
]
Logits = Annotated[
    bool, typer.Option("--logits", help="The columns hold logits, not probabilities.")
]
Renormalize = Annotated[
    bool, typer.Option("--renormalize", help="Rescale rows whose sum is off by rounding.")
]

# ---- what is tested -----------------------------------------------------------------------------

Lenses = Annotated[
    list[str] | None,
    typer.Option(
        "--lens",
        metavar="KEY",
        help="Aspect of the predictions to test: strong (the default), confidence, classwise, ... "
        "Repeat it or join keys by commas.",
        autocompletion=completion.of_choices(completion.LENSES),
    ),
]
Tests = Annotated[
    list[str] | None,
    typer.Option(
        "--test",
        metavar="KEY",
        help="Test: combined (the default), skce, ... Repeatable, as --lens.",
        autocompletion=completion.of_registry("tests"),
    ),
]
Null = Annotated[
    str | None,
    typer.Option(
        "--null",
        metavar="KEY",
        help="Null distribution of the statistic: exact (the default of most tests), ...",
        autocompletion=completion.of_registry("nulls"),
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Option of the test, such as bins=10 or kernel=gaussian; see `caltest list tests "
        "KEY`. Repeatable.",
        autocompletion=completion.of_settings,
    ),
]
Tolerance = Annotated[
    float | None,
    typer.Option(
        "--tolerance",
        metavar="T",
        help="Test that the error is at most T, in the units of the printed estimate.",
    ),
]
Equivalence = Annotated[
    bool,
    typer.Option(
        "--equivalence",
        help="Test that the error is at least --tolerance: a small p-value shows calibration "
        "within it.",
    ),
]
By = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="COLUMNS",
        help="Test each group of this column by itself; several, joined by commas, are crossed.",
        autocompletion=completion.of_columns,
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="COLUMN",
        help="Rows with the same value here, such as a patient, may depend on each other.",
        autocompletion=completion.of_columns,
    ),
]
Time = Annotated[
    str | None,
    typer.Option(
        "--time",
        metavar="COLUMN",
        help="Rows depend on each other where their times are up to --lag steps apart.",
        autocompletion=completion.of_columns,
    ),
]
Lag = Annotated[
    int | None,
    typer.Option(
        "--lag",
        metavar="STEPS",
        help="With --time: h - 1 for forecasts of what happens within h steps.",
    ),
]
Segments = Annotated[
    str | None,
    typer.Option(
        "--segments",
        metavar="COLUMNS",
        help="Test all values of these columns and their intersections, which overlap; joined by "
        "commas.",
        autocompletion=completion.of_columns,
    ),
]
Correction = Annotated[
    str,
    typer.Option(
        "--correction",
        metavar="KEY",
        help="Multiple testing: joint, holm, fdr_bh, none, ...",
        autocompletion=completion.of_choices(CORRECTIONS),
    ),
]
Engine = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="rows: read into memory; cells: count 2^16 cells of predictions in one query; "
        "chunks: sums over chunks of rows, of several classes; auto: cells or chunks above 2 "
        "million rows.",
        autocompletion=completion.of_choices(ENGINES),
    ),
]
OnError = Annotated[
    str,
    typer.Option(
        "--on-error",
        metavar="NAME",
        help="With cells, files that cannot be read and rows that are wrong: raise, or skip with "
        "a note.",
        autocompletion=completion.of_choices(ON_ERROR),
    ),
]
Calibrators = Annotated[
    list[str] | None,
    typer.Option(
        "--calibrators",
        metavar="KEY",
        help="Calibrators to compare: temperature, dirichlet, ... Repeatable, as --lens.",
        autocompletion=completion.of_registry("calibrators"),
    ),
]

# ---- how, and what becomes of it ----------------------------------------------------------------

Level = Annotated[
    float | None,
    typer.Option("--level", metavar="L", help="Significance level, such as 0.05."),
]
Fail = Annotated[
    bool,
    typer.Option(
        "--fail", help="Exit with status 1 where calibration is rejected at --level (adjusted)."
    ),
]
Plan = Annotated[
    Path | None,
    typer.Option(
        "--plan", metavar="FILE", help="Take the level from the JSON of caltest plan-monitoring."
    ),
]
Resamples = Annotated[
    int,
    typer.Option(
        "--n-resamples",
        "--resamples",
        metavar="B",
        help="Resamples; the smallest p-value is 1/(B + 1).",
    ),
]
AnyResamples = Annotated[
    str,
    typer.Option(
        "--n-resamples",
        "--resamples",
        metavar="B",
        help="Resamples; the smallest p-value is 1/(B + 1). adaptive: as many as the decision at "
        "--level needs, and up to 10^6 for a small p-value.",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", metavar="N", help="Seed of all random numbers; printed, to repeat it."),
]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", metavar="N", help="Threads; the results do not depend on it."),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help=f"{', '.join(RESULTS[:-1])} or {RESULTS[-1]}; by default that of --output's suffix.",
        autocompletion=completion.of_choices(RESULTS),
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Write the result here; - is standard output."
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar and no warnings.")]

# ---- groups of options --------------------------------------------------------------------------


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Make an option of each field of the dataclasses that a command takes.

    Typer knows no groups: it sees the fields as parameters, and the command gets the dataclasses.

    Parameters
    ----------
    command : callable
        Its parameters are annotated with dataclasses, whose fields are annotated as options, or
        with options.

    Returns
    -------
    callable
        What Typer makes a command of.
    """
    hints = get_type_hints(command, include_extras=True)
    own = inspect.signature(command).parameters
    groups = {name: hints[name] for name in own if is_dataclass(hints[name])}

    def call(**given: Any) -> None:
        made = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**made, **given)

    parameters = [
        one
        for name, parameter in own.items()
        for one in (
            _options_of(groups[name])
            if name in groups
            else [_option(name, hints[name], parameter.default)]
        )
    ]
    call.__name__, call.__doc__ = command.__name__, command.__doc__
    call.__annotations__ = {one.name: one.annotation for one in parameters}
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return call


def _options_of(group: Any) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        yield _option(field.name, hints[field.name], default)


def _option(name: str, hint: Any, default: Any) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=hint)


# ---- values -------------------------------------------------------------------------------------

# A comma between brackets is part of a key: classwise[a,b].
_COMMA = re.compile(r",(?![^\[]*\])")


def split(value: str | None) -> list[str] | None:
    """Names joined by commas as a list, blanks around them dropped."""
    if value is None:
        return None
    return [name.strip() for name in _COMMA.split(value) if name.strip()]


def split_keys(values: list[str] | None, default: str = "") -> list[str]:
    """The keys of a repeatable option; each value may join several by commas."""
    return [key for value in values or [default] for key in split(value) or []]


def one_or_many(values: list[str] | None) -> str | list[str] | None:
    """The keys; one by itself, so that one test gives a test and not a table of one row."""
    keys = split_keys(values)
    return None if values is None else keys[0] if len(keys) == 1 else keys


def parse_probs(value: str | None) -> str | list[str] | None:
    """A prefix or one column as it stands, names joined by commas as a list."""
    return split(value) if value is not None and "," in value else value


def parse_resamples(value: str) -> int | str:
    """A number, or "adaptive"; what is neither stays as it is, to be refused."""
    return int(value) if re.fullmatch(r"-?[0-9]+", value) else value


def parse_classes(value: str | None) -> list[str] | list[int] | None:
    """Names of classes; integers where all of them are written as integers."""
    names = split(value)
    if names is None or not all(re.fullmatch(r"0|-?[1-9][0-9]*", name) for name in names):
        return names
    return [int(name) for name in names]
