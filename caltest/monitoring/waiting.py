"""Rows that come to a monitor: what they are, which wait for labels, which were counted."""

from __future__ import annotations

import datetime as dt
import math
import re
import sys
import warnings
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import Any

import numpy as np
from scipy.special import gammaln

from caltest import checks
from caltest.errors import DegenerateDataWarning, InvalidInput, NotApplicable, invalid, shown
from caltest.monitoring import numbers
from caltest.monitoring.stream import broken
from caltest.numerics.labels import content_hashes
from caltest.predictions import Predictions, Rows, tables
from caltest.results.base import plain
from caltest.types import Codes, Floats

UNKNOWN = -1


ROUNDING = 1e-9  # of a sum of probabilities


class Waiting:
    """A queue of rows: [name, probabilities, label or -1, group], in the order of prediction."""

    def __init__(self) -> None:
        self.rows: list[list[Any]] = []
        self._by_name: dict[object, list[Any]] = {}

    def check_new(self, names: list[object] | None) -> None:
        """Check that no row of these names waits."""
        for name in names or ():
            if name in self._by_name:
                raise invalid("ids must be new", f"{shown(name)}, which waits", "name it otherwise")

    def add(
        self, probs: Floats, labels: Codes | None, groups: Codes, names: list[object] | None
    ) -> None:
        """Put rows at the end of the queue."""
        for i, row in enumerate(probs):
            name = None if names is None else names[i]
            label = UNKNOWN if labels is None else int(labels[i])
            entry = [name, row.tolist(), label, int(groups[i])]
            self.rows.append(entry)
            if labels is None:
                self._by_name[name] = entry

    def resolve(self, names: list[object], labels: Codes) -> None:
        """Tell the outcomes of rows, all or none."""
        self._check_waiting(names)
        for name, label in zip(names, labels.tolist(), strict=True):
            self._by_name.pop(name)[2] = label

    def drop(self, names: list[object]) -> None:
        """Take rows out of the queue, all or none."""
        self._check_waiting(names)
        gone = {id(self._by_name.pop(name)) for name in names}
        self.rows = [row for row in self.rows if id(row) not in gone]

    def load(self, values: object, m: int, groups: int) -> None:
        """Take over the rows of a state, whose names are plain values."""
        rows: list[Any] = values if isinstance(values, list) else [values]
        for row in rows:
            if not self._is_row(row, m, groups) or (row[2] == UNKNOWN and row[0] in self._by_name):
                rule = "rows of a monitor that wait must be name, probabilities, label and group"
                raise invalid(rule, shown(row), "go on from an earlier state, or begin anew")
            entry = list(row)
            self.rows.append(entry)
            if entry[2] == UNKNOWN:
                self._by_name[entry[0]] = entry

    @staticmethod
    def _is_row(row: object, m: int, groups: int) -> bool:
        if not isinstance(row, list) or len(row) != 4 or isinstance(row[0], list | Mapping):
            return False
        probs, label, group = row[1:]
        codes = all(type(value) is int for value in (label, group))
        if not codes or not isinstance(probs, list) or len(probs) != m:
            return False
        numbers = all(isinstance(value, int | float) and 0 <= value <= 1 for value in probs)
        whole = numbers and abs(sum(probs) - 1.0) <= ROUNDING
        return whole and UNKNOWN <= label < m and -1 <= group < groups

    def _check_waiting(self, names: list[object]) -> None:
        for name in names:
            if name not in self._by_name:
                remedy = "pass names given to update"
                raise invalid("ids must be of rows that wait", shown(name), remedy)


DAY, MIDNIGHT = re.compile(r"\d{4}-\d\d-\d\d"), " 00:00:00"


LONGEST = 200  # characters of the name of a batch


PLAIN = {str, int}  # of names, which need no more to be done


def check_number(value: object, name: str) -> float:
    """Check a number of a state; infinities are text."""
    if value in ("inf", "-inf"):
        return float(str(value))
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number and abs(value) <= sys.float_info.max):  # type: ignore[arg-type]
        raise invalid(f"{name} must be a number", shown(value), "go on from an earlier state")
    return float(value)  # type: ignore[arg-type]


def check_classes_named(classes: Sequence[object]) -> tuple[object, ...]:
    """Check names of classes."""
    size = checks.label_values(classes, "classes").size
    return tuple(checks.check_classes(classes, size).tolist())


