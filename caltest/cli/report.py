"""The commands test, report and compare."""

from __future__ import annotations

import inspect
import os
import re
import shlex
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import typer

import caltest
from caltest.checks import check_choice, check_seed, check_unused
from caltest.cli import options, settings
from caltest.cli import output as writing
from caltest.cli.inputs import STREAM, RowsFile
from caltest.cli.options import REPORTS, SCORES, DrawOptions, Keys, grouped, split_keys
from caltest.errors import InvalidInput, invalid
from caltest.numerics.loops import threads
from caltest.outputs import check_target, write_whole
from caltest.predictions.dependence import Dependence

NUMBER = re.compile(r"-?[0-9]+")


def _test(
    file: RowsFile,
    *,
    lens: options.Keys = None,
    tests: settings.ChosenTests,
    tolerance: float | None = None,
    equivalence: bool = False,
    by: str | None = None,
    cluster: str | None = None,
    time: str | None = None,
    lag: int | None = None,
    segments: str | None = None,
    design: str | None = None,
    level: float | None = None,
    fail: bool = False,
    n_resamples: str = "999",
    rng: int | None = None,
    n_jobs: int | None = None,
    correction: str = "joint",
    engine: str = "auto",
    on_error: str = "raise",
    badge: Path | None = None,
    out: writing.Output,
) -> None:
    """Test whether the probabilities in a file are calibrated."""
    write = out.writer(file.file)
    if badge is not None:
        check_target(badge, "--badge", inputs=(file.file,))
        check_choice(badge.suffix.lower(), (".svg", ".json"), "the suffix of --badge")
    if fail and level is None:
        raise invalid("--fail needs a significance level", "none", "add --level 0.05")
    seed, rows = check_seed(rng), {"cluster": cluster, "time": time, "lag": lag}
    if design is not None:
        check_unused("with --design", by=by, segments=segments)
    features: Any = {} if design is None else {"design": file.design(design)}
    with writing.progress_bar("testing", quiet=out.quiet) as progress:
        if segments is not None:
            beside = None if out.is_verdict else by
            check_unused("on segments, except in caltest verdict and caltest report", by=beside)
            alone = "on segments, which take rows as independent"
            check_unused(alone, "leave out the segments", **rows)
        if file.lies(engine, on_error, weighted=segments is None):
            given: dict[str, Any] = {"data": file.unread, "engine": engine, "on_error": on_error}
            given |= {**rows, **file.columns_asked(by, segments)}
            given["sample_weight"] = file.sample_weight
        else:
            given = {"data": file.predictions(by=by, dependence=Dependence(**rows))}
            given |= {"by": True if by else None, "segments": file.by_name(segments, "--segments")}
        run = partial(
            caltest.test_calibration,
            None,
            tolerance=tolerance,
            # What is neither a number nor "adaptive" stays as it is, to be refused.
            n_resamples=int(n_resamples) if NUMBER.fullmatch(n_resamples) else n_resamples,
            rng=seed,
            n_jobs=n_jobs,
            level=level,
            progress=progress,
        )
        own = {"lens": options.one_or_many(lens), "equivalence": equivalence, **features}
        several = out.is_verdict and (by is not None or segments is not None)
        own |= {"correction": correction, **tests.asked(None if several else segments)}
        results = _all(run, own, **given) if several else [("whole", run(**given, **own))]
    found: Any = results[0][1]
    if out.is_verdict:
        from caltest.verdicts import verdict_of

        with threads(n_jobs):
            found = verdict_of(*results, equivalence=equivalence, command=True)
    write(found)
    if out.is_verdict and rng is None and not out.quiet:  # the sentences of a verdict have no seed
        writing.echo(f"caltest: --seed {seed} repeats this\n", err=True)
    if badge is not None:
        from caltest.results.wording import badge as badge_of

        least = min((one for _, one in results), key=lambda one: one.pvalue)
        write_whole(badge, badge_of(least, found.pvalue, badge.suffix.lower()[1:]))
    if fail and np.any(found.rejected):
        raise typer.Exit(1)


def _all(run: Any, own: dict[str, Any], *, by: object, segments: object, **given: Any) -> list[Any]:
    """Test all rows, and groups and segments if there are some, as `caltest.verdict` does."""
    results = [("whole", run(**given, **own))]
    if by is not None:
        results.append(("groups", run(by=by, **given, **own)))
    if segments is not None:
        results.append(("segments", run(segments=segments, **given)))
    return results


def _verdict(**given: Any) -> None:
    """Say in a few sentences what a test of the probabilities in a file found, and what helps."""
    _test(**given)


