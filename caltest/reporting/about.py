"""What the report is for, what its author states, and how to repeat it."""

from __future__ import annotations

import datetime as dt
import hashlib
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caltest import __version__, checks
from caltest.errors import invalid, shown
from caltest.predictions import Predictions
from caltest.reporting.content import Block, Content, Reproduction, facts
from caltest.sources import Cells
from caltest.types import Ints

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


def named_event(classes: Sequence[object], event: str | None) -> tuple[str, str] | None:
    """Return names for classes that are 0 and 1 by the event that the author states, if any.

    Examples
    --------
    >>> named_event([0, 1], "death")
    ('no death', 'death')
    """
    if event is None or [str(name) for name in classes] != ["0", "1"]:
        return None
    return f"no {event}", event


def adequacy(n: int, m: int, counts: Ints | None, profile: Profile) -> Iterator[str]:
    """Say how many rows and events there are, and how narrow that lets an interval be.

    Yields
    ------
    str
        A sentence; `counts` are the rows of each class, where they are known.
    """
    if m > 2 or counts is None:
        seen = "" if counts is None else f", {counts.min():,} to {counts.max():,} observed of each"
        yield f"{n:,} rows of {m:,} classes{seen}."
        return
    observed = int(counts[1])
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
    enough = " ".join(filter(None, (content.adequacy, meta.get(ADEQUACY, ""))))
    others = [name for name in names if name not in (PERIOD, ADEQUACY, LIMITATIONS)]
    stated = [(name.capitalize(), meta[name]) for name in names if name == PERIOD]
    stated += [("Sample adequacy", enough), *((name, meta[name]) for name in others)]
    stated += [(name.capitalize(), meta[name]) for name in names if name == LIMITATIONS]
    yield facts("Stated by the author", stated)


def signature_blocks(content: Content) -> Iterator[Block]:
    """Yield lines to sign on.

    Yields
    ------
    Block
        Of the section.
    """
    names = signers(dict(content.meta).get(SIGNATURES, ""))
    if names:
        yield facts("Signatures", [(name, "") for name in names], "lines")


LIBRARIES = ("numpy", "scipy", "numba", "matplotlib")
ROWS = 1 << 14  # hashed at a time


def reproduction(
    hashed: str,
    *,
    seed: int,
    n_resamples: int,
    command: str | None,
    time: dt.datetime | None,
) -> Reproduction:
    """Describe the run; the time is that of the clock unless it is given."""
    versions = {"caltest": __version__, "Python": platform.python_version()}
    versions |= {name: metadata.version(name) for name in LIBRARIES}
    when = dt.datetime.now(dt.UTC) if time is None else time
    return Reproduction(
        versions=versions,
        seed=seed,
        n_resamples=n_resamples,
        data_hash=hashed,
        command=command,
        time=when.isoformat(timespec="seconds"),
    )


def data_hash(predictions: Predictions) -> str:
    """Return the SHA-256 of probabilities, labels, names of classes, weights and groups.

    Numbers are hashed as little-endian 64-bit values in C order, names as JSON-like text; so the
    hash is that of the predictions and not of the file that held them.
    """
    digest = hashlib.sha256()
    digest.update(repr((predictions.n, predictions.m, predictions.classes.tolist())).encode())
    _add(digest, predictions.probs, "<f8")
    _add(digest, predictions.labels, "<i8")
    if predictions.sample_weight is not None:
        _add(digest, predictions.sample_weight, "<f8")
    if predictions.groups is not None:
        digest.update(repr(predictions.groups.tolist()).encode())
    return digest.hexdigest()


def cells_hash(events: Iterable[tuple[object, Mapping[Any, Cells]]]) -> str:
    """Return the SHA-256 of the cells of some lenses: places, rows, events, sums of predictions."""
    digest = hashlib.sha256()
    for lens, by_group in events:
        digest.update(str(lens).encode())
        for cells in by_group.values():
            for values in (cells.place, cells.n, cells.events):
                _add(digest, values, "<i8")
            _add(digest, cells.expected, "<f8")
    return digest.hexdigest()


def _add(digest: hashlib._Hash, values: NDArray[np.generic], kind: str) -> None:
    for start in range(0, len(values), ROWS):
        digest.update(np.ascontiguousarray(values[start : start + ROWS], dtype=kind).tobytes())


