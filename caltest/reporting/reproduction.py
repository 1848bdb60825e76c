"""What is needed to make the same report again: versions, seed, command, hash of the data."""

from __future__ import annotations

import datetime as dt
import hashlib
import platform
from collections.abc import Iterator
from importlib import metadata

import numpy as np
from numpy.typing import NDArray

from caltest import __version__
from caltest.predictions import Predictions
from caltest.render import Sheet
from caltest.reporting.blocks import Block
from caltest.reporting.content import Content, Reproduction

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
    facts = [
        ("versions", ", ".join(f"{name} {value}" for name, value in told.versions.items())),
        ("seed", str(told.seed)),
        ("resamples (B)", f"{told.n_resamples:,}"),
        ("data, SHA-256", told.data_hash),
        ("time", told.time),
    ]
    if told.command is not None:
        facts.insert(0, ("command", told.command))
    if content.author is not None:
        facts.insert(0, ("author", content.author))
    yield Block(kind="facts", sheet=Sheet(title="This run", facts=tuple(facts)))
