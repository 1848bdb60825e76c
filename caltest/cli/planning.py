"""`caltest power`, `caltest sample-size` and `caltest precision`: plan a validation study."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caltest.cli import calibration_map, completion, inputs, options
from caltest.cli.output import Output
from caltest.cli.progress import progress_bar
from caltest.cli.settings import ChosenTests
from caltest.errors import InvalidInput, invalid, shown
from caltest.validation import check_unused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from caltest.planning.distributions import PredictionDistribution

LEVEL = 0.05

# ---- where predictions come from ----------------------------------------------------------------

File = Annotated[
    Path | None,
    typer.Argument(
        metavar="FILE",
        help="Predictions like those of the study, labels not needed, in a format as for `caltest "
        "test`; - for standard input.",
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="COLUMN",
        help="Column of labels, if --probs would take it for a probability.",
        autocompletion=completion.of_columns,
    ),
]
Beta = Annotated[
    str | None,
    typer.Option(
        "--beta", metavar="A,B", help="Draw risks from this Beta distribution, not from FILE."
    ),
]
Dirichlet = Annotated[
    str | None,
    typer.Option(
        "--dirichlet",
        metavar="A,B,C",
        help="Draw predictions from this Dirichlet distribution, not from FILE.",
    ),
]

# ---- what is true -------------------------------------------------------------------------------

Temperature = Annotated[
    float | None,
    typer.Option("--temperature", metavar="T", help="Truth: softmax(log p / T)."),
]
Slope = Annotated[
    float | None,
    typer.Option("--slope", metavar="B", help="Truth: log odds A + B logit(p)."),
]
Intercept = Annotated[
    str | None,
    typer.Option(
        "--intercept", metavar="A", help="The A of --slope; one for each class of several."
    ),
]
Ratio = Annotated[
    float | None,
    typer.Option("--ratio", metavar="R", help="Truth: p / R, so that 1.2 is a risk 20 % too high."),
]
Noise = Annotated[
    float | None,
    typer.Option("--noise", metavar="S", help="Truth: a share S of the labels is uniform."),
]
Map = Annotated[
    Path | None,
    typer.Option(
        "--map", metavar="FILE", help="Truth: the map that `caltest calibrate fit` wrote."
    ),
]

# ---- what is tested -----------------------------------------------------------------------------

Lens = Annotated[
    str,
    typer.Option(
        "--lens",
        metavar="KEY",
        help="Aspect of the predictions to test: strong, confidence, classwise[1], ...",
        autocompletion=completion.of_choices(completion.LENSES),
    ),
]
Tests = Annotated[
    list[str] | None,
    typer.Option(
        "--test",
        metavar="KEY",
        help="Test: combined (the default), skce, ... Repeat it or join keys by commas to compare "
        "tests.",
        autocompletion=completion.of_registry("tests"),
    ),
]
OneTest = Annotated[
    list[str] | None,
    typer.Option(
        "--test",
        metavar="KEY",
        help="The test: combined (the default), skce, ...",
        autocompletion=completion.of_registry("tests"),
    ),
]
Level = Annotated[
    float | None,
    typer.Option("--level", metavar="L", help="Significance level.", show_default="0.05"),
]
DataSets = Annotated[
    int, typer.Option("--n-datasets", metavar="N", help="Simulated data sets for each n.")
]

# ---- what is asked for --------------------------------------------------------------------------

Sizes = Annotated[
    str,
    typer.Option("--n", metavar="N", help="Rows of the study; several, joined by commas."),
]
Target = Annotated[
    float, typer.Option("--power", metavar="P", help="Find the least n with this power.")
]
Least = Annotated[int, typer.Option("--n-min", metavar="N", help="Least n that is tried.")]
Most = Annotated[int, typer.Option("--n-max", metavar="N", help="Largest n that is tried.")]
RatioWidth = Annotated[
    float | None,
    typer.Option("--ratio-width", metavar="W", help="Width of the interval of E/O."),
]
SlopeWidth = Annotated[
    float | None,
    typer.Option(
        "--slope-width", metavar="W", help="Width of the interval of the calibration slope."
    ),
]
InterceptWidth = Annotated[
    float | None,
    typer.Option(
        "--intercept-width",
        metavar="W",
        help="Width of the interval of the calibration in the large.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class StudyFile:
    """A file of predictions, if there is one, and what its columns hold."""

    file: File = None
    label: Label = None
    probs: options.Probs = None
    weight: options.Weight = None
    logits: options.Logits = False
    renormalize: options.Renormalize = False
    input_format: options.InputFormat = None

    def distribution(
        self, classes: str | None = None, **drawn: str | None
    ) -> PredictionDistribution:
        """Return its rows, or the distribution that takes its place.

        Parameters
        ----------
        classes : str, optional
            What `--classes` gave.
        drawn : str, optional
            What `--beta` and `--dirichlet` gave, by these names.
        """
        from caltest.planning.distributions import as_distribution, distribution_of_table
        from caltest.predictions import ModelData

        _check_one_of({"FILE": self.file, **{f"--{name}": text for name, text in drawn.items()}})
        named = options.parse_classes(classes)
        if self.file is None:
            self._check_no_columns()
            return as_distribution(ModelData(_of_scipy(**drawn), classes=named))
        table, name = inputs.table(self.file, self.input_format)
        given = ModelData(
            None,
            label=self.label,
            probs=options.parse_probs(self.probs),
            classes=named,
            from_logits=self.logits,
            renormalize=self.renormalize,
        )
        return distribution_of_table(table, given, name=name, weight=self.weight)

    def _check_no_columns(self) -> None:
        """Check that options which would have no effect are not given."""
        given = {
            "--label": self.label,
            "--probs": self.probs,
            "--weight": self.weight,
            "--logits": self.logits or None,
            "--renormalize": self.renormalize or None,
            "--input-format": self.input_format,
        }
        check_unused("without FILE", **given)


@dataclass(frozen=True, kw_only=True)
class TruthOptions:
    """How far the predictions of the study are off."""

    temperature: Temperature = None
    slope: Slope = None
    intercept: Intercept = None
    ratio: Ratio = None
    noise: Noise = None
    map_file: Map = None

    def stated(self) -> dict[str, Any]:
        """Return the arguments of `power` that it stands for."""
        fitted = None if self.map_file is None else calibration_map.read(self.map_file).calibrator
        return {
            "temperature": self.temperature,
            "slope": self.slope,
            "intercept": self._intercepts(),
            "ratio": self.ratio,
            "noise": self.noise,
            "truth": fitted,
        }

    def _intercepts(self) -> float | list[float] | None:
        """One number by itself, for two classes; several for several."""
        if self.intercept is None:
            return None
        values = numbers(self.intercept, "--intercept", "0,0.5,1")
        return values[0] if len(values) == 1 else values


@dataclass(frozen=True, kw_only=True)
class ProcedureOptions(ChosenTests):
    """The tests of each simulated data set."""

    lens: Lens = "strong"
    test: Tests = None
    tolerance: options.Tolerance = None
    equivalence: options.Equivalence = False
    level: Level = None
    plan: options.Plan = None

    def asked(self) -> dict[str, Any]:
        """Return the arguments of `power` that they stand for."""
        return {
            "lens": self.lens,
            "tolerance": self.tolerance,
            "equivalence": self.equivalence,
            "level": self._level(),
            **super().asked(),
        }

    def _level(self) -> float:
        """Return the level of the tests, which a plan of monitoring may have."""
        if self.plan is None:
            return LEVEL if self.level is None else self.level
        from caltest.monitoring import MonitoringPlan

        check_unused("where --plan has it", level=self.level)
        return MonitoringPlan.read(self.plan).level_of_checks()


@dataclass(frozen=True, kw_only=True)
class OneTestOptions(ProcedureOptions):
    """The test of each simulated data set."""

    test: OneTest = None


@dataclass(frozen=True, kw_only=True)
class SimulationOptions:
    """How much is simulated, and from which seed."""

    n_datasets: DataSets = 1000
    n_resamples: options.Resamples = 199
    seed: options.Seed = None
    jobs: options.Jobs = None

    def asked(self) -> dict[str, Any]:
        """Return the arguments of `power` that it stands for."""
        return {
            "n_datasets": self.n_datasets,
            "n_resamples": self.n_resamples,
            "rng": self.seed,
            "n_jobs": self.jobs,
        }


@options.grouped
def power(
    *,
    n: Sizes,
    beta: Beta = None,
    dirichlet: Dirichlet = None,
    truth: TruthOptions,
    file: StudyFile,
    classes: options.Classes = None,
    tests: ProcedureOptions,
    simulation: SimulationOptions,
    out: Output,
) -> None:
    """Power of tests of calibration in studies of n rows, by simulation.

    Rows of FILE are drawn with replacement. Without a truth, the share of rejections where the
    predictions are calibrated.
    """
    write = out.writer(file.file)
    with progress_bar("simulating", quiet=out.quiet) as progress:
        from caltest import power as power_of

        result = power_of(
            file.distribution(classes, beta=beta, dirichlet=dirichlet),
            n=_sizes(n),
            progress=progress,
            **truth.stated(),
            **tests.asked(),
            **simulation.asked(),
        )
    write(result)


@options.grouped
def sample_size(
    *,
    power: Target = 0.8,
    n_min: Least = 20,
    n_max: Most = 10_000,
    beta: Beta = None,
    dirichlet: Dirichlet = None,
    truth: TruthOptions,
    file: StudyFile,
    classes: options.Classes = None,
    test: OneTestOptions,
    simulation: SimulationOptions,
    out: Output,
) -> None:
    """Number of rows with which a test of calibration has a power, by simulation.

    Rows of FILE are drawn with replacement.
    """
    write = out.writer(file.file)
    with progress_bar("simulating", quiet=out.quiet) as progress:
        from caltest import sample_size as sample_size_of

        result = sample_size_of(
            file.distribution(classes, beta=beta, dirichlet=dirichlet),
            power=power,
            n_min=n_min,
            n_max=n_max,
            progress=progress,
            **truth.stated(),
            **test.asked(),
            **simulation.asked(),
        )
    write(result)


@options.grouped
def precision(
    *,
    ratio_width: RatioWidth = None,
    slope_width: SlopeWidth = None,
    intercept_width: InterceptWidth = None,
    beta: Beta = None,
    truth: TruthOptions,
    file: StudyFile,
    seed: options.Seed = None,
    out: Output,
) -> None:
    """Number of rows that makes 95 % confidence intervals as narrow as is wanted, for two classes.

    Of expected/observed events (E/O) and of the slope, 0.2 wide each, unless widths are given.
    """
    write = out.writer(file.file)
    widths: dict[str, Any] = {
        "ratio_width": ratio_width,
        "slope_width": slope_width,
        "intercept_width": intercept_width,
    }
    asked = widths if any(width is not None for width in widths.values()) else {}
    with progress_bar("computing", quiet=out.quiet):
        from caltest import sample_size_for_precision

        result = sample_size_for_precision(
            file.distribution(beta=beta), rng=seed, **asked, **truth.stated()
        )
    write(result)


# ---- values -------------------------------------------------------------------------------------


def _of_scipy(*, beta: str | None = None, dirichlet: str | None = None) -> object:
    """Return the distribution of SciPy that was named."""
    from scipy import stats

    if beta is not None:
        values = _positive(beta, "--beta", "2,5")
        if len(values) != 2:
            raise invalid("--beta must have 2 parameters", str(len(values)), "write 2,5")
        return stats.beta(*values)
    values = _positive(str(dirichlet), "--dirichlet", "1,1,1")
    if len(values) < 2:
        raise invalid("--dirichlet must have at least 2 parameters", "1", "write 1,1,1")
    return stats.dirichlet(values)


def _positive(text: str, option: str, example: str) -> list[float]:
    values = numbers(text, option, example, kind="positive numbers")
    if min(values) <= 0:
        raise _nonumbers(text, option, example, "positive numbers")
    return values


def numbers(text: str, option: str, example: str, kind: str = "numbers") -> list[float]:
    """Read finite numbers that are joined by commas."""
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = [math.nan]
    if not all(map(math.isfinite, values)):
        raise _nonumbers(text, option, example, kind)
    return values


def _nonumbers(text: str, option: str, example: str, kind: str) -> InvalidInput:
    return invalid(f"{option} must be {kind} joined by commas", shown(text), f"write {example}")


def _sizes(text: str) -> list[int]:
    values = numbers(text, "--n", "100,200,500")
    if any(value != int(value) for value in values):
        raise invalid("--n must be whole numbers", shown(values), "write 100,200,500")
    return [int(value) for value in values]


def _check_one_of(given: Mapping[str, object]) -> None:
    """Check that predictions come from one place."""
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        rule = f"one of {', '.join(given)} must be given"
        raise invalid(rule, " and ".join(named) or "none", "pass one, such as --beta 2,5")
