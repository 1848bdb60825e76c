"""`report`: the tests of a model, told on a page."""

from __future__ import annotations

import datetime as dt
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from caltest import validation
from caltest.errors import NotApplicable
from caltest.htests import REGISTRY as TESTS
from caltest.htests.cells import as_columns
from caltest.htests.combine import METHODS
from caltest.lenses import Lens, resolve_lens
from caltest.measures import Measure
from caltest.outputs import check_target, write_whole
from caltest.predictions import ModelData, Predictions
from caltest.predictions.options import ColumnOptions, EngineOptions, check_names, parted
from caltest.reporting.about import adequacy, check_meta, with_event
from caltest.reporting.answered import answer_of
from caltest.reporting.blocks import Section
from caltest.reporting.content import Answer, Content, MethodText, RecalibrationContent, as_dict
from caltest.reporting.counted import report_of_cells, source_to_count
from caltest.reporting.data import describe_data
from caltest.reporting.document import sections
from caltest.reporting.estimates import collect_estimates
from caltest.reporting.figures import Figure, draw_counted, draw_figures
from caltest.reporting.grades import test_grades
from caltest.reporting.html import html_page
from caltest.reporting.markdown import markdown_page
from caltest.reporting.methods import methods_of, segments_method
from caltest.reporting.plan import TestPlan, plan_of
from caltest.reporting.profiles import PROFILES, Profile, profile_of, worded
from caltest.reporting.reading import sentence
from caltest.reporting.reproduction import data_hash, reproduction
from caltest.reporting.scores import collect_scores
from caltest.reporting.tested import Settings, run_tests
from caltest.reporting.where import find_segments, find_where
from caltest.reporting.within import certify
from caltest.results import HTestTable
from caltest.segments.inputs import Given, read_segments

if TYPE_CHECKING:
    from caltest.calibrators import Calibrator
    from caltest.calibrators.base import CalibrationSet
    from caltest.reporting.recalibrated import HeldOut
    from caltest.results.verdict import Verdict

SCHEMA = "caltest/report/4"
SUFFIXES = {".html": "html", ".htm": "html", ".md": "markdown", ".json": "json"}


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """A report: its content as values, and its figures.

    Attributes
    ----------
    content : Content
        All numbers and sentences.
    figures : tuple of Figure
        SVG elements with titles and descriptions.
    left_out : tuple of str
        Figures that were not drawn, and why.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M2", n=60, m=3, rng=1)
    >>> page = ct.report(data, n_resamples=19, rng=1)
    >>> isinstance(page, Report), page.to_html().startswith("<!DOCTYPE html>")
    (True, True)
    """

    content: Content
    figures: tuple[Figure, ...]
    left_out: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Report({self.content.title!r}, {len(self.content.answer.tests)} tests)"

    def __str__(self) -> str:
        """Return the title and the verdict; `to_markdown` has the whole page as text."""
        return f"{self.content.title}\n\n{self.verdict()}"

    def verdict(self) -> Verdict:
        """Return the verdict at the head of the page, on all rows, groups and segments together."""
        return self.content.answer.verdict

    @property
    def sections(self) -> list[Section]:
        """The parts of the report in their order."""
        profile = worded(PROFILES[self.content.profile], self.content.meta)
        return sections(self.content, self.figures, self.left_out, profile)

    def to_html(self) -> str:
        """Return one page that needs no network, in which every text of the user's is escaped."""
        return html_page(self.content, self.sections)

    def to_markdown(self) -> str:
        """Return the report as Markdown, with words in place of the figures."""
        return markdown_page(self.content, self.sections)

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values that JSON can hold; figures are told in words."""
        told = [
            {"section": f.section, "title": f.title, "description": f.description}
            for f in self.figures
        ]
        return {**as_dict(self.content), "figures": told, "left_out": list(self.left_out)}

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON, with the name of its schema (`caltest schema report`)."""
        values = {"schema": SCHEMA} | self.to_dict()
        return json.dumps(values, indent=indent, ensure_ascii=False)

    def save(self, path: str | Path) -> Path:
        """Write the report in the format of the suffix: .html, .md or .json.

        Parameters
        ----------
        path : str or Path
            The file; it is overwritten.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        InvalidInput
            If the suffix is another.
        """
        file = Path(path)
        suffix = validation.check_choice(file.suffix.lower(), SUFFIXES, "the suffix of path")
        check_target(file)
        write_whole(file, self.as_text(SUFFIXES[suffix]))
        return file

    def as_text(self, form: str) -> str:
        """Return the report in the format "html", "markdown" or "json"."""
        writers: dict[str, Callable[[], str]] = {
            "html": self.to_html,
            "markdown": self.to_markdown,
            "json": lambda: self.to_json() + "\n",
        }
        return writers[validation.check_choice(form, writers, "form")]()

    def _repr_html_(self) -> str:
        """Show the page in a frame of the notebook, where its styles do not leave it."""
        from markupsafe import escape

        style = "width:100%;height:80vh;border:1px solid #ccc"
        return f'<iframe title="Report" style="{style}" srcdoc="{escape(self.to_html())}"></iframe>'


