"""Options that commands share, each described once, and the groups that they come in.

What is read, true and tested is described in `caltest.predictions.options`. A parameter of a
command is the option of its name; `@grouped(name=text)` words it otherwise.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from caltest.checks.options import CORRECTIONS
from caltest.cli import completion
from caltest.predictions import options as reading

RESULTS = ("text", "json", "markdown", "csv", "html", "latex")
REPORTS = ("html", "pdf", "docx", "xlsx", "markdown", "json")
SCORES = ("log-loss", "brier", "spherical", "crps", "log-score")
PROFILES = ("general", "clinical", "credit", "ml", "forecast")

Keys = list[str] | None  # of a repeatable option


def _described(kind: type) -> dict[str, str]:
    """Return what a TypedDict says of its options, but of those that Python alone has."""
    hints = get_type_hints(kind, include_extras=True)
    return {n: get_args(hint)[1] for n, hint in hints.items() if get_origin(hint) is Annotated}


OPTIONS: dict[str, str] = {
    **_described(reading.Reading),
    **_described(reading.FileOptions),
    **_described(reading.Truth),
    **_described(reading.Procedure),
    "file": "FILE: One row per observation: CSV or other text, JSON, Excel, Parquet, Feather or "
    "NPZ; - for standard input; a folder, or a pattern in quotes, 'day=*/part-*.parquet', for "
    "several files, whose folders k=v are columns.",
    "set_": "KEY=VALUE: Option of the test, such as bins=10 or kernel=gaussian; see `caltest list "
    "tests KEY`. Repeatable.",
    "by": "COLUMNS: Test each group of this column by itself; several, joined by commas, are "
    "crossed.",
    "segments": "COLUMNS: Test all values of these columns and their intersections, which overlap; "
    "joined by commas.",
    "design": "COLUMNS: Forecasts: features along which level and spread are tested too; with "
    "--test le-cessie-van-houwelingen those that the model was fitted to; joined by commas.",
    "correction": "KEY: Multiple testing: joint, holm, fdr_bh, none, ...",
    "calibrators": "KEY: Calibrators to compare: temperature, dirichlet, ... Repeatable, as "
    "--lens.",
    "fail": "Exit with status 1 where calibration is rejected at --level (adjusted).",
    "plan": "FILE: Take the level from the JSON of caltest plan-monitoring.",
    "n_resamples": "B: Resamples; the smallest p-value is 1/(B + 1).",
    "rng": "N: Seed of all random numbers; printed, to repeat it.",
    "n_jobs": "N: Threads; the results do not depend on it.",
    "form": f"NAME: {', '.join(RESULTS[:-1])} or {RESULTS[-1]}; by default that of --output's "
    "suffix.",
    "output": "FILE: Write the result here; - is standard output.",
    "quiet": "No progress bar and no warnings.",
}
# What TAB offers: words, the keys of a registry, columns of the file, or settings.
OFFERS: dict[str, str | Sequence[str]] = {
    **dict.fromkeys(("calibrators", "recalibrate", "method"), "calibrators"),
    "test": "tests",
    "null": "nulls",
    "lens": "lenses",
    "probs": "columns",
    "set_": "settings",
    "correction": CORRECTIONS,
    "form": RESULTS,
    "profile": PROFILES,
    "score": SCORES,
    "engine": reading.ENGINES,
    "on_error": reading.ON_ERROR,
    "file_format": reading.FILE_FORMATS,
}
ARGUMENTS = ("file", "kind", "key", "map_", "state")  # and no options
OF_COLUMNS = ("COLUMN", "COLUMNS", "PREFIX")
FLAGS = {  # of those that are not called as in Python
    "file_format": "--input-format",
    "form": "--format",
    "from_logits": "--logits",
    "n_jobs": "--jobs",
    "n_resamples": "--n-resamples --resamples",
    "rng": "--seed",
    "output": "--output -o",
    "quiet": "--quiet -q",
    "sample_weight": "--weight",
    "set_": "--set",
    "truth": "--map",
}


def flag_of(name: str) -> str:
    """Return the option that stands for an argument of Python, and its other names."""
    return FLAGS.get(name) or f"--{name.replace('_', '-')}"


@dataclass(frozen=True, kw_only=True)
class DrawOptions:
    """How much is redrawn, from which seed, by how many threads: arguments of Python."""

    n_resamples: int = 999
    rng: int | None = None
    n_jobs: int | None = None


# ---- groups of options --------------------------------------------------------------------------


def grouped(command: Callable[..., None] | None = None, /, **said: Any) -> Callable[..., Any]:
    """Make an option of each parameter of a command, and of each field of the dataclasses in it.

    Typer knows no groups: it sees the fields as parameters, and the command gets the dataclasses.

    Parameters
    ----------
    command : callable
        Its parameters, and the fields of the dataclasses that they are annotated with, are
        described by their name in `OPTIONS`; those in `ARGUMENTS` are no options. Without it, a
        decorator is returned.
    **said : str
        What this command says of an option; the name of its value may stand before it. As mappings
        `offers`, `flags` and `shown`: of some options, for this command, what TAB offers, their
        names, and the default that is shown; `left_out` names fields that it has not.

    Returns
    -------
    callable
        What Typer makes a command of.
    """
    if command is None:
        return partial(grouped, **said)
    kinds = ("offers", "flags", "shown", "left_out")
    offers, flags, shown, left_out = (said.pop(name, {}) for name in kinds)
    hints = get_type_hints(command, include_extras=True)
    own = inspect.signature(command).parameters
    groups = {name: hints[name] for name in own if is_dataclass(hints[name])}

    def call(**given: Any) -> None:
        made = {}
        for name, group in groups.items():
            own_names = {one.name for one in fields(group)} & given.keys()
            made[name] = group(**{one: given.pop(one) for one in own_names})
        command(**made, **given)

    def option(name: str, hint: Any, default: Any) -> inspect.Parameter:
        usual, (metavar, text) = OPTIONS.get(name, ""), _parted(said.get(name, ""))
        metavar = metavar or _parted(usual)[0]
        if usual or text:
            offered = offers.get(name, "columns" if metavar in OF_COLUMNS else OFFERS.get(name))
            made: dict[str, Any] = {"metavar": metavar or None, "help": text or _parted(usual)[1]}
            made["autocompletion"] = completion.of(offered) if offered else None
            about = typer.Argument(**made)
            if name not in ARGUMENTS:
                named = flags.get(name, flag_of(name)).split()
                about = typer.Option(*named, show_default=shown.get(name, True), **made)
            hint = Annotated[hint, about]
        only = inspect.Parameter.KEYWORD_ONLY
        return inspect.Parameter(name, only, default=default, annotation=hint)

    last = [*reading.names_of(reading.ForecastOptions), *reading.names_of(reading.FileOptions)]
    parameters: list[inspect.Parameter] = []
    for name, parameter in own.items():
        if name not in groups:
            parameters.append(option(name, hints[name], parameter.default))
            continue
        inner = inspect.signature(groups[name]).parameters
        of_fields = get_type_hints(groups[name], include_extras=True)
        kept = (one for one in inner if one not in left_out)
        ordered = sorted(kept, key=lambda one: last.index(one) if one in last else -1)
        parameters += [option(one, of_fields[one], inner[one].default) for one in ordered]
    call.__name__, call.__doc__ = command.__name__, command.__doc__
    call.__annotations__ = {one.name: one.annotation for one in parameters}
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return call


def _parted(words: str) -> tuple[str, str]:
    """Part the name of a value, "COLUMN: ", from what is said of it."""
    metavar, _, text = words.partition(": ")
    return (metavar, text) if metavar.isupper() else ("", words)


# ---- values -------------------------------------------------------------------------------------

# A comma between brackets or quotes is part of a name: classwise[a,b], "no, never".
_COMMA = re.compile(r',(?![^\[]*\])(?=[^"]*(?:"[^"]*"[^"]*)*$)')


def split(value: str | None) -> list[str] | None:
    """Names joined by commas as a list, blanks and double quotes around them dropped."""
    names = filter(None, map(str.strip, _COMMA.split(value or "")))
    return None if value is None else [re.sub(r'^"(.+)"$', r"\1", name) for name in names]


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
