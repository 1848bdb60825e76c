"""Answer, direction and size of a result in sentences."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from caltest.render import digits_of, digits_of_gap, named, number, rows_of_fits

if TYPE_CHECKING:
    from caltest.comparison.out_of_fold import BestMap
    from caltest.measures.gap import Gap
    from caltest.measures.outcome import Ends
    from caltest.results import GroupsTest, HTest, HTestTable, Interval
    from caltest.results.verdict import Detectable
    from caltest.segments import SegmentsTest

EVIDENCE = ((0.01, "strong"), (0.05, "some"), (0.1, "weak"))  # largest p-values of these words


WEIGHTED = "rows have weights"  # a note


DETECTABLE = 2.8  # standard deviations that a test at 5 % finds with 80 %: 1.96 + 0.84


NOWHERE = "no range of predictions, class or direction is clear by itself."


DIGITS = 6  # before and behind the point; beyond, numbers have an exponent


LARGE = 0.1  # a gap that nobody would overlook


SMALLEST = 1e-4


FIRST_EVIDENCE = EVIDENCE[-1][0]  # the largest p-value that speaks against calibration at all


class Claim(NamedTuple):
    """What a small p-value speaks for, in the words of evidence and of decision.

    Attributes
    ----------
    evidence : str
        After "strong evidence".
    rejected, kept : str
        What is decided at a level.
    keys : (str, str)
        The same decisions as they are held in `Verdict.answer`.
    is_good : bool
        Whether it is what the user hopes for, as that the error is within a tolerance.
    """

    evidence: str
    rejected: str
    kept: str
    keys: tuple[str, str]
    is_good: bool = False


KEPT = "Calibration is not rejected", ("not calibrated", "not rejected")
CALIBRATION = Claim("against calibration", "Not calibrated", *KEPT)
COMMON = "common curve"  # the null of the test that groups do not differ
UNLIKE = "No difference between groups is shown", ("different", "not rejected")
DIFFERENCE = Claim("that groups differ", "Groups differ", *UNLIKE)


def claim_of(test: HTest) -> Claim:
    """What the p-value of a test is about: calibration, one side of it, a tolerance, groups."""
    if test.null == COMMON:
        return DIFFERENCE
    if test.null == "tolerance":  # that the error is below it, or above
        is_good = test.alternative == "less"
        side, word = ("below", "within") if is_good else ("above", "beyond")
        size = f"{side} {number(test.parameters['tolerance'])}"
        text = f"the {test.estimate_name} is {size}"
        decided = f"{capital(word)} the tolerance: {text}"
        kept = f"The {test.estimate_name} is not shown to be {size}"
        keys = f"{word} tolerance", "not shown within tolerance" if is_good else "not rejected"
        return Claim(f"that {text}", decided, kept, keys, is_good)
    if test.side:
        wrong = test.side.partition(":")[0]
        what, _, key = wrong.partition(" is ")
        kept = f"{capital(what)} is not shown to be {key}"
        return Claim(f"that {wrong}", capital(wrong), kept, (key, "not rejected"))
    return CALIBRATION


def answer(pvalue: float, level: float | None, claim: Claim, *, few: bool = False) -> str:
    """The key of the answer: words of evidence, or with a level of decision.

    Examples
    --------
    >>> answer(0.03, None, CALIBRATION), answer(0.03, 0.05, CALIBRATION)
    ('some evidence', 'not calibrated')
    >>> answer(0.3, None, CALIBRATION), answer(0.3, None, CALIBRATION, few=True)
    ('no evidence', 'too few rows')
    """
    found = speaks(pvalue, level)
    if few and not found and claim is CALIBRATION:
        return "too few rows"
    if level is not None:
        return claim.keys[0] if found else claim.keys[1]
    strength = next((word for bound, word in EVIDENCE if pvalue <= bound), "no")
    return f"{strength} evidence"


def speaks(pvalue: float, level: float | None) -> bool:
    """Whether a p-value speaks against the null hypothesis at the level, or at all."""
    return pvalue <= (FIRST_EVIDENCE if level is None else level)


def answer_in_words(
    pvalue: float, level: float | None, claim: Claim, *, few: bool = False, n: int = 0
) -> str:
    """The first sentence, without its full stop."""
    key, numbers = answer(pvalue, level, claim, few=few), f"p {short(pvalue)}"
    if level is not None:
        text = claim.rejected if pvalue <= level else claim.kept
        few_rows = f"; too few rows to tell, n = {n:,}" if key == "too few rows" else ""
        return f"{text} ({numbers}, level {number(level)}{few_rows})"
    if key == "too few rows":
        return f"Too few rows to tell ({numbers}, n = {n:,})"
    return f"{capital(key)} {claim.evidence} ({numbers})"


def short(pvalue: float) -> str:
    """A p-value with two digits, with the sign before it.

    Examples
    --------
    >>> short(0.04317), short(3e-9)
    ('= 0.043', '< 1e-04')
    """
    return f"< {SMALLEST:.0e}" if pvalue < SMALLEST else f"= {pvalue:.2g}"


def is_too_small(size: Gap | None) -> bool:
    """Tell whether a gap of 10 points, or twice as many events, would mostly stay unseen."""
    if size is None or size.deviation == 0:
        return False
    found = DETECTABLE * size.deviation
    return found > LARGE or found > min(size.predicted, 1.0 - size.predicted)


def are_too_small(table: HTestTable) -> bool:
    """Tell whether so large a gap would mostly stay unseen in every row, and none is rejected."""
    small = bool(table.tests) and all(is_too_small(row.size) for row in table.tests)
    return small and float(table.adjusted.min()) > (table.level or EVIDENCE[1][0])


def headline(test: HTest, p: float) -> str:
    """The answer of one test, and the direction and size; p may be adjusted for other questions."""
    claim, few = claim_of(test), is_too_small(test.size)
    if claim is DIFFERENCE:
        return difference_in_words(test)
    first = answer_in_words(p, test.level, claim, few=few, n=test.n)
    return f"{first}. {direction(test, p)}".rstrip()


def direction(test: HTest, pvalue: float) -> str:
    """Direction and size in percentage points with the interval, as far as p speaks for them."""
    if test.size is None:
        return ""
    found = speaks(pvalue, test.level) and not claim_of(test).is_good
    if test.size.kind == "interval":
        text = size_in_words(test.size, clear=found)
        says_more = found and not (test.size.is_clear and "sure" in test.finding)
        return f"{text[:-1]}; {test.finding}." if says_more and test.finding else text
    if test.side:
        return size_in_words(test.size, clear=found and test.size.low > 0)
    if found and not test.size.is_clear and test.finding:
        return f"{capital(test.finding)}. {size_in_words(test.size, clear=False)}"
    return size_in_words(test.size, clear=found)


def size_in_words(size: Gap, *, clear: bool = True) -> str:
    """A mean prediction and an observed share; with the word for the side where that is clear."""
    predicted, observed, gap = numbers_in_words(size)
    if size.kind == "interval":
        low, high = (100 * (size.predicted + end) for end in (size.low, size.high))
        digits = decimals(size)
        text = f"intervals of {100 * size.predicted:.3g} % hold {observed} of the outcomes"
        text += f" ({low:.{digits}f} to {high:.{digits}f})."
        word = "Too sure" if size.gap < 0 else "Not sure enough"
        return f"{word}: {text}" if clear and size.is_clear else capital(text)
    if size.kind == "confidence":
        numbers = f"claims {predicted}, is right in {observed} ({gap})."
        word = "Overconfident" if size.gap < 0 else "Underconfident"
        word += f" by {sure}" if (sure := surely_in_words(size)) else ""
        about = f"The confidence is {predicted} on average, right in {observed} ({gap})."
        return f"{word}: {numbers}" if clear and size.is_clear else about
    if clear and size.is_clear:
        wrong = f"{surely_in_words(size)} too {size.side}".lstrip()
        return f"P({size.name}) {wrong}: {predicted} predicted, {observed} observed ({gap})."
    return f"P({size.name}) is {predicted} on average, {observed} observed ({gap})."


def surely_in_words(size: Gap) -> str:
    """The end of a simultaneous interval that is nearer to no gap; nothing of another one."""
    if not size.is_simultaneous:
        return ""
    return f"at least {100 * size.surely:.{decimals(size)}f} points"


def wrong_in_words(test: HTest) -> str:
    """What is surely wrong in the surest place, or on both sides where these are one error."""
    shape, places = shape_of(test), test.places
    surest = {one.side: one for one in reversed(places)}.values() if shape else places[:1]
    wrong = [
        f"{one.name} is {surely_in_words(one)} too {one.side}"
        for one in sorted(surest, key=lambda one: one.predicted)
    ]
    return f"{shape}: {' and '.join(wrong)}".removeprefix(": ")


def shape_of(test: HTest) -> str:
    """Whether ranges on both sides of the mean prediction are too far from it, or too near.

    Where the mean is right and the temperature, which is that of all rows, says the same.
    """
    size, places, parts = test.size, test.places, test.components
    ranges = [one.where for one in places if one.where and one.where.is_range]
    shown = {(one.event, one.predicted) for one in ranges}
    if size is None or size.is_clear or parts is None or len(ranges) < len(places):
        return ""
    level = test.level or EVIDENCE[1][0]
    rows = [row for row, p in zip(parts.rows, parts.adjusted, strict=True) if p <= level]
    above = [one.predicted > size.predicted for one in places]
    far = {is_above == (one.side == "high") for is_above, one in zip(above, places, strict=True)}
    is_one = shown == {(size.name, None)} and len({*above}) == 2
    if is_one and far == {row.estimate > 1.0 for row in rows if row.test == "temperature"}:
        return "too extreme" if far == {True} else "not extreme enough"
    return ""


def numbers_in_words(size: Gap) -> tuple[str, str, str]:
    """Prediction and observation in per cent, and their gap in points, all with as many digits.

    The gap is that in size where its interval leaves out 0, else observed less predicted.
    """
    digits = decimals(size)
    sign = -1.0 if size.high < 0 else 1.0
    low, high = sorted((sign * size.low, sign * size.high))
    gap, *ends = (f"{100 * value:z.{digits}f}" for value in (sign * size.gap, low, high))
    predicted, observed = (f"{100 * x:.{digits}f} %" for x in (size.predicted, size.observed))
    together = " simultaneously" if size.is_simultaneous else ""
    return predicted, observed, f"gap {gap} points, {' to '.join(ends)}{together}"


def decimals(size: Gap) -> int:
    """One decimal of a percentage point, more where the interval or its sure end would vanish."""
    is_sure = size.is_clear and size.is_simultaneous
    return max(digits_of_gap(size), digits_of(2 * size.surely) if is_sure else 1)


def place_in_words(place: Gap) -> str:
    """Where it is wrong and how: prediction and observation, rows, gap with interval, p-value."""
    predicted, observed, gap = numbers_in_words(place)
    pvalue = "" if place.pvalue is None else f", p {short(place.pvalue)}"
    sure = surely_in_words(place)
    word = ", " + f"{sure} too {place.side}".lstrip() if place.is_clear else ""
    text = f"{predicted} predicted, {observed} observed (n = {place.n:,}, {gap}{pvalue})"
    return f"{place.name}{word}: {text}"


def capital(text: str) -> str:
    """The text as a sentence begins; a formula such as P(1) stays."""
    return text[:1].upper() + text[1:]


def difference_in_words(test: HTest) -> str:
    """Whether groups differ, and which one is farthest from the others, or could be."""
    first = answer_in_words(test.pvalue, test.level, DIFFERENCE)
    size = test.size
    if size is None:
        return f"{first}."
    predicted, observed, gap = numbers_in_words(size)
    numbers = f"{observed} observed, {predicted} at the same predictions elsewhere ({gap})"
    if not test.m:  # forecasts, of which the intervals are compared
        numbers = f"{observed} of the outcomes in their intervals, {predicted} elsewhere ({gap})"
    if not speaks(test.pvalue, test.level):
        if size.is_clear:  # which p, of three statistics together, need not see
            return f"{first}, though the interval of {size.name} leaves out 0: {numbers}."
        largest = max(abs(size.low), abs(size.high))
        most = f"a difference of {100 * largest:.{decimals(size)}f} points"
        where = "for" if test.m > 2 else "in"  # the accuracy or a class in a group, or a group
        return f"{first}; {most} is not ruled out {where} {size.name}: {numbers}."
    clear = "" if size.is_clear else ", though not clearly by its mean"
    return f"{first}: {size.name} is farthest from the others{clear}: {numbers}."


# ---- several tests ------------------------------------------------------------------------------


KINDS = {"groups": "group", "grades": "group", "segments": "segment"}
KINDS |= {"classes": "class", "thresholds": "class"}


def pvalue_of_table(table: HTestTable) -> float:
    """The p-value of the table as a whole: of groups that of all, else the least adjusted one.

    That all are within a tolerance is shown where each is, by the largest p-value (Berger 1982).
    Without resamples that of groups is twice the smaller of two, of the least adjusted one and that
    of all groups together.
    """
    if claim_of(table.rows[0]).is_good:
        return float(table.pvalues.max())
    least = float(table.adjusted.min())
    if not table.omnibus or claim_of(table.rows[0]) is not CALIBRATION:
        return least
    if table.together is not None:
        return table.together
    if table.correction in {None, "none"}:
        least *= len(table)
    together = len(table.omnibus) * min(test.pvalue for test in table.omnibus)
    return min(1.0, 2.0 * min(least, together))


def headline_of_table(table: HTestTable, p: float) -> str:
    """The answer of several tests, and the direction of the one that is farthest out."""
    headline = answer_of_table(table, p)
    return with_worst(headline, "Farthest off" if claim_of(table.rows[0]).is_good else "Worst")


def with_worst(headline: tuple[str, str], word: str = "Worst") -> str:
    """The answer on several parts, and the one that is farthest out where it is named."""
    return f"{headline[0]} {word} is {headline[1]}" if headline[1] else headline[0]


def answer_of_table(table: HTestTable, whole: float) -> tuple[str, str]:
    """The answer of several tests, and the one that is farthest out, or "" where none is named."""
    worst, noun = table.order[0], table.noun
    row, rows = table.rows[worst], table.tests or table.rows[:2]
    claim, least = claim_of(row), float(table.adjusted[worst])
    few, n = are_too_small(table), rows_of(table)
    first = answer_in_words(whole, table.level, claim, few=few, n=n)
    seen = direction(picked(row, table), least)
    if len(table) == 1:
        return f"{first}. {seen}".rstrip(), ""
    text = f"{called(name_of(row, rows), rows)}. {seen}".rstrip()
    bound = table.level
    if bound is None:  # weak evidence counts where all give no more
        bound = FIRST_EVIDENCE if EVIDENCE[1][0] < whole <= FIRST_EVIDENCE else EVIDENCE[1][0]
    count = int((table.adjusted <= bound).sum())
    if claim.is_good:
        return f"{first}: shown in {count or 'none'} of {len(table)} {noun}.", text
    named = text if whole <= bound else ""
    every = f"{len(table):,} {noun}"
    if not count:
        where = f" for all together, in none of {every} by itself"
        return f"{first}{where if whole <= bound else f' in any of {every}'}.", ""
    where = f"in {count:,} of {every}"
    if whole > bound:
        kept = "p-value, not adjusted," if table.correction is None else "adjusted p-value"
        return f"{first} for all together; the {kept} is at most {bound:g} {where}.", named
    return f"{first}, {where}.", named


def picked(row: HTest, table: HTestTable) -> HTest:
    """A row that was picked from others, with an interval that holds for all of them at once."""
    if row.size is None:
        return row
    among = {(one.group, one.data_name, one.lens) for one in table.tests}
    return replace(row, size=row.size.one_of(len(among) or len(table)))


def places_of(table: HTestTable, numbers: Iterable[int]) -> Iterator[Gap]:
    """Yield the gaps of rows of a table, picked from all, with name and adjusted p-value."""
    from caltest.measures.gap import Where

    rows, kind = table.tests or table.rows[:2], KINDS.get(table.noun, "test")
    for i in numbers:
        row = picked(table.rows[i], table)
        if row.size is not None:
            named = None if row.group is None else str(row.group)
            whose: dict[str, Any] = {"segment" if kind == "segment" else "group": named}
            name, where = name_of(row, rows), Where(lens=row.lens, **whose)
            p = float(table.adjusted[i])
            yield replace(row.size, kind=kind, name=name, pvalue=p, where=where)


def worst_first(table: HTestTable) -> list[int]:
    """The rows by adjusted p-value; of several with the same the one that is farthest out."""
    sign = -1.0 if claim_of(table.rows[0]).is_good else 1.0

    def key(i: int) -> tuple[float, float, float]:
        size, pvalue, far = table.rows[i].size, table.rows[i].pvalue, 0.0
        if size is not None and size.deviation:
            far = round(abs(size.gap) / size.deviation, 6)
        return sign * float(table.adjusted[i]), sign * pvalue, -far

    return sorted(range(len(table.rows)), key=key)


def rows_of(table: HTestTable) -> int:
    """The number of rows of all tests: of groups the sum, else the tests share their rows."""
    if not table.tests:
        return table.n
    if table.rows[0].lens.startswith("top-label"):
        return sum(row.n for row in table)
    return sum({row.group: row.n for row in table}.values())


def noun_of(rows: Sequence[HTest]) -> str:
    """What the rows of a table are."""
    if len({row.group for row in rows}) == len(rows) > 1:
        return "grades" if rows[0].is_of_grade else "groups"
    if len({row.data_name for row in rows}) > 1:
        return "models"
    if len({row.lens for row in rows}) == len(rows) > 1:
        families = {row.lens.partition("[")[0] if "[" in row.lens else "" for row in rows}
        if families == {"cumulative"}:
            return "thresholds"
        is_one = rows[0].m > 0 and len(families) == 1 and "" not in families
        return "classes" if is_one else "lenses"
    return "tests"


def name_of(row: HTest, rows: Sequence[HTest]) -> str:
    """What tells a row from the others."""
    names = ("group", "data_name", "test", "lens")
    differ = [name for name in names if len({getattr(one, name) for one in rows}) > 1]
    own = row.test if row.group is None else row.group
    return ", ".join(named(getattr(row, name)) for name in differ) or named(own)


def called(name: str, rows: Sequence[HTest]) -> str:
    """The name of rows in a sentence, in which a group that is a number is called a group."""
    is_number = re.fullmatch(r"-?\d+(\.\d+)?", name.partition(", ")[0])
    if not is_number or len({row.group for row in rows}) == 1 < len(rows):
        return name
    return f"{'grade' if rows[0].is_of_grade else 'group'} {name}"


def place_of_table(place: Gap, table: HTestTable) -> str:
    """The name of a place in a sentence, of a group with what is predicted there."""
    size, name = table.rows[0].size, called(place.name, table.tests or table.rows[:2])
    if place.kind != "group" or size is None or size.kind == "default" or ", " in place.name:
        return name
    of = {"confidence": "the confidence", "interval": "the nominal coverage"}
    return f"{of.get(size.kind, f'P({size.name})')} in {name}"


def answer_of_segments(test: SegmentsTest, p: float) -> tuple[str, str]:
    """The answer on all segments, and the worst of them; empty where it is not named."""
    first, worst = answer_in_words(p, test.level, CALIBRATION), test.rows[0]
    if not speaks(p, test.level):
        return f"{first} in any of {sum(test.n_segments):,} segments.", ""
    place = test.place(worst)
    predicted, observed, gap = numbers_in_words(place)
    wrong = f"predictions {surely_in_words(place)} too {place.side}, " if place.is_clear else ""
    numbers = f"{wrong}{predicted} predicted, {observed} observed ({gap})."
    return f"{first} in some segments.", f"{worst.definition}: {numbers}"


# ---- the verdict --------------------------------------------------------------------------------


def slope_in_words(size: Gap, slope: Ends, *, weighted: bool = False) -> str:
    """Events expected and observed, and the slope of the log odds, with the rows that have them."""
    expected, observed = size.n * size.predicted, size.n * size.observed
    seen = f"{observed:,.1f} observed by weight" if weighted else f"{observed:,.0f} observed"
    side = ": too extreme" if slope.high < 1 else ": not extreme enough" if slope.low > 1 else ""
    side = ": the wrong way round" if slope.high < 0 else side
    return (
        f"{expected:,.1f} events expected, {seen}; slope of the log odds "
        f"{slope.estimate:.2f} ({slope.low:.2f} to {slope.high:.2f}){rows_of_slope(slope)}{side}."
    )


def rows_of_slope(slope: Interval | Ends) -> str:
    """Which rows a slope or intercept is of, where others have predictions of 0 or 1."""
    return next((f" {note}" for note in slope.notes if note.endswith("inside (0, 1)")), "")


def remedy_in_words(choice: BestMap, of: Any, rows: str = "", *, command: bool = False) -> str:
    """What a calibration map does, how it is fitted, to all rows or to some, and what it gains."""
    m, weighted = of.m, of.sample_weight is not None
    key, is_shift, given = choice.calibrator.key, choice.name == "shift", "probs, y"
    given = given + ", sample_weight" * weighted if m else "forecasts"
    what, fit, test = "", f"ct.calibrators.{choice.calibrator!r}.fit({given})", "recalibrate="
    own = re.findall(r"(\w+=)([\w.]+)", repr(choice.calibrator)) if command else []
    if command:
        options = "".join(f" --set {name}{value.lower()}" for name, value in own)
        fit = f"caltest calibrate fit FILE --method {key}{options}"
        fit += " --weight COLUMN" * weighted
        what, test = choice.calibrator.title, f"caltest report FILE --recalibrate {key}"
    what = "a shift of the log odds" if is_shift else what
    for name, value in choice.numbers.items():
        what = f"divide the log{' odds' if m == 2 else 'its'} by {value:.2f} ({name} scaling)"
        if is_shift:
            side = "raise" if value > 0 else "lower"
            what = f"{side} the intercept by {abs(value):.2f} on the log odds"
    what += " (recalibration in the large)" * is_shift + ": " * bool(what)
    gain = _gain_in_words(choice, f"; {choice.n:,} rows in {choice.n_folds} folds")
    is_tested = not rows and not own  # --recalibrate takes no options
    left = f"; {test} tests what is left of the error" if is_tested else ""
    return (
        f"{what}{fit}{rows}, with as many rows or more that are in neither the training data nor "
        f"this test; {gain}{left}."
    )


NOT_COMPARED = (
    "maps are not compared here, since the CRPS of these forecasts is an integral, which takes "
    "long; ct.compare_calibrators(forecasts) compares them."
)


def no_clear_gain(choice: BestMap, n: int, rows: str = "") -> str:
    """In how many rows, all or those of some groups, a gain as large as here would be clear."""
    if choice.needed is None or choice.needed <= n:  # a sample of these was compared
        return f"no map can be recommended by its held-out {choice.score}{rows}."
    together = " in all" if rows else ""
    return (
        f"no map has a clearly better held-out {choice.score}{rows}; a gain as large as here would "
        f"be clear in about {choice.needed:,} rows{together}."
    )


def recalibrated_in_words(best: BestMap, level: float | None) -> str:
    """The map that the held-out score prefers, and what is left of the error after it."""
    if best.name == "identity":
        which = f"; not taken, since outcomes were impossible with it: {', '.join(best.left_out)}"
        other = which if best.left_out else ""
        return f"no map has a clearly better held-out {best.score} than the model as it is{other}."
    parts = best.calibrator.composition()
    note = f" ({parts}; in each fold, of the training rows alone)" if parts else ""
    after = f"{best.name}{note}: {_gain_in_words(best)}."
    if best.pvalue_after is None:
        return after
    left = answer_in_words(best.pvalue_after, level, CALIBRATION)
    others = rows_of_fits(best.n_fit, best.n_folds, best.n)
    tested = f"{best.n:,} rows, each predicted by a map of {others} others"
    return f"{after} After it: {left[0].lower()}{left[1:]}, by {best.test} on {tested}."


def _gain_in_words(best: BestMap, more: str = "") -> str:
    """The held-out score with a map, and how much better it is with its interval."""
    low, high = sorted((-best.low, -best.high))
    width = min(high - low, 10.0 * low) if low > 0 else high - low  # a gain is not shown as 0
    digits = 3 if width <= 0 else max(1 - math.floor(math.log10(width)), 0)
    values = best.after, -best.difference, low, high
    form = f"z.{digits}f" if digits <= DIGITS and max(values) < 10.0**DIGITS else ".3g"
    after, gained, least, most = (f"{value:{form}}" for value in values)
    return f"held-out {best.score} {after} ({gained} better, {least} to {most}{more})"


def detectable_in_words(found: Sequence[Detectable], n: int, level: float) -> str:
    """What the rows could have shown."""
    often = f"in 80 % of cases, at level {level:g}"
    rows = f"These {n:,} rows" if n > 1 else "This row"
    if not found:
        return f"{rows} would not have shown even a very large error {often}."
    sentences = []
    for one in found:
        points = f"{100 * abs(one.gap):.{digits_of(abs(one.gap))}f} points"
        side = "high" if one.gap < 0 else "low"
        words = {"gap": f"a mean prediction that is {points} too {side}"}
        words["slope"] = f"a slope of {one.size:.2f} at intercept 0"
        words["temperature"] = f"a temperature of {one.size:.2f} (confidence {points} too high)"
        words["spread"] = f"outcomes that scatter {one.size:.2f} times as widely as predicted"
        words["spread"] += " (in normal scores)"
        unit = f" ({abs(one.gap):.3g} on average)" if math.isfinite(one.gap) else ""
        deviations = f"{one.size:.2f} predicted standard deviations{unit}"
        words["shift"] = f"forecasts that are too {side} by {deviations}"
        sentences.append(words[one.kind])
    return f"{rows} would have shown {' or '.join(sentences)} {often}."


# ---- the answer as a badge: an SVG, or the JSON of an endpoint of shields.io ---------------------

# White is read on each of them; the names are those of shields.io.
COLORS = {"green": "#2e7d32", "yellow": "#7a6100", "red": "#b3261e", "lightgrey": "#5f6368"}
AGAINST = {"no": "green", "weak": "yellow"}
LETTER = 6.6  # of a letter of 11 px, on average
SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{all}" height="20" role="img" aria-label="{text}">
<title>{text}</title><rect width="{all}" height="20" rx="3" fill="{fill}"/>
<path d="M3 0h{cut}v20H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" fill="#444"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="5" y="14" textLength="{left}">{label}</text>
<text x="{start}" y="14" textLength="{right}">{message}</text></g></svg>
"""


