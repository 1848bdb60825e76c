"""Verdicts, and what the rows could have shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from caltest.drawing import above, draw
from caltest.errors import NotApplicable
from caltest.numerics.labels import label_dtype
from caltest.numerics.softmax import softmax
from caltest.results import wording
from caltest.results.codec import NEVER
from caltest.results.evidence import required
from caltest.results.printable import Result, given
from caltest.types import Flags, Floats, Labels, Singles

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from caltest.measures.bound import BoundMeasure
    from caltest.measures.gap import Gap
    from caltest.render import Sheet
    from caltest.results.htest import HTest
    from caltest.results.table import HTestTable
    from caltest.results.wording import Claim
    from caltest.segments import SegmentsTest

SPEAKS = 0.05  # largest adjusted p-value of a place that is named, where no level was given
MOST_PLACES = 3
MOST_TOLD = 6  # places of a part that are told
# The lines of the card, one of each at most; sentences of other kinds are details.
CARD = ("answer", "size", "where", "helps", "detectable")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Verdict(Result):
    """What a person can act on: the answer, direction and size, where, and what helps.

    Attributes
    ----------
    answer : str
        Without a level "no", "weak", "some" or "strong evidence", or "too few rows"; with one "not
        calibrated" or "not rejected"; with a tolerance "within tolerance", "beyond tolerance" or
        "not shown within tolerance"; of a one-sided test "too low"; of a monitor "alarm" or "no
        alarm".
    headline : str
        The answer with direction and size, of several tests those of the worst: the first line of
        the print of the result.
    pvalue : float
        Of the answer; of a detector of changes the least level at which it raised an alarm.
    level : float or None
        The significance level, if the caller gave one.
    n, m : int
        Rows and classes.
    size : Gap or None
        Mean prediction and observed share, with the interval of their difference.
    places : tuple of Gap
        Where predictions and labels differ, the worst first; empty where nothing is rejected.
    sentences : tuple of (str, str)
        What prints, a paragraph each, as pairs of a kind and a text. First the card: "answer",
        "size", of all rows, "where", the worst place, "helps", and where nothing was found in all
        rows "detectable", what they could have shown. Then details: "events", "whole", "groups" and
        "segments", the answers of other parts, "difference", whether groups differ, "also",
        further places, or "note".
    data_name : str
        What was tested.
    shown : HTest or None
        The test whose rows the diagram shows; neither compared nor written to JSON.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M2", n=300, m=3, rng=1)
    >>> verdict = ct.test_calibration(data, rng=1).verdict()
    >>> verdict.answer, verdict.size.is_clear
    ('strong evidence', True)
    """

    schema: ClassVar[str] = "caltest/verdict/2"

    answer: str
    headline: str
    pvalue: float
    level: float | None
    n: int
    m: int
    size: Gap | None
    places: tuple[Gap, ...]
    sentences: tuple[tuple[str, str], ...]
    data_name: str
    shown: HTest | None = field(default=None, compare=False, metadata=NEVER)

    @property
    def rejected(self) -> bool:
        """Whether the p-value is at most the level; asks for a level if none was given."""
        return self.pvalue <= given(self.level)

    def plot(self, *, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the reliability diagram of the rows, with the ranges that are wrong shaded.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.
        **options
            For `caltest.plots.reliability_diagram`, such as `lens=` and `numbers=True`.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Raises
        ------
        NotApplicable
            If the verdict holds no rows, as one of segments alone or one that was read from JSON.

        Examples
        --------
        >>> import caltest as ct
        >>> data = ct.datasets.generative_model("M2", n=300, m=2, rng=1)
        >>> ct.verdict(data, rng=1).plot().get_ylabel()
        'observed frequency of 1'
        """
        if self.shown is None:
            raise NotApplicable(
                "a verdict on segments alone, or one read from JSON, holds no rows to draw",
                "call caltest.verdict, or plot the result of the test",
            )
        options = {"numbers": False, "ax": ax, **options}
        return draw("htests.plot_test", self.shown, "reliability", options)

    def _repr_html_(self) -> str:
        html: str = above("reporting.html.with_diagram", self)
        return html

    @property
    def card(self) -> tuple[tuple[str, str], ...]:
        """The first sentences, at most five: what a reader who reads no further should know."""
        return tuple(pair for pair in self.sentences if pair[0] in CARD)

    def _sheet(self) -> Sheet:
        return wording.sheet_of_verdict(self)


