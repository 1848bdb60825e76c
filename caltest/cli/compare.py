"""`caltest compare FILE`: calibrators by cross-validation, or models on the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from caltest.cli.inputs import PredictionFile
from caltest.cli.options import Draws, Keys, grouped, split_keys
from caltest.cli.output import Output, progress_bar
from caltest.cli.settings import ChosenTests
from caltest.errors import invalid
from caltest.predictions.options import Says

if TYPE_CHECKING:
    from caltest.results import CalibratorComparison, ModelComparison

SCORES = ("log-loss", "brier", "spherical")


@grouped
def compare(
    file: PredictionFile,
    *,
    models: Annotated[
        Keys,
        Says(
            "PREFIX",
            "Compare models, not calibrators: the prefix (forest_) or, for two classes, the "
            "column of the probabilities of each, two or more. Repeatable, as --lens.",
            "columns",
        ),
    ] = None,
    calibrators: Keys = None,
    score: Annotated[
        str,
        Says(
            "KEY",
            f"Proper score to compare and select by: {', '.join(SCORES)}. Calibration errors "
            "are reported, and never selected by.",
            SCORES,
        ),
    ] = "log-loss",
    cv: Annotated[
        int | None, Says("K", "Folds of the comparison of calibrators: 5 by default.")
    ] = None,
    inner_cv: Annotated[
        int | None, Says("K", "Folds of the selection in training rows: by default --cv.")
    ] = None,
    reference: Annotated[
        str | None,
        Says("PREFIX", "Model that the others are compared with; by default the best."),
    ] = None,
    lens: Keys = None,
    tests: ChosenTests,
    level: float | None = None,
    draws: Draws,
    correction: str = "holm",
    out: Output,
) -> None:
    """Compare calibrators by nested cross-validation, or, with --models, models on the same rows.

    Scores, their differences with standard errors, and a test of calibration of each.
    """
    write = out.writer(file.file)
    with progress_bar("comparing", quiet=out.quiet) as progress:
        common = {
            "score": score,
            "lens": split_keys(lens, "strong"),
            "correction": correction,
            "level": level,
            "progress": progress,
            **vars(draws),
            **tests.asked(),
        }
        result: CalibratorComparison | ModelComparison
        if models:
            unused = {"probs": file.probs, "calibrators": calibrators, "cv": cv}
            _check_left_out("with --models", **unused, inner_cv=inner_cv)
            result = _of_models(file, split_keys(models), reference, **common)
        else:
            _check_left_out("without --models", reference=reference)
            common |= {"cv": 5 if cv is None else cv, "inner_cv": inner_cv}
            result = _of_calibrators(file, calibrators, **common)
    write(result)


def _check_left_out(where: str, **given: object) -> None:
    for name, value in given.items():
        if value is not None:
            option = f"--{name.replace('_', '-')}"
            raise invalid(f"{option} has no effect {where}", repr(value), "leave it out")


def _of_calibrators(
    file: PredictionFile, calibrators: list[str] | None, **common: Any
) -> CalibratorComparison:
    from caltest.comparison import compare_calibrators

    predictions, values = file.read(file.probs)
    return compare_calibrators(
        values if file.from_logits else predictions,
        predictions if file.from_logits else None,
        from_logits=file.from_logits,
        calibrators=split_keys(calibrators) if calibrators else None,
        **common,
    )


def _of_models(
    file: PredictionFile, prefixes: list[str], reference: str | None, **common: Any
) -> ModelComparison:
    from caltest.comparison import compare_models

    if len(prefixes) < 2:
        raise invalid("--models must name at least two", prefixes[0], "add another")
    seen = {_name(prefix): file.read(prefix)[0] for prefix in prefixes}
    if len(seen) < len(prefixes):
        raise invalid("--models must name each model once", ", ".join(prefixes), "leave one out")
    common["reference"] = None if reference is None else _name(reference)
    return compare_models(seen, **common)


def _name(prefix: str) -> str:
    return prefix.rstrip("_") or prefix