def as_names(values: object, what: str) -> list[Any]:
    """Return names as a state has them, so that it knows them again: dates are text.

    A string is one name, and no sequence of them.
    """
    if isinstance(values, str):
        raise invalid(f"{what} must be a sequence of names", shown(values), "pass a list")
    array = values if isinstance(values, np.ndarray) else np.asarray(values, dtype=object)
    if array.dtype.kind == "M":
        array = array.astype("datetime64[us]")
    names = array.astype(object).ravel().tolist()
    return [name if type(name) in PLAIN else plain(name) for name in names]


def days(name: object) -> tuple[object, ...]:
    """Return the ways to write a name: a day is one with or without its midnight."""
    if not isinstance(name, str):
        return (name,)
    day = name.removesuffix(MIDNIGHT)
    return (day, day + MIDNIGHT) if DAY.fullmatch(day) else (name,)


def check_groups_named(groups: Sequence[object]) -> tuple[object, ...]:
    """Check names of groups."""
    names = tuple(as_names(groups, "groups"))
    if not names or _has_one_twice(names, "groups"):
        raise invalid("groups must be different names", shown(list(names)), "name each once")
    return names


def _has_one_twice(names: Sequence[Any], name: str) -> bool:
    odd = [value for value in names if not isinstance(value, Hashable)]
    if odd:
        raise invalid(f"{name} must be names", shown(odd[0]), "pass strings or integers")
    return len(set(names)) < len(names)


def check_ids(ids: Sequence[object], n: int | None) -> list[object]:
    """Check names of rows."""
    names = as_names(ids, "ids")
    if n is not None and len(names) != n:
        raise invalid("ids must be one for each row", str(len(names)), f"pass {n} of them")
    if _has_one_twice(names, "ids"):
        raise invalid("ids must be different", "a name twice", "name each row once")
    return names


def check_batch_id(batch_id: object) -> str | None:
    """Check the name of a batch; dates are text as they are in ISO 8601."""
    if batch_id is None:
        return None
    name = plain(batch_id)
    text = str(name).removesuffix(MIDNIGHT)
    if checks.is_missing(batch_id) or not (
        type(name) in PLAIN and 0 < len(text) <= LONGEST and text.isprintable()
    ):
        rule = f"batch_id must be a name of 1 to {LONGEST} characters, an integer or a date"
        raise invalid(rule, shown(batch_id), "pass the day, or the name of the file")
    return text


def read_batch(
    probs: object, labels: object, classes: tuple[object, ...] | None, **reading: Any
) -> Any:
    """Read rows, which must be of the classes of those before and have no weights."""
    given: Any = probs
    if not isinstance(probs, Rows):
        names = None if classes is None else list(classes)
        array = checks.in_one_dimension(checks.as_array(probs, "probs"))
        m = array.shape[1] if array.ndim == 2 else 2
        if names is not None and m != len(names):
            raise other_classes(f"{m} columns", classes)
        # where its columns have names of classes, in their order
        own = tables.classes_of_columns(probs, (names or [0]) if labels is None else labels)
        names = own if own and (names is None or set(own) == set(names)) else names
        if labels is None:
            names = list(range(m)) if names is None else names
            labels = np.array([names[0]] * len(np.atleast_1d(array)))
        with outcomes_that_wait():
            given = Predictions(probs, labels, classes=names, **reading)
    else:
        checks.check_unused("where probs have their outcomes", labels=labels)
    if getattr(given, "censoring", None) is not None:
        reason = "a monitor takes no censored rows, whose outcomes are not known"
        raise NotApplicable(reason, "use test_calibration")
    if given.is_weighted:
        raise invalid("rows of a monitor have no weights", "sample_weight", "leave them out")
    if given.has_dependence:  # an outcome must have its probability given all before it
        rule = f"rows of a monitor must not be several of one {given.unit}"
        raise invalid(rule, "clusters", "pass one of each, or leave them out if none tells another")
    found = tuple(given.classes.tolist()) if given.m else ()
    if classes is not None and found != classes:
        raise other_classes(shown(list(found)) if found else "forecasts of numbers", classes)
    return given


@contextmanager
def outcomes_that_wait() -> Iterator[None]:
    """Say what to do with outcomes that are not known yet: rows that were left out would tell."""
    try:
        yield
    except InvalidInput as error:
        if error.rule != "labels must not be missing":
            raise
        remedy = (
            "if it is not known yet, pass all rows with ids= and no labels, then known outcomes"
        )
        raise invalid(error.rule, error.got, remedy) from error


