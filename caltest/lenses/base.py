"""What a lens is, and the one that shows the predictions as they are."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, NamedTuple

import numpy as np

from caltest.checks.options import not_a_choice
from caltest.errors import NotApplicable, invalid, shown
from caltest.numerics.labels import resample_keys
from caltest.predictions import Measured, MeasuredOptions, Predictions, Redrawing, Rows
from caltest.types import AnyArray, Codes, Flags, Floats

__all__ = ["Lens", "Strong", "resolve_lens"]

NEVER = 1e-12  # probability that right draws are found to differ, for each of m + 2 sums
DRAWN = 1 << 20  # labels, at most 32 data sets, that are redrawn to look at a lens of one's own
Table = Callable[[], Codes | Flags]
Redrawn = Callable[[Any], Redrawing]
KEY = re.compile(r"([a-z-]+?)(?:-(\d+)|\[(.+)\])?")


class Seen(MeasuredOptions, total=False):
    """The rows of a function of (probs, labels), and the lens that they are seen through."""

    lens: str | Lens


class Evaluated(Measured, total=False):
    """The same of a function that gives a value."""

    lens: str | Lens


class Lens(ABC):
    """A map from predictions to the predictions of an induced model.

    Attributes
    ----------
    title : str
        What it looks at, in one line.
    key : str
        How it is written, with its options in braces.
    null : str
        The null hypothesis in words, likewise.
    is_confidence : bool
        Whether the event that it leaves is that the predicted class is right.
    has_rest : bool
        Whether what it leaves out is one more class, which may be the most probable one.
    of : type
        What it looks at.
    """

    title: ClassVar[str]
    key: ClassVar[str]
    null: ClassVar[str]
    is_confidence: ClassVar[bool] = False
    has_rest: ClassVar[bool] = False
    of: ClassVar[type[Rows]] = Predictions

    @abstractmethod
    def __call__(self, predictions: Any) -> Predictions:
        """Return the induced predictions and labels."""

    def __str__(self) -> str:
        return self.key.format_map(vars(self))

    @property
    def claim(self) -> str:
        """The null hypothesis in words."""
        return self.null.format_map(vars(self))

    def claim_of(self, rows: Rows) -> str:
        """Return the null hypothesis of some rows, or raise InvalidInput if it is of others."""
        if isinstance(rows, self.of):
            return self.claim
        from caltest.lenses import REGISTRY

        keys = ", ".join(repr(key) for key, kind in REGISTRY.items() if isinstance(rows, kind.of))
        rule = f"lens must be one of those of {type(rows).__name__}"
        raise invalid(rule, repr(str(self)), f"use one of {keys}")

    def size_of(self, seen: Any) -> tuple[Predictions, str, str]:
        """Return the predictions whose size is stated, what it is ("event", ...) and of what."""
        if seen.m > 2 or self.is_confidence:
            return seen, "confidence", "right"
        return seen, "event", str(seen.classes[-1])

    @classmethod
    def read(cls, rank: str | None, classes: str | None) -> Lens | None:
        """Return the lens of a key with these parts, "2" of top-2 or "cat" of classwise[cat].

        None where the lens takes other parts.
        """
        return None if rank or classes else cls()

    @property
    def is_family(self) -> bool:
        """Whether this stands for several lenses."""
        return False

    def members(self, predictions: Any) -> list[Lens]:
        """List the lenses of a family; of a single lens, itself."""
        return self.members_of(np.asarray(predictions.classes).tolist())

    def members_of(self, classes: Sequence[object]) -> list[Lens]:
        """List the lenses of a family for classes of which no row is seen."""
        return [self]

    def of_columns(self, columns: ClassColumns) -> ColumnEvent:
        """Return the event that the lens leaves, as expressions of the columns of a table.

        Raises
        ------
        NotApplicable
            If the lens leaves no single event, or needs the rows.
        """
        from caltest.lenses import REGISTRY

        having = [k for k, kind in REGISTRY.items() if kind.of_columns is not Lens.of_columns]
        keys = ", ".join(repr(key) for key in having if key != "strong")
        remedy = f"use engine='rows', or one of the lenses {keys}"
        raise NotApplicable(f"the lens {str(self)!r} needs the rows", remedy)


class ClassColumns(NamedTuple):
    """The classes of a table of predictions, as expressions of narwhals.

    Attributes
    ----------
    classes : list
        Their names.
    probs, is_label : sequence of narwhals.Expr
        The probability of each, and whether it is the label.
    one_by_one : bool
        Whether the largest of several is found two at a time, as Dask needs it.
    """

    classes: Sequence[object]
    probs: Sequence[Any]
    is_label: Sequence[Any]
    one_by_one: bool = False

    def largest(self) -> Any:
        """Return the largest probability."""
        import narwhals as nw

        if self.one_by_one:
            return reduce(lambda a, b: b.clip(a), self.probs)
        return nw.max_horizontal(*self.probs)


class ColumnEvent(NamedTuple):
    """An event of each row of a table, as expressions of narwhals.

    Attributes
    ----------
    name : str
        The event.
    prob : narwhals.Expr
        Its probability.
    happens : narwhals.Expr
        Whether it did.
    where : narwhals.Expr or None
        Which rows count; None for all.
    other : str
        What happens without it, where it has a name.
    """

    name: str
    prob: Any
    happens: Any
    where: Any = None
    other: str = ""

    @property
    def names(self) -> tuple[str, str]:
        """What happens without the event, and the event."""
        return self.other or f"not {self.name}", self.name


def shown_by(lens: Lens, predictions: Any) -> Any:
    """Return what a lens shows; one of a user's own must return Predictions and keep weights."""
    seen: object = lens(predictions)
    if not isinstance(seen, Rows):
        rule = f"the lens {str(lens)!r} must return Predictions"
        raise invalid(rule, f"type {type(seen).__name__}", "wrap functions in lenses.Custom")
    if predictions.is_weighted and not seen.is_weighted:
        rule = f"the lens {str(lens)!r} must keep the sample weights"
        raise invalid(rule, "Predictions without", "pass them on, sample_weight=")
    return seen


