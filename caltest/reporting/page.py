"""`report`: the tests of a model, told on a page."""

from __future__ import annotations

import datetime as dt
import inspect
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caltest import validation
from caltest.htests import REGISTRY as TESTS
from caltest.htests.combine import METHODS
from caltest.lenses import Lens, resolve_lens
from caltest.measures import Measure
from caltest.predictions import ModelData, Predictions
from caltest.reporting.content import Content, RecalibrationContent, as_dict
from caltest.reporting.data import describe_data
from caltest.reporting.document import Section, sections
from caltest.reporting.figures import Figure, draw_figures
from caltest.reporting.html import html_page
from caltest.reporting.markdown import markdown_page
from caltest.reporting.methods import methods_of, segments_method
from caltest.reporting.plan import plan_of
from caltest.reporting.reproduction import reproduction
from caltest.reporting.scores import collect_scores
from caltest.reporting.tested import Settings, answer
from caltest.reporting.where import find_segments, find_where
from caltest.segments.inputs import read_segments

if TYPE_CHECKING:
    from caltest.calibrators import Calibrator
    from caltest.calibrators.base import CalibrationSet
    from caltest.reporting.recalibrated import HeldOut

SCHEMA = "caltest/report/2"
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

    @property
    def sections(self) -> list[Section]:
        """The parts of the report in their order."""
        return sections(self.content, self.figures, self.left_out)

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
        file.write_text(self.as_text(SUFFIXES[suffix]), encoding="utf-8")
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


def report(
    model: object,
    data: object = None,
    *,
    test: str | Measure | Sequence[str | Measure] | None = None,
    lens: str | Lens | Sequence[str | Lens] | None = None,
    by: object = None,
    segments: object = None,
    recalibrate: str | Calibrator | Sequence[str | Calibrator] | None = None,
    title: str | None = None,
    author: str | None = None,
    level: float | None = None,
    correction: str | None = "joint",
    n_resamples: int = 999,
    rng: object = None,
    n_jobs: int | None = None,
    label: str | None = None,
    features: Sequence[str] | None = None,
    probs: str | Sequence[str] | None = None,
    classes: object = None,
    from_logits: bool = False,
    renormalize: bool = False,
    command: str | None = None,
    time: dt.datetime | None = None,
    progress: Callable[[str], None] | None = None,
) -> Report:
    r"""Test a model and tell on a page what was found, where, and how to repeat it.

    H0 of each test: :math:`P(Y = k \mid p) = p_k` for the predictions p as its lens shows them. The
    page begins with the answer; it has a sentence for each p-value, diagrams, the classes, regions
    and groups where predictions and labels differ, scores with their distribution under
    calibration, and the methods with their sources.

    Parameters
    ----------
    model : classifier, calibrator, callable, array, Predictions or None
        As for `test_calibration`.
    data : (X, y), y, data frame or Predictions
        As for `test_calibration`.
    test : str, Measure or list, optional
        By default "combined", the SKCE and the ECE (for two classes also Spiegelhalter's z and
        Cox's test), as far as the size of the data allows; the page says what it does not.
    lens : str, Lens or list, optional
        By default "strong", for more than two classes also "confidence" and "classwise" for the
        classes that are expected most often, at most 20. A test and a lens that do not go together
        are left out with a remark.
    by : (n,) array, column name, list of column names or True, optional
        Groups to be tested, each by itself, with adjusted p-values.
    segments : str, list of str, dict, data frame, bool (n, S) array or True, optional
        Segments to be tested, which may overlap, as for `test_calibration`; the page shows the
        worst.
    recalibrate : str, Calibrator or list, optional
        Calibrators, or their keys in `caltest.calibrators.REGISTRY`, to be fitted to four fifths
        of the rows and tested on the others, five times, by the rule of `compare_calibrators`, with
        which the p-values agree.
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
    label, features, probs : str or list of str, optional
        Columns of the data frame, as for `test_calibration`.
    classes : (m,) array, optional
        Class labels in the order of the columns of the probabilities.
    from_logits, renormalize : bool, default False
        As for `test_calibration`.
    command : str, optional
        How the report was asked for, shown as it is.
    time : datetime, optional
        When it was made; by default now.
    progress : callable, optional
        Called with what is done next.

    Returns
    -------
    Report
        With `to_html()`, `to_markdown()`, `to_json()` and `save(path)`.

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
    ['answer', 'data', 'diagrams']
    >>> page.save("report.html")  # doctest: +SKIP
    """
    validation.check_choice(correction or "none", METHODS, "correction")
    settings = Settings(
        seed=validation.check_seed(rng),
        n_resamples=validation.check_fixed_resamples(n_resamples, "a report"),
        correction=correction,
        level=None if level is None else validation.check_level(level),
        n_jobs=validation.check_jobs(n_jobs),
        by=by is not None,
        progress=progress or (lambda _what: None),
    )
    tests = None if test is None else _checked_tests(test)
    lenses = None if lens is None else [resolve_lens(one) for one in _as_list(lens, "lens")]
    maps = _calibrators(recalibrate)
    given = ModelData(model, data, label, features, probs, classes, from_logits, renormalize, by)
    predictions, calibration_set = _read(given, fitted=bool(maps))
    columns = None if segments is None else read_segments(segments, None, given, predictions.n)
    content, outcomes = _content(
        predictions, tests, lenses, maps, settings, calibration_set=calibration_set
    )
    content["segments"] = None
    if columns is not None:
        content["segments"] = find_segments(predictions, columns, settings)
        content["methods"] += (segments_method(),)
    name = f"Are the probabilities of {predictions.source} calibrated?" if title is None else title
    told = reproduction(
        predictions, seed=settings.seed, n_resamples=n_resamples, command=command, time=time
    )
    full = Content(
        title=str(name), author=author, level=settings.level, reproduction=told, **content
    )
    settings.progress("figures")
    figures, left_out = draw_figures(predictions, full.answer, full.where, full.segments, outcomes)
    return Report(full, figures, left_out)


def _read(given: ModelData, *, fitted: bool) -> tuple[Predictions, CalibrationSet | None]:
    """Read the predictions and, where maps are fitted to logits, these."""
    if not (fitted and given.from_logits):
        return given.predictions(), None
    from caltest.comparison.inputs import read_inputs

    return read_inputs(given)


def _content(
    predictions: Predictions,
    tests: list[str | Measure] | None,
    lenses: list[Lens] | None,
    maps: list[Calibrator],
    settings: Settings,
    *,
    calibration_set: CalibrationSet | None,
) -> tuple[dict[str, Any], tuple[HeldOut, ...]]:
    """Collect the parts of the content that are computed."""
    plan = plan_of(predictions, tests, lenses)
    found = answer(predictions, plan, settings)
    where = find_where(predictions, found.tests, settings)
    comparison: RecalibrationContent | None = None
    outcomes: tuple[HeldOut, ...] = ()
    if maps:
        from caltest.reporting.recalibrated import compare

        comparison, outcomes = compare(predictions, maps, settings, calibration_set)
    settings.progress("scores")
    groups = () if where.groups is None else where.groups.rows
    after = () if comparison is None else comparison.tests
    methods = methods_of(
        [*found.tests.rows, *groups, *after],
        correction=found.tests.correction,
        recalibrated=comparison is not None,
    )
    parts = {
        "data": describe_data(predictions),
        "answer": found,
        "where": where,
        "scores": collect_scores(predictions, found.tests),
        "comparison": comparison,
        "methods": tuple(methods),
    }
    return parts, outcomes


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
