"""Options that many functions take, each described once: what is read, and what is planned.

Functions take them as `**data: Unpack[Reading]`; `caltest.cli.options` makes the options of the
command line of the same annotations, which begin with the name of a value: "COLUMN: ".
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Annotated, Any, TypedDict

# What other libraries call an argument of ours: of several, the one that the function has is meant.
ELSEWHERE = {
    "level": "alpha significance significance_level sig_level",
    "confidence": "conf_level confidence_level ci",
    "n_resamples": "n_boot n_bootstrap n_bootstraps n_permutations n_iter n_sim",
    "bins groups": "n_bins num_bins nbins n_groups g",
    "rng": "random_state seed random_seed rng_seed",
    "n_jobs": "n_workers num_workers n_threads",
    "sample_weight": "weights weight sample_weights w",
    "by": "groups group sensitive_features protected subgroups strata",
    "cluster clusters": "cluster_id subject subject_id id",
    "from_logits": "logits is_logit",
    "y labels": "y_true y_test target targets outcome",
    "model probs source": "y_prob y_proba y_pred y_score y_hat prob_pos",
    "data": "X X_test x features",
    "model": "clf classifier probs preds",
}
ENGINES = ("auto", "rows", "cells", "chunks")
ON_ERROR = ("raise", "skip")
FILE_FORMATS = ("csv", "tsv", "parquet", "feather", "jsonl", "npz", "excel")


class NoOptions(TypedDict):
    """None: what a function is given beside its arguments is answered by the one that is meant."""


class ClassOptions(TypedDict, total=False):
    """How probabilities are read, and what the classes are; see `test_calibration`."""

    from_logits: Annotated[bool, "The columns hold logits, not probabilities."]
    renormalize: Annotated[bool, "Rescale rows whose sum is off by rounding."]
    ordinal: Annotated[bool, "The classes are ordered, as the probabilities are."]


class FileOptions(TypedDict, total=False):
    """How a file is read where what is in it is not to tell; see `Predictions.read`."""

    file_format: Annotated[
        str | None,
        f"NAME: {', '.join(FILE_FORMATS)}; by default that of the suffix, or of what is in the "
        "file.",
    ]
    sep: Annotated[str | None, "CHAR: Separator of the columns of a text, such as ; or tab."]
    decimal: Annotated[str | None, "CHAR: Decimal mark of a text: . or a comma."]
    encoding: Annotated[str | None, "NAME: Encoding of a text, such as utf-8 or latin-1."]
    sheet: Annotated[str | None, "NAME: Sheet of a spreadsheet, by default the first."]


class MeasuredOptions(ClassOptions, total=False):
    """The rows of a function of (probs, labels); see `Predictions`."""

    classes: object
    sample_weight: object


class Measured(MeasuredOptions, total=False):
    """The same with the number of threads, as in joblib, of a function that gives a value."""

    n_jobs: int | None


class ColumnOptions(ClassOptions, total=False):
    """How a model, its data and their columns are read; see `test_calibration`."""

    label: Annotated[str | None, "COLUMN: Column of the true labels."]
    features: object  # names of columns, and for `test_segments` their values too
    probs: Annotated[
        str | Sequence[str] | None,
        "NAMES: Columns of the probabilities: a prefix (p_), one name (binary: the probability of "
        "the second class), or names joined by commas.",
    ]
    classes: Annotated[
        object,
        "NAMES: Classes in the order of the probabilities, joined by commas; one that has a comma "
        "in double quotes.",
    ]


class WeightedOptions(ColumnOptions, total=False):
    """The same with weights of rows."""

    sample_weight: Annotated[object, "COLUMN: Column of the weights of the rows."]


class RowOptions(WeightedOptions, total=False):
    """The same with rows that depend on each other."""

    cluster: Annotated[
        object,
        "COLUMN: Rows with the same value here, such as a patient, may depend on each other.",
    ]
    time: Annotated[
        object, "COLUMN: Rows depend on each other where their times are up to --lag steps apart."
    ]
    lag: Annotated[
        int | None, "STEPS: With --time: h - 1 for forecasts of what happens within h steps."
    ]


class ForecastOptions(TypedDict, total=False):
    """Columns of forecasts of numbers; see `Forecasts.from_frame`."""

    mean: Annotated[str | None, "COLUMN: Forecasts of numbers: column of their means."]
    scale: Annotated[object, "COLUMN: With --mean: column of their standard deviations."]
    members: Annotated[object, "NAMES: Ensembles: the prefix of the columns of their members."]
    quantiles: Annotated[object, "NAMES: Quantiles: the prefix of columns such as q_0.05."]


class EngineOptions(TypedDict, total=False):
    """Where rows are counted, and what becomes of those that are wrong; see `test_calibration`."""

    engine: Annotated[
        str,
        "NAME: rows: read into memory; cells: count 2^16 cells of predictions in one query; "
        "chunks: sums over chunks of rows, of several classes; auto: cells or chunks above 2 "
        "million rows.",
    ]
    on_error: Annotated[
        str,
        "NAME: With cells, files that cannot be read and rows that are wrong: raise, or skip with "
        "a note.",
    ]


class Reading(RowOptions, ForecastOptions, EngineOptions, total=False):
    """All options of data; see `test_calibration`, where each is described."""

    progress: Callable[[int, int], None] | None


class Truth(TypedDict, total=False):
    """What is true in a planned study; see `power`."""

    temperature: Annotated[float | None, "T: Truth: softmax(log p / T)."]
    slope: Annotated[float | None, "B: Truth: log odds A + B logit(p)."]
    intercept: Annotated[
        float | Sequence[float] | None, "A: The A of --slope; one for each class of several."
    ]
    ratio: Annotated[float | None, "R: Truth: p / R, so that 1.2 is a risk 20 % too high."]
    noise: Annotated[float | None, "S: Truth: a share S of the labels is uniform."]
    truth: Annotated[object, "FILE: Truth: the map that `caltest calibrate fit` wrote."]
    spread: Annotated[float | None, "S: Truth of forecasts: outcomes scatter S times as widely."]
    shift: Annotated[float | None, "D: Truth of forecasts: outcomes are D deviations higher."]


class Procedure(TypedDict, total=False):
    """The tests of a planned study; see `power`."""

    test: Annotated[object, "KEY: Test: combined (the default), skce, ... Repeatable, as --lens."]
    lens: Annotated[
        object,
        "KEY: Aspect of the predictions to test: strong (the default), confidence, classwise, ... "
        "Repeat it or join keys by commas.",
    ]
    null: Annotated[
        str | None,
        "KEY: Null distribution of the statistic: exact (the default of most tests), ...",
    ]
    tolerance: Annotated[
        float | None, "T: Test that the error is at most T, in the units of the printed estimate."
    ]
    equivalence: Annotated[
        bool,
        "Test that the error is at least --tolerance: a small p-value shows calibration within it.",
    ]
    level: Annotated[float, "L: Significance level, such as 0.05."]


class PlannedData(WeightedOptions, Truth, total=False):
    """Where the predictions of a planned study come from, and what is true there; see `power`."""


def parted(options: Mapping[str, object], *kinds: type) -> list[dict[str, Any]]:
    """Part the options that a function was given by what describes them.

    Parameters
    ----------
    options : Mapping
        The options by name.
    *kinds : type of TypedDict
        What describes some of them; one that two of these describe goes to the first.

    Returns
    -------
    list of dict
        Those of each kind, and in the end the others, as of a measure.
    """
    rest: dict[str, Any] = dict(options)
    found = [{name: rest.pop(name) for name in names_of(kind) if name in rest} for kind in kinds]
    return [*found, rest]


def names_of(kind: type) -> Mapping[str, object]:
    """Return the names of the options that a TypedDict describes, as keys."""
    return kind.__annotations__


def check_names(options: Mapping[str, object], kind: type, function: Callable[..., Any]) -> None:
    """Check that a function was given no option but those of a kind, as Python does by itself.

    The error names the option, or one of the function's other arguments, that may be meant.
    """
    for name in options:
        if name not in names_of(kind):
            near = did_you_mean(name, [*names_of(kind), *inspect.signature(function).parameters])
            words = f"{function.__qualname__}() got an unexpected keyword argument {name!r}"
            raise TypeError("; ".join(filter(None, (words, near))))


def did_you_mean(name: str, known: Collection[str]) -> str:
    """Name the option that other libraries call so, or that is spelt nearly so, or nothing."""
    for ours, others in ELSEWHERE.items():
        if name in others.split() and (found := [one for one in ours.split() if one in known]):
            return f"use {found[0]}="
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.75)
    return f"did you mean {near[0]}=?" if near else ""
