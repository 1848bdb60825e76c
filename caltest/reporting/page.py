"""`report`: the tests of a model, on a page."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from caltest import checks, outputs, verdicts
from caltest.errors import NotApplicable, rows_named
from caltest.htests import REGISTRY as TESTS
from caltest.htests.asked import as_columns
from caltest.htests.run import as_list
from caltest.lenses import Lens, resolve_lens
from caltest.measures import Measure
from caltest.measures.own import measure_of
from caltest.numerics.loops import threads
from caltest.predictions import ModelData, check_names, options, parted
from caltest.reporting import about, estimates, files, html, limits, methods, recalibrated, where
from caltest.reporting import source as sources
from caltest.reporting.content import Block, Conclusion, Content, Figure, Section, Settings, notes
from caltest.reporting.figures import draw_figures
from caltest.reporting.forecasts import check_of_classes
from caltest.reporting.reading import LEAST, MINUS, equals, sentence
from caltest.results.base import plain
from caltest.results.verdict import SPEAKS, Verdict, together
from caltest.results.wording import FIRST_EVIDENCE, capital
from caltest.segments.inputs import Given, read_segments
from caltest.types import AnyArray

if TYPE_CHECKING:
    from caltest.comparison.maps import AnyCalibrator

SCHEMA = "caltest/report/5"
UNNAMED = ("arrays", "data frame")  # sources that are no name in a title


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """A report: its content as values, and its figures.

    Attributes
    ----------
    content : Content
        All numbers and sentences.
    figures : tuple of Figure
        Drawings with titles and descriptions.
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
        """The parts of the report in their order, the answer first."""
        content = self.content
        profile = about.worded(about.PROFILES[content.profile], content.meta)
        decides = any(figure.section == "decisions" for figure in self.figures)
        benefit = NET_BENEFIT if decides else None
        found: dict[str, tuple[str, Callable[[Any], Iterable[Block]], Any]] = {
            "answer": ("The answer", _card, content),
            "details": ("More on the answer", _details, content),
            "within": ("Within a tolerance", limits.within_blocks, content.within),
            "estimates": (profile.estimates, estimates.estimate_blocks, content.estimates),
            "scores": (profile.scores, estimates.score_blocks, content.scores),
            "grades": ("Grades", limits.grade_blocks, content.grades),
            "decisions": ("Decisions", lambda text: [_line("", text)], benefit),
            "groups": ("Groups", partial(where.group_blocks, profile=profile), content),
            "where": ("Where it is wrong", partial(where.place_blocks, profile=profile), content),
            "segments": ("Segments", where.segment_blocks, content.segments),
            "about": ("About this validation", about.about_blocks, content),
            "tests": ("All tests", sources.test_blocks, content.answer),
            "data": ("What was tested", sources.data_blocks, content.data),
            "diagrams": ("Further diagrams", notes, self.left_out),
            "comparison": ("After recalibration", recalibrated.blocks_of, content.comparison),
            "methods": ("Methods", methods.method_blocks, content.methods),
            "signatures": ("Sign-off", about.sign_off_blocks, content),
        }
        shown = []
        for key in dict.fromkeys(("answer", "details", *profile.first, *found)):
            title, blocks_of, part = found[key]
            drawn = (Block(kind="figure", figure=one) for one in self.figures if one.section == key)
            shown.append(Section(key, title, (*(() if part is None else blocks_of(part)), *drawn)))
        return [section for section in shown if section.blocks]

    def to_html(self) -> str:
        """Return one page that opens offline, in which every text of the user's is escaped."""
        return html.html_page(self.content, self.sections)

    def to_markdown(self) -> str:
        """Return the report as Markdown, with words in place of the figures."""
        return html.markdown_page(self.content, self.sections)

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values that JSON can hold; figures are described in words."""
        names = ("section", "title", "description")
        drawn = [{name: getattr(figure, name) for name in names} for figure in self.figures]
        return {**plain(self.content), "figures": drawn, "left_out": list(self.left_out)}

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON, with the name of its schema (`caltest schema report`)."""
        return json.dumps({"schema": SCHEMA} | self.to_dict(), indent=indent, ensure_ascii=False)

    def save(self, path: str | Path) -> Path:
        """Write the report in the format of the suffix: .html, .pdf, .docx, .xlsx, .md or .json.

        Parameters
        ----------
        path : str or Path
            The file; it is overwritten. A PDF is printed by Chromium, Chrome or Edge;
            .docx needs the extra "docx", and .xlsx, which has the tables, the extra "xlsx".

        Returns
        -------
        Path
            The file.

        Raises
        ------
        InvalidInput
            If the suffix is another.
        NotApplicable
            If what writes the format is not installed.
        """
        file = Path(path)
        known = [suffix for suffix, form in outputs.SUFFIXES.items() if form in self._writers]
        suffix = checks.check_choice(file.suffix.lower(), known, "the suffix of path")
        outputs.check_target(file)
        outputs.write_whole(file, self.to_format(outputs.SUFFIXES[suffix]))
        return file

    def to_format(self, form: str) -> str | bytes:
        """Return the report as "html", "markdown", "json", "pdf", "docx" or "xlsx"."""
        write = self._writers[checks.check_choice(form, self._writers, "form")]
        files.check_written(form)
        return write()

    @property
    def _writers(self) -> dict[str, Callable[[], str | bytes]]:
        return {
            "html": self.to_html,
            "markdown": self.to_markdown,
            "json": lambda: self.to_json() + "\n",
            "pdf": lambda: files.pdf_file(self.content, self.sections),
            "docx": lambda: files.docx_file(self.content, self.sections),
            "xlsx": lambda: files.xlsx_file(self.content, self.sections),
        }

    def _repr_html_(self) -> str:
        """Show the page in a frame of the notebook, where its styles do not leave it."""
        from markupsafe import escape

        style = "width:100%;height:80vh;border:1px solid #ccc"
        return f'<iframe title="Report" style="{style}" srcdoc="{escape(self.to_html())}"></iframe>'


