"""The tests of a session as one family: records, p-values adjusted for all, and the report."""

from __future__ import annotations

import datetime as dt
import hashlib
import itertools
import os
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np

from caltest import __version__, outputs
from caltest.htests.combine import JOINT
from caltest.numerics.joint import ROUNDING
from caltest.results import HTest, HTestTable, wording
from caltest.testing import assertions
from caltest.testing.assertions import Checked, Tested, resamples_for
from caltest.types import Floats

OF_CHECKED = ("pvalue", "level", "seed", "few", "least", "headline")
MOST = 100_000  # scores that travel to the process that decides


@dataclass(slots=True, kw_only=True)
class Record:
    """An assertion as it travels from the process of the test to the one that decides.

    Attributes
    ----------
    within : bool
        Whether the error was asserted to be within a tolerance. Then it is decided by itself: where
        all such claims must be shown, none needs an adjustment.
    name : str
        What was tested.
    n : int
        Its rows.
    pvalue, level : float
    seed : int
    few : bool
        Whether there are too few rows to tell.
    least : float
        The smallest p-value that its resamples can give, or 0.
    headline, message, html, where : str
        The answer, where the assertion fails the verdict, the result as HTML, and the line of the
        assertion.
    question : str
        A hash of the data and of what was asked of them, without the seed.
    block : str
        A hash of what tests must share to have the same redrawn labels.
    scores : list of float or None
        How far out the statistic is for the observed labels and for each redrawn ones.
    adjusted : float
        The p-value, adjusted for the session; before that is known the p-value.
    size, family : int
        How many tests are in its block, and in the session.
    expected : bool
        Whether the test is marked as one that fails (xfail).
    """

    within: bool
    name: str
    n: int
    pvalue: float
    level: float
    seed: int
    few: bool
    least: float
    headline: str
    message: str
    html: str
    where: str
    question: str
    block: str
    scores: list[float] | None
    adjusted: float
    size: int = 1
    family: int = 1
    expected: bool = False

    @property
    def failed(self) -> bool:
        """Whether the assertion fails, by what is known of the p-value."""
        if self.within:
            return self.pvalue > self.level
        return self.adjusted <= self.level or self.is_coarse

    @property
    def rejected(self) -> bool:
        """Whether the hypothesis that the model is calibrated is, by what is known."""
        return self.failed and not self.within

    @property
    def is_coarse(self) -> bool:
        """Whether more resamples could reject what the adjustment keeps: that does not pass."""
        return self.pvalue <= self.level < self.adjusted and self.pvalue <= self.least * (1 + 1e-9)

    @property
    def decision(self) -> str:
        """How the session decided, in words that follow the verdict."""
        if self.family == 1 or self.within:
            return ""
        text = f"p = {self.adjusted:.2g} adjusted for {self.family} tests of the session"
        if self.is_coarse:
            text += f": no p-value of its resamples is below {self.least:.2g}"
            text += ", give n_resamples= more"
        return text


def record_of(checked: Checked, where: str) -> Record:
    """Return the record of an assertion that stands in the line `where`, "test_model.py:7"."""
    rows = checked.result.tests
    first = rows[0] if rows else cast("Any", checked.result)
    block, scores = _joint(checked.result)
    own = ((_hash_of_data(row), row.test, row.lens, row.null, row.claim, row.group) for row in rows)
    about: list[object] = [*own, checked.asked]
    if not rows:
        about = [checked.result.to_dict() | {"pvalue": 0, "seed": 0, "rows": 0}]
    return Record(
        within=checked.claims_within,
        name=first.data_name,
        n=checked.result.n,
        **{name: getattr(checked, name) for name in OF_CHECKED},
        message="" if checked.holds else checked.message,
        html=checked.result.to_html(),
        where=where,
        question=_hash(about),
        block=block,
        scores=scores,
        adjusted=checked.pvalue,
    )


def decide(records: Iterable[Record]) -> None:
    """Adjust the p-values of all records for each other, in place.

    Of a block the tests with most resamples are adjusted jointly, and each of the others by itself.
    These have no more because their p-values are above the level: leaving them out of the joint
    distribution, and counting them as one, would adjust the small p-values for each other only.
    """
    family = [record for record in records if not record.within]
    most: dict[str, int] = {}
    for record in family:
        most[record.block] = max(most.get(record.block, 0), len(record.scores or ()))
    scores = [
        np.array(record.scores) if len(record.scores or ()) == most[record.block] > 0 else None
        for record in family
    ]
    blocks = [record.block for record in family]
    adjusted = adjusted_over_blocks([record.pvalue for record in family], scores, blocks)
    joint = [block for block, score in zip(blocks, scores, strict=True) if score is not None]
    for record, score, pvalue in zip(family, scores, adjusted.tolist(), strict=True):
        record.adjusted, record.family = pvalue, len(family)
        record.size = 1 if score is None else joint.count(record.block)