def columns_of(rows: Any, before: int) -> tuple[Floats, Codes]:
    """Return what is bet on: probabilities and labels; of forecasts those of an event, and more."""
    return (rows.probs, rows.labels) if rows.m else numbers.rows_of(rows, before)


def other_classes(got: str, classes: Sequence[object] | None) -> InvalidInput:
    """Return the error of rows of other classes than those before."""
    named = list(classes) if classes else "forecasts"
    remedy = f"pass rows of {named}, or begin another monitor"
    return invalid("the classes must be those of the rows before", got, remedy)


def codes_of_groups(groups: object, n: int, watched: tuple[object, ...]) -> Codes:
    """Return the place of the group of each row among those that are watched, -1 of others."""
    if not watched:
        return np.full(n, -1)
    if groups is None:
        raise invalid("groups must say the group of each row", "None", "pass them")
    values = checks.as_array(groups, "groups")
    if values.shape != (n,):
        got = f"shape {values.shape}"
        raise invalid("groups must be one for each row", got, f"pass {n} of them")
    index = {name: code for code, group in enumerate(watched) for name in days(group)}
    return np.array([index.get(name, -1) for name in as_names(values, "groups")], dtype=np.int64)


# ---- The batches that a monitor has counted, by which one that comes again is known -------------

MOST = 1000  # batches that are remembered: three years of days
LEAST_BITS = 32.0  # of rows by which a batch is known: others are equal with a chance of 2^-32
FEWEST = 25  # rows of as many bits
BLOCK = 1 << 16  # rows that are hashed at a time


class CountedBatches:
    """The last batches: [name or None, digest or "", rows before it, rows], in their order."""

    def __init__(self) -> None:
        self.batches: deque[list[Any]] = deque(maxlen=MOST)

    def check(
        self, name: str | None, digest: str, n_given: int, digest_of_first: Callable[[int], str]
    ) -> None:
        """Check that a batch was not counted: by its name, without one by its rows.

        Nor does it begin with the rows of the last one, as a file does to which rows are appended.
        Warns of the rows of a batch of another name, and of a day before one that was counted.
        """
        for place, (known, rows, before, n) in enumerate(self.batches, start=1):
            is_last = place == len(self.batches) and n < n_given
            is_grown = is_last and rows != "" and digest_of_first(n) == rows
            is_same = is_grown or digest == rows != ""
            span = f"counted as rows {before + 1:,} to {before + n:,}"
            if name is not None and (name == known or _read(name) == _read(known) is not None):
                others = "" if is_same or not (digest and rows) else ", which were others"
                got = f"batch {name!r}, {span}{others}"
            elif is_same and None in {name, known}:
                same = "the same rows" + " and others" * is_grown
                got = f"{same}, {span}" + ("" if known is None else f" (batch {known!r})")
            else:
                if is_same:
                    _warn(f"batch {name!r} has the rows of batch {known!r}, {span}")
                continue
            remedy = "pass other rows, with batch_id= if they only look alike, or again=True"
            raise invalid("a batch must be counted once", got, remedy)
        moment = _moment(name)
        days = {_moment(known): known for known, *_ in self.batches} if moment else {}
        last = max(filter(None, days), default=None)
        if moment and last and moment < last:
            order = "rows are taken as they come, and a change is dated by their order"
            _warn(f"batch {name!r} comes after batch {days[last]!r}: {order}")

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


def digest_of(rows: Rows, groups: Codes, names: list[object] | None, *, known: bool) -> str:
    """Return a hash of the rows of a batch, "" where others may well be equal to them.

    Names and probabilities tell rows, without names their labels as well. The order does not
    matter, nor whether probabilities came as single or as double precision. How likely n others
    are equal is estimated from how often each row is among these.
    """
    n = rows.n
    if names is None and n < FEWEST:
        return ""
    columns, labels = columns_of(rows, 0)
    last = labels if known else np.full(n, UNKNOWN)
    if names is not None:
        digests = (sha256(repr(name).encode(errors="replace")).digest() for name in names)
        last = np.array([float(int.from_bytes(one[:6])) for one in digests])  # a double has 48 bits
    parts = []
    for part in (slice(start, start + BLOCK) for start in range(0, n, BLOCK)):
        with np.errstate(over="ignore"):  # of forecasts
            probs = columns[part, 1:].astype(np.float32) + 0.0  # no -0
        parts.append(content_hashes(np.column_stack([probs, groups[part], last[part]])))
    hashes, counts = np.unique(np.concatenate(parts), return_counts=True)
    log_chance = gammaln(n + 1) - gammaln(counts + 1).sum() + counts @ np.log(counts / n)
    if names is None and log_chance > -LEAST_BITS * math.log(2.0):
        return ""
    return sha256(hashes.tobytes() + counts.tobytes()).hexdigest()[:32]


