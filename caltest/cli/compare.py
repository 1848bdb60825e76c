"""`caltest compare FILE`: calibrators by cross-validation, or models on the same rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caltest.cli import completion, inputs, options, settings
from caltest.cli.output import choose_format, write
from caltest.cli.progress import progress_bar
from caltest.errors import invalid

if TYPE_CHECKING:
    from caltest.predictions import Predictions
    from caltest.results import CalibratorComparison, ModelComparison

SCORES = ("log-loss", "brier", "spherical")

Models = Annotated[
    list[str] | None,
    typer.Option(
        "--models",
        metavar="PREFIX",
        help="Compare models, not calibrators: the prefix (forest_) or, for two classes, the "
        "column of the probabilities of each, two or more. Repeatable, as --lens.",
        autocompletion=completion.of_columns,
    ),
]
Score = Annotated[
    str,
    typer.Option(
        "--score",
        metavar="KEY",
        help=f"Proper score to compare and select by: {', '.join(SCORES)}. Calibration errors "
        "are reported, and never selected by.",
        autocompletion=completion.of_choices(SCORES),
    ),
]
Folds = Annotated[
    int | None,
    typer.Option("--cv", metavar="K", help="Folds of the comparison of calibrators: 5 by default."),
]
InnerFolds = Annotated[
    int | None,
    typer.Option(
        "--inner-cv", metavar="K", help="Folds of the selection in training rows: by default --cv."
    ),
]
Reference = Annotated[
    str | None,
    typer.Option(
        "--reference",
        metavar="PREFIX",
        help="Model that the others are compared with; by default the best.",
    ),
]


def compare(
    file: options.File,
    *,
    label: options.Label,
    probs: options.Probs = None,
    models: Models = None,
    calibrators: options.Calibrators = None,
    score: Score = "log-loss",
    cv: Folds = None,
    inner_cv: InnerFolds = None,
    reference: Reference = None,
    classes: options.Classes = None,
    weight: options.Weight = None,
    logits: options.Logits = False,
    renormalize: options.Renormalize = False,
    input_format: options.InputFormat = None,
    lens: options.Lenses = None,
    test: options.Tests = None,
    null: options.Null = None,
    set_: options.Set = None,
    level: options.Level = None,
    n_resamples: options.Resamples = 999,
    seed: options.Seed = None,
    jobs: options.Jobs = None,
    correction: options.Correction = "holm",
    form: options.Format = None,
    output: options.Output = None,
    quiet: options.Quiet = False,
) -> None:
    """Compare calibrators by nested cross-validation, or, with --models, models on the same rows.

    Scores, their differences with standard errors, and a test of calibration of each.
    """
    form = choose_format(form, output, file=file)
    tests = options.split_keys(test, "skce")
    if quiet:
        warnings.simplefilter("ignore")
    with progress_bar("comparing", quiet=quiet) as progress:
        common = {
            "score": score,
            "test": tests,
            "lens": options.split_keys(lens, "strong"),
            "null": null,
            "correction": correction,
            "level": level,
            "n_resamples": n_resamples,
            "rng": seed,
            "n_jobs": jobs,
            "progress": progress,
            **settings.test_options(settings.parse(set_), tests),
        }
        reading = {
            "label": label,
            "classes": classes,
            "weight": weight,
            "logits": logits,
            "renormalize": renormalize,
            "input_format": input_format,
        }
        result: CalibratorComparison | ModelComparison
        if models:
            _check_left_out(
                "with --models", probs=probs, calibrators=calibrators, cv=cv, inner_cv=inner_cv
            )
            prefixes = options.split_keys(models, "")
            if len(prefixes) < 2:
                raise invalid("--models must name at least two", prefixes[0], "add another")
            common["reference"] = None if reference is None else _name(reference)
            result = _of_models(file, prefixes, reading, **common)
        else:
            _check_left_out("without --models", reference=reference)
            common |= {"cv": 5 if cv is None else cv, "inner_cv": inner_cv}
            result = _of_calibrators(file, probs, calibrators, reading, **common)
    write(result, form=form, output=output)


def _check_left_out(where: str, **given: object) -> None:
    for name, value in given.items():
        if value is not None:
            option = f"--{name.replace('_', '-')}"
            raise invalid(f"{option} has no effect {where}", repr(value), "leave it out")


def _of_calibrators(
    file: Path,
    probs: str | None,
    calibrators: list[str] | None,
    reading: dict[str, Any],
    **common: Any,
) -> CalibratorComparison:
    from caltest.comparison import compare_calibrators

    predictions, values = _reader(file, **reading)(options.parse_probs(probs))
    logits = reading["logits"]
    return compare_calibrators(
        values if logits else predictions,
        predictions if logits else None,
        from_logits=logits,
        calibrators=options.split_keys(calibrators, "") if calibrators else None,
        **common,
    )


def _of_models(
    file: Path,
    prefixes: list[str],
    reading: dict[str, Any],
    **common: Any,
) -> ModelComparison:
    from caltest.comparison import compare_models

    read = _reader(file, **reading)
    seen = {_name(prefix): read(prefix)[0] for prefix in prefixes}
    if len(seen) < len(prefixes):
        raise invalid("--models must name each model once", ", ".join(prefixes), "leave one out")
    return compare_models(seen, **common)


def _reader(
    file: Path,
    *,
    label: str,
    classes: str | None,
    weight: str | None,
    logits: bool,
    renormalize: bool,
    input_format: str | None,
) -> Callable[[str | list[str] | None], tuple[Predictions, object]]:
    """Read the file once; return what gives predictions of columns, and what these hold."""
    from caltest import sources
    from caltest.predictions import Predictions

    table, name = inputs.table(file, input_format)

    def predictions(probs: str | list[str] | None) -> tuple[Predictions, object]:
        raw = sources.choose_columns(
            table,
            label=label,
            probs=probs,
            sample_weight=weight,
            classes=options.parse_classes(classes),
        )
        made = Predictions(**raw, from_logits=logits, renormalize=renormalize, source=name)
        return made, raw["probs"]

    return predictions


def _name(prefix: str) -> str:
    return prefix.rstrip("_") or prefix
