"""`verdict`: test a model, its groups and its segments, and answer once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack, cast

from caltest import checks
from caltest.errors import NotApplicable
from caltest.htests import test_calibration
from caltest.htests.asked import lies, read, with_design
from caltest.htests.combine import adjusted_pvalues
from caltest.htests.run import EveryOption
from caltest.lenses import Lens
from caltest.measures import Measure
from caltest.numerics.loops import threads
from caltest.predictions import ModelData, check_names, parted
from caltest.predictions.options import ColumnOptions, ForecastOptions, RowOptions
from caltest.results import GroupsTest, HTest, HTestTable, wording
from caltest.results.verdict import (
    SPEAKS,
    Verdict,
    together,
    verdict_of_segments,
    verdict_of_table,
    verdict_of_test,
)
from caltest.segments import SegmentsTest

if TYPE_CHECKING:
    from caltest.calibrators import Calibrator
    from caltest.results.htest import Evidence

Results = Sequence[tuple[str, Any]]
MOST_GROUPS = 10  # in which maps are fitted


class VerdictOptions(RowOptions, ForecastOptions, EveryOption, total=False):
    """What `verdict` hands on to `test_calibration`."""

    null: str | None
    correction: str | None


def verdict(
    model: object = None,
    data: object = None,
    y: object = None,
    *,
    by: object = None,
    segments: object = None,
    recalibrate: str | Calibrator | Sequence[str | Calibrator] | None = None,
    test: str | Measure | None = None,
    lens: str | Lens = "strong",
    tolerance: float | None = None,
    equivalence: bool = False,
    level: float | None = None,
    n_resamples: int = 999,
    rng: object = None,
    n_jobs: int | None = None,
    progress: Callable[[str], None] | None = None,
    **data_and_test_options: Unpack[VerdictOptions],
) -> Verdict:
    """Test a model and answer: is it calibrated, how far is it off, where, and what helps.

    All rows together, the groups and the segments are tested, and the p-values of these questions
    are adjusted by Holm's method: the answer speaks of the one that is farthest out.

    Parameters
    ----------
    model, data, y : object
        As for `test_calibration`.
    by : (n,) array, column name, list of column names or True, optional
        Groups, as for `test_calibration`.
    segments : str, list of str, dict, data frame, bool (n, S) array or True, optional
        Segments, which may overlap, as for `test_calibration`: their test has statistics of its own
        and takes no tolerance.
    recalibrate : str, Calibrator or list, optional
        Calibrators or their keys, simple ones first: the verdict says which the held-out log loss
        prefers, the first within one standard error of each better whose gain is clear by its 95 %
        interval, and the same test judges what is left of the error, out of fold as in
        `compare_calibrators`. Without it, and where something is found, the same rule chooses among
        a shift of the log odds and a temperature, the better of these two first, Platt and beta
        maps, and from 500 rows on Venn-Abers and quadratic ones; of more classes temperature,
        structured vector and matrix, and Dirichlet maps: what `AutoCalibrator` mixes but for what
        would take longer than the test. The mixture itself, which costs twenty times as much, is
        compared where it is named, by "auto".
        Where rows times classes are more than 400,000, so many are compared, drawn by the seed.
    test, lens : optional
        One test and one lens, by default "combined" and "strong".
    tolerance, equivalence : float and bool, optional
        Test the size of the error, as for `test_calibration`. Without a test or its options the
        tolerance is in the unit of probabilities, 0.05 for five points, as in a report: by
        `test="ks"`, of more than two classes with `lens="confidence"` in place of "strong".
    level : float, optional
        Significance level in (0, 0.5]. With it the answer is a decision, without it evidence.
    n_resamples, rng, n_jobs : optional
        As for `test_calibration`; all parts have the same seed.
    progress : callable, optional
        Called with what is done next.
    **data_and_test_options
        Data options, as for `test_calibration`: `label`, `features`, `probs`, `classes`,
        `from_logits`, `renormalize`, `mean`, `scale`, `members`, `quantiles`, and, without
        segments, `sample_weight`, `cluster`, `time` and `lag`. Options of the measure, such as
        `kernel=`.

    Returns
    -------
    Verdict
        Its print is the answer.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule; the message names it, its value and the remedy.
    NotApplicable
        If the test has no meaning for the data.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M2", n=300, m=3, rng=1)
    >>> answer = ct.verdict(data, recalibrate=["temperature"], n_resamples=99, rng=1)
    >>> answer.answer, [kind for kind, _ in answer.card]
    ('strong evidence', ['answer', 'size', 'where', 'helps'])
    """
    tell = progress or (lambda _what: None)
    seed, jobs = checks.check_seed(rng), checks.check_jobs(n_jobs)
    draws: dict[str, Any] = {"n_resamples": n_resamples, "rng": seed}
    settings = {**draws, "level": level}
    check_names(data_and_test_options, VerdictOptions, verdict)
    kinds = ColumnOptions, RowOptions, ForecastOptions
    columns, rows, forecasts, options = parted(data_and_test_options, *kinds)
    given = ModelData(model, data, y, by=by, **columns, **rows, **forecasts)
    given, options = with_design(given, options)
    predictions, _ = read(given, lies(given))
    if segments is not None and predictions.has_dependence:
        rule = "segments take rows as independent, which these need not be"
        raise NotApplicable(rule, "leave out segments=, or what says which rows depend")
    if tolerance is not None and test is None and not options:
        test = "ks"
        lens = "confidence" if str(lens) == "strong" and predictions.m > 2 else lens
    asked: dict[str, Any] = {"test": test, "lens": lens, **options}
    within: dict[str, Any] = {"tolerance": tolerance, "equivalence": equivalence}
    run = partial(test_calibration, None, predictions, **asked, **within, **settings)
    with threads(jobs):
        tell("all rows")
        results: list[tuple[str, Any]] = [("whole", run())]
        if by is not None:
            tell("groups")
            results.append(("groups", run(by=True)))
        if segments is not None:
            tell("segments")
            weights = {"sample_weight": rows.get("sample_weight")}
            asked = {"tolerance": tolerance, **columns, **forecasts, **weights, **settings}
            found = test_calibration(model, data, y, segments=segments, **asked)
            results.append(("segments", found))
        if recalibrate is None:
            return verdict_of(*results, equivalence=equivalence)
        from caltest.comparison.out_of_fold import best_map

        tell("recalibration")
        best = best_map(
            predictions, recalibrate, test=test, lens=lens, asked_as="recalibrate", **draws
        )
        parts = adjusted_verdicts(results, equivalence=equivalence)
        return together(parts, wording.recalibrated_in_words(best, level), equivalence=equivalence)


def verdict_of(
    *results: tuple[str, Any], equivalence: bool = False, command: bool = False
) -> Verdict:
    """Return the verdict of results on the same rows, with what helps.

    Parameters
    ----------
    *results : (str, HTest, HTestTable or SegmentsTest)
        As for `adjusted_verdicts`, all rows first.
    equivalence, command : bool
        As for `adjusted_verdicts` and `what_helps`.

    Returns
    -------
    Verdict
        As `verdict` gives it for the same questions.
    """
    parts = adjusted_verdicts(results, equivalence=equivalence)
    return together(parts, what_helps(results, parts, command=command), equivalence=equivalence)


def what_helps(results: Results, parts: Results, *, command: bool) -> str | None:
    """Say which map helps: one of all rows, or one of each group that is rejected.

    It is that of all rows where one helps, unless groups differ: then that of the larger gain.

    Parameters
    ----------
    results : sequence of (str, HTest, HTestTable or SegmentsTest)
        What was tested.
    parts : list of (str, Verdict)
        Their verdicts.
    command : bool
        Whether to name the command, not the line of code.

    Returns
    -------
    str or None
        What the map does that `caltest.comparison.out_of_fold.first_map` takes, and the line of
        code or the command that fits it; else that none can be recommended, and in how many rows a
        gain as large as here would be clear, where that can be distinguished. None where there are
        fewer than 10 rows, or forecasts have no CRPS.
    """
    unclear, helps, most = None, None, 0.0
    tables = (result for _, result in results if isinstance(result, HTestTable))
    tested = ((table.difference, table.level or SPEAKS) for table in tables)
    differ = any(test is not None and test.pvalue <= bound for test, bound in tested)
    for (_, result), (_, verdict) in zip(results, parts, strict=True):
        found, rows = _rejected(result, verdict.pvalue)
        choice = None
        seen: list[Any] = [one.predictions for one in found]
        if found:
            from caltest.comparison.calibrators import FEWEST_ROWS  # loads scikit-learn
            from caltest.comparison.out_of_fold import first_map

            choice = first_map(seen, found[0].seed)
        if choice is not None and choice.helps:
            mass = sum(float(one.weights.sum()) for one in seen)
            if -choice.difference * mass > most:
                most, of = -choice.difference * mass, seen[0]
                helps = wording.remedy_in_words(choice, of, rows, command=command)
            if not differ:
                break
        elif choice is not None:
            unclear = unclear or wording.no_clear_gain(choice, sum(one.n for one in seen), rows)
        elif seen and not any(one.m or one.n < FEWEST_ROWS or not one.has_crps for one in seen):
            unclear = unclear or wording.NOT_COMPARED
    return helps or unclear


def _rejected(result: object, pvalue: float) -> tuple[list[Evidence], str]:
    """Return the rows that want a map, each part its own, and which these are in words."""
    if isinstance(result, GroupsTest) or not isinstance(result, HTest | HTestTable):
        return [], ""
    tests, words = [result] if isinstance(result, HTest) else list(result.rows), ""
    bound = SPEAKS if result.level is None else result.level
    if pvalue > bound or wording.claim_of(tests[0]) is not wording.CALIBRATION:
        return [], ""
    if isinstance(result, HTestTable):
        groups = wording.noun_of(tests) == "groups"
        found = [tests[i] for i in wording.worst_first(result) if result.adjusted[i] <= bound]
        tests = found[: MOST_GROUPS if groups else 1]
        few = "group named" if len(found) <= MOST_GROUPS else f"of the {MOST_GROUPS} worst groups"
        words = f" of each {few}" if groups else ""
    evidence = [test.evidence for test in tests if test.evidence is not None]
    return (evidence if len(evidence) == len(tests) else []), words


def adjusted_verdicts(results: Results, *, equivalence: bool = False) -> list[tuple[str, Verdict]]:
    """Return the verdict of each result, with its p-value adjusted for their number.

    Parameters
    ----------
    results : sequence of (str, HTest, HTestTable or SegmentsTest)
        What each is about, "whole", "groups" or "segments".
    equivalence : bool
        Whether small p-values speak for the model; that all parts are within a tolerance is shown
        where each is, so that the p-values stay as they are.

    Returns
    -------
    list of (str, Verdict)
        In the same order; `caltest.results.verdict.together` makes one of them.
    """
    pvalues = [result.pvalue for _, result in results]
    if not equivalence:
        pvalues = adjusted_pvalues(pvalues, "holm")[0].tolist()
    both = zip(results, pvalues, strict=True)
    return [(kind, _verdict(result, p)) for (kind, result), p in both]


def _verdict(result: object, p: float) -> Verdict:
    if isinstance(result, SegmentsTest):
        return verdict_of_segments(result, p)
    if isinstance(result, HTestTable):
        return verdict_of_table(result, p)
    return verdict_of_test(cast("HTest", result), p)