class Reported(options.WeightedOptions, options.EngineOptions, total=False):
    """The options of data of a report; see `test_calibration`."""


def report(
    model: object = None,
    data: object = None,
    y: object = None,
    *,
    test: str | Measure | Sequence[str | Measure] | None = None,
    lens: str | Lens | Sequence[str | Lens] | None = None,
    by: object = None,
    grades: object = None,
    segments: object = None,
    cluster: object = None,
    recalibrate: str | AnyCalibrator | Sequence[str | AnyCalibrator] | None = None,
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
    data_file: str | Path | None = None,
    progress: Callable[[str], None] | None = None,
    **data_options: Unpack[Reported],
) -> Report:
    r"""Test a model and write a page: what was found, where, and how to repeat it.

    H0 of each test: :math:`P(Y = k \mid p) = p_k` for the predictions p as its lens shows them. The
    page begins with the answer and one diagram; groups, classes, ranges of probability and segments
    follow, each with its gap in percentage points, an interval and an adjusted p-value, then all
    tests. Scores, recalibration, methods and how to repeat the run are the appendix.

    Parameters
    ----------
    model : classifier, regressor, calibrator, callable, array, Predictions, Forecasts or None
        As for `test_calibration`. The page on forecasts has the coverage of intervals, quantiles,
        the CRPS and the logarithmic score; `grades`, `segments` and `tolerance` are of predicted
        probabilities.
    data, y : object
        As for `test_calibration`.
    test : str, Measure or list, optional
        By default "combined" and those of the profile, as far as the size of the data allows; the
        page says what it does not.
    lens : str, Lens or list, optional
        By default "strong", for more than two classes also "confidence" and "classwise" for the
        classes that are expected most often, at most 20; of ordered classes "cumulative". A test
        and a lens that do not go together are left out with a remark.
    by : (n,) array, column name, list of column names or True, optional
        Groups to be tested, each by itself, with adjusted p-values, and whether they differ.
    grades : (n,) array, column name or list of float, optional
        The grades of a master scale, each tested by its number of events with a traffic light: a
        column, one value per row, or the PDs between grades, as [0.01, 0.05], whose lower grade
        holds them.
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
        with its interval or p-value, and the net benefit; "credit" has grades with
        traffic lights (those of `grades=`, else the distinct PDs, else tenths of the rows).
        Forecasts of numbers have a page of their own, "distribution".
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
        Significance level in (0, 0.5]. The page holds a verdict only where it is given.
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
        How the report was asked for, shown as it is; by default this call.
    time : datetime, optional
        When it was made; by default SOURCE_DATE_EPOCH, where the environment has it, or now.
    data_file : str or Path, optional
        The file that the data were read from, or a pattern of several: the page ends with its name
        and SHA-256. By default the path that was passed as the data.
    progress : callable, optional
        Called with what is done next.
    **data_options
        Data options, as for `test_calibration`: `label`, `features`, `probs`, `classes`,
        `sample_weight`, `from_logits`, `renormalize`, `engine` and `on_error`.

    Returns
    -------
    Report
        With `to_html()`, `to_markdown()`, `to_json()` and `save(path)`.

    Other Parameters
    ----------------
    engine : {"auto", "rows", "cells"}, default "auto"
        As for `test_calibration`: "cells" counts the rows of a frame, of files or of chunks in 2^16
        cells of predictions where they lie; "auto" does so with more than 2 million, unless
        `segments`, `recalibrate`, `tolerance`, weights or logits need the rows. The page then has
        what cells are enough for, and says what is absent.
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
    ['answer', 'details', 'estimates']
    >>> page.save("report.html")  # doctest: +SKIP
    """
    asked_as = {**locals(), **data_options, "data_options": None}
    asked_as["correction"] = None if correction == "joint" else correction
    check_names(data_options, Reported, report)
    read, how, _ = parted(data_options, options.WeightedOptions, options.EngineOptions)
    engine = how.get("engine", "auto")
    on_error = checks.check_choice(how.get("on_error", "raise"), options.ON_ERROR, "on_error")
    checks.check_correction(correction)
    settings = Settings(
        seed=checks.check_seed(rng),
        n_resamples=checks.check_fixed_resamples(n_resamples, "a report"),
        correction=correction,
        level=None if level is None else checks.check_level(level),
        by=by is not None,
        command=command is not None,
        progress=progress or (lambda _what: None),
    )
    error = checks.check_tolerance(tolerance, equivalence=False, null=None)
    stated = about.check_meta(
        meta, title=title, author=author, command=command, time=time, data_file=data_file
    )

    def field(m: int) -> about.Profile:
        return about.worded(about.profile_of(profile, m), stated)

    about.profile_of(None if profile == "distribution" else profile, 2)  # before any data are read
    tests = None if test is None else as_list(test, "test", measure_of)
    for one in tests or ():
        if not isinstance(one, Measure):
            checks.check_choice(one, TESTS, "test")
    lenses = None if lens is None else as_list(lens, "lens", resolve_lens)
    jobs, maps = checks.check_jobs(n_jobs), _calibrators(recalibrate)
    given = ModelData(model, data, y, by=by, cluster=cluster, **read)
    if segments is not None:
        checks.check_unused(
            "with segments, which take rows as independent",
            "leave out the segments",
            cluster=cluster,
        )
    wanted = {"grades": grades, "segments": segments, "cluster": cluster, "tolerance": tolerance}
    needs_rows = {"recalibrate": bool(maps)} | {k: one is not None for k, one in wanted.items()}
    for name in ("features", "from_logits", "renormalize", "ordinal"):
        needs_rows[name] = bool(getattr(given, name))
    needs_rows["sample_weight"] = given.sample_weight is not None
    needs_rows["by"] = by is not None and not as_columns(by)
    table, counts = sources.table_to_count(engine, given, needs_rows, skips=on_error == "skip")
    asked: dict[str, Any] = {"tests": tests, "lenses": lenses, "further": lambda m: field(m).binary}
    event, columns, scale = dict(stated).get("event"), None, None
    source: sources.Source
    if table is not None and counts:
        plan = partial(sources.plan_of_cells, **asked)
        settings.progress("counting")
        source = sources.count_rows(table, given, plan, event=event, on_error=on_error)
    else:
        origin = None
        if table is not None and not table.is_eager:
            needs = given.needs if segments is None and grades is None else bool
            given, origin = replace(given, model=None, data=table.table(needs)), table.name
        plan = partial(sources.plan_of, **asked)
        with rows_named(None if table is None else table.place):
            source = sources.read_rows(given, plan, event=event, fitted=bool(maps), name=origin)
        check_of_classes(source.m, wanted)
        columns = None if segments is None else read_segments(segments, None, given, source.n)
        if grades is not None:
            scale = limits.read_grades(grades, given, source.predictions.probs[:, -1])
    # The line below the title has the event.
    own, name = field(source.m), source.name.partition(", event: ")[0]
    with threads(jobs):
        content, outcomes = _content(
            source,
            settings,
            profile=own,
            tolerance=error,
            maps=maps,
            columns=columns,
            scale=scale,
            title=title
            if title and title.strip()
            else f"Are the {own.subject}{f' of {name}' * (name not in UNNAMED)} calibrated?",
            author=author,
            meta=stated,
            reproduction=about.reproduction(
                source.hashed,
                settings,
                data_file=data_file or (model if data is None else data),
                command=command or about.call_of(asked_as, settings.seed),
                time=time,
            ),
        )
    settings.progress("figures")
    return Report(content, *draw_figures(source, content, own, outcomes))