def each_once(members: Iterable[Lens]) -> list[Lens]:
    """List the members of lenses; a family and another lens may share some."""
    return list({str(member): member for member in members}.values())


def induced(lens: Lens, predictions: Predictions) -> Predictions:
    """Return what a lens shows; one of a user's own must redraw the labels that it predicts."""
    from caltest.lenses import REGISTRY

    seen: Predictions = shown_by(lens, predictions)
    if type(lens) not in REGISTRY.values():
        draws = 2 * max(1, min(16, DRAWN // max(1, seen.n)))
        redrawn = np.asarray(seen.redrawing.labels(resample_keys(0, draws)))
        found = departure(seen.probs, redrawn)
        if found:
            rule = f"the redrawing of the lens {str(lens)!r} must follow its probabilities"
            remedy = "predict what the labels say; caltest.testing.check_lens looks closer"
            raise invalid(rule, f"redrawn labels with {found}", remedy)
    return seen


def departure(probs: Floats, labels: AnyArray) -> str:
    r"""Say how labels (B, n), B even, differ from draws of the rows of probs (n, m), if they do.

    Sums over all labels whose terms have the variance v in all and are at most 1 from their
    expectation exceed :math:`t = L / 3 + \sqrt{L^2 / 9 + 2 L v}` with probability :math:`2 e^{-L}`
    at most (Bernstein), whatever the predictions: :data:`NEVER` for each sum.
    """
    n, m = probs.shape
    whole = labels.dtype.kind in "iu" and labels.ndim == 2 and labels.shape[1] == n
    if not whole or not np.all((labels >= 0) & (labels < m)):
        return f"the shape {labels.shape} and the type {labels.dtype}, not codes of {m} classes"
    labels, draws = labels.astype(np.intp), len(labels)
    square, hit = np.sum(probs**2, axis=1), probs[np.arange(n), labels]
    totals = np.bincount(labels.ravel(), minlength=m) - draws * probs.sum(axis=0)
    spread = np.sum(probs**3) - np.sum(square**2)
    same = np.sum(labels[::2] == labels[1::2]) - draws / 2 * square.sum()
    sums = {
        "other numbers of the classes": (totals, draws * np.sum(probs * (1 - probs), axis=0)),
        "classes of other probabilities": (hit.sum() - draws * square.sum(), draws * spread),
        "the same classes each time": (same, draws / 2 * np.sum(square * (1 - square))),
    }
    L = math.log(2 / NEVER)
    found = [
        name
        for name, (difference, v) in sums.items()
        if np.any(np.abs(difference) > L / 3 + np.sqrt(L**2 / 9 + 2 * L * np.maximum(v, 0)))
    ]
    return " and ".join(found)


@dataclass(frozen=True)
class Strong(Lens):
    """All the probabilities as they are: P(Y = k | p) = p_k for every class k.

    Examples
    --------
    >>> print(Strong().claim)
    P(Y = k | p) = p_k for every class k
    """

    key, title = "strong", "all the probabilities as they are"
    null = Predictions.claim
    of = Rows

    def claim_of(self, rows: Rows) -> str:
        return rows.claim

    def size_of(self, seen: Any) -> tuple[Predictions, str, str]:
        from caltest.lenses.forecasts import USUAL_LEVEL, BelowQuantile, Interval

        if seen.m:
            return super().size_of(seen)
        inside = Interval(USUAL_LEVEL)(seen)
        if not inside.probs[:, 1].any():  # ensembles of a single member have no intervals
            return super().size_of(BelowQuantile(0.5)(seen))
        return inside, "interval", f"{100 * USUAL_LEVEL:g} %"

    def __call__(self, predictions: Predictions) -> Predictions:
        """Return the predictions themselves."""
        return predictions

    def of_columns(self, columns: ClassColumns) -> ColumnEvent:
        """Return the second of two classes."""
        if len(columns.classes) > 2:
            many = f"the lens 'strong' of {len(columns.classes)} classes needs the rows"
            raise NotApplicable(many, "use lens='confidence' or 'classwise', or engine='rows'")
        other, name = map(str, columns.classes)
        return ColumnEvent(name, columns.probs[1], columns.is_label[1], other=other)


def event_of(predictions: Predictions, codes: Codes, name: str) -> Predictions:
    """Predict that the label of each row is its code, (n,)."""
    value, m = predictions.probs[np.arange(predictions.n), codes], predictions.m
    probs, happens = np.column_stack([1 - value, value]), predictions.labels == codes
    names = [f"not {name}", name]
    return seen_as(predictions, probs, happens, names, lambda own: own.events(codes, m))


def relabelled(
    predictions: Predictions, probs: Floats, labels: AnyArray, names: Sequence[str], table: Table
) -> Predictions:
    """Predict other classes; `table` returns that of each label of each row, (n, m)."""
    size = len(names)
    return seen_as(predictions, probs, labels, names, lambda own: own.relabelled(table(), size))


def seen_as(
    rows: Rows, probs: Floats, labels: AnyArray, names: Sequence[str], redrawn: Redrawn
) -> Predictions:
    """Predict classes of given names, redrawn as `redrawn` makes of the redrawing of the rows."""
    codes, drawing = np.asarray(labels, np.int64), lambda: redrawn(rows.redrawing)
    return Predictions.trusted(probs, codes, np.array(names), like=rows, redrawing=drawing)


def resolve_lens(lens: object) -> Lens:
    """Find the lens that a key names; a lens stays itself.

    Parameters
    ----------
    lens : str or Lens
        A key such as "confidence", "top-2", "classwise[cat]" or "grouped[cat+dog|bird]".

    Returns
    -------
    Lens
        The lens, or the family.

    Raises
    ------
    InvalidInput
        If there is no such lens.

    Examples
    --------
    >>> resolve_lens("within-top-2")
    WithinTop(r=2)
    >>> resolve_lens("grouped[cat+dog|bird]")
    Grouped(groups=(('cat', 'dog'), ('bird',)))
    """
    from caltest.lenses import REGISTRY

    if isinstance(lens, Lens):
        return lens
    match = KEY.fullmatch(lens) if isinstance(lens, str) else None
    if match is not None:
        name, rank, classes = match.groups()
        kind = REGISTRY.get(name) or REGISTRY.get(f"{name}-R") or REGISTRY.get(f"{name}[...]")
        found = None if kind is None else kind.read(rank, classes)
        if found is not None:
            return found
    rule = "lens must be a key or an object of caltest.lenses"
    if isinstance(lens, type) and issubclass(lens, Lens):
        raise invalid(rule, f"the class {lens.__name__}", "add parentheses and options")
    if callable(lens):
        raise invalid(rule, "a function", "wrap it, caltest.lenses.Custom(f)")
    if isinstance(lens, str) and lens in REGISTRY:
        raise invalid(rule, shown(lens), "fill it in, as in 'top-2' or 'grouped[cat+dog|bird]'")
    raise not_a_choice(lens, REGISTRY, "lens")