class Reported(ColumnOptions, EngineOptions, total=False):
    """The options of data of a report; see `test_calibration`."""


def report(
    model: object,
    data: object = None,
    *,
    test: str | Measure | Sequence[str | Measure] | None = None,
    lens: str | Lens | Sequence[str | Lens] | None = None,
    by: object = None,
    segments: object = None,
    cluster: object = None,
    recalibrate: str | Calibrator | Sequence[str | Calibrator] | None = None,
    profile: str | None = None,
    tolerance: float | None = None,
    meta: Mapping[str, str] | None = None,
    title: str | None = None,
    author: str | None = None,
    level: float | None = None,
    correction: str | None = "joint",
    n_resamples: int = 999,
    rng: object = None,
    n_jobs: int | None = None,
    command: str | None = None,
    time: dt.datetime | None = None,
    progress: Callable[[str], None] | None = None,
    **data_options: Unpack[Reported],
) -> Report:
    r"""Test a model and tell on a page what was found, where, and how to repeat it.

    H0 of each test: :math:`P(Y = k \mid p) = p_k` for the predictions p as its lens shows them. The
    page begins with the answer and one diagram; groups, classes, ranges of probability and segments
    follow, each with its gap in percentage points, an interval and an adjusted p-value, then all
    tests. Scores, recalibration, methods and how to repeat the run are the appendix.

    Parameters
    ----------
    model : classifier, calibrator, callable, array, Predictions or None
        As for `test_calibration`.
    data : (X, y), y, data frame, path, iterator of frames or Predictions
        As for `test_calibration`.
    test : str, Measure or list, optional
        By default "combined" and those of the profile, as far as the size of the data allows; the
        page says what it does not.
    lens : str, Lens or list, optional
        By default "strong", for more than two classes also "confidence" and "classwise" for the
        classes that are expected most often, at most 20. A test and a lens that do not go together
        are left out with a remark.
    by : (n,) array, column name, list of column names or True, optional
        Groups to be tested, each by itself, with adjusted p-values.
    segments : str, list of str, dict, data frame, bool (n, S) array or True, optional
        Segments to be tested, which may overlap, as for `test_calibration`; the page shows the
        worst.
    cluster : (n,) array or column name, optional
        The cluster of each row, such as a patient, as for `test_calibration`: rows of one may
        depend on each other. Not with `segments`.
    recalibrate : str, Calibrator or list, optional
        Calibrators, or their keys in `caltest.calibrators.REGISTRY`, to be fitted to four fifths
        of the rows and tested on the others, five times, by the rule of `compare_calibrators`, with
        which the p-values agree.
    profile : {"general", "clinical", "credit", "ml", "forecast"}, optional
        The field whose words, order and tests the page has; by default "general" for two classes
        and "ml" for more. "clinical" has E/O, intercept, slope, ICI and the calibration belt, each
        with its interval or p-value, and the net benefit; "credit" has the grades (the groups of
        `by=`, else the distinct PDs, else tenths) with their traffic lights.
    tolerance : float, optional
        A calibration error in the unit of probabilities, in (0, 1): the page says whether one
        within it is shown, or one beyond it, by the largest cumulative gap and the root mean
        squared gap of bins.
    meta : Mapping, optional
        What the author states: "data period", "limitations", "sample adequacy", any other name,
        and "signatures", the names of those who sign, between semicolons. "event" and "events" name
        what is predicted, as death and deaths.
    title, author : str, optional
        As they stand on the page.
    level : float, optional
        Significance level in (0, 1). The page holds a verdict only where it is given.
    correction : str or None, default "joint"
        Multiple testing, as for `test_calibration`; the tests, the groups and the calibrators are
        three families.
    n_resamples : int, default 999
        B; the smallest attainable p-value is 1 / (B + 1).
    rng : None, int, Generator or SeedSequence
        The seed of all tests and of the folds; the page shows it.
    n_jobs : int, optional
        Threads, as in joblib; the numbers do not depend on it.
    command : str, optional
        How the report was asked for, shown as it is.
    time : datetime, optional
        When it was made; by default now.
    progress : callable, optional
        Called with what is done next.
    **data_options
        Data options, as for `test_calibration`: `label`, `features`, `probs`, `classes`,
        `from_logits`, `renormalize`, `engine` and `on_error`.

    Returns
    -------
    Report
        With `to_html()`, `to_markdown()`, `to_json()` and `save(path)`.

    Other Parameters
    ----------------
    engine : {"auto", "rows", "cells"}, default "auto"
        As for `test_calibration`: "cells" counts the rows of a frame, of files or of chunks in 2^16
        cells of predictions where they lie; "auto" does so with more than 2 million, unless
        `segments`, `recalibrate`, `tolerance` or logits need the rows. The page then has what cells
        are enough for, and says what is absent.
    on_error : {"raise", "skip"}, default "raise"
        Whether rows and files that are wrong are left out of cells; the page says how many. With
        "skip" "auto" counts any number of rows.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule; the message names it, its value and the remedy.
    NotApplicable
        If none of the tests has a meaning for the data.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M2", n=60, m=3, rng=1)
    >>> page = ct.report(data, title="M2", n_resamples=19, rng=1)
    >>> [section.key for section in page.sections][:3]
    ['answer', 'estimates', 'where']
    >>> page.save("report.html")  # doctest: +SKIP
    """
    check_names(data_options, Reported, "report")
    read, how, _ = parted(data_options, ColumnOptions, EngineOptions)
    engine, on_error = how.get("engine", "auto"), how.get("on_error", "raise")
    validation.check_choice("none" if correction is None else correction, METHODS, "correction")
    settings = Settings(
        seed=validation.check_seed(rng),
        n_resamples=validation.check_fixed_resamples(n_resamples, "a report"),
        correction=correction,
        level=None if level is None else validation.check_level(level),
        n_jobs=validation.check_jobs(n_jobs),
        by=by is not None,
        progress=progress or (lambda _what: None),
    )
    error = validation.check_tolerance(tolerance, equivalence=False, null=None)
    stated = check_meta(meta)
    if profile is not None:
        profile_of(profile, 2)
    tests = None if test is None else _checked_tests(test)
    lenses = None if lens is None else [resolve_lens(one) for one in _as_list(lens, "lens")]
    maps = _calibrators(recalibrate)
    given = ModelData(model, data, by=by, cluster=cluster, **read)
    if segments is not None:
        validation.check_unused("with segments", cluster=cluster)
    needs_rows = {
        "segments": segments is not None,
        "cluster": cluster is not None,
        "recalibrate": maps,
        "tolerance": tolerance is not None,
        "features": given.features,
        "from_logits": given.from_logits,
        "renormalize": given.renormalize,
        "by": by is not None and not as_columns(by),
    }
    asked: dict[str, Any] = {
        "command": command,
        "time": time,
        "seed": settings.seed,
        "n_resamples": n_resamples,
    }
    source, counts = source_to_count(engine, given, needs_rows, skips=on_error == "skip")
    page: dict[str, Any] = {"author": author, "level": settings.level, "meta": stated}
    if source is not None and counts:
        found = report_of_cells(
            source,
            given,
            tests=tests,
            lenses=lenses,
            profile=lambda m: worded(profile_of(profile, m), stated),
            by=as_columns(by),
            event=dict(stated).get("event"),
            settings=settings,
            on_error=on_error,
        )
        field = worded(profile_of(profile, found.m), stated)
        full = Content(
            title=_title(title, found.source),
            profile=field.key,
            adequacy=found.adequacy(field),
            reproduction=reproduction(found.data_hash, **asked),
            **page,
            **found.content,
        )
        settings.progress("figures")
        return Report(full, *draw_counted(full))
    if source is not None and not source.is_eager:
        needs = given.needs if segments is None else bool
        given = replace(given, model=None, data=source.table(needs))
    predictions, calibration_set = _read(given, fitted=bool(maps))
    if source is not None and not source.is_eager:
        predictions = predictions.from_source(source.name)
    told = reproduction(data_hash(predictions), **asked)
    predictions = with_event(predictions, stated)
    columns = None if segments is None else read_segments(segments, None, given, predictions.n)
    field = worded(profile_of(profile, predictions.m), stated)
    plan = plan_of(predictions, tests, lenses, field.binary)
    content, outcomes = _content(
        predictions,
        plan,
        maps=maps,
        columns=columns,
        profile=field,
        tolerance=error,
        settings=settings,
        calibration_set=calibration_set,
    )
    full = Content(
        title=_title(title, predictions.source),
        profile=field.key,
        adequacy=" ".join(adequacy(predictions, field)),
        reproduction=told,
        **page,
        **content,
    )
    settings.progress("figures")
    figures, left_out = draw_figures(predictions, full, field, outcomes)
    return Report(full, figures, left_out)


