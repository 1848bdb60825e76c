"""`caltest plan-monitoring`: levels for a budget of false alarms, and delays of drifts."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from caltest.cli import options
from caltest.cli.output import Output
from caltest.cli.planning import Beta, Dirichlet, StudyFile, numbers
from caltest.cli.progress import progress_bar

RowsPerDay = Annotated[
    float, typer.Option("--rows-per-day", metavar="N", help="Rows a day of each model.")
]
FalseAlarms = Annotated[
    float,
    typer.Option(
        "--false-alarms-per-year",
        metavar="N",
        help="Of all models and checks together, on average.",
    ),
]
Models = Annotated[int, typer.Option("--n-models", metavar="N", help="Number of models.")]
Checks = Annotated[
    float,
    typer.Option(
        "--checks-per-day",
        metavar="N",
        help="Tests of a fixed number of rows that each model has a day, as by pytest.",
    ),
]
Temperature = Annotated[
    str | None,
    typer.Option(
        "--temperature", metavar="T", help="Drift: softmax(log p / T); several by commas."
    ),
]
Slope = Annotated[
    str | None,
    typer.Option("--slope", metavar="B", help="Drift: log odds B logit(p); several by commas."),
]
Intercept = Annotated[
    str | None,
    typer.Option("--intercept", metavar="A", help="Drift: log odds A + logit(p); likewise."),
]
Streams = Annotated[
    int, typer.Option("--n-streams", metavar="N", help="Simulated streams for each drift.")
]


@options.grouped
def plan_monitoring(
    *,
    rows_per_day: RowsPerDay,
    false_alarms_per_year: FalseAlarms = 1.0,
    models: Models = 1,
    checks_per_day: Checks = 0.0,
    temperature: Temperature = None,
    slope: Slope = None,
    intercept: Intercept = None,
    beta: Beta = None,
    dirichlet: Dirichlet = None,
    file: StudyFile,
    classes: options.Classes = None,
    n_streams: Streams = 50,
    seed: options.Seed = None,
    out: Output,
) -> None:
    """Plan how models are watched: levels for a rate of false alarms, and delays until an alarm.

    Written as JSON, the plan is the --plan of caltest monitor, sample-size and power, and the
    --calibration-plan of pytest.
    """
    write = out.writer(file.file)
    given = {"temperature": temperature, "slope": slope, "intercept": intercept}
    drifts: dict[str, Any] = {
        name: numbers(text, f"--{name}", "1.2,1.5")
        for name, text in given.items()
        if text is not None
    }
    with progress_bar("simulating", quiet=out.quiet):
        from caltest import plan_monitoring as plan_of

        plan = plan_of(
            file.distribution(classes, beta=beta, dirichlet=dirichlet),
            rows_per_day=rows_per_day,
            false_alarms_per_year=false_alarms_per_year,
            models=models,
            checks_per_day=checks_per_day,
            n_streams=n_streams,
            rng=seed,
            **drifts,
        )
    write(plan)