def badge(result: HTest | HTestTable | GroupsTest | SegmentsTest, p: float, form: str) -> str:
    """Return the badge of a result.

    Parameters
    ----------
    p : float
        That of the answer, adjusted where others were asked beside this one.
    form : {"json", "svg"}
        As JSON that https://shields.io/badges/endpoint-badge reads, or a picture 20 pixels high.

    Examples
    --------
    >>> import json
    >>> import caltest as ct
    >>> from caltest.results.wording import badge
    >>> result = ct.test_calibration(ct.datasets.generative_model("M1", n=200, m=3, rng=1), rng=1)
    >>> json.loads(badge(result, result.pvalue, "json"))["message"]
    'no evidence against (p = 0.81)'
    """
    rows = result.tests
    claim = claim_of(rows[0]) if rows else CALIBRATION
    few = bool(rows) and all(is_too_small(row.size) for row in rows)
    key = answer(p, result.level, claim, few=few)
    found = speaks(p, result.level)
    color = AGAINST.get(key.removesuffix(" evidence"), "red" if found else "green")
    if claim.is_good:
        size = f"{rows[0].estimate_name} below {number(rows[0].parameters['tolerance'])}"
        key, color = (size, "green") if found else (f"{size} not shown", "lightgrey")
    elif key.endswith("evidence"):
        key += " against"
    color = "lightgrey" if key == "too few rows" else color
    said = {"label": "calibration", "message": f"{key} (p {short(p)})"}
    if form == "json":
        return json.dumps({"schemaVersion": 1, **said, "color": color}) + "\n"
    left, right = (round(LETTER * len(text)) for text in said.values())
    sizes = {"left": left, "right": right, "all": left + right + 20}
    sizes |= {"cut": left + 7, "start": left + 15}
    words = {name: escape(text) for name, text in said.items()}
    return SVG.format(text=": ".join(words.values()), fill=COLORS[color], **words, **sizes)