def reproduction_blocks(content: Content) -> Iterator[Block]:
    """Yield what is needed to repeat the run.

    Yields
    ------
    Block
        Of the section.
    """
    told = content.reproduction
    versions = ", ".join(f"{name} {value}" for name, value in told.versions.items())
    known = [("author", content.author), ("command", told.command), ("versions", versions)]
    known += [("seed", str(told.seed)), ("resamples (B)", f"{told.n_resamples:,}")]
    known += [("data, SHA-256", told.data_hash), ("time", told.time)]
    yield facts("This run", [(name, value) for name, value in known if value is not None])


# ---- For whom a report is: words, order of the sections, and tests ------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The words, the order and the tests of a field.

    Attributes
    ----------
    key, title : str
    predicted, observed : str
        Heads of the columns of two classes: what the model says, and what happened.
    too_high, too_low : str
        The direction of a gap.
    event, events : str
        What is predicted; `meta["event"]` and `meta["events"]` take their place.
    binary : tuple of str
        Further tests of two classes, after the default one.
    estimates : str
        The title of the table of numbers.
    first : tuple of str
        Keys of the sections that follow the answer, before the places.
    graded : bool
        Whether the grades of a master scale are tested.
    decisions : bool
        Whether the net benefit is shown.
    """

    key: str
    title: str
    predicted: str = "predicted"
    observed: str = "observed"
    too_high: str = "too high"
    too_low: str = "too low"
    event: str = "event"
    events: str = "events"
    binary: tuple[str, ...] = ("skce", "ece", "spiegelhalter", "cox", "calibration-slope")
    estimates: str = "Calibration in numbers"
    first: tuple[str, ...] = ("within", "estimates")
    graded: bool = False
    decisions: bool = False


PROFILES: dict[str, Profile] = {
    profile.key: profile
    for profile in (
        Profile(key="general", title="probabilities of an event"),
        Profile(
            key="clinical",
            title="validation of a risk model",
            predicted="mean risk",
            observed="observed",
            too_high="risks too high",
            too_low="risks too low",
            binary=(
                "calibration-in-the-large",
                "calibration-slope",
                "ici",
                "calibration-belt",
                "unreliability",
            ),
            estimates="Calibration of the risks",
            first=("within", "estimates", "decisions"),
            decisions=True,
        ),
        Profile(
            key="credit",
            title="validation of PDs",
            predicted="mean PD",
            observed="default rate",
            too_high="PD too high",
            too_low="PD too low",
            event="default",
            events="defaults",
            binary=(
                "calibration-in-the-large",
                "calibration-slope",
                "spiegelhalter",
                "hosmer-lemeshow",
            ),
            estimates="Calibration of the PDs",
            first=("grades", "within", "estimates"),
            graded=True,
        ),
        Profile(
            key="ml",
            title="confidence of a classifier",
            predicted="confidence",
            observed="accuracy",
            too_high="overconfident",
            too_low="underconfident",
        ),
        Profile(
            key="forecast",
            title="verification of probability forecasts",
            predicted="mean forecast",
            observed="observed",
            too_high="forecasts too high",
            too_low="forecasts too low",
            binary=("corp", "brier", "spiegelhalter", "cox"),
            estimates="Skill and reliability",
        ),
    )
}


def profile_of(key: str | None, m: int) -> Profile:
    """Return the profile of a key, or the one for so many classes.

    Raises
    ------
    InvalidInput
        If there is no such profile.

    Examples
    --------
    >>> profile_of(None, 2).key, profile_of(None, 10).key, profile_of("credit", 2).observed
    ('general', 'ml', 'default rate')
    """
    if key is None:
        return PROFILES["general" if m == 2 else "ml"]
    return PROFILES[checks.check_choice(key, PROFILES, "profile")]


def worded(profile: Profile, meta: Iterable[tuple[str, str]]) -> Profile:
    """Return the profile with the author's words for the event.

    Examples
    --------
    >>> worded(PROFILES["clinical"], [("event", "death"), ("events", "deaths")]).events
    'deaths'
    """
    given = dict(meta)
    event = given.get("event", profile.event)
    events = given.get("events", f"{event}s" if "event" in given else profile.events)
    return replace(profile, event=event, events=events)
