"""Options that commands share, each described once, and the groups that they come in.

What is read, true and tested is described in `caltest.predictions.options`. A parameter of a
command is the option of its name; `@grouped(name=text)` words it otherwise.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from caltest.checks.options import CORRECTIONS
from caltest.cli import completion
from caltest.predictions.options import FileOptions, Procedure, Reading, Says, Truth, names_of

RESULTS = ("text", "json", "markdown", "csv", "html", "latex")
REPORTS = ("html", "pdf", "docx", "xlsx", "markdown", "json")
PROFILES = ("general", "clinical", "credit", "ml", "forecast")

Keys = list[str] | None  # of a repeatable option

File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="One row per observation: CSV or other text, JSON, Excel, Parquet, Feather or NPZ; - "
        "for standard input; a folder, or a pattern in quotes, 'day=*/part-*.parquet', for several "
        "files, whose folders k=v are columns.",
    ),
]


def _described(kind: type) -> dict[str, Says]:
    """Return what a TypedDict says of its options, but of those that Python alone has."""
    hints = get_type_hints(kind, include_extras=True)
    return {n: get_args(hint)[1] for n, hint in hints.items() if get_origin(hint) is Annotated}


OPTIONS: dict[str, Says] = {
    **_described(Reading),
    **_described(FileOptions),
    **_described(Truth),
    **_described(Procedure),
    "set_": Says(
        "KEY=VALUE",
        "Option of the test, such as bins=10 or kernel=gaussian; see `caltest list tests KEY`. "
        "Repeatable.",
        "settings",
        "--set",
    ),
    "by": Says(
        "COLUMNS",
        "Test each group of this column by itself; several, joined by commas, are crossed.",
    ),
    "segments": Says(
        "COLUMNS",
        "Test all values of these columns and their intersections, which overlap; joined by "
        "commas.",
    ),
    "correction": Says("KEY", "Multiple testing: joint, holm, fdr_bh, none, ...", CORRECTIONS),
    "calibrators": Says(
        "KEY",
        "Calibrators to compare: temperature, dirichlet, ... Repeatable, as --lens.",
        "calibrators",
    ),
    "fail": Says("", "Exit with status 1 where calibration is rejected at --level (adjusted)."),
    "plan": Says("FILE", "Take the level from the JSON of caltest plan-monitoring."),
    "n_resamples": Says(
        "B", "Resamples; the smallest p-value is 1/(B + 1).", flag="--n-resamples --resamples"
    ),
    "rng": Says("N", "Seed of all random numbers; printed, to repeat it.", flag="--seed"),
    "n_jobs": Says("N", "Threads; the results do not depend on it.", flag="--jobs"),
    "form": Says(
        "NAME",
        f"{', '.join(RESULTS[:-1])} or {RESULTS[-1]}; by default that of --output's suffix.",
        RESULTS,
        "--format",
    ),
    "output": Says("FILE", "Write the result here; - is standard output.", flag="--output -o"),
    "quiet": Says("", "No progress bar and no warnings.", flag="--quiet -q"),
}


def says(name: str, words: str, **changes: Any) -> Says:
    """Return what is said of an option, in other words, which may begin with "METAVAR: "."""
    known = OPTIONS.get(name, Says("", ""))
    metavar, _, text = words.partition(": ")
    if not metavar.isupper():
        metavar, text = known.metavar, words
    return replace(known, metavar=metavar, text=text, **changes)


def flag_of(name: str) -> str:
    """Return the option that stands for an argument of Python."""
    return _flags(name, OPTIONS.get(name))[0]


def _flags(name: str, about: Says | None) -> list[str]:
    own = about.flag.split() if about else []
    return own or [f"--{name.replace('_', '-')}"]


@dataclass(frozen=True, kw_only=True)
class Draws:
    """How much is redrawn, from which seed, by how many threads: arguments of Python."""

    n_resamples: int = 999
    rng: int | None = None
    n_jobs: int | None = None


# ---- groups of options --------------------------------------------------------------------------


def grouped(
    command: Callable[..., None] | None = None, /, **said: str | Says
) -> Callable[..., Any]:
    """Make an option of each parameter of a command, and of each field of the dataclasses in it.

    Typer knows no groups: it sees the fields as parameters, and the command gets the dataclasses.

    Parameters
    ----------
    command : callable
        Its parameters, and the fields of the dataclasses that they are annotated with, are
        described by their name in `OPTIONS`, or by what they are annotated with. Without it, a
        decorator is returned.
    **said : str or Says
        What this command says of an option, as `says` takes it.

    Returns
    -------
    callable
        What Typer makes a command of.
    """
    if command is None:
        return partial(grouped, **said)
    hints = get_type_hints(command, include_extras=True)
    own = inspect.signature(command).parameters
    groups = {name: hints[name] for name in own if is_dataclass(hints[name])}
    known = OPTIONS | {n: says(n, w) if isinstance(w, str) else w for n, w in said.items()}

    def call(**given: Any) -> None:
        made = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**made, **given)

    parameters: list[inspect.Parameter] = []
    for name, parameter in own.items():
        if name not in groups:
            parameters.append(_option(name, hints[name], parameter.default, known))
            continue
        of_fields = get_type_hints(groups[name], include_extras=True)
        for field in sorted(fields(groups[name]), key=lambda f: f.name in names_of(FileOptions)):
            default = inspect.Parameter.empty if field.default is MISSING else field.default
            parameters.append(_option(field.name, of_fields[field.name], default, known))
    call.__name__, call.__doc__ = command.__name__, command.__doc__
    call.__annotations__ = {one.name: one.annotation for one in parameters}
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return call


def _option(name: str, hint: Any, default: Any, known: dict[str, Says]) -> inspect.Parameter:
    about = known.get(name)
    if about is not None and get_origin(hint) is not Annotated:
        offers = about.offers or ("columns" if about.metavar.startswith("COLUMN") else None)
        option = typer.Option(
            *_flags(name, about),
            metavar=about.metavar or None,
            help=about.text,
            autocompletion=completion.of(offers) if offers else None,
            show_default=about.show_default or True,
        )
        hint = Annotated[hint, option]
    only = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, only, default=default, annotation=hint)


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
    """A prefix, also p_*, or one column as it stands, names joined by commas as a list."""
    return split(value) if value is not None and "," in value else value and value.rstrip("*")


def parse_classes(value: str | None) -> list[str] | list[int] | None:
    """Names of classes; integers where all of them are written as integers."""
    names = split(value)
    if names is None or not all(re.fullmatch(r"0|-?[1-9][0-9]*", name) for name in names):
        return names
    return [int(name) for name in names]
