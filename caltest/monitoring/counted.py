"""The batches that a monitor has counted, by which one that comes again is known."""

from __future__ import annotations

import datetime as dt
import math
import warnings
from collections import deque
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from caltest.errors import invalid
from caltest.monitoring.stream import broken
from caltest.monitoring.waiting import UNKNOWN
from caltest.numerics.contents import content_hashes
from caltest.predictions import Predictions

Codes = NDArray[np.int64]

MOST = 1000  # batches that are remembered: three years of days
LEAST_BITS = 32.0  # of rows by which a batch is known: others are equal with a chance of 2^-32
BLOCK = 1 << 16  # rows that are hashed at a time


class Counted:
    """The last batches: [name or None, digest or "", rows before it, rows], in their order."""

    def __init__(self) -> None:
        self.batches: deque[list[Any]] = deque(maxlen=MOST)

    def check(self, name: str | None, digest: str) -> None:
        """Check that a batch was not counted: by its name, without one by its rows.

        Warns of the rows of a batch of another name, and of a day before one that was counted.
        """
        for known, rows, before, n in self.batches:
            is_same = digest == rows != ""
            told = f"{n:,} rows after the first {before:,}"
            if name is not None and name == known:
                others = "" if is_same or not (digest and rows) else ", which were others"
                got = f"batch {name!r}, which was counted: {told}{others}"
            elif is_same and None in {name, known}:
                got = f"the rows of {told}" + ("" if known is None else f", batch {known!r}")
            else:
                if is_same:
                    _warn(f"batch {name!r} has the rows of batch {known!r}: {told}")
                continue
            remedy = "pass others, which batch_id= tells apart if they look alike, or again=True"
            raise invalid("a batch must be counted once", got, remedy)
        days = {_moment(known): known for known, *_ in self.batches}
        moment, last = _moment(name), max(filter(None, days), default=None)
        if moment is not None and last is not None and moment < last:
            _warn(
                f"batch {name!r} comes after batch {days[last]!r}: the error rate holds if that "
                "has nothing to do with outcomes, but what is told since when is out of order"
            )

    def add(self, name: str | None, digest: str, before: int, n: int) -> None:
        """Remember a batch of n rows, if there is anything to know it by."""
        if name is not None or digest:
            self.batches.append([name, digest, before, n])

    def load(self, values: object) -> None:
        """Take over the batches of a state."""
        for row in values if isinstance(values, list) else [values]:
            kinds = [type(value) for value in row] if isinstance(row, list) else []
            if kinds not in ([str, str, int, int], [type(None), str, int, int]) or min(row[2:]) < 0:
                raise broken("counted, which must be batches")
            self.batches.append(list(row))


def digest_of(rows: Predictions, groups: Codes, names: list[object] | None, *, known: bool) -> str:
    """Return a hash of the rows of a batch, "" where others may well be equal to them.

    The order of the rows does not matter, nor whether probabilities came as single or as double
    precision. How likely n others are equal is estimated from how often each row is among these.
    """
    n = rows.n
    labels = rows.labels if known else np.full(n, UNKNOWN)
    named = np.zeros(n) if names is None else np.array([_number(name) for name in names])
    parts = []
    for part in (slice(start, start + BLOCK) for start in range(0, n, BLOCK)):
        probs = rows.probs[part, 1:].astype(np.float32) + 0.0  # no -0
        parts.append(
            content_hashes(np.column_stack([probs, labels[part], groups[part], named[part]]))
        )
    hashes, counts = np.unique(np.concatenate(parts), return_counts=True)
    log_chance = gammaln(n + 1) - gammaln(counts + 1).sum() + counts @ np.log(counts / n)
    if log_chance > -LEAST_BITS * math.log(2.0):
        return ""
    return sha256(hashes.tobytes() + counts.tobytes()).hexdigest()[:32]


def _number(name: object) -> float:
    """Return 48 bits of the hash of a name, which a double holds."""
    return float(int.from_bytes(sha256(repr(name).encode(errors="replace")).digest()[:6]))


def _moment(name: str | None) -> dt.datetime | None:
    """Read a name as a day or a moment of ISO 8601, in UTC where it has a zone."""
    try:
        moment = dt.datetime.fromisoformat(name or "")
        return moment if moment.tzinfo is None else moment.astimezone(dt.UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None


def _warn(text: str) -> None:
    warnings.warn(text, UserWarning, stacklevel=4)