def _content(
    source: sources.Source,
    settings: Settings,
    *,
    profile: about.Profile,
    tolerance: float | None,
    maps: list[AnyCalibrator],
    columns: Given | None,
    scale: AnyArray | None,
    **stated: Any,
) -> tuple[Content, tuple[recalibrated.HeldOut, ...]]:
    """Compute the content; `stated` are the parts of it that are known before."""
    rows = source.predictions
    tests, left_out = source.tests(settings)
    found = where.find_where(source, settings)
    segments = within = comparison = grades = None
    outcomes: tuple[recalibrated.HeldOut, ...] = ()
    if rows is not None:
        segments = None if columns is None else where.find_segments(rows, columns, settings)
        within = None if tolerance is None else limits.certify(rows, tolerance, settings)
        try:
            graded = profile.graded or scale is not None
            grades = limits.grade_tests(rows, scale, settings) if graded else None
        except NotApplicable as error:
            left_out.append(f"Grades are not tested: {sentence(error)}")
        if maps:
            comparison, outcomes = recalibrated.compare(rows, maps, settings, source.logits)
    groups = () if found.groups is None else found.groups.rows
    after = () if comparison is None else comparison.tests
    scaled = () if grades is None else grades.rows[:1]
    present = {"recalibrated": comparison is not None, "segmented": segments is not None}
    settings.progress("verdict")
    results = [("whole", tests.rows[0]), ("groups", found.groups), ("segments", segments)]
    results = [pair for pair in results if pair[1] is not None]
    if comparison is None:  # the verdict that `caltest.verdict` gives for the same questions
        verdict = verdicts.verdict_of(*results, command=settings.command)
    else:
        verdict = together(verdicts.adjusted_verdicts(results), comparison.helps)
    settings.progress("scores")
    asked: Any = source  # forecasts have numbers and scores of their own
    own = asked.scores(tests) if not source.m else None
    scores = own or estimates.collect_scores(source, tests, profile)
    settings.progress("estimates")
    own = asked.estimates(tests) if not source.m else None
    numbers = own or estimates.collect_estimates(source, tests, profile, scores)
    return Content(
        level=settings.level,
        profile=profile.key,
        adequacy=" ".join(about.adequacy(source.n, source.m, source.label_counts, profile)),
        data=sources.describe_data(source, found.groups),
        answer=Conclusion(verdict, tests, (*source.plan.notes, *left_out, *source.absent)),
        within=within,
        estimates=tuple(numbers),
        grades=grades,
        where=found,
        segments=segments,
        scores=scores,
        comparison=comparison,
        methods=tuple(
            methods.methods_of([*tests, *groups, *after, *scaled], tests.correction, **present)
        ),
        **stated,
    ), outcomes