def _title(title: str | None, source: str) -> str:
    name = source.partition(", event: ")[0]  # the line below has it
    return f"Are the probabilities of {name} calibrated?" if title is None else str(title)


def _read(given: ModelData, *, fitted: bool) -> tuple[Predictions, CalibrationSet | None]:
    """Read the predictions and, where maps are fitted to logits, these."""
    if not (fitted and given.from_logits):
        return given.predictions(), None
    from caltest.comparison.maps import read_inputs

    return read_inputs(given)


def _content(
    predictions: Predictions,
    plan: TestPlan,
    *,
    maps: list[Calibrator],
    columns: Given | None,
    profile: Profile,
    tolerance: float | None,
    settings: Settings,
    calibration_set: CalibrationSet | None,
) -> tuple[dict[str, Any], tuple[HeldOut, ...]]:
    """Collect the parts of the content that are computed."""
    tests, left_out = run_tests(predictions, plan, settings)
    where = find_where(predictions, settings)
    segments = None if columns is None else find_segments(predictions, columns, settings)
    within = None if tolerance is None else certify(predictions, tolerance, settings)
    grades, ungraded = _grades(predictions, profile, settings)
    comparison: RecalibrationContent | None = None
    outcomes: tuple[HeldOut, ...] = ()
    if maps:
        from caltest.reporting.recalibrated import compare

        comparison, outcomes = compare(predictions, maps, settings, calibration_set)
    groups = () if where.groups is None else where.groups.rows
    after = () if comparison is None else comparison.tests
    methods: tuple[MethodText, ...] = tuple(
        methods_of(
            [*tests.rows, *groups, *after],
            correction=tests.correction,
            recalibrated=comparison is not None,
        )
    )
    if segments is not None:
        methods = (*methods, segments_method())
    settings.progress("verdict")
    verdict = answer_of(tests.rows[0], where.groups, segments, comparison, settings.n_jobs)
    estimates = collect_estimates(predictions, tests, profile, settings)
    settings.progress("scores")
    parts = {
        "data": describe_data(predictions),
        "answer": Answer(
            verdict=verdict,
            tests=tests,
            left_out=(*left_out, *ungraded),
        ),
        "within": within,
        "estimates": estimates,
        "grades": grades,
        "where": where,
        "segments": segments,
        "scores": collect_scores(predictions, tests),
        "comparison": comparison,
        "methods": methods,
    }
    return parts, outcomes