def adjusted_over_blocks(
    pvalues: Sequence[float], scores: Sequence[Floats | None], blocks: Sequence[Hashable]
) -> Floats:
    r"""Return p-values adjusted for all: jointly within a block, by Holm's method over the blocks.

    Parameters
    ----------
    pvalues : sequence of float
        One of each test.
    scores : sequence of (B + 1,) array or None
        How far out its statistic is for the observed and for B redrawn labels, the same ones for
        all tests of a block; None of a test that is a block of its own.
    blocks : sequence of hashable
        The block of each test.

    Returns
    -------
    array, shape (len(pvalues),)
        With every test in one block the p-values of Westfall and Young, with each in its own those
        of Holm. Let :math:`p_i(K)` be the p-value of the largest score over those tests of the
        block of i that are in K, and :math:`g(K)` the number of blocks with a test in K. Step by
        step the test with the least :math:`g(K) p_i(K)` leaves K, and that is its adjusted p-value,
        made monotone. Both factors grow with K, so that when the first true hypothesis leaves, at
        most :math:`\alpha`, the least of :math:`g(I) p_i(I)` over the set I of all true ones is at
        most :math:`\alpha`, which by Bonferroni's inequality over the blocks has at most this
        probability.

    References
    ----------
    Westfall, Young (1993), Resampling-based multiple testing, algorithm 2.8; Romano, Wolf (2005),
    Exact and approximate stepdown methods for multiple hypothesis testing, JASA 100, theorem 1
    (critical values that are monotone in K).

    Examples
    --------
    >>> adjusted_over_blocks([0.01, 0.04, 0.5], [None] * 3, "abc").tolist()
    [0.03, 0.08, 0.5]
    """
    members: dict[Hashable, list[int]] = {}
    for i, (block, score) in enumerate(zip(blocks, scores, strict=True)):
        members.setdefault(("alone", i) if score is None else ("joint", block), []).append(i)
    queues = [_most_extreme_last(some, pvalues, scores) for some in members.values()]
    adjusted, least = np.empty(len(pvalues)), 0.0
    while queues:
        i, pvalue = min(queues, key=lambda one: one[-1][1]).pop()
        adjusted[i] = least = max(least, min(1.0, len(queues) * pvalue))
        queues = [one for one in queues if one]
    return adjusted


def _most_extreme_last(
    some: list[int], pvalues: Sequence[float], scores: Sequence[Floats | None]
) -> list[tuple[int, float]]:
    """Return the tests of a block, each with the p-value of the largest score of those before."""
    if len(some) == 1:
        return [(some[0], pvalues[some[0]])]
    rows = np.stack([score for i in some if (score := scores[i]) is not None])
    order = np.argsort(rows[:, 0], kind="stable")
    largest = np.maximum.accumulate(rows[order], axis=0)
    joint = np.mean(largest >= rows[order][:, :1] - ROUNDING, axis=1)
    return [(some[k], max(float(p), pvalues[some[k]])) for k, p in zip(order, joint, strict=True)]


# ---- what a result shares with others -----------------------------------------------------------


def _joint(found: Tested) -> tuple[str, list[float] | None]:
    """Return the block of a result and its scores; of a jointly adjusted table the largest.

    A table's p-value is the least adjusted one of its rows: that of the largest score.
    """
    rows = found.tests
    if isinstance(found, HTestTable) and (found.correction != "joint" or found.omnibus):
        return "", None
    asked = [row.replicates for row in rows if row.null in JOINT]
    few = [one for one in asked if one is not None and one.values.size <= MOST]
    shared = {(_hash_of_data(row), row.null, row.seed) for row in rows}
    if len(shared) > 1 or not few or len(few) < len(asked):
        return "", None
    return _hash([*shared]), np.max([one.scores() for one in few], axis=0).tolist()