LABELS = {"where": "Worst place", "helps": "What helps", "detectable": "Power"}
LABELS |= {"within": "Tolerance", "whole": "All rows", "groups": "Groups", "segments": "Segments"}
LABELS["also"] = "Also"
NET_BENEFIT = (
    "The net benefit of treating where the risk is at least a threshold, in true positives per "
    "patient, beside treating all and none. Where the curve is below either of these, deciding by "
    "the model does harm at that threshold."
)


def _card(content: Content) -> Iterator[Block]:
    """Yield at most five lines; a tolerance that was tested takes the place of the power.

    Yields
    ------
    Block
        A line.
    """
    (_, first), *others = content.answer.verdict.card
    yield Block(kind="headline", text=_typeset(first))
    tested = [] if content.within is None else content.within.sentences
    for kind, text in others:
        if not (tested and kind == "detectable"):
            yield _line(kind, text)
    for text in tested:
        yield _line("within", text)


def _details(content: Content) -> Iterator[Block]:
    verdict, tested = content.answer.verdict, content.within is not None
    for kind, text in verdict.sentences:
        is_shown = kind == "note" or (kind, text) in verdict.card
        if not is_shown or (tested and kind == "detectable"):
            yield _line(kind, text)
    table, pvalue = content.answer.tests, verdict.pvalue
    least = float(table.adjusted.min())
    bound, speaks = (FIRST_EVIDENCE, SPEAKS) if table.level is None else (table.level, table.level)
    if pvalue > bound and least <= speaks:  # another test rejects where the answer does not
        row = table[int(table.adjusted.argmin())]
        own = f"By itself {row.test} (lens {row.lens}, adjusted p {equals(least)}) speaks against"
        answer = f"the answer is that of {table[0].test}, the first test."
        yield from notes([f"{own} calibration; {answer}"])
    lines = [f"{capital(text)}." for kind, text in verdict.sentences if kind == "note"]
    yield from notes([*lines, *content.data.warnings])


