"""The batches that a monitor has counted, by which one that comes again is known."""

from __future__ import annotations

import datetime as dt
import math
import warnings
from collections import deque
from hashlib import sha256
from typing import Any

import numpy as np
from scipy.special import gammaln

from caltest.errors import DegenerateDataWarning, invalid
from caltest.monitoring.stream import broken
from caltest.monitoring.waiting import UNKNOWN
from caltest.numerics.contents import content_hashes
from caltest.predictions import Predictions
from caltest.types import Codes

MOST = 1000  # batches that are remembered: three years of days
LEAST_BITS = 32.0  # of rows by which a batch is known: others are equal with a chance of 2^-32
FEWEST = 25  # rows of as many bits
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
            told = f"counted as rows {before + 1:,} to {before + n:,}"
            if name is not None and name == known:
                others = "" if is_same or not (digest and rows) else ", which were others"
                got = f"batch {name!r}, {told}{others}"
            elif is_same and None in {name, known}:
                got = "the same rows, " + told + ("" if known is None else f" (batch {known!r})")
            else:
                if is_same:
                    _warn(f"batch {name!r} has the rows of batch {known!r}, {told}")
                continue
            remedy = "pass other rows, with batch_id= if they only look alike, or again=True"
            raise invalid("a batch must be counted once", got, remedy)
        moment = _moment(name)
        days = {_moment(known): known for known, *_ in self.batches} if moment else {}
        last = max(filter(None, days), default=None)
        if moment and last and moment < last:
            _warn(
                f"batch {name!r} comes after batch {days[last]!r}: rows are taken as they "
                "come, and a change is dated by their order"
            )

    def add(self, name: str | None, digest: str, before: int, n: int) -> None:
        """Remember a batch of n rows, if there is anything to know it by."""
        if name is not None or digest:
            self.batches.append([name, digest, before, n])

    def load(self, values: object) -> None:
        """Take over the batches of a state."""
        rows: list[Any] = values if isinstance(values, list) else [values]
        for row in rows:
            kinds = [type(value) for value in row] if isinstance(row, list) else []
            if kinds not in ([str, str, int, int], [type(None), str, int, int]) or min(row[2:]) < 0:
                raise broken("counted, which must be batches")
            self.batches.append(list(row))


def digest_of(rows: Predictions, groups: Codes, names: list[object] | None, *, known: bool) -> str:
    """Return a hash of the rows of a batch, "" where others may well be equal to them.

    Names and probabilities tell rows, without names their labels as well. The order does not
    matter, nor whether probabilities came as single or as double precision. How likely n others
    are equal is estimated from how often each row is among these.
    """
    n = rows.n
    if names is None and n < FEWEST:
        return ""
    last = rows.labels if known else np.full(n, UNKNOWN)
    if names is not None:
        last = np.array([_number(name) for name in names])
    parts = []
    for part in (slice(start, start + BLOCK) for start in range(0, n, BLOCK)):
        probs = rows.probs[part, 1:].astype(np.float32) + 0.0  # no -0
        parts.append(content_hashes(np.column_stack([probs, groups[part], last[part]])))
    hashes, counts = np.unique(np.concatenate(parts), return_counts=True)
    log_chance = gammaln(n + 1) - gammaln(counts + 1).sum() + counts @ np.log(counts / n)
    if names is None and log_chance > -LEAST_BITS * math.log(2.0):
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
    warnings.warn(text, DegenerateDataWarning, stacklevel=4)
