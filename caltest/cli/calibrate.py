"""`caltest calibrate fit` and `apply`: a calibration map, fitted, kept in a file, and applied.

The file is what `to_json` of the calibrator gives, and what it was fitted on;
`caltest.calibrators.Calibrator.from_json` reads it too.
"""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

from caltest import __version__, checks, outputs
from caltest.cli import inputs, options, settings
from caltest.cli.output import choose_format, echo, progress_bar, to_file, write_text
from caltest.errors import InvalidInput, an, invalid, rows_named
from caltest.predictions import Predictions, files, tables
from caltest.predictions.options import FILE_FORMATS
from caltest.predictions.tables import ColumnTable
from caltest.results.base import plain
from caltest.types import Floats

# ---- fit -----------------------------------------------------------------------------------------


@options.grouped(
    method="KEY: Calibrator: temperature, dirichlet, isotonic, ..., of forecasts variance-scaling, "
    "beta-pit, ..., see `caltest list calibrators`; or auto, a mixture of several with the least "
    "cross-validated log loss.",
    set_="Option of the calibrator, such as lam=0.01; see `caltest list calibrators KEY`. "
    "Repeatable.",
    n_resamples="Resamples of the test in the summary.",
    rng="Seed of all random numbers; the same file and seed give the same map.",
    output="Write the map here (JSON); - is standard output.",
    quiet="No summary, no progress bar and no warnings.",
)
def fit(
    file: inputs.RowsFile,
    *,
    method: str,
    set_: options.Keys = None,
    n_resamples: int = 999,
    rng: int = 0,
    n_jobs: int | None = None,
    output: Path | None = None,
    quiet: bool = False,
) -> None:
    """Fit a calibration map to predictions that the model was not fitted to, and save it.

    Forecasts of numbers, whose columns --mean and the like name, have maps of their own: beta-pit,
    variance-scaling, ...

    The map goes to --output, or else to standard output; a summary of it is printed, and how maps
    of four fifths of the rows do on the others, as `caltest compare` has it for the same seed.
    """
    choose_format(None, output, file=file.file)
    with progress_bar("fitting", quiet=quiet):
        from sklearn.base import clone

        from caltest.calibrators import FORECAST_MAPS, BinaryCalibrator, OneVsRest
        from caltest.reporting.about import data_hash

        seed, jobs = checks.check_seed(rng), checks.check_jobs(n_jobs)
        own: dict[str, Any] = {"seed": seed, "n_jobs": jobs}
        own |= {"kinds": FORECAST_MAPS} if file.forecasts else {}
        chosen = settings.calibrator(method, settings.parse(set_), **own)
        predictions, logits = file.predictions(), file.logits
        is_binary = predictions.m > 2 and isinstance(chosen, BinaryCalibrator)
        if is_binary:
            chosen = OneVsRest(chosen, n_jobs=jobs)
        fitted = clone(chosen)
        if file.from_logits:  # as they stand: not every map sees only the probabilities in them
            fitted.set_params(from_logits=True, classes=predictions.classes.tolist())
            fitted.fit(logits, predictions.classes[predictions.labels], predictions.sample_weight)
        else:
            fitted.fit(predictions)
        options: dict[str, Any] = {"n_resamples": n_resamples, "rng": seed, "n_jobs": jobs}
        summary = "" if quiet else str(fitted.summary(**options))
        if not quiet:
            summary += _out_of_fold({method: chosen}, predictions, logits, options)
    if "n_jobs" in fitted.get_params(deep=False):
        fitted.set_params(n_jobs=None)  # the number of threads is no property of the map
    of_classes: dict[str, Any] = {}
    if not file.forecasts:
        of_classes["classes"] = plain(fitted.classes_)
        of_classes["from_logits"] = bool(fitted.from_logits)
    saved = {
        "schema": f"caltest/{fitted.schema}/1",
        "caltest": __version__,
        "title": fitted.title,
        **of_classes,
        "data": {  # what it was fitted on, so that it can be found again
            "source": predictions.source,
            "n": predictions.n,
            "label": file.observed,
            "columns": file.columns,
            "sha256": data_hash(predictions),
        },
        **fitted.to_dict(),
    }
    text = json.dumps(saved, indent=2, ensure_ascii=False, allow_nan=False)
    write_text(f"{text}\n", output=output)
    if is_binary and not quiet:
        notice = f"--method {method} is for two classes: fitted for each class against the others"
        echo(f"caltest: {notice}\n", err=True)
    if summary:
        echo(summary, err=to_file(output) is None)