def _grades(
    predictions: Predictions, profile: Profile, settings: Settings
) -> tuple[HTestTable | None, tuple[str, ...]]:
    """Test the grades of a master scale, where the profile has some."""
    if not profile.graded:
        return None, ()
    try:
        return test_grades(predictions, settings), ()
    except NotApplicable as error:
        return None, (f"Grades are not tested: {sentence(error)}",)


def _checked_tests(test: object) -> list[str | Measure]:
    values = _as_list(test, "test")
    return [
        one if isinstance(one, Measure) else validation.check_choice(one, TESTS, "test")
        for one in values
    ]


def _calibrators(values: object) -> list[Calibrator]:
    """Return calibrators, with their default options where a key stands for one."""
    if values is None:
        return []
    from caltest.calibrators import REGISTRY as CALIBRATORS
    from caltest.calibrators import Calibrator

    return [
        CALIBRATORS[validation.check_choice(one, recalibrations(), "recalibrate")]()
        if isinstance(one, str)
        else validation.check_calibrator(one, Calibrator, "recalibrate")
        for one in _as_list(values, "recalibrate")
    ]


def recalibrations() -> list[str]:
    """Return the keys of the calibrators that need no other one inside of them."""
    from caltest.calibrators import REGISTRY as CALIBRATORS

    return [
        key
        for key, kind in CALIBRATORS.items()
        if key != "identity" and "calibrator" not in inspect.signature(kind).parameters
    ]


def _as_list(value: object, name: str) -> list[Any]:
    values = list(value) if isinstance(value, list | tuple) else [value]
    return validation.check_not_empty(values, name)
