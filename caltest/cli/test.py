"""`caltest test FILE`: test the predictions in a file."""

from __future__ import annotations

import warnings

import numpy as np
import typer

from caltest.cli import inputs, options, settings
from caltest.cli.output import choose_format, write
from caltest.cli.progress import progress_bar
from caltest.errors import invalid


def test(
    file: options.File,
    *,
    label: options.Label,
    probs: options.Probs = None,
    classes: options.Classes = None,
    weight: options.Weight = None,
    logits: options.Logits = False,
    renormalize: options.Renormalize = False,
    input_format: options.InputFormat = None,
    lens: options.Lenses = None,
    test: options.Tests = None,
    null: options.Null = None,
    set_: options.Set = None,
    tolerance: options.Tolerance = None,
    equivalence: options.Equivalence = False,
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
    form = choose_format(form, output, file=file)
    tests = options.split_keys(test, "skce")
    if fail and level is None:
        raise invalid("--fail needs a significance level", "none", "add --level 0.05")
    if quiet:
        warnings.simplefilter("ignore")
    with progress_bar("testing", quiet=quiet) as progress:
        from caltest import test_calibration

        chosen = settings.test_options(settings.parse(set_), tests)
        predictions = inputs.read(
            file,
            label=label,
            probs=probs,
            classes=classes,
            by=by,
            weight=weight,
            logits=logits,
            renormalize=renormalize,
            input_format=input_format,
        )
        result = test_calibration(
            None,
            predictions,
            test=_one_or_many(tests),
            lens=_one_or_many(options.split_keys(lens, "strong")),
            null=null,
            tolerance=tolerance,
            equivalence=equivalence,
            by=True if by else None,
            correction=correction,
            n_resamples=n_resamples,
            rng=seed,
            n_jobs=jobs,
            level=level,
            progress=progress,
            **chosen,
        )
    write(result, form=form, output=output)
    if fail and np.any(result.rejected):
        raise typer.Exit(1)


def _one_or_many(keys: list[str]) -> str | list[str]:
    """One key by itself, so that one test gives a test and not a table of one row."""
    return keys[0] if len(keys) == 1 else keys