_verdict.__signature__ = inspect.signature(_test)  # type: ignore[attr-defined]
_verdict.__annotations__ = {**_test.__annotations__, "out": writing.VerdictOutput}
of_a_test = options.grouped(
    n_resamples="Resamples; the smallest p-value is 1/(B + 1). adaptive: as many as the decision "
    "at --level needs, and up to 10^6 for a small p-value.",
    badge="FILE: Write the answer as a badge: .svg, or .json for an endpoint of shields.io.",
)
test, verdict = of_a_test(_test), of_a_test(_verdict)


# ---- `caltest report FILE`: the tests of the predictions in a file, on a page --------------

FORMATS = {"md": "markdown"} | {form: form for form in REPORTS}


@grouped(
    offers={"form": REPORTS},
    test="Test; by default those that the size of the data allows. Repeatable, as --lens.",
    grades="COLUMN: Grades of a master scale, with traffic lights: a column, or the PDs between "
    "grades, 0.01,0.05.",
    recalibrate="KEY: Calibrator to fit and to test on rows that it was not fitted to: "
    "temperature, dirichlet, ... Repeatable, as --lens.",
    profile="NAME: Words, order and tests of a field: general, clinical, credit, ml or forecast.",
    tolerance="Say whether the error is shown to be within T (0.05 is five points) or beyond.",
    meta='KEY=VALUE: What the author states: "data period=2024", limitations=..., signatures=..., '
    "event=death. Repeatable.",
    title="TEXT: Title of the page.",
    author="TEXT: Author named on the page.",
    form="html, pdf, docx, xlsx (the tables), markdown or json; by default that of --output's "
    "suffix, else html.",
    output="Write the report here; - is standard output. Without it and --format: "
    "FILE_report.html, beside FILE.",
    force="Write FILE_report.html over a file that is not a caltest report.",
)
def report(
    file: RowsFile,
    *,
    lens: Keys = None,
    test: Keys = None,
    by: str | None = None,
    grades: str | None = None,
    segments: str | None = None,
    design: str | None = None,
    cluster: str | None = None,
    time: str | None = None,
    lag: int | None = None,
    recalibrate: Keys = None,
    profile: str | None = None,
    tolerance: float | None = None,
    meta: Keys = None,
    title: str | None = None,
    author: str | None = None,
    level: float | None = None,
    draws: DrawOptions,
    correction: str = "joint",
    engine: str = "auto",
    on_error: str = "raise",
    form: str | None = None,
    output: Path | None = None,
    force: bool = False,
    quiet: bool = False,
    context: typer.Context,
) -> None:
    """Write a report on the predictions in a file: one page that opens offline."""
    if output is None and form is None and file.file != STREAM:
        output = _beside(file.file, force=force)
    kind = writing.choose_format(form, output, file=file.file, formats=FORMATS, default="html")
    form = FORMATS[kind]
    with writing.progress_bar("report", quiet=quiet) as progress:
        from caltest.reporting.files import check_written

        check_written(form)
        seed = check_seed(draws.rng)
        given: dict[str, Any]
        if file.forecasts and engine in ("cells", "chunks"):
            check_unused("in a report on forecasts", engine=engine)
        rows = {"cluster": cluster, "time": time, "lag": lag}
        fitted = grades or segments or design or recalibrate
        needs_rows = fitted or any(rows.values()) or tolerance is not None
        tests: list[Any] | None = _keys(test)
        if design is not None:
            from caltest.reporting.forecasts import USUAL

            combined: Any = caltest.measures.REGISTRY["combined"]
            others = tests or [key for key, _ in USUAL[1:] if file.forecasts]
            tests = [combined(design=file.design(design)), *others]
        may_count = engine == "cells" or not (needs_rows or file.forecasts)
        if may_count and file.lies(engine, on_error):
            given = {"model": None, "data": file.unread, "engine": engine, "on_error": on_error}
            given |= {"cluster": cluster, **file.columns_asked(by, None)}
            check_unused("in a report on cells", time=time, lag=lag)
        else:
            if segments is not None:
                check_unused("with --segments", **rows)
            predictions = file.predictions(by=by, dependence=Dependence(**rows))
            # What is fitted sees more in logits than in their probabilities.
            beside = file.from_logits and bool(recalibrate)
            given = {"model": predictions, "from_logits": beside, "by": True if by else None}
            if beside:
                given |= {"model": file.logits, "data": predictions}
        given["segments"] = file.by_name(segments, "--segments")
        words = list(context.obj or ())  # the command line as it was given, with its seed
        if not any(word.partition("=")[0] == "--seed" for word in words):
            words += ["--seed", str(seed)]
        made = caltest.report(
            **given,
            test=tests,
            lens=_keys(lens),
            grades=file.grades(grades),
            recalibrate=_keys(recalibrate),
            profile=profile,
            tolerance=tolerance,
            meta=_meta(meta),
            title=title,
            author=author,
            level=level,
            correction=correction,
            **vars(draws) | {"rng": seed},
            command=shlex.join(["caltest", *words]),
            data_file=None if file.file == STREAM else file.file,
            progress=lambda step: progress(what=f"report: {step}"),
        )
        progress(what=f"report: {form}")
        content = made.to_format(form)
    writing.write_text(content, output=output)
    path = writing.to_file(output)
    if path is not None and not quiet:
        writing.echo(f"wrote {path}: {made.content.answer.verdict.headline}\n", err=True)