def verdict_of_test(
    test: HTest, n_jobs: int | None = None, *, pvalue: float | None = None
) -> Verdict:
    """Return the verdict of one test; `pvalue` may be adjusted for other questions."""
    p = test.pvalue if pvalue is None else pvalue
    claim = wording.claim_of(test)
    found = p <= (SPEAKS if test.level is None else test.level) and not claim.is_good
    places = test.places if found else ()
    few = wording.is_too_small(test.size)
    first = wording.answer_in_words(p, test.level, claim, few=few, n=test.n)
    is_told = bool(places) and test.finding == wording.wrong_in_words(places[0])
    size = wording.direction(replace(test, finding="") if is_told else test, p)
    sentences = [("answer", f"{first}."), *([("size", size)] if size else ())]
    sentences += _where(places)
    if found:
        sentences += [("events", text) for text in _coefficients(test, n_jobs)]
    elif claim is wording.CALIBRATION:
        sentences += [("detectable", text) for text in _detectable(test, n_jobs)]
    rows: dict[str, Any] = {"headline": wording.headline(test, p), "few": few, "size": test.size}
    return _verdict(test, p, claim, sentences, places, shown=test, **rows)


def verdict_of_table(table: HTestTable, *, pvalue: float | None = None) -> Verdict:
    """Return the verdict of several tests; `pvalue` may be adjusted for other questions."""
    p = table.pvalue if pvalue is None else pvalue
    worst, rows = table.rows[table.order[0]], table.tests or table.rows[:2]
    claim = wording.claim_of(worst)
    few = bool(table.tests) and all(wording.is_too_small(row.size) for row in rows)
    places = tuple(_places_of_rows(table, p))
    first, rest = wording.told_of_table(table, p)
    told = [replace(place, name=wording.place_of_table(place, table)) for place in places]
    sentences = [("answer", first), *_where(told, rest)]
    if table.difference is not None:
        sentences.append(("difference", wording.difference_in_words(table.difference)))
    about: dict[str, Any] = {"n": wording.rows_of(table), "m": worst.m, "few": few}
    about |= {"headline": wording.headline_of_table(table, p), "data_name": worst.data_name}
    about |= {"size": worst.size, "shown": worst if table.tests else None}
    return _verdict(table, p, claim, sentences, places, **about)


def verdict_of_segments(test: SegmentsTest, *, pvalue: float | None = None) -> Verdict:
    """Return the verdict on segments; `pvalue` may be adjusted for other questions."""
    p = test.pvalue if pvalue is None else pvalue
    places = tuple(_places_of_segments(test, p))
    told = wording.told_of_segments(test, p)
    sentences = [("answer", told[0]), *_where(places, told[1])]
    headline = wording.with_worst(told)
    return _verdict(test, p, wording.CALIBRATION, sentences, places, headline=headline)


def _where(places: Sequence[Gap], rest: str = "") -> Iterator[tuple[str, str]]:
    """Yield the worst place, or what is told of it where its average is right, then others."""
    told = [f"{wording.place_in_words(place)}." for place in places[:MOST_TOLD]]
    if told and rest and not places[0].is_clear:
        told[0] = rest
    told += [f"{len(places) - MOST_TOLD:,} more."] if len(places) > MOST_TOLD else []
    for number, text in enumerate(told or filter(None, [rest])):
        yield ("also" if number else "where"), text


def _verdict(
    found: Any,
    pvalue: float,
    claim: Claim,
    sentences: Sequence[tuple[str, str]],
    places: Sequence[Gap],
    *,
    headline: str,
    few: bool = False,
    size: Gap | None = None,
    shown: HTest | None = None,
    **rows: Any,
) -> Verdict:
    """Return the verdict of a result."""
    named = ("n", "m", "data_name")
    notes = () if shown is None else shown.notes
    weights = [("note", note) for note in notes if note.startswith(wording.WEIGHTED)]
    return Verdict(
        answer=wording.answer(pvalue, found.level, claim, few=few),
        headline=headline,
        pvalue=pvalue,
        level=found.level,
        size=size,
        shown=shown,
        places=tuple(places),
        sentences=(*sentences, *weights),
        **(rows or {name: getattr(found, name) for name in named}),
    )