def _hash_of_data(row: HTest) -> str:
    if row.evidence is None:
        return _hash([row.data_name, row.n, row.statistic])
    rows = row.evidence.predictions
    named, columns = rows.hashed
    digest = hashlib.sha256(repr(named).encode())
    for part in (*(values for values, _ in columns), rows.sample_weight, rows.clusters):
        digest.update(b"-" if part is None else np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


def _hash(parts: Sequence[object]) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Calibration:
    """Assertions of a pytest test, which the session records and decides together.

    The fixture `calibration` is one.

    Parameters
    ----------
    level : float
        Significance level where a call gives none: that of the marker, or of the session.
    seed : int
        The seed where a call gives none: that of the session.
    keep : callable
        Takes each record.
    tests : int
        How many tests the session has, for which the p-values will be adjusted.
    asserted : iterator of int
        Counts the assertions of this test.

    Attributes
    ----------
    level, seed, keep, tests, asserted
        As given.
    """

    level: float
    seed: int
    keep: Callable[[Record], None] = field(repr=False)
    tests: int = field(default=1, repr=False)
    asserted: Iterator[int] = field(default_factory=lambda: itertools.count(1), repr=False)

    def assert_calibrated(
        self,
        model: object,
        data: object = None,
        y: object = None,
        *,
        level: float | None = None,
        rng: object = None,
        **arguments: Any,
    ) -> Tested:
        """Assert as `caltest.testing.assert_calibrated` does, at the level of the whole session.

        A p-value above the level passes. Whether a smaller one fails depends on the other tests of
        the session: the rest of this test runs, and its outcome is reported at the end.

        Parameters
        ----------
        model, data, y : object
            As for `caltest.testing.assert_calibrated`.
        level : float, optional
            By default that of the marker `calibration`, or `--calibration-level`.
        rng : int, Generator or SeedSequence, optional
            By default `--calibration-seed`.
        **arguments
            As for `caltest.testing.assert_calibrated`.

        Returns
        -------
        HTest, HTestTable, SegmentsTest or GroupsTest
            What was found.

        Raises
        ------
        AssertionError
            If an earlier run of this test rejected the same data with another seed.
        """
        __tracebackhide__ = True
        given = self._given(level, rng)
        checked = assertions.check_calibrated(model, data, y, **given, **arguments)
        wanted = resamples_for(checked.level, self.tests * next(self.asserted))
        is_open = "n_resamples" not in arguments and wanted > resamples_for(checked.level)
        if is_open and checked.least and not checked.holds:
            # Its p-value will be multiplied by up to the number of assertions, of which those of
            # this test so far are known. That of more resamples is valid by itself, so it is where
            # it is asked for only below the level.
            given = self._given(checked.level, checked.seed) | {"n_resamples": wanted}
            checked = assertions.check_calibrated(model, data, y, **given, **arguments)
        return self._kept(checked)

    def assert_within(
        self,
        model: object,
        data: object = None,
        y: object = None,
        *,
        tolerance: float,
        level: float | None = None,
        rng: object = None,
        **arguments: Any,
    ) -> Tested:
        """Assert as `caltest.testing.assert_within` does, and record it.

        It fails at once, at its own level: a session passes if every such claim is shown, which
        needs no adjustment.

        Parameters
        ----------
        model, data, y : object
            As for `caltest.testing.assert_within`.
        tolerance : float
            The largest error that does not matter, in the unit of the test.
        level, rng : optional
            As for `assert_calibrated`.
        **arguments
            As for `caltest.testing.assert_within`.

        Returns
        -------
        HTest, HTestTable, SegmentsTest or GroupsTest
            What was found.

        Raises
        ------
        AssertionError
            If the error is not shown to be within the tolerance.
        """
        __tracebackhide__ = True
        given = {**self._given(level, rng), "tolerance": tolerance}
        checked = assertions.check_within(model, data, y, **given, **arguments)
        found = self._kept(checked)
        if not checked.holds:
            raise AssertionError(checked.message)
        return found

    def record(self, result: Tested, *, level: float | None = None) -> Tested:
        """Assert what the hypothesis of a result says, of a test that was run by other means.

        Parameters
        ----------
        result : HTest, HTestTable, SegmentsTest or GroupsTest
            Of `test_calibration`, `test_segments` or `test_master_scale`.
        level : float, optional
            As for `assert_calibrated`.

        Returns
        -------
        HTest, HTestTable, SegmentsTest or GroupsTest
            The result.

        Raises
        ------
        AssertionError
            If the result is one of equivalence and does not show it.
        """
        __tracebackhide__ = True
        checked = assertions.checked_result(result, level=self.level if level is None else level)
        self._kept(checked)
        if checked.claims_within and not checked.holds:
            raise AssertionError(checked.message)
        return result

    def _given(self, level: float | None, rng: object) -> dict[str, Any]:
        level = self.level if level is None else level
        return {"level": level, "rng": self.seed if rng is None else rng}

    def _kept(self, checked: Checked) -> Tested:
        __tracebackhide__ = True
        caller = sys._getframe(2)  # noqa: SLF001, the line of the assertion
        path = caller.f_code.co_filename
        near = os.path.relpath(path) if os.path.splitdrive(path)[0] == "" else path
        path = path if near.startswith("..") else near
        self.keep(record_of(checked, f"{path}:{caller.f_lineno}"))
        return checked.result


# ---- What a session says of its tests: the section of the terminal, the HTML page ----------------


Records = Mapping[str, Sequence[Record]]
COLUMNS = ("outcome", "p", "adjusted", "level", "seed", "n", "test")


def section(records: Records) -> tuple[str, list[str]]:
    """Return the title of the section, and its lines.

    Parameters
    ----------
    records : mapping of str to sequence of Record
        The records of each test, decided.
    """
    each = _each(records)
    cells = [COLUMNS, *itertools.starmap(_cells, each)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(map(str.ljust, row, [*widths[:-1], 0])) for row in cells]
    few = [f"{nodeid}: {one.headline}" for nodeid, one in each if one.few]
    return _title(records), [*lines, *_notes(records), *few]


def write_report(path: Path, records: Records) -> None:
    """Write the HTML page.

    Parameters
    ----------
    path : Path
        The file; its folder is made where it does not exist.
    records : mapping of str to sequence of Record
        The records of each test, decided.
    """
    from jinja2 import Environment, PackageLoader

    loader = PackageLoader("caltest.testing")
    environment = Environment(
        loader=loader, autoescape=True, trim_blocks=True, keep_trailing_newline=True
    )
    page = environment.get_template("session.html.j2").render(
        title=_title(records),
        notes=_notes(records),
        columns=COLUMNS,
        tests=[(record, _cells(nodeid, record)) for nodeid, record in _each(records)],
        version=__version__,
        time=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    outputs.write_whole(path, page)


def _each(records: Records) -> list[tuple[str, Record]]:
    return [(nodeid, record) for nodeid, some in records.items() for record in some]


def _title(records: Records) -> str:
    each = [record for _, record in _each(records)]
    failed = sum(record.failed and not record.expected for record in each)
    expected = sum(record.failed and record.expected for record in each)
    count = f"{len(each)} test{'s' if len(each) > 1 else ''} of calibration"
    count += f", {failed} failed" if failed else ", none failed"
    return f"{count}, {expected} expected to fail" if expected else count


def _cells(nodeid: str, record: Record) -> tuple[str, ...]:
    if record.within:
        found = "not shown within" if record.failed else "within"
    elif record.failed:
        found = "too few resamples" if record.is_coarse else "rejected"
    elif record.pvalue <= record.level:
        found = "not after adjustment"
    else:
        found = "too few rows" if record.few else "not rejected"
    return (
        f"{found}, as expected" if record.failed and record.expected else found,
        wording.short(record.pvalue).removeprefix("= "),
        "-" if record.within else wording.short(record.adjusted).removeprefix("= "),
        f"{record.level:g}",
        str(record.seed),
        f"{record.n:,}",
        nodeid,
    )


def _notes(records: Records) -> list[str]:
    """Say how the p-values were adjusted."""
    family = [record for _, record in _each(records) if not record.within]
    notes = []
    if len(family) > 1:
        joint = max(record.size for record in family)
        how = "Holm's method"
        if joint == len(family):
            how = "jointly: the same data, the same redrawn labels"
        elif joint > 1:
            how = "jointly where the data are the same, by Holm's method over the data"
        notes.append(f"p-values are adjusted for {len(family)} tests, {how}.")
    if any(record.within for _, record in _each(records)):
        notes.append("A claim within a tolerance is decided by itself: all of them must be shown.")
    seeds = sorted({record.seed for _, record in _each(records)})
    if len(seeds) == 1:
        notes.append(f"To repeat: --calibration-seed={seeds[0]}.")
    return notes
