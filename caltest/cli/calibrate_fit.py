"""`caltest calibrate fit FILE`: fit a calibration map to held-out predictions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caltest.cli import calibration_map, completion, options, settings
from caltest.cli.inputs import PredictionFile
from caltest.cli.output import choose_format, echo, to_file, write_text
from caltest.cli.progress import progress_bar
from caltest.errors import invalid

if TYPE_CHECKING:
    from caltest.calibrators import Calibrator
    from caltest.predictions import Predictions

Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Option of the calibrator, such as lam=0.01; see `caltest list calibrators KEY`. "
        "Repeatable.",
        autocompletion=completion.of_settings,
    ),
]
AUTO = "auto"


def _complete_method(incomplete: str) -> list[str]:
    return completion.starting((AUTO, *completion.keys("calibrators")), incomplete)


Method = Annotated[
    str,
    typer.Option(
        "--method",
        metavar="KEY",
        help="Calibrator: temperature, dirichlet, isotonic, ..., see `caltest list calibrators`; "
        "or auto, for the one with the least cross-validated log loss.",
        autocompletion=_complete_method,
    ),
]
Resamples = Annotated[
    int,
    typer.Option(
        "--n-resamples",
        "--resamples",
        metavar="B",
        help="Resamples of the test in the summary.",
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed",
        metavar="N",
        help="Seed of all random numbers; the same file and seed give the same map.",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Write the map here (JSON); - is standard output."
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No summary, no progress bar and no warnings.")
]


@options.grouped
def fit(
    file: PredictionFile,
    *,
    method: Method,
    set_: Set = None,
    n_resamples: Resamples = 999,
    seed: Seed = 0,
    jobs: options.Jobs = None,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Fit a calibration map to predictions that the model was not fitted on, and save it.

    The map goes to --output, or else to standard output; a summary of it is printed, and how maps
    of four fifths of the rows do on the others, as `caltest compare` has it for the same seed.
    """
    choose_format(None, output, file=file.file)
    with progress_bar("fitting", quiet=quiet):
        from sklearn.base import clone

        from caltest.validation import check_jobs, check_seed

        seed, jobs = check_seed(seed), check_jobs(jobs)
        parsed = settings.parse(set_)
        if method == AUTO:
            settings.check_known_settings(parsed, (), f"--method {AUTO}")
        else:
            chosen = settings.calibrator(method, parsed, seed=seed, n_jobs=jobs)
        predictions, values = file.read(file.probs)
        if method == AUTO:
            chosen, note, name = _selected(
                predictions, values, logits=file.logits, seed=seed, jobs=jobs
            )
        else:
            name = method
            chosen, note = _for_classes(chosen, predictions.m, jobs)
        fitted = _fitted(clone(chosen), predictions, values, file.logits)
        options: dict[str, Any] = {"n_resamples": n_resamples, "rng": seed, "n_jobs": jobs}
        summary = "" if quiet else str(fitted.summary(**options))
        if not quiet:
            given = values if file.logits else None
            summary += _out_of_fold({name: chosen}, predictions, given, options)
    data = _data(predictions, file)
    write_text(calibration_map.to_json(_without_jobs(fitted), data), output=output)
    if note and not quiet:
        echo(f"caltest: {note}\n", err=True)
    if summary:
        echo(summary, err=to_file(output) is None)


def _selected(
    predictions: Predictions, values: object, *, logits: bool, seed: int, jobs: int | None
) -> tuple[Calibrator, str, str]:
    """Return the calibrator with the least cross-validated log loss, a note, and its name."""
    from sklearn.base import clone

    from caltest import compare_calibrators

    if logits and predictions.sample_weight is not None:
        rule = "--method auto must not be given with both --logits and --weight"
        raise invalid(rule, "both", "name a method")
    compared = compare_calibrators(
        values if logits else predictions,
        predictions.classes[predictions.labels] if logits else None,
        classes=predictions.classes.tolist() if logits else None,
        from_logits=logits,
        test="brier",  # the cheapest: no test is looked at here
        n_resamples=1,
        rng=seed,
        n_jobs=jobs,
    )
    scores = {row.name: row.scores.get(compared.score) for row in compared.rows[:-1]}
    shown = ", ".join(f"{name} {value:.4g}" for name, value in scores.items() if value is not None)
    note = f"--method auto selected {compared.selected} by cross-validated log loss ({shown})"
    left_out = [text for text in compared.notes if text.startswith("left out")]
    note = "; ".join([note, *left_out])
    return clone(compared.best), note, compared.selected


def _for_classes(calibrator: Calibrator, m: int, jobs: int | None) -> tuple[Calibrator, str]:
    """Return the map itself, or one for each class where it is a map of two, and a note on it."""
    from caltest.calibrators import BinaryCalibrator, OneVsRest

    if m == 2 or not isinstance(calibrator, BinaryCalibrator):
        return calibrator, ""
    note = f"--method {calibrator.key} is for two classes: fitted for each class against the others"
    return OneVsRest(calibrator, n_jobs=jobs), note


def _fitted(
    calibrator: Calibrator, predictions: Predictions, values: object, logits: bool
) -> Calibrator:
    """Fit to the logits as they stand: not every map sees only the probabilities in them."""
    if not logits:
        return calibrator.fit(predictions)
    calibrator.set_params(from_logits=True, classes=predictions.classes.tolist())
    labels = predictions.classes[predictions.labels]
    return calibrator.fit(values, labels, predictions.sample_weight)


def _out_of_fold(
    maps: dict[str, Calibrator], predictions: Predictions, logits: Any, options: dict[str, Any]
) -> str:
    """Print how the map does on rows that it was not fitted to, by the rule of `compare`."""
    from caltest import render
    from caltest.comparison.calibrators import FEWEST_ROWS
    from caltest.comparison.maps import set_of
    from caltest.comparison.out_of_fold import out_of_fold
    from caltest.validation import check_logits

    if predictions.n < FEWEST_ROWS:
        return f"\nOut of fold: not tested, {predictions.n} rows are fewer than {FEWEST_ROWS}.\n"
    data = set_of(predictions, None if logits is None else check_logits(logits))
    found = out_of_fold(predictions, maps, data=data, correction=None, **options)
    return render.text(found.sheet())


def _without_jobs(calibrator: Calibrator) -> Calibrator:
    """Forget the number of threads, which is no property of the map."""
    if "n_jobs" in calibrator.get_params(deep=False):
        calibrator.set_params(n_jobs=None)
    return calibrator


def _data(predictions: Predictions, file: PredictionFile) -> dict[str, Any]:
    """Describe what the map was fitted on, so that it can be told again."""
    from caltest.reporting.about import data_hash

    return {
        "source": predictions.source,
        "n": predictions.n,
        "label": file.label,
        "columns": file.columns,
        "sha256": data_hash(predictions),
    }