def together(
    parts: Sequence[tuple[str, Verdict]], helps: str | None, *, equivalence: bool = False
) -> Verdict:
    """Make one verdict of several on the same rows, whose p-values are adjusted for each other.

    Parameters
    ----------
    parts : sequence of (str, Verdict)
        What each is about, "whole", "groups" or "segments", in this order.
    helps : str or None
        What recalibration gives.
    equivalence : bool
        Whether small p-values speak for the model: then it is the part with the largest that leads.
    """
    verdicts = [part for _, part in parts]
    lead = max(verdicts, key=lambda one: one.pvalue) if equivalence else min(verdicts, key=_rank)
    whole = parts[0][1]
    card = dict(whole.sentences) | {"answer": dict(lead.sentences)["answer"]}
    if lead is not whole:
        card["size"] = f"All rows: {card['size']}" if "size" in card else ""
        told = card.get("detectable", "")
        card["detectable"] = f"All rows together: {told[:1].lower()}{told[1:]}" if told else ""
    card["helps"] = helps or ""
    details = [(kind, part.sentences[0][1]) for kind, part in parts if part is not lead]
    places = [
        text
        for part in sorted(verdicts, key=lambda one: -one.places[0].surely if one.places else 0.0)
        for kind, text in part.sentences
        if kind in {"where", "also"}
    ]
    card["where"] = places[0] if places else ""
    details += [pair for part in verdicts for pair in part.sentences if pair[0] == "difference"]
    details += [("also", text) for text in places[1:]]
    details += [pair for pair in whole.sentences if pair[0] not in {*CARD, "difference", "also"}]
    sentences = [(kind, card[kind]) for kind in CARD if card.get(kind)] + details
    gaps = tuple(place for part in verdicts for place in part.places)
    about: dict[str, Any] = {"n": whole.n, "size": whole.size, "shown": whole.shown}
    return replace(lead, places=gaps, sentences=tuple(sentences), **about)


def _rank(verdict: Verdict) -> tuple[float, bool]:
    """Put the smallest p-value first; of equals one that names a direction."""
    return verdict.pvalue, verdict.size is None or not verdict.size.is_clear


# ---- where --------------------------------------------------------------------------------------


def _places_of_rows(table: HTestTable, whole: float) -> Iterator[Gap]:
    """Yield the rows of a table that are rejected, the worst first; none where `whole` is not."""
    bound = SPEAKS if table.level is None else table.level
    if whole > bound or wording.claim_of(table.rows[0]).is_good:
        return
    most = None if table.tests else MOST_PLACES
    found = [i for i in table.order[:most].tolist() if table.adjusted[i] <= bound]
    for i in found:
        own = worst_range(wording.picked(table.rows[i], table))
        for place in wording.places_of(table, [i]):
            name = place.name if own is None else f"{place.name}, {own.name}"
            yield replace(own or place, kind=place.kind, name=name, pvalue=place.pvalue)


def worst_range(row: HTest) -> Gap | None:
    """Return the worst range of rows that are right on average; None where these are not."""
    if row.size is None or row.size.is_clear:
        return None
    return next((place for place in row.places if place.is_clear), None)


def _places_of_segments(test: SegmentsTest, whole: float) -> Iterator[Gap]:
    """Yield the worst segment that is rejected, then clear ones; none where `whole` is not."""
    bound = SPEAKS if test.level is None else test.level
    rejected = [test.place(row) for row in test.rows if max(row.adjusted, whole) <= bound]
    yield from rejected[:1] + [one for one in rejected[1:] if one.is_clear][: MOST_PLACES - 1]


# ---- how large, and what could have been found -------------------------------------------------


def _coefficients(test: HTest, n_jobs: int | None) -> Iterator[str]:
    """Yield the number of events expected, and the slope with its interval, of two classes.

    The interval is that of the test of the slope, as in the table of estimates of a report.

    Yields
    ------
    str
        A sentence.
    """
    from caltest.measures.recalibration.cox import Cox

    held = test.counted or test.evidence
    if held is None or test.size is None or test.size.kind != "event":
        return
    slope = replace(held, measure=Cox(tested="slope"))
    kept: Any = {"evidence" if held is test.evidence else "counted": slope}
    asked = replace(test, n_resamples=0, **kept)  # no p-value of the slope is known
    draws = max(test.n_resamples or 0, 999)
    with suppress(NotApplicable):
        found = asked.confidence_interval(n_resamples=draws, n_jobs=n_jobs)
        rows = None if test.evidence is None else test.evidence.predictions
        weighted = rows is not None and rows.sample_weight is not None
        yield wording.slope_in_words(test.size, found, weighted=weighted)


def _detectable(test: HTest, n_jobs: int | None) -> Iterator[str]:
    with suppress(NotApplicable):
        found = detectable(test, n_jobs)
        yield wording.detectable_in_words(found, test.n, test.level or LEVEL)


# ---- What a test could have found with the rows at hand: the smallest errors with a power of 80 %

Truth = Callable[[Floats, float], Floats]

