"""What the report is for, what its author states, and how to repeat it."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import platform
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from caltest import __version__, checks, render
from caltest.errors import invalid, shown
from caltest.predictions.files import files_of
from caltest.predictions.rows import Rows
from caltest.reporting.content import Block, Content, Reproduction, Settings, facts
from caltest.sources import Cells
from caltest.types import AnyArray, Ints

PERIOD, ADEQUACY = "data period", "sample adequacy"
LIMITATIONS, SIGNATURES = "limitations", "signatures"
WORDS = ("event", "events")  # of the sentences, not of the page
ENOUGH_EVENTS = 100  # Collins et al. 2016, of either outcome


def check_meta(meta: object, **given: object) -> tuple[tuple[str, str], ...]:
    """Check what the author adds: a mapping of names to texts, and arguments that are texts.

    Raises
    ------
    InvalidInput
        If it is not.

    Examples
    --------
    >>> check_meta({"data_period": "2024", "Limitations": "one site"})
    (('data period', '2024'), ('limitations', 'one site'))
    """
    for name, value in given.items():
        kind = {"time": dt.datetime, "data_file": str | PurePath}.get(name, str)
        if not isinstance(value, kind | None):
            of, other = ("datetime", "; of rows pass cluster=") if name == "time" else ("text", "")
            raise invalid(f"{name} must be a {of}", shown(value), f"or leave it out{other}")
    if meta is None:
        return ()
    rule = "meta must map names to texts"
    remedy = 'pass meta={"data period": "2024-01 to 2024-12"}'
    if not isinstance(meta, Mapping):
        raise invalid(rule, shown(meta), remedy)
    known, stated = (PERIOD, ADEQUACY, LIMITATIONS, SIGNATURES, *WORDS), []
    for name, text in meta.items():
        if not isinstance(name, str) or not name.strip() or not isinstance(text, str | int | float):
            raise invalid(rule, f"{shown(text)} at {shown(name)}", remedy)
        plain = " ".join(name.replace("_", " ").split())
        stated.append((plain.lower() if plain.lower() in known else plain, str(text)))
    return tuple(stated)


def named_event(classes: Sequence[object], event: str | None) -> tuple[str, str] | None:
    """Return names for classes that are 0 and 1 by the event that the author states, if any.

    Examples
    --------
    >>> named_event([0, 1], "death"), named_event(["no event by 5", "event by 5"], "death")
    (('no death', 'death'), ('no death by 5', 'death by 5'))
    """
    names = [str(name) for name in classes]
    names = ["no event", "event"] if names == ["0", "1"] else names
    if event is None or names != [f"no {names[-1]}", names[-1]] or names[-1][:5] != "event":
        return None
    own = event + names[-1].removeprefix("event")
    return f"no {own}", own


def adequacy(n: int, m: int, counts: Ints | None, profile: Profile) -> Iterator[str]:
    """Say how many rows and events there are, and how narrow that lets an interval be.

    Yields
    ------
    str
        A sentence; `counts` are the rows of each class, where they are known.
    """
    if not m:
        yield f"{n:,} rows."
        return
    if m > 2 or counts is None:
        seen = "" if counts is None else f", {counts.min():,} to {counts.max():,} observed of each"
        yield f"{n:,} rows of {m:,} classes{seen}."
        return
    observed = int(counts[1])
    rare = min(observed, n - observed)
    yield f"{n:,} rows with {observed:,} {profile.events} ({render.share(observed / n)})."
    if rare < ENOUGH_EVENTS:
        yield (
            f"The rarer outcome was seen {rare:,} times: fewer than the {ENOUGH_EVENTS} that are "
            "advised for a validation (Collins, Ogundimu and Altman 2016), so that the intervals "
            "are wide."
        )


def about_blocks(content: Content) -> Iterator[Block]:
    """Yield what the author states.

    Yields
    ------
    Block
        Of the section.
    """
    meta = {name: text for name, text in content.meta if name not in (SIGNATURES, *WORDS)}
    if not meta:
        return
    meta[ADEQUACY] = " ".join(filter(None, (content.adequacy, meta.get(ADEQUACY, ""))))
    place = {PERIOD: 0, ADEQUACY: 1, LIMITATIONS: 3}  # of what has another name: 2
    pairs = sorted(meta.items(), key=lambda pair: place.get(pair[0], 2))
    stated = [(name.capitalize() if name in place else name, text) for name, text in pairs]
    yield facts("Stated by the author", stated)


def sign_off_blocks(content: Content) -> Iterator[Block]:
    """Yield what was run on what, and lines to sign on.

    Yields
    ------
    Block
        Of the section.
    """
    run, data = content.reproduction, content.data
    files = "files, one after the other" if " files, " in (run.data_file or "") else "file"
    known = {
        "author": content.author,
        "data": run.data_file or data.source,
        f"SHA-256 of the {files}": run.file_hash,
        "SHA-256 of the predictions": run.data_hash,
        "rows": f"{data.n:,}, {data.m:,} classes" if data.m else f"{data.n:,}",
        "date of the run": run.time,
        "versions": ", ".join(map(" ".join, run.versions.items())),
        "command or call": run.command,
        "seed": f"{run.seed}, with {run.n_resamples:,} resamples",
    }
    yield facts("This run", [(name, value) for name, value in known.items() if value])
    signers = re.split(r"[;\n]", dict(content.meta).get(SIGNATURES, ""))
    lines = [(name.strip(), "") for name in signers if name.strip()] or [("", "")]
    yield facts("Signatures", lines, "lines")


LEFT_OUT = ("title", "author", "meta", "time", "progress", "n_jobs", "data_file")  # in a call
LIBRARIES = ("numpy", "scipy", "numba", "matplotlib")
ROWS = 1 << 14  # hashed at a time


def reproduction(
    hashed: str, settings: Settings, *, data_file: object, command: str, time: dt.datetime | None
) -> Reproduction:
    """Describe the run; the time is SOURCE_DATE_EPOCH or that of the clock unless it is given.

    The data file is a path, a pattern or a list of them; what is none has no hash.
    """
    versions = {"caltest": __version__, "Python": platform.python_version()}
    versions |= {name: metadata.version(name) for name in LIBRARIES}
    when = _now() if time is None else time
    paths = _files(data_file)
    name = paths[0].name if paths else None
    if len(paths) > 1:
        root = os.path.commonpath([path.parent for path in paths])
        first, last = (os.path.relpath(path, root) for path in (paths[0], paths[-1]))
        name = f"{len(paths):,} files, {first} to {last}"
    made, file_hash = when.isoformat(timespec="seconds"), files_hash(paths) if paths else None
    of_draws = settings.seed, settings.n_resamples
    return Reproduction(versions, *of_draws, name, file_hash, hashed, command, made)


def _now() -> dt.datetime:
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch is None:
        return dt.datetime.now(dt.UTC)
    try:
        return dt.datetime.fromtimestamp(int(epoch), dt.UTC)
    except (ValueError, OverflowError, OSError) as error:
        rule = "SOURCE_DATE_EPOCH must be a number of seconds since 1970"
        raise invalid(rule, shown(epoch), "correct it, unset it or pass time=") from error


def _files(given: object) -> list[Path]:
    """Return the files that paths or patterns name, in the order in which they are read."""
    paths: list[Any] = list(given) if isinstance(given, list | tuple) else [given]
    if not all(isinstance(path, str | Path) for path in paths):
        return []
    found = [file for path in paths for file in files_of(path) or [Path(path)]]
    return found if all(file.is_file() for file in found) else []


def files_hash(paths: Iterable[Path]) -> str:
    """Return the SHA-256 of files, one after the other as `cat FILES | sha256sum` has it."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as stream:
            hashlib.file_digest(stream, lambda: digest)
    return digest.hexdigest()


