"""Studies that are planned: `caltest power`, `sample-size`, `precision` and `plan-monitoring`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import caltest
from caltest.checks import check_unused
from caltest.cli import calibrate, inputs, options, settings
from caltest.cli.output import Output, progress_bar
from caltest.errors import invalid, rows_named, shown

LEVEL = 0.05
POSITIVE = "positive numbers"
DRAWN = ("beta", "dirichlet", "classes")  # what a study has that reads no file

STUDY = {
    "file": "FILE: Predictions like those of the study, labels not needed, in a format as for "
    "`caltest test`; - for standard input.",
    "beta": "A,B: Draw risks from this Beta distribution, not from FILE.",
    "dirichlet": "A,B,C: Draw predictions from this Dirichlet distribution, not from FILE.",
    "label": "Column of labels, if --probs would take it for a probability.",
    "lens": "Aspect of the predictions to test: strong, confidence, classwise[1], ...",
    "level": "Significance level.",
    "n_datasets": "N: Simulated data sets for each n.",
}


@dataclass(frozen=True, kw_only=True)
class StudyFile(inputs.NumberColumns, inputs.FileForm):
    """A file of predictions or forecasts, if there is one, and what its columns hold."""

    beta: str | None = None
    dirichlet: str | None = None
    file: Path | None = None
    classes: str | None = None
    label: str | None = None
    probs: str | None = None
    sample_weight: str | None = None
    from_logits: bool = False
    renormalize: bool = False

    def distribution(self, *drawn: str) -> Any:
        """Return its rows, or the distribution that takes its place: `drawn` names those known."""
        from caltest.planning.truths import as_distribution, distribution_of_table
        from caltest.predictions import ModelData

        law = {name: getattr(self, name) for name in drawn or ("beta", "dirichlet")}
        given = {"FILE": self.file, **{f"--{name}": text for name, text in law.items()}}
        places = [name for name, value in given.items() if value is not None]
        if len(places) != 1:
            rule = f"one of {', '.join(given)} must be given"
            raise invalid(rule, " and ".join(places) or "none", "pass one, such as --beta 2,5")
        named = options.parse_classes(self.classes)
        if self.file is None:
            own = {name: value or None for name, value in vars(self).items() if name not in DRAWN}
            check_unused("without FILE", **{options.flag_of(n).split()[0]: own[n] for n in own})
            return as_distribution(ModelData(_of_scipy(**law), classes=named))
        table, name = inputs.table(self.file, self.how)
        if self.forecasts:
            check_unused("with forecasts", probs=self.probs, classes=self.classes)
            from caltest.forecasts import Forecasts

            label = self.label or self.mean  # outcomes play no part
            columns = self.forecasts_from() | {"sample_weight": self.sample_weight}
            with rows_named(table.place):
                return Forecasts._of_table(table, name, label, columns)  # noqa: SLF001
        read = ModelData(
            None,
            label=self.label,
            probs=options.parse_probs(self.probs),
            classes=named,
            from_logits=self.from_logits,
            renormalize=self.renormalize,
            sample_weight=self.sample_weight,
        )
        with rows_named(table.place):
            return distribution_of_table(table, read, name=name)


@dataclass(frozen=True, kw_only=True)
class TruthOptions:
    """How far the predictions of the study are off."""

    temperature: float | None = None
    slope: float | None = None
    intercept: str | None = None
    ratio: float | None = None
    noise: float | None = None
    spread: float | None = None
    shift: float | None = None
    truth: Path | None = None

    def stated(self) -> dict[str, Any]:
        """Return the arguments of `power` that it stands for."""
        fitted = None if self.truth is None else calibrate.read_map(self.truth)[0]
        if self.intercept is None:
            return vars(self) | {"truth": fitted}
        values = numbers(self.intercept, "--intercept", "0,0.5,1")
        # One number by itself, for two classes; several for several.
        intercept = values[0] if len(values) == 1 else values
        return vars(self) | {"intercept": intercept, "truth": fitted}


@dataclass(frozen=True, kw_only=True)
class StudyTests(options.DrawOptions, settings.ChosenTests):
    """The tests of each simulated data set; how much is simulated, and from which seed."""

    lens: str = "strong"
    tolerance: float | None = None
    equivalence: bool = False
    level: float | None = None
    plan: Path | None = None
    n_datasets: int = 1000
    n_resamples: int = 199

    def asked(self, segments: str | None = None) -> dict[str, Any]:
        """Return the arguments of `power` that they stand for."""
        own = {name: value for name, value in vars(self).items() if name not in {"set_", "plan"}}
        own["level"] = LEVEL if self.level is None else self.level
        if self.plan is not None:
            from caltest.monitoring import MonitoringPlan

            check_unused("where --plan has it", level=self.level)
            own["level"] = MonitoringPlan.read(self.plan).level_of_checks()
        return {**own, **super().asked(segments)}


@options.grouped(
    shown={"level": f"{LEVEL:g}"},
    n="N: Rows of the study; several, joined by commas.",
    test="Test: combined (the default), skce, ... Repeat it or join keys by commas to compare "
    "tests.",
    **STUDY,
)
def power(*, n: str, truth: TruthOptions, file: StudyFile, tests: StudyTests, out: Output) -> None:
    """Power of tests of calibration in studies of n rows, by simulation.

    Rows of FILE are drawn with replacement. Without a truth it is the size, the share of
    calibrated data sets that are rejected.
    """
    write = out.writer(file.file)
    with progress_bar("simulating", quiet=out.quiet) as progress:
        distribution = file.distribution()
        sizes = numbers(n, "--n", "100,200,500")
        if any(value != int(value) for value in sizes):
            raise invalid("--n must be whole numbers", shown(sizes), "write 100,200,500")
        asked = {"progress": progress, **truth.stated(), **tests.asked()}
        result = caltest.power(distribution, n=[int(value) for value in sizes], **asked)
    write(result)


@options.grouped(
    shown={"level": f"{LEVEL:g}"},
    power="P: Find the least n with this power.",
    n_min="N: Least n that is tried.",
    n_max="N: Largest n that is tried.",
    test="The test: combined (the default), skce, ...",
    **STUDY,
)
def sample_size(
    *,
    power: float = 0.8,
    n_min: int = 20,
    n_max: int = 10_000,
    truth: TruthOptions,
    file: StudyFile,
    tests: StudyTests,
    out: Output,
) -> None:
    """Number of rows with which a test of calibration has a given power, by simulation.

    Rows of FILE are drawn with replacement.
    """
    write = out.writer(file.file)
    with progress_bar("simulating", quiet=out.quiet) as progress:
        distribution = file.distribution()
        asked = {"progress": progress, **truth.stated(), **tests.asked()}
        result = caltest.sample_size(distribution, power=power, n_min=n_min, n_max=n_max, **asked)
    write(result)


@dataclass(frozen=True, kw_only=True)
class Widths:
    """How wide intervals may be."""

    ratio_width: float | None = None
    slope_width: float | None = None
    intercept_width: float | None = None
    coverage_width: float | None = None
    bias_width: float | None = None
    spread_width: float | None = None


@options.grouped(
    left_out=("dirichlet", "classes"),
    ratio_width="W: Width of the interval of E/O.",
    slope_width="W: Width of the interval of the calibration slope.",
    intercept_width="W: Width of the interval of the calibration in the large.",
    coverage_width="W: Forecasts: width of the interval of the share in intervals of 90 %.",
    bias_width="W: Forecasts: that of the bias, in predicted standard deviations.",
    spread_width="W: Forecasts: that of the scatter of outcomes over the predicted one.",
    **STUDY,
)
def precision(
    *, widths: Widths, truth: TruthOptions, file: StudyFile, rng: int | None = None, out: Output
) -> None:
    """Number of rows that makes 95 % confidence intervals as narrow as wanted.

    Of expected/observed events (E/O) and of the slope, 0.2 wide each, unless widths are given; of
    forecasts of the share in intervals of 90 %, 0.1 wide, and of bias and spread, 0.2 wide.
    """
    write = out.writer(file.file)
    asked = vars(widths) if widths != Widths() else {}
    with progress_bar("computing", quiet=out.quiet):
        result = caltest.sample_size_for_precision(
            file.distribution("beta"), rng=rng, **asked, **truth.stated()
        )
    write(result)


@dataclass(frozen=True, kw_only=True)
class Watched:
    """What is watched, how many false alarms are allowed, and drifts whose delays are wanted."""

    rows_per_day: float
    false_alarms_per_year: float = 1.0
    models: int = 1
    checks_per_day: float = 0.0
    temperature: str | None = None
    slope: str | None = None
    intercept: str | None = None
    spread: str | None = None
    shift: str | None = None
    n_streams: int = 50
    rng: int | None = None

    def asked(self) -> dict[str, Any]:
        """Return the arguments of `plan_monitoring` that they stand for."""
        drifts = {name: text for name, text in vars(self).items() if isinstance(text, str)}
        return vars(self) | {k: numbers(text, f"--{k}", "1.2,1.5") for k, text in drifts.items()}


@options.grouped(
    flags={"models": "--n-models"},
    rows_per_day="N: Rows a day of each model.",
    false_alarms_per_year="N: Of all models and checks together, on average.",
    models="N: Number of models.",
    checks_per_day="N: Tests of a fixed number of rows that each model has a day, as by pytest.",
    temperature="Drift: softmax(log p / T); several by commas.",
    slope="Drift: log odds B logit(p); several by commas.",
    intercept="Drift: log odds A + logit(p); likewise.",
    spread="Drift of forecasts: outcomes scatter S times as widely as predicted; likewise.",
    shift="Drift of forecasts: outcomes are D predicted deviations higher; likewise.",
    n_streams="N: Simulated streams for each drift.",
    **STUDY,
)
def plan_monitoring(*, watched: Watched, file: StudyFile, out: Output) -> None:
    """Plan how models are watched: levels for a rate of false alarms, and delays until an alarm.

    Written as JSON, the plan is the --plan of caltest monitor, sample-size and power, and the
    --calibration-plan of pytest.
    """
    write, asked = out.writer(file.file), watched.asked()
    with progress_bar("simulating", quiet=out.quiet):
        plan = caltest.plan_monitoring(file.distribution(), **asked)
    write(plan)


# ---- values -------------------------------------------------------------------------------------


def _of_scipy(*, beta: str | None = None, dirichlet: str | None = None) -> object:
    """Return the distribution of SciPy that was named."""
    from scipy import stats

    if beta is not None:
        values = numbers(beta, "--beta", "2,5", kind=POSITIVE)
        if len(values) != 2:
            raise invalid("--beta must have 2 parameters", str(len(values)), "write 2,5")
        return stats.beta(*values)
    values = numbers(str(dirichlet), "--dirichlet", "1,1,1", kind=POSITIVE)
    if len(values) < 2:
        raise invalid("--dirichlet must have at least 2 parameters", "1", "write 1,1,1")
    return stats.dirichlet(values)


def numbers(text: str, option: str, example: str, kind: str = "numbers") -> list[float]:
    """Read finite numbers that are joined by commas."""
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = [math.nan]
    least = 0.0 if kind == POSITIVE else -math.inf
    if not all(least < value < math.inf for value in values):
        raise invalid(f"{option} must be {kind} joined by commas", shown(text), f"write {example}")
    return values