def _out_of_fold(maps: Any, predictions: Predictions, logits: Any, options: Any) -> str:
    """Print how the map does on rows that it was not fitted to, by the rule of `compare`."""
    from caltest import render
    from caltest.comparison.calibrators import FEWEST_ROWS
    from caltest.comparison.maps import set_of
    from caltest.comparison.out_of_fold import out_of_fold

    if predictions.n < FEWEST_ROWS:
        return f"\nOut of fold: not tested, {predictions.n} rows are fewer than {FEWEST_ROWS}.\n"
    data = set_of(predictions, None if logits is None else checks.check_logits(logits))
    found = out_of_fold(predictions, maps, data=data, correction=None, **options)
    return render.text(found.sheet())


# ---- apply ---------------------------------------------------------------------------------------


@options.grouped(
    map_="MAP: What `caltest calibrate fit` wrote.",
    file="NEW: Predictions without or with labels, in a format as for `caltest test`; - for "
    "standard input.",
    probs="Columns of the probabilities, or logits, if other than those of the fit: a prefix, one "
    "name, or names joined by commas in the order of the classes.",
    prefix="TEXT: What the names of the new columns begin with.",
    form=f"{', '.join(FILE_FORMATS)}; by default that of --output's suffix, else that of NEW.",
    offers={"form": FILE_FORMATS},
)
def apply(
    map_: Path,
    file: Path,
    *,
    probs: str | None = None,
    renormalize: bool = False,
    prefix: str = "calibrated_",
    form_of: inputs.FileForm,
    form: str | None = None,
    output: Path | None = None,
    quiet: bool = False,
) -> None:
    """Add calibrated probabilities to a file, whose columns all stay as they are.

    The new columns are named calibrated_CLASS, of forecasts calibrated_mean and calibrated_scale,
    calibrated_m_1, ... or calibrated_q_0.05, ... Those of the predictions must have the names that
    they had in the fit, or be named by --probs.
    """
    path = to_file(output)
    if path is not None:
        outputs.check_target(path, "--output", inputs=(file, map_))
    with progress_bar("calibrating", quiet=quiet):
        fitted = read_map(map_)
        opened, how = inputs.opened(file), form_of.how
        if form is not None:
            write_as = checks.check_choice(form, FILE_FORMATS, "--format")
        elif path is None or not path.suffix:
            write_as = how["file_format"] or files.format_of(file) or "csv"
        else:
            write_as = files.format_of(path) or ""
            if not write_as:
                rule = f"--output must end in {', '.join(files.SUFFIXES)}, .csv.gz or .tsv.gz"
                raise invalid(rule, repr(path.name), "name the format by --format")
        table = files.table_of_file(opened, **how)
        with rows_named(table.place):
            added = _added(fitted, table, probs, prefix, renormalize=renormalize)
        raw: Any = files.raw_table(opened, as_text=write_as in files.TYPELESS, **how)
        raw = raw | added if isinstance(raw, dict) else raw.with_columns(**added)
        content = io.BytesIO()
        files.write_table(raw, path or content, file_format=write_as)
        if path is None:
            if write_as not in files.TEXT and sys.stdout.isatty():
                rule = f"--output must be a file for {write_as}, which is not text"
                raise invalid(rule, "a terminal", "add -o FILE")
            echo(content.getvalue())


def _columns(
    known: list[str] | None, classes: list[str], table: ColumnTable, probs: str | None
) -> list[str]:
    """Find the columns in the order of the classes."""
    if probs is None and known is not None:
        if missing := [name for name in known if name not in table.names]:
            rule = f"NEW must have the columns of the fit, {checks.listing(missing, limit=10)}"
            got = f"the columns {checks.listing(table.names, limit=30)}"
            raise invalid(rule, got, "name its columns by --probs, in the order of the classes")
        return list(known)
    chosen = options.parse_probs(probs)
    found = tables.prob_columns(table.names, chosen)
    if isinstance(chosen, list) or len(found) == 1:
        return found
    named = dict(zip(tables.stems(found, chosen), found, strict=True))
    if sorted(named) != sorted(classes):
        wanted, got = (checks.listing(names, limit=10) for names in (classes, named))
        remedy = "join the names of the columns by commas, in the order of the classes"
        raise invalid(f"columns of --probs must be those of the classes {wanted}", got, remedy)
    return [named[name] for name in classes]


