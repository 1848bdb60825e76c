"""The monitor of a model: its streams, what they say, and its state."""

from __future__ import annotations

import copy
import json
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from caltest import checks
from caltest.drawing import draw
from caltest.errors import DegenerateDataWarning, NotApplicable, invalid, shown
from caltest.measures.gap import Gap
from caltest.monitoring import evalues, numbers, sheets, waiting
from caltest.monitoring.stream import LEVELS, Stream, bets_for, broken
from caltest.predictions import Predictions, Rows
from caltest.results.base import Result, Summary, plain
from caltest.results.verdict import Verdict
from caltest.types import Axes, Codes, Floats

if TYPE_CHECKING:
    from caltest.render import Sheet


CONFIDENCE_SEQUENCES = ("confidence", "mean", "temperature")
WHOLE = "all rows"
SCHEMAS = [f"caltest/monitor/{version}" for version in (1, 2, 3, 4)]  # that can be read
LATER = {"counted", "checksum"}  # fields that the first two have not
DEFAULT_LEVEL = 0.05
CHANGE_MEMORY = 5000
NEVER = 0
MOST_TRACED = 2**20  # logarithms of e-values of groups that are held at once


class Monitor(Result):
    """An e-process of the predictions and outcomes so far; `caltest.monitor` makes one.

    Attributes
    ----------
    classes : tuple or None
        Names of the classes, none of forecasts of numbers; None before the first row.
    groups : tuple
        The groups that are watched.
    restart, memory, level
        As for `caltest.monitor`.

    Examples
    --------
    >>> import caltest as ct
    >>> day = ct.datasets.generative_model("M1", n=200, m=3, rng=1)
    >>> watch = ct.Monitor().update(day)
    >>> watch.alarm(), watch.n, ct.Monitor.from_json(watch.to_json()).evalue == watch.evalue
    (False, 200, True)
    """

    schema: ClassVar[str] = SCHEMAS[-1]
    no_json: ClassVar[tuple[str, str]] = (
        "the state of a monitor must be JSON",
        "go on from an earlier state, or begin anew",
    )

    def __init__(
        self,
        *,
        classes: Sequence[object] | None = None,
        groups: Sequence[object] | None = None,
        restart: bool = False,
        memory: int | None = None,
        level: float = DEFAULT_LEVEL,
    ) -> None:
        self.restart = checks.check_flag(restart, "restart")
        self.level = checks.check_level(level)
        fades = checks.check_optional_integer(memory, "memory", 10)
        self.memory = CHANGE_MEMORY if fades is None and restart else fades
        self.groups = () if groups is None else waiting.check_groups_named(groups)
        self.classes: tuple[object, ...] | None = None
        self._streams: dict[object, Stream] = {}
        self._waiting, self._counted = waiting.Waiting(), waiting.CountedBatches()
        self._warned = False
        self._largest, self._alarm_after = 0.0, NEVER
        if classes is not None:
            self._begin(waiting.check_classes_named(classes))

    def __copy__(self) -> Self:  # one that shared arrays would be changed by halves
        return copy.deepcopy(self)

    # ---- rows -----------------------------------------------------------------------------------

    def update(
        self,
        probs: object,
        labels: object = None,
        *,
        groups: object = None,
        ids: Sequence[object] | None = None,
        batch_id: object = None,
        again: bool = False,
        from_logits: bool = False,
        renormalize: bool = False,
    ) -> Self:
        """Take rows in the order in which they were predicted, and those of a batch once.

        A batch that comes again is known by its `batch_id`, without one by its rows: probabilities,
        labels, groups and ids, in any order. Few rows, or rows that are all alike, are not known by
        themselves: others are equal too often. The last 1000 batches are remembered. One that
        begins with the rows of the last, as a file that grows does, is refused too.

        Parameters
        ----------
        probs : (n, m) or (n,) array_like, Predictions or Forecasts
            Probabilities as for `caltest.Predictions`; a single row is (1, m). Forecasts of numbers
            come with their outcomes, and are watched by themselves.
        labels : (n,) array_like, optional
            Outcomes; without them the rows wait, and so do all that follow them, until `resolve`
            tells: the order of the predictions is kept.
        groups : (n,) array_like, optional
            The group of each row; rows of other groups count among all rows only.
        ids : sequence of length n, optional
            Names of the rows, by which later outcomes name theirs.
        batch_id : str, int or date, optional
            Name of the batch. Where the names are days or moments of ISO 8601, an earlier one after
            a later one is warned of.
        again : bool
            Whether a batch is taken that was counted before.
        from_logits, renormalize : bool
            As for `caltest.Predictions`.

        Returns
        -------
        Monitor
            Itself.

        Raises
        ------
        InvalidInput
            If an argument breaks its rule, or the batch was counted; then the state is as before.
        """
        reading = {"from_logits": from_logits, "renormalize": renormalize}
        checks.suspect_index(probs=probs, groups=groups, ids=ids)
        given = waiting.read_batch(probs, labels, self.classes, **reading)
        if not self.groups:
            checks.check_unused("on a monitor that was begun without", groups=groups)
        named = given.groups if groups is None else groups
        codes = waiting.codes_of_groups(named, given.n, self.groups)
        known = labels is not None or isinstance(probs, Rows)
        names = None if ids is None else waiting.check_ids(ids, given.n)
        if not known and names is None:
            remedy = "pass ids=, for resolve(ids, labels)"
            raise invalid("rows without labels need names", "ids=None", remedy)
        self._waiting.check_new(names)
        batch = waiting.check_batch_id(batch_id)

        def digest_of_first(n: int) -> str:
            first, own = given.subset(np.arange(n)), None if names is None else names[:n]
            return waiting.digest_of(first, codes[:n], own, known=known)

        digest = waiting.digest_of(given, codes, names, known=known)
        if not checks.check_flag(again, "again"):
            self._counted.check(batch, digest, given.n, digest_of_first)
        rounding = waiting.rounding_in_words(given.probs) if given.m and not self._warned else None
        if rounding is not None:  # where warnings are errors, nothing is taken over
            warnings.warn(rounding, DegenerateDataWarning, stacklevel=2)
            self._warned = True
        if self.classes is None:
            self._begin(tuple(given.classes.tolist()) if given.m else ())
        self._counted.add(batch, digest, self.n + self.n_waiting, given.n)
        if known and not self._waiting.rows:
            self._advance(*waiting.columns_of(given, self.n), codes)
        else:
            self._waiting.add(given.probs, given.labels if known else None, codes, names)
            self._settle()
        return self

    def resolve(self, ids: Sequence[object], labels: object) -> Self:
        """Give the outcomes of rows that wait.

        Parameters
        ----------
        ids : sequence
            Names of rows, as in `update`.
        labels : array_like of the same length
            Their outcomes.

        Returns
        -------
        Monitor
            Itself.

        Raises
        ------
        InvalidInput
            If a row does not wait, or a label is no class; then the state is as before.
        """
        checks.suspect_index(ids=ids, labels=labels)
        names = waiting.check_ids(ids, None)
        if not names:
            raise invalid("ids must name at least one row", shown(ids), "pass some")
        m = 0 if self.classes is None else len(self.classes)
        if not m:
            raise invalid("resolve needs rows that wait", "none", "pass them to update first")
        even = np.full((len(names), m), 1.0 / m)
        read = Predictions(even, labels, classes=list(self.classes or ()))
        self._waiting.resolve(names, read.labels)
        self._settle()
        return self

    def drop(self, ids: Sequence[object]) -> Self:
        """Give up rows whose outcome will not come, for a reason that has nothing to do with it.

        Parameters
        ----------
        ids : sequence
            Names of rows that wait.

        Returns
        -------
        Monitor
            Itself.
        """
        self._waiting.drop(waiting.check_ids(ids, None))
        self._settle()
        return self

    def _settle(self) -> None:
        """Bet on the rows before the first whose outcome is not known."""
        rows = self._waiting.rows
        count = next((i for i, row in enumerate(rows) if row[2] == waiting.UNKNOWN), len(rows))
        if count:
            known, self._waiting.rows = rows[:count], rows[count:]
            _, *columns = zip(*known, strict=True)
            self._advance(*map(np.array, columns))

    def _begin(
        self, classes: tuple[object, ...], states: Sequence[object] = (), *, version: int = 0
    ) -> None:
        """Make the streams, and load the state of each, where there is one, before the next."""
        if len(classes) == 1:
            raise invalid("classes must be at least two", shown(list(classes)), "name them all")
        bets = bets_for(len(classes))
        levels = tuple(sorted({*LEVELS, self.level}, reverse=True))
        kept = 1.0 if self.memory is None else 1.0 - 1.0 / min(self.memory, 2**53)
        for place, name in enumerate((WHOLE, *range(len(self.groups)))):
            stream = Stream(bets, levels, restart=self.restart, memory=kept, whole=name == WHOLE)
            if states:
                stream.load(states[place], version=version)
            self._streams[name] = stream
        self.classes = classes

    def _advance(self, probs: Floats, labels: Codes, codes: Codes) -> None:
        whole = self._streams[WHOLE]
        if not self.groups:
            whole.advance(probs, labels)
            self._largest = whole.log_largest
            self._alarm_after = int(whole.state["crossed"][whole.levels.index(self.level)])
            return
        # Look at the mean of all rows and of the groups after each row.
        step, reached = max(1, MOST_TRACED // len(self._streams)), -math.log(self.level)
        for start in range(0, len(labels), step):
            P, y, groups = (column[start : start + step] for column in (probs, labels, codes))
            before, logs = self.n, np.empty((len(self._streams), len(y)))
            for place, (name, stream) in enumerate(self._streams.items()):
                rows = np.ones(len(y), dtype=bool) if name == WHOLE else groups == name
                logs[place] = stream.advance(P[rows], y[rows], traced=True)[np.cumsum(rows)]
            after_each = mean_log(logs)
            whole.draw_mean(before, after_each)
            self._largest = max(self._largest, float(after_each.max()))
            if self._alarm_after == NEVER and self._largest >= reached:
                self._alarm_after = before + 1 + int(np.argmax(after_each >= reached))

    # ---- what it says ---------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """Rows so far, without those that wait."""
        return self._streams[WHOLE].n if self._streams else 0

    @property
    def n_waiting(self) -> int:
        """Rows that wait for their outcome, or for that of a row before them."""
        return len(self._waiting.rows)

    @property
    def log_evalue(self) -> float:
        """The logarithm of the e-value; with groups that of the mean of all rows and of groups."""
        if not self._streams:
            return 0.0
        logs = [[stream.log_evalue] for stream in self._streams.values()]
        return float(mean_log(np.array(logs))[0])

    @property
    def evalue(self) -> float:
        """The e-value: evidence against calibration so far, 1 before the first row."""
        return _exp(self.log_evalue)

    @property
    def pvalue(self) -> float:
        """The anytime-valid p-value: 1 over the largest e-value after any row so far.

        Raises
        ------
        NotApplicable
            With `restart`, whose false alarms have a rate and no probability.
        """
        self._refuse_restart("a p-value")
        return min(1.0, _exp(-self._largest))

    @property
    def log_parts(self) -> dict[str, float]:
        """The logarithm of the e-value of each part, of all rows."""
        if not self._streams:
            return {}
        stream = self._streams[WHOLE]
        return dict(zip(stream.bets.parts, stream.log_parts.tolist(), strict=True))

    @property
    def log_group_evalues(self) -> dict[object, float]:
        """The logarithm of the e-value of each group, adjusted for their number."""
        if not self.groups or not self._streams:
            return {}
        logs = np.array([self._streams[code].log_evalue for code in range(len(self.groups))])
        return dict(zip(self.groups, evalues.adjust_log_evalues(logs).tolist(), strict=True))

    @property
    def group_evalues(self) -> dict[object, float]:
        """The e-value of each group, adjusted for their number by closed testing."""
        return {group: _exp(log) for group, log in self.log_group_evalues.items()}

    def alarm(self, level: float | None = None) -> bool:
        """Whether the e-value ever reached 1 / level: of all rows, or with groups of their mean.

        Parameters
        ----------
        level : float, optional
            By default that of the monitor.

        Returns
        -------
        bool
            With `restart` the mean number of rows until a false alarm is at least 1 / level.

        Raises
        ------
        InvalidInput
            If the level is not in (0, 0.5].
        """
        asked = self.level if level is None else checks.check_level(level)
        return self.n > 0 and self._largest >= -math.log(asked)

    @property
    def alarm_after(self) -> int | None:
        """The rows after which the e-value first reached 1 / level; None if it never did."""
        return None if self._alarm_after == NEVER else self._alarm_after

    @property
    def impossible_row(self) -> int | None:
        """The first row, from 0, whose outcome had probability 0; None if there is none."""
        return self._streams[WHOLE].impossible_row if self._streams else None

    def confidence_sequence(
        self, of: str = "confidence", *, confidence: float | None = None, which: object = None
    ) -> tuple[float, float]:
        """Return an interval that holds at all times at once.

        Parameters
        ----------
        of : {"confidence", "mean", "temperature"}
            The accuracy so far less the mean confidence, of forecasts the coverage of intervals of
            90 %, or as near as they come to it, less their probability; the frequency of a class so
            far less its mean probability; or the temperature T with labels drawn from p^(1/T),
            normalised.
        confidence : float, optional
            Probability that the interval is never wrong, by default 1 - level of the monitor.
        which : object, optional
            The class of "mean", by default the last.

        Returns
        -------
        (float, float)
            The ends.

        Raises
        ------
        NotApplicable
            Before the first row, of a temperature with `restart`, or where none fits the outcomes.
        InvalidInput
            If an argument breaks its rule.
        """
        checks.check_choice(of, CONFIDENCE_SEQUENCES, "of")
        if of != "mean":
            checks.check_unused(f"on of={of!r}", which=which)
        asked = self.level if confidence is None else 1.0 - checks.check_confidence(confidence)
        if not self._streams or not self.n:
            raise NotApplicable("a confidence sequence needs rows", "pass some to update")
        stream, names = self._streams[WHOLE], self.classes or ()
        if not names and of != "confidence":
            reason = f"forecasts of numbers have no {of} of classes"
            raise NotApplicable(reason, "use of='confidence', of the coverage of intervals of 90 %")
        if of == "temperature":
            self._refuse_restart("a confidence sequence of the temperature")
            return evalues.temperatures_of(stream, asked)
        row = 0 if of == "confidence" else evalues.row_of_class(which, names)
        size = evalues.gap_of(stream, row, asked, names)
        return size.low, size.high

    def size(self) -> Gap:
        """Return mean prediction, observed share and their gap, whose interval holds at all times.

        Returns
        -------
        Gap
            Of the second of two classes, of more of the predicted class, of forecasts of intervals
            of 90 %.

        Raises
        ------
        NotApplicable
            Before the first row.
        """
        if not self.n:
            raise NotApplicable("the size of the gap needs rows", "pass some to update")
        names = self.classes or ()
        return evalues.gap_of(self._streams[WHOLE], 1 if len(names) == 2 else 0, self.level, names)

    def verdict(self) -> Verdict:
        """Return what a person can act on: alarm or none, since when, and what is wrong.

        Returns
        -------
        Verdict
            Its `answer` is "alarm" or "no alarm".

        Raises
        ------
        NotApplicable
            Before the first row, if none waits.
        """
        size = None if self.n_waiting and not self.n else self.size()
        sentences = sheets.monitor_in_words(self, size)
        return Verdict(
            answer="alarm" if self.alarm() else "no alarm",
            headline=sentences[0][1],
            pvalue=min(1.0, _exp(-self._largest)),
            level=self.level,
            n=self.n,
            m=len(self.classes or ()),
            size=size,
            places=(),
            sentences=sentences,
            data_name="rows so far",
        )

    def findings(self) -> list[tuple[str, float, int, str]]:
        """Return the parts that speak against calibration: name, log e-value, since row, in words.

        The row is that of `since` for the bets of the part alone.

        Returns
        -------
        list of (str, float, int, str)
            The largest first; empty where that of none reaches 1 / level. That both location and
            spread are wrong must have 1 / level times the e-value of each alone.
        """
        if not self._streams:
            return []
        stream, names, logs = self._streams[WHOLE], self.classes or (), self.log_parts
        reached = -math.log(self.level)
        found = [
            (part, log, stream.since([part])[0], evalues.in_words(stream, part, names))
            for part, log in logs.items()
            if log >= reached + max([0.0, *(logs[one] for one in numbers.ALONE.get(part, ()))])
        ]
        return sorted(found, key=lambda one: -one[1])

    def since(self) -> tuple[int, int, int]:
        """Return after how many rows the model changed, if it did, once and for good.

        Returns
        -------
        (int, int, int)
            The most likely number of rows, of all rows whatever their group, and the least and the
            largest of a range that holds the true one in about 95 % of alarms.

        Raises
        ------
        NotApplicable
            Before the first row.
        """
        if not self.n:
            raise NotApplicable("a change needs rows", "pass some to update")
        stream = self._streams[WHOLE]
        return stream.since(stream.bets.parts)

    def _refuse_restart(self, what: str) -> None:
        if self.restart:
            rate = "with restart=True, which bounds the rate of false alarms"
            raise NotApplicable(f"{what} has no meaning {rate}", "begin a monitor without it")

    @property
    def path(self) -> dict[str, Floats]:
        """Logarithms of e-values at up to 1024 times: "row", "all" with groups, and each part."""
        if not self._streams:
            return {}
        stream = self._streams[WHOLE]
        return dict(zip(("row", "all", *stream.bets.parts), stream.path.T, strict=True))

    # ---- print, picture, JSON -------------------------------------------------------------------

    def _sheet(self) -> Sheet:
        return sheets.sheet_of_monitor(self)

    def summary(self) -> Summary:
        """Return the longer print: each part, each group, and the confidence sequences."""
        return Summary(sheets.sheet_of_monitor(self, long=True))

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the e-value over time; see `caltest.plots.monitor`."""
        return draw("pvalues.monitor", self, ax=ax, **options)

    def to_dict(self, *, include_null: bool = False) -> dict[str, Any]:
        """Return the state: `from_dict` goes on where it stopped, to the last bit."""
        values = {
            "classes": None if self.classes is None else plain(list(self.classes)),
            "groups": plain(list(self.groups)),
            **{name: getattr(self, name) for name in ("restart", "memory", "level")},
            "largest": plain(self._largest),
            "alarm_after": self._alarm_after,
            "streams": [stream.to_dict() for stream in self._streams.values()],
            "waiting": list(map(list, self._waiting.rows)),
            "counted": list(map(list, self._counted.batches)),
        }
        return values | {"checksum": checksum(values)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Rebuild a monitor from what `to_dict` or parsed JSON gave.

        Raises
        ------
        InvalidInput
            If the state is of another version, or not whole.
        """
        name = "the state of a monitor"
        checked = checks.check_version(values, cls.schema, name, earlier=SCHEMAS)
        version = 1 + SCHEMAS.index(values.get("schema", cls.schema))
        fields = set(cls().to_dict()) - (LATER if version < 3 else set())
        if set(checked) != fields:
            odd = ", ".join(sorted(map(str, set(checked) ^ fields)))
            raise broken(f"fields that are missing or strange, {odd}")
        if version > 2 and checked.pop("checksum") != checksum(checked):
            raise broken("its checksum differs: it was damaged or changed")
        own = {name: checked[name] for name in ("restart", "memory", "level")}
        made = cls(groups=checked["groups"] or None, **own)
        streams, names = checked["streams"], checked["classes"]
        wanted = 0 if names is None else 1 + len(made.groups)
        if not isinstance(streams, list) or len(streams) != wanted:
            raise broken("streams, which must be one for all rows and one for each group")
        if names is not None:
            named = waiting.check_classes_named(names) if names != [] else ()
            made._begin(named, streams, version=version)
        made._largest = waiting.check_number(checked["largest"], "largest")
        made._alarm_after = checks.check_integer(checked["alarm_after"], "alarm_after", minimum=0)
        if made._alarm_after > made.n:
            raise broken("alarm_after, which must be a row so far")
        made._waiting.load(checked["waiting"], len(made.classes or ()), len(made.groups))
        made._counted.load(checked.get("counted", []))
        return made


def checksum(values: Mapping[str, Any]) -> str:
    """Return a hash of a state, however its JSON is laid out: 1.0 may be 1 there."""
    try:
        text = re.sub(r"\.0\b", "", json.dumps(values, sort_keys=True))
    except (TypeError, ValueError, RecursionError) as error:
        raise broken("values that JSON has not") from error
    return sha256(text.encode()).hexdigest()[:32]


def mean_log(logs: Floats) -> Floats:
    """Return the logarithms of means over the first axis: all rows have half, groups the rest."""
    if len(logs) == 1:
        return np.asarray(logs[0])
    groups = np.logaddexp.reduce(logs[1:]) - math.log(len(logs) - 1)
    return np.asarray(np.logaddexp(logs[0], groups) - math.log(2.0))


def _exp(value: float) -> float:
    return math.exp(value) if value < 709.0 else math.inf