def call_of(given: Mapping[str, object], seed: int) -> str:
    """Return the call of `caltest.report`, with dots for what is no short text or number.

    Examples
    --------
    >>> call_of({"data": "a.csv", "by": [1, 1, 2], "level": 0.05, "title": "A", "test": None}, 7)
    "caltest.report(data='a.csv', by=..., level=0.05, rng=7)"
    """
    asked = {k: v for k, v in given.items() if v is not None and k not in LEFT_OUT}
    asked["rng"] = seed
    words = {k: repr(v) if isinstance(v, str | int | float) else "..." for k, v in asked.items()}
    return f"caltest.report({', '.join(map('='.join, words.items()))})"


def data_hash(predictions: Rows) -> str:
    """Return the SHA-256 of probabilities, labels, names of classes, weights and groups.

    Of forecasts of outcomes, limits of the PIT, means, scales, weights and groups.

    Numbers are hashed as little-endian 64-bit values in C order, names as JSON-like text; so the
    hash is that of the predictions and not of the file that held them.
    """
    named, columns = predictions.hashed
    digest = hashlib.sha256(repr(named).encode())
    for values, kind in columns:
        add_to_hash(digest, values, kind)
    if predictions.sample_weight is not None:
        add_to_hash(digest, predictions.sample_weight, "<f8")
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
                add_to_hash(digest, values, "<i8")
            add_to_hash(digest, cells.expected, "<f8")
    return digest.hexdigest()


