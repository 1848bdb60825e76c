"""What the author adds to a page that is signed: data period, adequacy, limitations, signatures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from caltest.errors import invalid, shown
from caltest.predictions import Predictions
from caltest.render import Sheet
from caltest.reporting.blocks import Block
from caltest.reporting.content import Content
from caltest.reporting.profiles import Profile

PERIOD, ADEQUACY, LIMITATIONS, SIGNATURES = (
    "data period",
    "sample adequacy",
    "limitations",
    "signatures",
)
WORDS = ("event", "events")  # of the sentences, not of the page
ENOUGH_EVENTS = 100  # Collins et al. 2016, of either outcome


def check_meta(meta: object) -> tuple[tuple[str, str], ...]:
    """Check what the author adds: a mapping of names to texts.

    Raises
    ------
    InvalidInput
        If it is not.

    Examples
    --------
    >>> check_meta({"data_period": "2024", "Limitations": "one site"})
    (('data period', '2024'), ('limitations', 'one site'))
    """
    if meta is None:
        return ()
    rule = "meta must map names to texts"
    remedy = 'pass meta={"data period": "2024-01 to 2024-12"}'
    if not isinstance(meta, Mapping):
        raise invalid(rule, shown(meta), remedy)
    for name, text in meta.items():
        if not isinstance(name, str) or not name.strip() or not isinstance(text, str | int | float):
            raise invalid(rule, f"{shown(text)} at {shown(name)}", remedy)
    return tuple((_key(name), str(text)) for name, text in meta.items())


def _key(name: str) -> str:
    plain = " ".join(name.replace("_", " ").split())
    known = (PERIOD, ADEQUACY, LIMITATIONS, SIGNATURES, *WORDS)
    return plain.lower() if plain.lower() in known else plain


def with_event(predictions: Predictions, stated: Iterable[tuple[str, str]]) -> Predictions:
    """Name classes that are 0 and 1 by the event that the author states.

    Examples
    --------
    >>> with_event(Predictions([0.2, 0.4], [0, 1]), [("event", "death")]).classes.tolist()
    ['no death', 'death']
    """
    event = dict(stated).get("event")
    if event is None or [str(name) for name in predictions.classes.tolist()] != ["0", "1"]:
        return predictions
    names = np.array([f"no {event}", event])
    return Predictions.trusted(predictions.probs, predictions.labels, names, like=predictions)


def adequacy(predictions: Predictions, profile: Profile) -> Iterator[str]:
    """Say how many rows and events there are, and how narrow that lets an interval be.

    Yields
    ------
    str
        A sentence.
    """
    n = predictions.n
    if predictions.m > 2:
        seen = np.bincount(predictions.labels, minlength=predictions.m)
        yield (
            f"{n:,} rows of {predictions.m:,} classes, {seen.min():,} to {seen.max():,} observed "
            "of each."
        )
        return
    yield from adequacy_of_counts(n, int(predictions.labels.sum()), profile)


def adequacy_of_counts(n: int, observed: int, profile: Profile) -> Iterator[str]:
    """Say it of rows of two classes.

    Yields
    ------
    str
        A sentence.
    """
    rare = min(observed, n - observed)
    yield f"{n:,} rows with {observed:,} {profile.events} ({100 * observed / n:.1f} %)."
    if rare < ENOUGH_EVENTS:
        yield (
            f"The rarer outcome was seen {rare:,} times: fewer than the {ENOUGH_EVENTS} that are "
            "advised for a validation (Collins, Ogundimu and Altman 2016), so that the intervals "
            "are wide."
        )


def signers(text: str) -> list[str]:
    """Return who signs: names between semicolons or line breaks.

    Examples
    --------
    >>> signers("A. Author, validator; B. Owner")
    ['A. Author, validator', 'B. Owner']
    """
    return [name.strip() for name in text.replace("\n", ";").split(";") if name.strip()]


def about_blocks(content: Content) -> Iterator[Block]:
    """Yield what the author states.

    Yields
    ------
    Block
        Of the section.
    """
    meta = dict(content.meta)
    names = [name for name in meta if name not in (SIGNATURES, *WORDS)]
    if not names:
        return
    facts = [(name.capitalize(), meta[name]) for name in names if name == PERIOD]
    facts += [
        ("Sample adequacy", " ".join(filter(None, (content.adequacy, meta.get(ADEQUACY, "")))))
    ]
    facts += [(name, meta[name]) for name in names if name not in (PERIOD, ADEQUACY, LIMITATIONS)]
    facts += [(name.capitalize(), meta[name]) for name in names if name == LIMITATIONS]
    yield Block(kind="facts", sheet=Sheet(title="Stated by the author", facts=tuple(facts)))


def signature_blocks(content: Content) -> Iterator[Block]:
    """Yield lines to sign on.

    Yields
    ------
    Block
        Of the section.
    """
    names = signers(dict(content.meta).get(SIGNATURES, ""))
    if names:
        sheet = Sheet(title="Signatures", facts=tuple((name, "") for name in names))
        yield Block(kind="lines", sheet=sheet)
