"""`caltest test FILE`: test the predictions in a file."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from caltest.checks import check_unused
from caltest.cli import options
from caltest.cli.inputs import PredictionFile
from caltest.cli.output import Output, progress_bar
from caltest.cli.settings import ChosenTests
from caltest.errors import invalid

ANY_RESAMPLES = options.says(
    "n_resamples",
    "Resamples; the smallest p-value is 1/(B + 1). adaptive: as many as the decision at --level "
    "needs, and up to 10^6 for a small p-value.",
)


@options.grouped
def test(
    file: PredictionFile,
    *,
    lens: options.Keys = None,
    tests: ChosenTests,
    tolerance: float | None = None,
    equivalence: bool = False,
    by: str | None = None,
    cluster: str | None = None,
    time: str | None = None,
    lag: int | None = None,
    segments: str | None = None,
    level: float | None = None,
    fail: bool = False,
    n_resamples: Annotated[str, ANY_RESAMPLES] = "999",
    rng: int | None = None,
    n_jobs: int | None = None,
    correction: str = "joint",
    engine: str = "auto",
    on_error: str = "raise",
    out: Output,
) -> None:
    """Test whether the probabilities in a file are calibrated."""
    write = out.writer(file.file)
    if fail and level is None:
        raise invalid("--fail needs a significance level", "none", "add --level 0.05")
    with progress_bar("testing", quiet=out.quiet) as progress:
        from caltest import test_calibration
        from caltest.predictions.dependence import Dependence

        if segments is not None:
            check_unused("on segments", cluster=cluster, time=time, lag=lag)
        asked = tests.asked() if segments is None else tests.asked_of_segments()
        if file.lies(engine, on_error, weighted=segments is None):
            given: dict[str, Any] = {"data": str(file.file), "engine": engine, "on_error": on_error}
            given |= {
                "cluster": cluster,
                "time": time,
                "lag": lag,
                "segments": file.segments_asked(segments),
                "sample_weight": file.sample_weight,
                **file.columns_asked(by),
            }
        else:
            dependence = Dependence(cluster, time, lag)
            given = {"data": file.predictions(by=by, dependence=dependence)}
            given |= {"by": True if by else None, "segments": file.segments(segments)}
        result = test_calibration(
            None,
            lens=options.one_or_many(lens),
            tolerance=tolerance,
            equivalence=equivalence,
            correction=correction,
            n_resamples=options.parse_resamples(n_resamples),
            rng=rng,
            n_jobs=n_jobs,
            level=level,
            progress=progress,
            **given,
            **asked,
        )
    write(result)
    if fail and np.any(result.rejected):
        raise typer.Exit(1)