def _values(fitted: Any, table: ColumnTable, columns: list[str], *, renormalize: bool) -> Floats:
    """Return the calibrated probabilities, (n, m)."""
    from caltest.calibrators.inputs import Inputs

    raw, m = tables.numbers_of_columns(table, columns), len(fitted.classes_)
    width = raw.shape[1] if raw.ndim == 2 else 1
    if width != m and not (width == 1 and m == 2):
        rule = f"NEW must have a column for each of the {m} classes of the fit"
        raise invalid(rule, f"{width}", "name the columns by --probs, in the order of the classes")
    logits = bool(fitted.from_logits)
    read_as: Any = {"renormalize": renormalize, "classes": fitted.classes_}
    try:
        checked = checks.check_logits(raw) if logits else checks.check_probs(raw, **read_as)
    except InvalidInput as error:  # the map says what its columns hold
        remedy = error.remedy.replace("or from_logits=True", "as in the fit")
        raise InvalidInput(error.rule, error.got, remedy) from error
    values: Floats = fitted.calibrate(Inputs(checked, from_logits=logits))
    return values


def _added(
    fitted: Map, table: ColumnTable, probs: str | None, prefix: str, *, renormalize: bool
) -> dict[str, Floats]:
    """Return the new columns: one where the file has one, of the second of two classes."""
    calibrator, known = fitted
    if isinstance(known, dict):
        from caltest.forecasts.laws import law_of

        checks.check_unused("with a map of forecasts", **{"--probs": probs})
        named = inputs.NumberColumns(**known).forecasts_from()
        law = law_of(**tables.choose_forecasts(table, label=None, **named))
        mapped = calibrator.calibrate(law).columns
        added = {prefix + name: values for name, values in mapped.items()}
    else:
        classes = [str(name) for name in calibrator.classes_.tolist()]
        columns = _columns(known, classes, table, probs)
        values = _values(calibrator, table, columns, renormalize=renormalize)
        shown = range(values.shape[1]) if len(columns) > 1 else [1]
        added = {f"{prefix}{classes[k]}": values[:, k] for k in shown}
        if len(columns) == 1 and table.column(columns[0]).ndim == 2:
            added = {prefix.rstrip("_"): values}
    if twice := [name for name in added if name in table.names]:
        rule = "columns that are added must have new names"
        raise invalid(rule, checks.listing(twice[:3]), "choose another --prefix")
    return added


# ---- the file of a map ---------------------------------------------------------------------------


Map = tuple[Any, list[str] | dict[str, str] | None]  # a fitted calibrator, and its columns


def read_map(path: Path) -> Map:
    """Read the file of a map, or what `to_json` of a calibrator wrote.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    Calibrator or ForecastCalibrator
        Fitted.
    list of str, dict or None
        Names of the columns of the probabilities that it was fitted on; None where the file does
        not say. Of forecasts those of their parts.

    Raises
    ------
    InvalidInput
        If the file is none of these, was written by a later version, or is damaged.
    """
    from caltest.calibrators import Calibrator, ForecastCalibrator

    name, fit_one = path.name, "fit one with caltest calibrate fit"
    if path == inputs.STREAM or not path.is_file():
        raise invalid("MAP must name a file", repr(str(path)), fit_one)
    remedy = "pass what caltest wrote"
    values = checks.parse_json(path.read_bytes(), f"MAP {name!r} must be JSON", remedy)
    if not isinstance(values, dict):
        raise invalid(f"MAP {name!r} must be a JSON object", an(type(values).__name__), remedy)
    is_whole = "schema" in values  # what to_json of a calibrator wrote names none: it has no data
    check = checks.check_schema if is_whole else checks.check_version
    kind: Any = ForecastCalibrator
    if not str(values.get("schema")).startswith(f"caltest/{kind.schema}/"):
        kind = Calibrator
    values = check(values, f"caltest/{kind.schema}/1", f"MAP {name!r}")
    if "calibrator" not in values or not values.get("state"):
        got = f"{name!r} without a fitted calibrator"
        raise invalid("MAP must be a calibration map", got, fit_one)
    calibrator = kind.from_dict(values)
    given = getattr(calibrator, "feature_names_in_", None)
    columns = values["data"]["columns"] if is_whole else given
    return calibrator, columns if isinstance(columns, dict | None) else list(map(str, columns))
