"""`caltest power`: plan a validation study."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caltest.cli import calibration_map, completion, inputs, options, settings
from caltest.cli.output import choose_format, write
from caltest.cli.progress import progress_bar
from caltest.validation import (
    check_numbers_of_text,
    check_one_of,
    check_parameters,
    check_unused,
    check_whole_numbers,
)

if TYPE_CHECKING:
    from caltest.planning import Power, PrecisionSize, SampleSize

    Planned = Power | PrecisionSize | SampleSize

File = Annotated[
    Path | None,
    typer.Argument(
        metavar="FILE",
        help="Predictions like those of the study, labels not needed, in a format as for `caltest "
        "test`; - for standard input. Their rows are drawn with replacement.",
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
    typer.Option("--beta", metavar="A,B", help="Draw risks from this Beta law, without FILE."),
]
Dirichlet = Annotated[
    str | None,
    typer.Option(
        "--dirichlet", metavar="A,B,C", help="Draw predictions from this Dirichlet law, likewise."
    ),
]
Sizes = Annotated[
    str | None,
    typer.Option("--n", metavar="N", help="Rows of the study; several, joined by commas."),
]
Target = Annotated[
    float | None,
    typer.Option("--power", metavar="P", help="Find the least n with this power, such as 0.8."),
]
RatioWidth = Annotated[
    float | None,
    typer.Option(
        "--ratio-width", metavar="W", help="Find the n whose 95 % interval of E/O is W wide."
    ),
]
SlopeWidth = Annotated[
    float | None,
    typer.Option(
        "--slope-width", metavar="W", help="Likewise for the calibration slope, such as 0.2."
    ),
]
InterceptWidth = Annotated[
    float | None,
    typer.Option("--intercept-width", metavar="W", help="Likewise for calibration in the large."),
]
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
Level = Annotated[float, typer.Option("--level", metavar="L", help="Significance level.")]
Lens = Annotated[
    str,
    typer.Option(
        "--lens",
        metavar="KEY",
        help="Aspect of the predictions to test: strong, confidence, classwise[cat], ...",
        autocompletion=completion.of_choices(completion.LENSES),
    ),
]
Least = Annotated[int, typer.Option("--n-min", metavar="N", help="Least n for --power.")]
Most = Annotated[int, typer.Option("--n-max", metavar="N", help="Largest n for --power.")]
DataSets = Annotated[
    int, typer.Option("--n-datasets", metavar="N", help="Simulated data sets for each n.")
]


FILE_ONLY = ("label", "probs", "weight", "logits", "renormalize", "input_format")
SEARCHED = ("n_min", "n_max")
TESTED = (
    *("test", "lens", "null", "set_", "tolerance", "equivalence", "level"),
    *("n_datasets", "n_resamples", "jobs", *SEARCHED),
)


def power(
    context: typer.Context,
    file: File = None,
    *,
    n: Sizes = None,
    target: Target = None,
    ratio_width: RatioWidth = None,
    slope_width: SlopeWidth = None,
    intercept_width: InterceptWidth = None,
    temperature: Temperature = None,
    slope: Slope = None,
    intercept: Intercept = None,
    ratio: Ratio = None,
    noise: Noise = None,
    map_file: Map = None,
    beta: Beta = None,
    dirichlet: Dirichlet = None,
    label: Label = None,
    probs: options.Probs = None,
    classes: options.Classes = None,
    weight: options.Weight = None,
    logits: options.Logits = False,
    renormalize: options.Renormalize = False,
    input_format: options.InputFormat = None,
    lens: Lens = "strong",
    test: options.Tests = None,
    null: options.Null = None,
    set_: options.Set = None,
    tolerance: options.Tolerance = None,
    equivalence: options.Equivalence = False,
    level: Level = 0.05,
    n_min: Least = 20,
    n_max: Most = 10_000,
    n_datasets: DataSets = 1000,
    n_resamples: options.Resamples = 199,
    seed: options.Seed = None,
    jobs: options.Jobs = None,
    form: options.Format = None,
    output: options.Output = None,
    quiet: options.Quiet = False,
) -> None:
    """Plan a study: the power of n rows, or the rows that a power or an interval needs."""
    form = choose_format(form, output, file=file)
    check_one_of(
        {"FILE": file, "--beta": beta, "--dirichlet": dirichlet}, "pass one, --beta 2,5 say"
    )
    widths = {
        "ratio_width": ratio_width,
        "slope_width": slope_width,
        "intercept_width": intercept_width,
    }
    wide = next((width for width in widths.values() if width is not None), None)
    asked = {"--n": n, "--power": target, "a width": wide}
    check_one_of(asked, "pass one, --n 100,200 or --power 0.8 say")
    if file is None:
        _check_unused(context, "without FILE", FILE_ONLY)
    if wide is not None:
        _check_unused(context, "where a width is asked for", TESTED)
    if n is not None:
        _check_unused(context, "where --n is given", SEARCHED)
    tests = options.split_keys(test, "skce")
    if quiet:
        warnings.simplefilter("ignore")
    with progress_bar("simulating", quiet=quiet) as progress:
        law = _law(
            file,
            beta,
            dirichlet,
            input_format=input_format,
            label=label,
            probs=options.parse_probs(probs),
            classes=options.parse_classes(classes),
            weight=weight,
            from_logits=logits,
            renormalize=renormalize,
        )
        stated = {
            "temperature": temperature,
            "slope": slope,
            "intercept": _one_or_many(intercept),
            "ratio": ratio,
            "noise": noise,
            "truth": None if map_file is None else calibration_map.read(map_file).calibrator,
        }
        tested = {
            "test": tests if len(tests) > 1 else tests[0],
            "lens": lens,
            "null": null,
            "tolerance": tolerance,
            "equivalence": equivalence,
            "level": level,
            "n_datasets": n_datasets,
            "n_resamples": n_resamples,
            "rng": seed,
            "n_jobs": jobs,
            "progress": progress,
            **settings.test_options(settings.parse(set_), tests),
        }
        if wide is not None:
            result = _precise(law, rng=seed, **widths, **stated)
        elif n is not None:
            result = _powerful(law, n, **stated, **tested)
        else:
            searched = {"power": target, "n_min": n_min, "n_max": n_max}
            result = _large_enough(law, **searched, **stated, **tested)
    write(result, form=form, output=output)


def _check_unused(context: typer.Context, reason: str, names: Sequence[str]) -> None:
    """Check that options which would have no effect are not on the command line."""
    flags = {parameter.name: parameter.opts[0] for parameter in context.command.params}
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            check_unused(reason, **{flags[name]: context.params[name]})


def _law(
    file: Path | None,
    beta: str | None,
    dirichlet: str | None,
    *,
    input_format: str | None,
    **columns: Any,
) -> object:
    """Return the predictions of the file, or a distribution."""
    from scipy import stats

    from caltest.planning.laws import as_law, law_of_table

    if file is not None:
        table, name = inputs.table(file, input_format)
        return law_of_table(table, name, **columns)
    if beta is not None:
        values = check_numbers_of_text(beta, "--beta", "2,5", positive=True)
        check_parameters(values, 2, "--beta", exact=True)
        return as_law(stats.beta(*values), classes=columns["classes"])
    values = check_numbers_of_text(str(dirichlet), "--dirichlet", "1,1,1", positive=True)
    check_parameters(values, 2, "--dirichlet", exact=False)
    return as_law(stats.dirichlet(values), classes=columns["classes"])


def _one_or_many(text: str | None) -> float | list[float] | None:
    """One number by itself, for two classes; several for several."""
    if text is None:
        return None
    values = check_numbers_of_text(text, "--intercept", "0,0.5,1")
    return values[0] if len(values) == 1 else values


def _powerful(law: object, sizes: str, **given: Any) -> Planned:
    from caltest.planning import power as power_of

    values = check_whole_numbers(check_numbers_of_text(sizes, "--n", "100,200,500"), "--n")
    return power_of(law, n=values, **given)


def _large_enough(law: object, **given: Any) -> Planned:
    from caltest.planning import sample_size

    return sample_size(law, **given)


def _precise(law: object, **given: Any) -> Planned:
    from caltest.planning import sample_size_for_precision

    return sample_size_for_precision(law, **given)
