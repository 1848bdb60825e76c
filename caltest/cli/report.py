"""`caltest report FILE`: the tests of the predictions in a file, told on a page."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caltest.cli.inputs import PredictionFile
from caltest.cli.options import PROFILES, REPORTS, Draws, Keys, grouped, says, split_keys
from caltest.cli.output import choose_format, echo, progress_bar, to_file, write_text
from caltest.errors import invalid
from caltest.predictions.options import Says

if TYPE_CHECKING:
    from caltest.reporting import Report

FORMATS = {"html": "html", "markdown": "markdown", "md": "markdown", "json": "json"}


@grouped
def report(
    file: PredictionFile,
    *,
    lens: Keys = None,
    test: Annotated[
        Keys,
        says(
            "test",
            "Test; by default those that the size of the data allows. Repeatable, as --lens.",
        ),
    ] = None,
    by: str | None = None,
    segments: str | None = None,
    cluster: str | None = None,
    recalibrate: Annotated[
        Keys,
        Says(
            "KEY",
            "Calibrator to fit and to test on rows that it was not fitted to: temperature, "
            "dirichlet, ... Repeatable, as --lens.",
            "calibrators",
        ),
    ] = None,
    profile: Annotated[
        str | None,
        Says(
            "NAME",
            "Words, order and tests of a field: general, clinical, credit, ml or forecast.",
            PROFILES,
        ),
    ] = None,
    tolerance: Annotated[
        float | None,
        Says(
            "T",
            "Say whether the error is shown to be within T, as 0.05 for five points, or beyond.",
        ),
    ] = None,
    meta: Annotated[
        Keys,
        Says(
            "KEY=VALUE",
            'What the author states: "data period=2024", limitations=..., signatures=..., '
            "event=death. Repeatable.",
        ),
    ] = None,
    title: Annotated[str | None, Says("TEXT", "Title of the page.")] = None,
    author: Annotated[str | None, Says("TEXT", "Author, as the page names them.")] = None,
    level: float | None = None,
    draws: Draws,
    correction: str = "joint",
    engine: str = "auto",
    on_error: str = "raise",
    form: Annotated[
        str | None,
        says(
            "form",
            "html, markdown or json; by default that of --output's suffix, else html.",
            offers=REPORTS,
        ),
    ] = None,
    output: Path | None = None,
    quiet: bool = False,
    context: typer.Context,
) -> None:
    """Write a report on the predictions in a file: one page that needs no network."""
    form = FORMATS[choose_format(form, output, file=file.file, formats=FORMATS, default="html")]
    with progress_bar("report", quiet=quiet):
        from caltest import report as make
        from caltest.checks import check_seed, check_unused
        from caltest.predictions.dependence import Dependence

        seed = check_seed(draws.rng)
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
            beside = file.from_logits and bool(recalibrate)
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
            **vars(draws) | {"rng": seed},
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
    return split_keys(values) if values else None


def _command(arguments: Sequence[str] | None, seed: int) -> str:
    """Return the command line as it was given, with its seed."""
    given = list(arguments or ())
    if not any(word.partition("=")[0] == "--seed" for word in given):
        given += ["--seed", str(seed)]
    return shlex.join(["caltest", *given])
