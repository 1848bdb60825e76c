"""`caltest test FILE`: test the predictions in a file."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from caltest.cli import options
from caltest.cli.output import choose_format, write
from caltest.cli.progress import progress_bar
from caltest.errors import invalid


def test(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="One row per observation: CSV, TSV, Parquet, Feather, JSON lines or NPZ.",
        ),
    ],
    *,
    label: options.Label,
    probs: options.Probs = None,
    classes: options.Classes = None,
    logits: options.Logits = False,
    renormalize: options.Renormalize = False,
    lens: options.Lenses = None,
    test: options.Tests = None,
    null: options.Null = None,
    by: options.By = None,
    level: options.Level = None,
    fail: options.Fail = False,
    n_resamples: options.Resamples = 999,
    seed: options.Seed = None,
    jobs: options.Jobs = None,
    correction: options.Correction = "holm",
    form: options.Format = None,
    output: options.Output = None,
    quiet: options.Quiet = False,
) -> None:
    """Test whether the probabilities in a file are calibrated."""
    form = choose_format(form, output)
    if fail and level is None:
        raise invalid("--fail needs a significance level", "none", "add --level 0.05")
    if quiet:
        warnings.simplefilter("ignore")
    with progress_bar("testing", quiet=quiet) as progress:
        from caltest import Predictions, test_calibration

        predictions = Predictions.read(
            file,
            label=label,
            probs=options.parse_probs(probs),
            groups=by,
            classes=options.parse_classes(classes),
            from_logits=logits,
            renormalize=renormalize,
        )
        result = test_calibration(
            None,
            predictions,
            test=_one_or_many(options.split_keys(test, "skce")),
            lens=_one_or_many(options.split_keys(lens, "strong")),
            null=null,
            by=True if by else None,
            correction=correction,
            n_resamples=n_resamples,
            rng=seed,
            n_jobs=jobs,
            level=level,
            progress=progress,
        )
    write(result, form=form, output=output)
    if fail and np.any(result.rejected):
        raise typer.Exit(1)


def _one_or_many(keys: list[str]) -> str | list[str]:
    """One key by itself, so that one test gives a test and not a table of one row."""
    return keys[0] if len(keys) == 1 else keys
