"""Verdicts, and what the rows could have shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from caltest import drawing, render
from caltest.errors import NotApplicable
from caltest.predictions.redrawing import Inversion
from caltest.results import htest, sheets, wording
from caltest.results.base import NEVER, Decided, Result
from caltest.types import Axes, Floats, Singles

if TYPE_CHECKING:
    from caltest.measures.gap import Gap
    from caltest.results.htest import HTest
    from caltest.results.table import HTestTable
    from caltest.results.wording import Claim
    from caltest.segments import SegmentsTest

    Sentences = Sequence[tuple[str, str]]  # of which kind, and what they say
    Truth = Callable[[Floats, float], Floats]  # true probabilities, of predicted ones and a size

SPEAKS = 0.05  # largest adjusted p-value of a place that is named, where no level was given
MOST_PLACES = 3
MOST_NAMED = 6  # places of a part
# The lines of the card, one of each at most; sentences of other kinds are details.
NAMES = {"where": "worst", "helps": "what helps", "detectable": "power", "whole": "all rows"}
CARD = ("answer", "size", "where", "helps", "detectable")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Verdict(Decided, Result):
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

    def plot(self, kind: str | None = None, *, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the reliability diagram of the rows, with the ranges that are wrong shaded.

        Of forecasts it is the PIT histogram.

        Parameters
        ----------
        kind : str, optional
            Another kind of plot, as for `HTest.plot`.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.
        **options
            For its function, such as `lens=` and `numbers=True` of the reliability diagram.

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
            reason = "a verdict on segments alone, or one read from JSON, holds no rows to draw"
            raise NotApplicable(reason, "call caltest.verdict, or plot the result of the test")
        rows = None if self.shown.evidence is None else self.shown.evidence.predictions
        kind = kind or (rows is not None and rows.drawn_as) or "reliability"
        own = {"numbers": False} if kind == "reliability" else {}
        return drawing.draw("htests.plot_test", self.shown, kind, {**own, "ax": ax, **options})

    def _repr_html_(self) -> str:
        return str(drawing.above("reporting.html.with_diagram", self))

    @property
    def card(self) -> tuple[tuple[str, str], ...]:
        """The first sentences, at most five: what a reader who reads no further should know."""
        return tuple(pair for pair in self.sentences if pair[0] in CARD)

    def _sheet(self) -> render.Sheet:
        first = [text for kind, text in self.sentences if kind in {"answer", "size"}]
        pairs = [(NAMES.get(kind, kind), text) for kind, text in self.sentences[len(first) :]]
        place = len(self.card) - len(first)
        data = ("data", f"{self.data_name} ({sheets.sizes_in_words(self.n, self.m)})")
        closing = (*pairs[:place], data, *pairs[place:])
        return render.Sheet(title="", headline=" ".join(first), closing=closing)


def verdict_of_test(test: HTest, p: float) -> Verdict:
    """Return the verdict of one test by its p-value, which may be adjusted for other questions."""
    claim = wording.claim_of(test)
    found = p <= (SPEAKS if test.level is None else test.level) and not claim.is_good
    places = test.places if found else ()
    few = wording.is_too_small(test.size)
    first = wording.answer_in_words(p, test.level, claim, few=few, n=test.n)
    is_named = bool(places) and test.finding == wording.wrong_in_words(test)
    said = replace(test, finding=wording.shape_of(test)) if is_named else test
    size = wording.direction(said, p)
    sentences = [("answer", f"{first}."), *([("size", size)] if size else ())]
    told = bool(test.finding) or (test.size is not None and test.size.is_clear)
    sentences += _where(places, wording.NOWHERE if found and test.components and not told else "")
    if found:
        sentences += [("events", text) for text in _coefficients(test)]
    elif claim is wording.CALIBRATION:
        with suppress(NotApplicable):
            text = wording.detectable_in_words(detectable(test), test.n, test.level or LEVEL)
            sentences.append(("detectable", text))
    rows: dict[str, Any] = {"headline": wording.headline(test, p), "few": few, "size": test.size}
    return _verdict(test, p, claim, sentences, places, shown=test, **rows)


def verdict_of_table(table: HTestTable, p: float) -> Verdict:
    """Return the verdict of several tests by their p-value; see `verdict_of_test`."""
    worst = table.rows[table.order[0]]
    claim = wording.claim_of(worst)
    few = wording.are_too_small(table)
    bound = SPEAKS if table.level is None else table.level
    order = table.order[: None if table.tests else MOST_PLACES].tolist()
    is_found = p <= bound and not claim.is_good
    # What is rejected, the worst first.
    places = list(_places(table, (i for i in order if is_found and table.adjusted[i] <= bound)))
    first, rest = wording.answer_of_table(table, p)
    told = places or (_places(table, order[:1]) if rest and not claim.is_good else [])
    named = [replace(place, name=wording.place_of_table(place, table)) for place in told]
    sentences = [("answer", first), *_where(named, rest)]
    if table.difference is not None:
        sentences.append(("difference", wording.difference_in_words(table.difference)))
    about: dict[str, Any] = {"n": wording.rows_of(table), "m": worst.m, "few": few}
    about |= {"headline": wording.headline_of_table(table, p), "data_name": worst.data_name}
    about |= {"size": worst.size, "shown": worst if table.tests else None}
    return _verdict(table, p, claim, sentences, places, **about)


def _places(table: HTestTable, numbers: Iterable[int]) -> Iterator[Gap]:
    """Yield the gaps of rows of a table, or the worst range of what is right on average."""
    for i in numbers:
        own = worst_range(wording.picked(table.rows[i], table))
        for place in wording.places_of(table, [i]):
            name = place.name if own is None else f"{place.name}, {own.name}"
            yield replace(own or place, kind=place.kind, name=name, pvalue=place.pvalue)


def verdict_of_segments(test: SegmentsTest, p: float) -> Verdict:
    """Return the verdict on segments by their p-value; see `verdict_of_test`."""
    bound = SPEAKS if test.level is None else test.level
    # The worst that is rejected, then clear ones.
    rejected = [test.place(row) for row in test.rows if max(row.adjusted, p) <= bound]
    places = rejected[:1] + [one for one in rejected[1:] if one.is_clear][: MOST_PLACES - 1]
    answer, worst = wording.answer_of_segments(test, p)
    sentences = [("answer", answer), *_where(places, worst)]
    headline = wording.with_worst((answer, worst))
    return _verdict(test, p, wording.CALIBRATION, sentences, places, headline=headline)


def _where(places: Sequence[Gap], rest: str = "") -> Iterator[tuple[str, str]]:
    """Yield the worst place, or what is said of it where its average is right, then others."""
    lines = [f"{wording.place_in_words(place)}." for place in places[:MOST_NAMED]]
    if lines and rest and not places[0].is_clear:
        lines[0] = rest
    lines += [f"{len(places) - MOST_NAMED:,} more."] if len(places) > MOST_NAMED else []
    for number, text in enumerate(lines or filter(None, [rest])):
        yield ("also" if number else "where"), text


def _verdict(
    found: Any, pvalue: float, claim: Claim, said: Sentences, places: Sequence[Gap], **about: Any
) -> Verdict:
    """Return the verdict of a result."""
    few = about.pop("few", False)
    rows: dict[str, Any] = {name: getattr(found, name, None) for name in ("n", "m", "data_name")}
    notes = about["shown"].notes if about.get("shown") else ()
    return Verdict(
        answer=wording.answer(pvalue, found.level, claim, few=few),
        pvalue=pvalue,
        level=found.level,
        places=tuple(places),
        sentences=(*said, *(("note", one) for one in notes if one.startswith(wording.WEIGHTED))),
        **rows | {"size": None} | about,
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
    if equivalence:
        lead = max(verdicts, key=lambda one: one.pvalue)
    else:  # of equals one that names a direction
        lead = min(verdicts, key=lambda one: (one.pvalue, not (one.size and one.size.is_clear)))
    whole = parts[0][1]
    card = dict(whole.sentences) | {"answer": dict(lead.sentences)["answer"]}
    if lead is not whole:
        card["size"] = f"All rows: {card['size']}" if "size" in card else ""
        seen = card.get("detectable", "")
        card["detectable"] = f"All rows together: {seen[:1].lower()}{seen[1:]}" if seen else ""
    card["helps"] = helps or ""
    details = [(kind, part.sentences[0][1]) for kind, part in parts if part is not lead]
    surest = sorted(verdicts, key=lambda one: -one.places[0].surely if one.places else 0.0)
    pairs = (pair for part in surest for pair in part.sentences)
    texts = [text for kind, text in pairs if kind in {"where", "also"}]
    places = [text for text in texts if text != wording.NOWHERE] or texts
    card["where"] = places[0] if places else ""
    details += [pair for part in verdicts for pair in part.sentences if pair[0] == "difference"]
    details += [("also", text) for text in places[1:]]
    details += [pair for pair in whole.sentences if pair[0] not in {*CARD, "difference", "also"}]
    sentences = [(kind, card[kind]) for kind in CARD if card.get(kind)] + details
    gaps = tuple(place for part in verdicts for place in part.places)
    about: dict[str, Any] = {"n": whole.n, "size": whole.size, "shown": whole.shown}
    return replace(lead, places=gaps, sentences=tuple(sentences), **about)


# ---- where --------------------------------------------------------------------------------------


def worst_range(row: HTest) -> Gap | None:
    """Return the worst range of rows that are right on average; None where these are not."""
    if row.size is None or row.size.is_clear:
        return None
    return next((place for place in row.places if place.is_clear), None)


# ---- how large, and what could have been found -------------------------------------------------


def _coefficients(test: HTest) -> Iterator[str]:
    """Yield the number of events expected, and the slope with its interval, of two classes.

    The interval is that of the test of the slope, as in the table of estimates of a report.

    Yields
    ------
    str
        A sentence.
    """
    from caltest.measures.recalibration.cox import Cox
    from caltest.nulls.base import Draws

    held = test.counted or test.evidence
    if held is None or test.size is None or test.size.kind != "event":
        return
    asked = replace(test, n_resamples=0)  # no p-value of the slope is known
    draws = Draws(max(test.n_resamples or 0, 999), held.seed)
    with suppress(NotApplicable):
        found, *_ = replace(held, measure=Cox(tested="slope")).interval(asked, 0.95, None, draws)
        rows = None if test.evidence is None else test.evidence.predictions
        weighted = rows is not None and rows.sample_weight is not None
        yield wording.slope_in_words(test.size, found, weighted=weighted)


# ---- What a test could have found with the rows at hand: the smallest errors with a power of 80 %

POWER = 0.8
LEVEL = 0.05
NUMBERS = 8e6  # redrawn labels of a step of the search
FEWEST, MOST = 40, 200  # data sets
PRECISION = 0.05  # of the size that is found
LEAST_SHARE = 1e-6  # of the largest error, where the search begins
LEAST_PROB = 1e-12
COST = 160  # of a uniform number, in labels
AT_ONCE = 1 << 19  # uniform numbers of which they are computed
SHORT = 2.0**-25  # of a uniform number of single precision


@dataclass(frozen=True, slots=True, kw_only=True)
class Detectable:
    """The smallest error of a kind that a test finds in 80 % of the data sets of these predictions.

    Attributes
    ----------
    kind : str
        "temperature", "slope" or "gap"; of forecasts "spread" or "shift".
    size : float
        Of the temperature and the slope the number, of the gap the difference of the means; of the
        spread a factor, and of the shift a number of predicted standard deviations.
    gap : float
        The share of events less the mean prediction that goes with it, or of outcomes of forecasts
        the mean less that of the predictions, in their unit.
    """

    kind: str
    size: float
    gap: float


def detectable(test: HTest) -> tuple[Detectable, ...]:
    """Return the smallest errors that a test would have found; empty where none is found.

    The predictions stay as they are, labels are drawn from what would be true, and the test decides
    at its level, or at 5 %, with the null distribution that it has. Of predictions of several
    classes a temperature is sought, of two a slope and a shift of the log odds, and of forecasts a
    factor of the spread and a shift.

    Raises
    ------
    NotApplicable
        If the result has no predictions, or its null no redrawn labels.
    """
    from caltest.measures.gap import event_rows

    evidence = htest.required(test, "what the rows could have shown")
    seen: Any = evidence.seen
    redrawn = test.null == "exact" and test.null_distribution is not None
    ranked = evidence.lens.has_rest and seen.m > 2  # no temperature of these is one of the model
    if not redrawn or evidence.predictions.n != test.n or ranked:
        reason = "what the rows could have shown is known of tests with redrawn labels of all rows"
        raise NotApplicable(f"{reason}, not of ranks", "use null='exact', or caltest.power")
    counted: Any = evidence.measure.bind_counted(seen) if seen.m == 2 else None
    bound = counted or evidence.measure.bind(seen)
    ordered = np.sort(bound.comparable(np.asarray(test.null_distribution)))
    sides = 2 if test.alternative == "two-sided" else 1
    most = int(np.floor((test.level or LEVEL) / sides * (ordered.size + 1)))
    if most == 0:  # no p-value of so few resamples is as small as the level
        return ()
    rng = np.random.default_rng(evidence.seed)
    width = seen.n if counted is None else counted.width
    count = int(np.clip(NUMBERS / (width * (seen.m or COST)), FEWEST, MOST))

    def found_in(observed: Any) -> float:
        values = bound.comparable(bound.combine(bound.statistics(observed)))
        far = values > ordered[-most]
        return float(np.mean(far | (values < ordered[most - 1]) if sides == 2 else far))

    kept = width if bound.order is None else bound.order.size
    if seen.label_probs is None:
        uniform = rng.random((1 + seen.law.has_atoms, count, kept), dtype=np.float32)
        return tuple(_of_forecasts(seen, bound, uniform, found_in))
    # Labels are drawn of the same uniform numbers for all truths, so that power rises.
    keys = rng.integers(1 << 63, size=count, dtype=np.uint64)
    probs = seen.probs if counted or bound.order is None else seen.probs[bound.order]

    def power(truth: Truth, x: float) -> float:
        if counted is None:
            return found_in(Inversion(truth(probs, x)).labels(keys))
        cells = counted.cells
        p = truth(np.column_stack([1.0 - cells.mean, cells.mean]), x)[:, 1]
        return found_in(cells.under(p).redrawn(keys))

    rows = event_rows(seen)
    weight = np.ones(seen.n) if rows.weight is None else rows.weight
    found = []
    # The errors that are sought, and the least and the largest of them.
    side = np.array([0.0, 1.0 if np.average(rows.probs, weights=weight) < 0.5 else -1.0])
    kinds: list[tuple[str, Truth, tuple[float, float]]] = [
        ("gap", lambda p, a: _moved(p, 1.0, side * a), (0.0, 6.0)),
        ("slope", _moved, (1.0, 0.0)),
    ]
    kinds = kinds if np.ptp(seen.probs[:, -1]) else kinds[:1]  # one point has no slope
    if seen.m > 2:
        kinds = [("temperature", lambda p, T: _moved(p, 1.0 / T), (1.0, 20.0))]
    for kind, truth, ends in kinds:
        size = _smallest(partial(power, truth), *ends)
        if size is not None:
            true = truth(seen.probs, size)
            chance = true[:, 1] if seen.m == 2 else true[np.arange(seen.n), seen.predicted]
            gap = float(np.average(chance - rows.probs, weights=weight))
            found.append(Detectable(kind=kind, size=abs(gap) if kind == "gap" else size, gap=gap))
    return tuple(found)


def _moved(probs: Floats, slope: float, shift: Floats | float = 0.0) -> Floats:
    """Return the probabilities (n, m) with this slope of the log odds, and shifts of these."""
    from caltest.numerics.softmax import softmax

    return softmax(np.log(np.maximum(probs, LEAST_PROB)), slope, shift)


def _of_forecasts(seen: Any, bound: Any, uniform: Singles, found_in: Any) -> Iterator[Detectable]:
    """Yield the smallest factor of the spread, and the smallest shift, that are found.

    See `moved`; of what laws with steps leave open of the PIT are the last of the numbers.
    """
    from scipy.special import ndtri  # loads SciPy

    from caltest.forecasts.container import moved

    z, within = ndtri(np.clip(uniform[0].astype(np.float64), SHORT, 1.0 - SHORT)), uniform[-1]
    step = max(1, AT_ONCE // seen.n)
    pit_at = seen.law.many_pits()
    parts = [(z[k : k + step], within[k : k + step].T) for k in range(0, len(z), step)]

    def power(s: float, b: float) -> float:
        pits = (pit_at(moved(part, s, b).T, v).T for part, v in parts)
        shares = [found_in(bound.drawn(pit)) for pit in pits]
        return float(np.average(shares, weights=[len(part) for part, _ in parts]))

    spread = _smallest(lambda s: power(s, 0.0), 1.0, 20.0)
    if spread is not None:
        yield Detectable(kind="spread", size=spread, gap=0.0)
    shift = _smallest(lambda b: power(1.0, b), 0.0, 6.0)
    if shift is not None:
        unit = float(np.average(seen.scale, weights=seen.sample_weight))
        yield Detectable(kind="shift", size=shift, gap=shift * unit)


def _smallest(power: Callable[[float], float], calibrated: float, largest: float) -> float | None:
    """Halve, on a log scale, the range in which the power rises above 80 %."""

    def rises(share: float) -> bool:
        return power(calibrated + share * (largest - calibrated)) >= POWER

    low, high = LEAST_SHARE, 1.0
    if not rises(high):
        return None
    while high > (1.0 + PRECISION) * low:
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if rises(middle) else (middle, high)
    return calibrated + high * (largest - calibrated)