def _read(name: str | None) -> dt.datetime | None:
    """Read a name as a day or a moment of ISO 8601; equal are those of one moment."""
    with suppress(ValueError):
        return dt.datetime.fromisoformat(name or "")
    return None


def _moment(name: str | None) -> dt.datetime | None:
    """Return the moment of a name, in UTC where it has a zone."""
    moment = _read(name)
    if moment is None or moment.tzinfo is None:
        return moment
    with suppress(OverflowError):
        return moment.astimezone(dt.UTC).replace(tzinfo=None)
    return None


def _warn(text: str) -> None:
    warnings.warn(text, DegenerateDataWarning, stacklevel=4)


# ---- Probabilities that are rounded: how far that moves them, and how often it makes them 0 ------

STEPS = (0.1, 0.01, 0.001)  # of one to three decimals
HALF = 2.0**-11  # of half precision, near 1
EXACT = 1e-3  # of a step: what single precision adds
FEWEST_ROUNDED = 20  # rows that are not all 0 and 1
VALUES, FINE_VALUES = 4, 20  # least number of values of a coarse and of a fine grid
MOST_LOOKED_AT = 10_000  # rows that are looked at
RESCALED = 0.25  # least share of the rows on the grid, where rounded rows were given a sum of 1
RELATIVE = 0.1  # shift that matters, relative to the mean chance that the predicted class is wrong
OFTEN = 1e-5  # outcomes of probability 0 a row that matter


def rounding_in_words(probs: Floats) -> str | None:
    """Say how far rounding moves probabilities (n, m), where they are rounded so that it matters.

    That is, by 10 % of the mean chance that the predicted class is wrong; or where an outcome whose
    probability was rounded to 0 is expected in 100,000 rows.

    Examples
    --------
    >>> import numpy as np
    >>> risks = np.random.default_rng(1).beta(0.5, 20.0, 1000)
    >>> event = np.round(risks, 2)
    >>> rounding_in_words(np.column_stack([1.0 - event, event])).partition(",")[0]
    'the probabilities are multiples of 0.01'
    >>> rounding_in_words(np.column_stack([1.0 - risks, risks])) is None
    True
    """
    some = probs[:MOST_LOOKED_AT]
    step = _step(some)
    if step is None:
        return None
    wrong = float(np.mean(1.0 - some.max(axis=1)))
    zeros = some[:, 0] == 0.0 if step == HALF else some == 0.0
    often = 0.5 * step * float(zeros.sum()) / len(some)
    if 0.5 * step < RELATIVE * wrong and often < OFTEN:
        return None
    what = "have half precision" if step == HALF else f"are multiples of {step:g}"
    text = (
        f"the probabilities {what}, as if rounded: each may be off by {50 * step:.2g} points, "
        f"{50 * step / wrong:.2g} % of the mean chance that the predicted class is wrong"
    )
    if often > 0:
        text += f", and up to one outcome in {1 / often:,.0f} has a probability that became 0"
    return f"{text}; that alone is miscalibration, which many rows show; pass all digits"


def _step(probs: Floats) -> float | None:
    """Return the step of the grid on which probabilities lie, None where it is fine."""
    inner = probs[(probs > 0.0).sum(axis=1) > 1]
    values = np.unique(probs[:, 1]).size
    if len(inner) < FEWEST_ROUNDED or values < VALUES:
        return None
    least = 1.0 if probs.shape[1] == 2 else RESCALED
    is_fine = values >= FINE_VALUES
    for step in STEPS if is_fine else STEPS[:-1]:
        units = inner / step
        if np.mean((np.abs(units - np.rint(units)) < EXACT).all(axis=1)) >= least:
            return step
    half = inner[:, 1].astype(np.float16)
    return HALF if is_fine and probs.shape[1] == 2 and (inner[:, 1] == half).all() else None