def add_to_hash(digest: hashlib._Hash, values: AnyArray, kind: str) -> None:
    """Add the values of an array, as numbers of a kind, to a hash."""
    for start in range(0, len(values), ROWS):
        digest.update(np.ascontiguousarray(values[start : start + ROWS], dtype=kind).tobytes())


# ---- For whom a report is: words, order of the sections, and tests ------------------------------


@dataclass(frozen=True, slots=True)
class Profile:
    """The words, the order and the tests of a field.

    Attributes
    ----------
    key : str
    predicted, observed : str
        Heads of the columns of two classes: what the model says of the event, and what happened.
    too_high, too_low : str
        The direction of a gap.
    event, events : str
        What is predicted; `meta["event"]` and `meta["events"]` take their place.
    binary : tuple of str
        Further tests of two classes, after the default one.
    estimates, scores : str
        The titles of the table of numbers and of the scores.
    subject : str
        What is to be calibrated.
    first : tuple of str
        Keys of the sections that follow the answer, before the places.
    graded : bool
        Whether the grades of a master scale are tested, and Gini stands beside the AUC.
    decisions : bool
        Whether the net benefit is shown.
    """

    key: str
    predicted: str = "predicted"
    observed: str = "observed"
    too_high: str = "too high"
    too_low: str = "too low"
    event: str = "event"
    events: str = "events"
    binary: tuple[str, ...] = ("skce", "ece", "spiegelhalter", "cox", "calibration-slope")
    estimates: str = "Calibration in numbers"
    scores: str = "Discrimination and scores"
    subject: str = "probabilities"
    first: tuple[str, ...] = ("within", "estimates")
    graded: bool = False
    decisions: bool = False


COX = ("calibration-in-the-large", "calibration-slope")
PROFILES: dict[str, Profile] = {
    profile.key: profile
    for profile in (
        Profile("general"),
        Profile(
            key="clinical",
            predicted="mean risk",
            too_high="risks too high",
            too_low="risks too low",
            binary=(*COX, "ici", "calibration-belt", "unreliability"),
            estimates="Calibration of the risks",
            first=("within", "estimates", "decisions"),
            decisions=True,
        ),
        Profile(
            key="credit",
            predicted="mean PD",
            observed="default rate",
            too_high="PD too high",
            too_low="PD too low",
            event="default",
            events="defaults",
            binary=(*COX, "spiegelhalter", "hosmer-lemeshow"),
            estimates="Calibration of the PDs",
            first=("grades", "within", "estimates"),
            graded=True,
        ),
        Profile("ml"),
        Profile(
            key="forecast",
            predicted="mean forecast",
            too_high="forecasts too high",
            too_low="forecasts too low",
            binary=("corp", "brier", "spiegelhalter", "cox"),
            estimates="Skill and reliability",
        ),
        Profile(
            key="distribution",
            predicted="nominal coverage",
            observed="coverage",
            too_high="too sure",
            too_low="not sure enough",
            binary=(),
            estimates="Coverage of intervals and quantiles",
            scores="Scores and diagrams",
            subject="forecasts",
        ),
    )
}


def profile_of(key: str | None, m: int) -> Profile:
    """Return the profile of a key, or the one for so many classes; 0 are forecasts of numbers.

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
        return PROFILES["general" if m == 2 else "ml" if m else "distribution"]
    known = [one for one in PROFILES if (one == "distribution") == (m == 0)]
    return PROFILES[checks.check_choice(key, known, "profile")]


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
