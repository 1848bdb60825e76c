"""Options that commands share, each declared once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

Label = Annotated[str, typer.Option("--label", metavar="COLUMN", help="Column of the true labels.")]
Probs = Annotated[
    str | None,
    typer.Option(
        "--probs",
        metavar="NAMES",
        help="Columns of the probabilities: a prefix (p_), one name (binary: the probability of "
        "the second class), or names joined by commas.",
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
Logits = Annotated[
    bool, typer.Option("--logits", help="The columns hold logits, not probabilities.")
]
Renormalize = Annotated[
    bool, typer.Option("--renormalize", help="Rescale rows whose sum is off by rounding.")
]
Lenses = Annotated[
    list[str] | None,
    typer.Option(
        "--lens",
        metavar="KEY",
        help="Aspect of the predictions to test: strong (the default), confidence, classwise, ... "
        "Repeat it or join keys by commas.",
    ),
]
Tests = Annotated[
    list[str] | None,
    typer.Option(
        "--test", metavar="KEY", help="Test: skce (the default), ... Repeatable, as --lens."
    ),
]
Null = Annotated[
    str | None,
    typer.Option(
        "--null",
        metavar="KEY",
        help="How to judge the statistic: exact (the default of most tests).",
    ),
]
By = Annotated[
    str | None,
    typer.Option("--by", metavar="COLUMN", help="Test each group of this column by itself."),
]
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
Resamples = Annotated[
    int,
    typer.Option("--n-resamples", metavar="B", help="Resamples; the least p-value is 1/(B + 1)."),
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", metavar="N", help="Seed of the resampling; printed, to repeat it."),
]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", metavar="N", help="Threads; the p-value does not depend on it."),
]
Correction = Annotated[
    str,
    typer.Option("--correction", metavar="KEY", help="Multiple testing: holm, fdr_bh, none, ..."),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="text, json, markdown, csv, html or latex; by default that of --output's suffix.",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write the result here, not to stdout."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar and no warnings.")]

# A comma between brackets is part of a key: classwise[a,b].
_COMMA = re.compile(r",(?![^\[]*\])")


def split(value: str | None) -> list[str] | None:
    """Names joined by commas as a list, blanks around them dropped."""
    if value is None:
        return None
    return [name.strip() for name in _COMMA.split(value) if name.strip()]


def split_keys(values: list[str] | None, default: str) -> list[str]:
    """The keys of a repeatable option; each value may join several by commas."""
    return [key for value in values or [default] for key in split(value) or []]


def parse_probs(value: str | None) -> str | list[str] | None:
    """A prefix or one column as it stands, names joined by commas as a list."""
    return split(value) if value is not None and "," in value else value


def parse_classes(value: str | None) -> list[str] | list[int] | None:
    """Names of classes; integers where all of them are written as integers."""
    names = split(value)
    if names is None or not all(re.fullmatch(r"0|-?[1-9][0-9]*", name) for name in names):
        return names
    return [int(name) for name in names]
