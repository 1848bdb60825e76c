"""What is needed to make the same report again: versions, seed, command, hash of the data."""

from __future__ import annotations

import datetime as dt
import hashlib
import platform
from importlib import metadata

import numpy as np
from numpy.typing import NDArray

from caltest import __version__
from caltest.predictions import Predictions
from caltest.reporting.content import Reproduction

LIBRARIES = ("numpy", "scipy", "numba", "matplotlib")
ROWS = 1 << 14  # hashed at a time


def reproduction(
    predictions: Predictions,
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
        data_hash=data_hash(predictions),
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