def _line(kind: str, text: str) -> Block:
    label = f"{LABELS[kind]}: " if kind in LABELS else ""
    return Block(kind="text", text=_typeset(label + text))


def _typeset(text: str) -> str:
    """Write minus signs before numbers as such, and small p-values as the page does.

    Examples
    --------
    >>> _typeset("gap 0.4 points, -1.8 to 2.5; log-odds of p-values")
    'gap 0.4 points, \u22121.8 to 2.5; log-odds of p-values'
    """
    text = text.replace(f"< {LEAST:.0e}", f"< {LEAST:g}")
    return re.sub(r"(?<![\w.])-(?=\d)", MINUS, text)


def _calibrators(values: object) -> list[AnyCalibrator]:
    """Return calibrators, with their default options where a key stands for one."""
    if values is None:
        return []
    from caltest.calibrators import FORECAST_MAPS, REGISTRY
    from caltest.calibrators.output import Saved

    inner = {key for key, kind in REGISTRY.items() if "calibrator" in signature(kind).parameters}
    every: dict[str, Any] = {**FORECAST_MAPS, **REGISTRY}
    kinds = {key: kind for key, kind in every.items() if key not in {"identity", *inner}}
    return [
        kinds[checks.check_choice(one, kinds, "recalibrate")]()
        if isinstance(one, str)
        else checks.check_calibrator(one, Saved, "recalibrate")
        for one in as_list(values, "recalibrate")
    ]