def _beside(file: Path, *, force: bool) -> Path:
    """Return where the report goes by default; what caltest has not written stays."""
    is_there = file.exists()
    stem = file.name.partition(".")[0] if is_there and file.is_file() else file.resolve().name
    folder = file.parent if is_there and os.access(file.parent, os.W_OK) else Path()
    path = folder / f"{stem if is_there else 'caltest'}_report.html"
    if path.exists() and not force and b'content="caltest ' not in path.read_bytes():
        rule = f"{str(path)!r}, where the report goes by default, must be free or a caltest report"
        raise invalid(rule, "another file", "name a file by -o, or pass --force")
    return path


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


# ---- `caltest compare FILE`: calibrators by cross-validation, or models on the same rows --------


@grouped(
    models="PREFIX: Compare models, not calibrators: the prefix (forest_) or, for two classes, the "
    "column of the probabilities of each, two or more; of forecasts what stands before the names "
    "that --mean and the like give. Repeatable, as --lens.",
    score=f"KEY: Proper score to compare and select by: {', '.join(SCORES)}. Calibration errors "
    "are reported, and never selected by.",
    cv="K: Folds of the comparison of calibrators: 5 by default.",
    inner_cv="K: Folds of the selection in training rows: by default --cv.",
    reference="PREFIX: Model that the others are compared with; by default the best.",
)
def compare(
    file: RowsFile,
    *,
    models: Keys = None,
    calibrators: Keys = None,
    score: str | None = None,
    cv: int | None = None,
    inner_cv: int | None = None,
    reference: str | None = None,
    lens: Keys = None,
    tests: settings.ChosenTests,
    level: float | None = None,
    draws: DrawOptions,
    correction: str = "holm",
    out: writing.Output,
) -> None:
    """Compare calibrators by nested cross-validation, or, with --models, models on the same rows.

    Scores, their differences with standard errors, and a test of calibration of each.
    """
    write = out.writer(file.file)
    with writing.progress_bar("comparing", quiet=out.quiet) as progress:
        common: dict[str, Any] = {
            "score": score,
            "lens": split_keys(lens, "strong"),
            "correction": correction,
        }
        common |= {"level": level, "progress": progress, **vars(draws), **tests.asked()}
        if models:
            unused = {"--probs": file.probs, "--calibrators": calibrators, "--cv": cv}
            check_unused("with --models", **unused, **{"--inner-cv": inner_cv})
            prefixes = split_keys(models)
            if len(prefixes) < 2:
                got = f"{prefixes[0]} alone" if prefixes else "none"
                raise invalid("--models must name two models or more", got, "add another")
            seen = {one.rstrip("_") or one: _of_model(file, one) for one in prefixes}
            if len(seen) < len(prefixes):
                got = ", ".join(prefixes)
                raise invalid("--models must name each model once", got, "leave one out")
            name = None if reference is None else reference.rstrip("_") or reference
            result: Any = caltest.compare_models(seen, reference=name, **common)
        else:
            check_unused("without --models", **{"--reference": reference})
            common |= {"cv": 5 if cv is None else cv, "inner_cv": inner_cv}
            rows = (file.logits, file.predictions()) if file.from_logits else (file.predictions(),)
            result = caltest.compare_calibrators(
                *rows, from_logits=file.from_logits, calibrators=_keys(calibrators), **common
            )
    write(result)


def _of_model(file: RowsFile, prefix: str) -> Any:
    """Read the predictions of a model; errors name the option that names it, and its columns."""
    try:
        return file.predictions(prefix)
    except InvalidInput as error:
        rule = re.sub(r"^probs\b", f"--models {prefix}", error.rule)
        is_name = "probs=" in error.remedy
        remedy = "name a column, or what columns begin with" if is_name else error.remedy
        raise InvalidInput(rule, error.got, remedy) from error
