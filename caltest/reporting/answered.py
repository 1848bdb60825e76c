"""The answer of a report: the verdict on the first test, with what groups and tolerance add."""

from __future__ import annotations

from collections.abc import Iterator

from caltest.predictions import Predictions
from caltest.reporting.content import Gap, Where, Within
from caltest.reporting.gaps import covers_zero, is_clear, whole_gap
from caltest.reporting.profiles import Profile
from caltest.reporting.wording import share, short_pvalue
from caltest.results import HTest

EVIDENCE = ((0.01, "strong evidence"), (0.05, "some evidence"), (0.1, "weak evidence"))


def answer_of(
    predictions: Predictions,
    first: HTest,
    where: Where,
    within: Within | None,
    profile: Profile,
) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    """Return the answer, the headline and the sentences beside it."""
    pvalue, source = _pvalue(first, where)
    answer = _answer(pvalue, first.level)
    seen = _seen(predictions)
    gap = whole_gap(seen, kind="all", name="all rows")
    headline = f"{_in_words(answer, first.level)} (p = {short_pvalue(pvalue)}{source})."
    sentences = [("size", _size(gap, seen, profile, predictions.m))]
    sentences += [("where", text) for text in _where(where, profile, first.level)]
    if within is not None:
        sentences += [("tolerance", text) for text in within.sentences]
    return answer, headline.replace("= <", "<"), tuple(sentences)


def _seen(predictions: Predictions) -> Predictions:
    from caltest.lenses import resolve_lens

    return predictions if predictions.m == 2 else resolve_lens("confidence")(predictions)


def _pvalue(first: HTest, where: Where) -> tuple[float, str]:
    """Return the p-value of all rows and of the groups together, twice the smaller one."""
    together = where.groups.omnibus if where.groups is not None else ()
    if not together:
        return first.pvalue, ""
    smallest = min(first.pvalue, *(test.pvalue for test in together))
    return min(1.0, 2 * smallest), ", for all rows and the groups"


def _answer(pvalue: float, level: float | None) -> str:
    if level is not None:
        return "not calibrated" if pvalue <= level else "not rejected"
    return next((words for bound, words in EVIDENCE if pvalue <= bound), "no evidence")


def _in_words(answer: str, level: float | None) -> str:
    if level is None:
        return f"{answer.capitalize()} against calibration"
    return "Not calibrated" if answer == "not calibrated" else "Calibration is not rejected"


def _size(gap: Gap, seen: Predictions, profile: Profile, m: int) -> str:
    interval = f"{100 * gap.low:.1f} to {100 * gap.high:.1f}".replace("-", "\u2212")
    points = f"gap {100 * gap.gap:.1f} points, {interval}".replace("-", "\u2212")
    if m > 2:
        word = "On average" if covers_zero(gap) else _direction(gap)
        return (
            f"{word}: claims {share(gap.predicted)}, is right in {share(gap.observed)} ({points})."
        )
    word = "On average" if covers_zero(gap) else _word(gap, profile).capitalize()
    if seen.sample_weight is not None:
        return f"{word}: {share(gap.predicted)} predicted, {share(gap.observed)} observed ({points})."
    return (
        f"{word}: {seen.probs[:, 1].sum():,.0f} {profile.events} predicted, "
        f"{int(seen.labels.sum()):,} observed of {seen.n:,} ({points})."
    )


def _direction(gap: Gap) -> str:
    return "Overconfident" if gap.gap > 0 else "Underconfident"


def _word(gap: Gap, profile: Profile) -> str:
    return profile.too_high if gap.gap > 0 else profile.too_low


def _where(where: Where, profile: Profile, level: float | None) -> Iterator[str]:
    for kind in ("range", "class", "group"):
        gaps = where.group_gaps if kind == "group" else where.places
        clear = [gap for gap in gaps if gap.kind == kind and is_clear(gap, level)]
        if clear:
            worst = min(clear, key=lambda gap: (gap.pvalue, -abs(gap.gap)))
            yield (
                f"Worst {kind}: {worst.name}, {share(worst.predicted)} predicted, "
                f"{share(worst.observed)} observed of {worst.n:,} rows "
                f"(adjusted p = {short_pvalue(worst.pvalue or 0.0)})."
            ).replace("= <", "<")


