"""`caltest report FILE`: the tests of the predictions in a file, told on a page."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caltest.cli import completion, options
from caltest.cli.formats import PROFILES, REPORTS
from caltest.cli.inputs import PredictionFile
from caltest.cli.output import choose_format, echo, to_file, write_text
from caltest.cli.progress import progress_bar
from caltest.errors import invalid

if TYPE_CHECKING:
    from caltest.reporting import Report

FORMATS = {"html": "html", "markdown": "markdown", "md": "markdown", "json": "json"}

Title = Annotated[str | None, typer.Option("--title", metavar="TEXT", help="Title of the page.")]
Author = Annotated[
    str | None, typer.Option("--author", metavar="TEXT", help="Author, as the page names them.")
]
Recalibrate = Annotated[
    list[str] | None,
    typer.Option(
        "--recalibrate",
        metavar="KEY",
        help="Calibrator to fit and to test on rows that it was not fitted to: temperature, "
        "dirichlet, ... Repeatable, as --lens.",
        autocompletion=completion.of_registry("calibrators"),
    ),
]
Profile = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="NAME",
        help="Words, order and tests of a field: general, clinical, credit, ml or forecast.",
        autocompletion=completion.of_choices(PROFILES),
    ),
]
Tolerance = Annotated[
    float | None,
    typer.Option(
        "--tolerance",
        metavar="T",
        help="Say whether the error is shown to be within T, as 0.05 for five points, or beyond.",
    ),
]
Meta = Annotated[
    list[str] | None,
    typer.Option(
        "--meta",
        metavar="KEY=VALUE",
        help='What the author states: "data period=2024", limitations=..., signatures=..., '
        "event=death. Repeatable.",
    ),
]
Tests = Annotated[
    list[str] | None,
    typer.Option(
        "--test",
        metavar="KEY",
        help="Test; by default those that the size of the data allows. Repeatable, as --lens.",
        autocompletion=completion.of_registry("tests"),
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="html, markdown or json; by default that of --output's suffix, else html.",
        autocompletion=completion.of_choices(REPORTS),
    ),
]


@options.grouped
def report(
    file: PredictionFile,
    *,
    lens: options.Lenses = None,
    test: Tests = None,
    by: options.By = None,
    segments: options.Segments = None,
    cluster: options.Cluster = None,
    recalibrate: Recalibrate = None,
    profile: Profile = None,
    tolerance: Tolerance = None,
    meta: Meta = None,
    title: Title = None,
    author: Author = None,
    level: options.Level = None,
    n_resamples: options.Resamples = 999,
    seed: options.Seed = None,
    jobs: options.Jobs = None,
    correction: options.Correction = "joint",
    engine: options.Engine = "auto",
    on_error: options.OnError = "raise",
    form: Format = None,
    output: options.Output = None,
    quiet: options.Quiet = False,
    context: typer.Context,
) -> None:
    """Write a report on the predictions in a file: one page that needs no network."""
    form = FORMATS[choose_format(form, output, file=file.file, formats=FORMATS, default="html")]
    with progress_bar("report", quiet=quiet):
        from caltest import report as make
        from caltest.predictions.dependence import Dependence
        from caltest.validation import check_seed, check_unused

        seed = check_seed(seed)
        given: dict[str, Any]
        needs_rows = segments or cluster or recalibrate or tolerance is not None
        if (engine == "cells" or not needs_rows) and file.lies(engine, on_error):
            given = {"model": None, "data": str(file.file), "engine": engine, "on_error": on_error}
            given |= {"cluster": cluster, **file.columns_asked(by)}
        else:
            predictions, values = file.read(file.probs, by=by)
            if cluster is not None:
                if segments is not None:
                    check_unused("with --segments", cluster=cluster)
                predictions = file.predictions(by=by, dependence=Dependence(cluster))
            # What is fitted sees more in logits than in their probabilities.
            beside = file.logits and bool(recalibrate)
            given = {"model": values, "data": predictions} if beside else {"model": predictions}
            given |= {"from_logits": beside, "by": True if by else None}
        made: Report = make(
            **given,
            test=_keys(test),
            lens=_keys(lens),
            segments=file.segments(segments),
            recalibrate=_keys(recalibrate),
            profile=profile,
            tolerance=tolerance,
            meta=_meta(meta),
            title=title,
            author=author,
            level=level,
            correction=correction,
            n_resamples=n_resamples,
            rng=seed,
            n_jobs=jobs,
            command=_command(context.obj, seed),
        )
        content = made.as_text(form)
    write_text(content, output=output)
    path = to_file(output)
    if path is not None and not quiet:
        echo(f"wrote {path}: {made.content.answer.verdict.headline}\n", err=True)


def _meta(values: list[str] | None) -> dict[str, str] | None:
    """Read KEY=VALUE."""
    if not values:
        return None
    for value in values:
        name, equals, _ = value.partition("=")
        if not equals or not name.strip():
            raise invalid("--meta must be KEY=VALUE", repr(value), 'pass "data period=2024"')
    return dict(value.split("=", 1) for value in values)


def _keys(values: list[str] | None) -> list[str] | None:
    return options.split_keys(values) if values else None


def _command(arguments: Sequence[str] | None, seed: int) -> str:
    """Return the command line as it was given, with its seed."""
    given = list(arguments or ())
    if not any(word.partition("=")[0] == "--seed" for word in given):
        given += ["--seed", str(seed)]
    return shlex.join(["caltest", *given])