POWER = 0.8
LEVEL = 0.05
NUMBERS = 8e6  # redrawn labels of a step of the search
FEWEST, MOST = 40, 200  # data sets
STEPS = 9
LEAST_PROB = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Detectable:
    """The smallest error of a kind that a test finds in 80 % of the data sets of these predictions.

    Attributes
    ----------
    kind : str
        "temperature", "slope" or "gap".
    size : float
        Of the temperature and the slope the number, of the gap the difference of the means.
    gap : float
        The share of events less the mean prediction that goes with it.
    """

    kind: str
    size: float
    gap: float


def detectable(test: HTest, n_jobs: int | None = None) -> tuple[Detectable, ...]:
    """Return the smallest errors that a test would have found; empty where none is found.

    The predictions stay as they are, labels are drawn from what would be true, and the test decides
    at its level, or at 5 %, with the null distribution that it has. Of predictions of several
    classes a temperature is sought, of two a slope and a shift of the log odds.

    Raises
    ------
    NotApplicable
        If the result has no predictions, or its null no redrawn labels.
    """
    from caltest.measures.gap import event_rows

    evidence = required(test.evidence, "what the rows could have shown")
    if test.null != "exact" or test.null_distribution is None or evidence.predictions.n != test.n:
        raise NotApplicable(
            "what the rows could have shown is known of tests with redrawn labels of all rows",
            "use null='exact', or caltest.power",
        )
    seen = evidence.seen
    bound = evidence.measure.bind(seen, n_jobs)
    decide = _decision(bound, test.null_distribution, test.alternative, test.level or LEVEL)
    rng = np.random.default_rng(evidence.seed)
    count = int(np.clip(NUMBERS / (seen.n * seen.m), FEWEST, MOST))
    uniform = rng.random((count, len(bound.label_probs)), dtype=np.float32)

    def power(probs: Floats) -> float:
        labels = _labels(probs if bound.order is None else probs[bound.order], uniform)
        return float(decide(bound.combine(bound.statistics(labels, n_jobs))).mean())

    rows = event_rows(seen)
    weight = np.ones(seen.n) if rows.weight is None else rows.weight
    found = []
    for kind, truth, ends in _kinds(seen.m, float(np.average(rows.probs, weights=weight))):
        size = _smallest(lambda x, truth=truth: power(truth(seen.probs, x)), *ends)  # type: ignore[misc]
        if size is not None:
            true = truth(seen.probs, size)
            chance = true[:, 1] if seen.m == 2 else true[np.arange(seen.n), seen.predicted]
            gap = float(np.average(chance - rows.probs, weights=weight))
            found.append(Detectable(kind=kind, size=abs(gap) if kind == "gap" else size, gap=gap))
    return tuple(found)


def _kinds(m: int, mean: float) -> list[tuple[str, Truth, tuple[float, float]]]:
    """The errors that are sought, and the least and the largest of them."""
    if m > 2:
        return [("temperature", lambda p, T: softmax(_log(p), 1.0 / T), (1.0, 20.0))]
    side = 1.0 if mean < 0.5 else -1.0

    def shifted(p: Floats, a: float) -> Floats:
        return softmax(_log(p), 1.0, np.array([0.0, side * a]))

    return [("gap", shifted, (0.0, 6.0)), ("slope", lambda p, b: softmax(_log(p), b), (1.0, 0.0))]


def _log(p: Floats) -> Floats:
    return np.log(np.maximum(p, LEAST_PROB))


def _smallest(power: Callable[[float], float], calibrated: float, largest: float) -> float | None:
    """Halve the range in which the power rises above 80 %."""
    if power(largest) < POWER:
        return None
    for _ in range(STEPS):
        middle = 0.5 * (calibrated + largest)
        if calibrated >= 1.0 and largest > 1.0:
            middle = float(np.sqrt(calibrated * largest))
        if power(middle) < POWER:
            calibrated = middle
        else:
            largest = middle
    return largest


def _labels(probs: Floats, uniform: Singles) -> Labels:
    """Draw labels (B, n): the same uniform numbers for all truths, so that power rises."""
    labels = np.zeros(uniform.shape, dtype=label_dtype(probs.shape[1]))
    limits = np.cumsum(probs, axis=1)[:, :-1].T
    for limit in limits:
        labels += uniform > limit
    return labels


def _decision(
    bound: BoundMeasure, null: Floats, alternative: str, level: float
) -> Callable[[Floats], Flags]:
    """Return the test at a level, of statistics against those of redrawn labels."""
    ordered = np.sort(bound.comparable(np.asarray(null)))
    sides = 2 if alternative == "two-sided" else 1
    most = max(int(np.floor(level / sides * (ordered.size + 1))), 1)

    def decide(values: Floats) -> Flags:
        values = bound.comparable(values)
        far = values > ordered[-most]
        return np.asarray(far | (values < ordered[most - 1]) if sides == 2 else far)

    return decide
