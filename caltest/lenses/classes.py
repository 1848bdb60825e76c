"""Lenses on classes, by name and by rank."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from caltest.checks import as_array, check_class, check_integer
from caltest.errors import NotApplicable, invalid, shown
from caltest.lenses.base import ClassColumns, ColumnEvent, Lens, event_of, relabelled, seen_as
from caltest.predictions import Predictions, Redrawing
from caltest.types import AnyArray, Codes, Floats

__all__ = [
    "Classwise",
    "Confidence",
    "Cumulative",
    "Custom",
    "Grouped",
    "Largest",
    "TopLabel",
    "TopRank",
    "WithinTop",
]


@dataclass(frozen=True)
class Confidence(Lens):
    """The largest probability, as that of the event that the predicted class is right.

    Examples
    --------
    >>> from caltest import Predictions
    >>> Confidence()(Predictions([[0.125, 0.625, 0.25]], [2])).probs
    array([[0.375, 0.625]])
    """

    key, title = "confidence", "the largest probability, and whether its class is right"
    null = "the largest probability is the probability that its class is right"
    is_confidence = True

    def __call__(self, predictions: Predictions) -> Predictions:
        """Return (1 - max p, max p), and 1 where y = argmax p."""
        return event_of(predictions, predictions.predicted, "right")

    def of_columns(self, columns: ClassColumns) -> ColumnEvent:
        """Return the largest probability, and whether its class is the label."""
        largest, right, _ = _predicted(columns)
        return ColumnEvent("right", largest, right)


@dataclass(frozen=True)
class PerClass(Lens):
    """A lens for the class `k`, or a family of one for each class."""

    k: object = None

    @classmethod
    def read(cls, rank: str | None, classes: str | None) -> Lens | None:
        return None if rank else cls(classes)

    @property
    def is_family(self) -> bool:
        """Whether `k` is left open."""
        return self.k is None

    def __str__(self) -> str:
        return self.key if self.is_family else f"{self.key}[{self.k}]"

    @property
    def claim(self) -> str:
        return self.null.format(k="k" if self.is_family else self.k)

    def members_of(self, classes: Sequence[object]) -> list[Lens]:
        return [type(self)(k) for k in classes] if self.is_family else [self]

    def _code(self, classes: AnyArray) -> int:
        if self.is_family:
            remedy = "pass it to test_calibration, or call each of its members(predictions)"
            raise invalid(f"{self.key} must be for one class to be called", "all classes", remedy)
        return check_class(self.k, classes)


@dataclass(frozen=True)
class Classwise(PerClass):
    """The probability of class k against the rest; without `k`, of each class in turn.

    Parameters
    ----------
    k : object, optional
        Name or code of a class.

    Examples
    --------
    >>> from caltest import Predictions
    >>> predictions = Predictions([[0.25, 0.5, 0.25]], ["cat"], classes=["ant", "bee", "cat"])
    >>> Classwise("cat")(predictions).probs
    array([[0.75, 0.25]])
    >>> [str(lens) for lens in Classwise().members(predictions)]
    ['classwise[ant]', 'classwise[bee]', 'classwise[cat]']
    """

    key, title = "classwise", "each class against the rest; classwise[K] for one"
    null = "P(Y = {k} | p_{k}) = p_{k}"

    def __call__(self, predictions: Predictions) -> Predictions:
        """Return (1 - p_k, p_k), and 1 where y = k."""
        code = self._code(predictions.classes)
        return event_of(predictions, np.full(predictions.n, code), str(predictions.classes[code]))

    def of_columns(self, columns: ClassColumns) -> ColumnEvent:
        """Return the probability of class k, and whether it is the label."""
        code = self._code(np.array(columns.classes))
        return ColumnEvent(str(columns.classes[code]), columns.probs[code], columns.is_label[code])


@dataclass(frozen=True)
class Cumulative(PerClass):
    """The probability of class k or one before it; without `k`, of each class but the last.

    The classes are taken in the order of their columns.

    Parameters
    ----------
    k : object, optional
        Name or code of a class but the last.

    Examples
    --------
    >>> from caltest import Predictions
    >>> predictions = Predictions([[0.25, 0.5, 0.25]], ["high"], classes=["low", "some", "high"])
    >>> Cumulative("some")(predictions).probs
    array([[0.25, 0.75]])
    >>> [str(lens) for lens in Cumulative().members(predictions)]
    ['cumulative[low]', 'cumulative[some]']
    """

    key, title = "cumulative", "each class or one before it; cumulative[K] for one"
    null = "P(Y <= {k} | its prediction) = the sum of p up to {k}"

    def __call__(self, predictions: Predictions) -> Predictions:
        """Return (1 - s, s) of the sum s of p up to class k, and 1 where y is at most k."""
        code = self._code(predictions.classes)
        upto = np.minimum(predictions.probs[:, : code + 1].sum(axis=1), 1.0)
        above = np.minimum(predictions.probs[:, code + 1 :].sum(axis=1), 1.0)
        larger = upto > 0.5  # neither loses the digits of the other
        name, shape = str(predictions.classes[code]), predictions.probs.shape
        sides = np.where(larger, above, 1 - upto), np.where(larger, 1 - above, upto)
        probs, within = np.column_stack(sides), predictions.labels <= code
        probs, names = few_digits(probs), [f"above {name}", f"at most {name}"]
        return seen_as(predictions, probs, within, names, lambda own: own.upto(code, shape))

    def members_of(self, classes: Sequence[object]) -> list[Lens]:
        """List the lenses for classes of which no row is seen."""
        return super().members_of(classes[:-1])

    def of_columns(self, columns: ClassColumns) -> ColumnEvent:
        """Return the probability of class k or one before it, and whether it is the label."""
        import narwhals as nw

        code = self._code(np.array(columns.classes))
        name, upto = str(columns.classes[code]), slice(code + 1)
        total = nw.sum_horizontal(*columns.probs[upto])
        rounded = total.round(DIGITS)  # as in `few_digits`
        near = (rounded - total).abs() <= ROUNDING * total
        prob = nw.min_horizontal(nw.when(near).then(rounded).otherwise(total), nw.lit(1.0))
        happens = nw.any_horizontal(*columns.is_label[upto], ignore_nulls=False)
        return ColumnEvent(f"at most {name}", prob, happens, other=f"above {name}")

    def _code(self, classes: AnyArray) -> int:
        code = super()._code(classes)
        if code == len(classes) - 1:
            got = f"{self.k}, the last: P(Y <= {self.k}) is 1"
            raise invalid("cumulative must be of a class but the last", got, "take one before it")
        return code


@dataclass(frozen=True)
class TopLabel(PerClass):
    """Confidence among the rows where class k is predicted; without `k`, for each in turn.

    Parameters
    ----------
    k : object, optional
        Name or code of a class.

    Examples
    --------
    >>> from caltest import Predictions
    >>> predictions = Predictions([[0.25, 0.75], [0.5, 0.5], [0.375, 0.625]], [1, 0, 0])
    >>> TopLabel(1)(predictions).probs
    array([[0.25 , 0.75 ],
           [0.375, 0.625]])
    """

    key, title = "top-label", "confidence for each predicted class; top-label[K] for one"
    null = "where {k} is predicted, p_{k} is the probability that this is right"
    is_confidence = True

    def __call__(self, predictions: Predictions) -> Predictions:
        """Return the confidence in the rows where k is predicted."""
        others = predictions.predicted != self._code(predictions.classes)
        if others.all():
            rule = f"{self} must have rows where {self.k} is predicted"
            raise NotApplicable(f"{rule}; got none", "leave that class out")
        return Confidence()(predictions.without(others))

    def members(self, predictions: Predictions) -> list[Lens]:
        """List one lens per class that is predicted anywhere."""
        if not self.is_family:
            return [self]
        predicted = predictions.classes[np.unique(predictions.predicted)]
        return [TopLabel(k) for k in predicted.tolist()]

    def of_columns(self, columns: ClassColumns) -> ColumnEvent:
        """Return the confidence in the rows where k is predicted."""
        largest, right, predicted = _predicted(columns)
        code = self._code(np.array(columns.classes))
        return ColumnEvent("right", largest, right, predicted == code)


@dataclass(frozen=True, init=False)
class Grouped(Lens):
    """Sums of the probabilities over groups of classes.

    Parameters
    ----------
    groups : list of lists
        The classes of each group, by name or code. Classes in no group form one more, "other".

    Examples
    --------
    >>> from caltest import Predictions
    >>> lens = Grouped([[0, 2]])
    >>> lens(Predictions([[0.25, 0.625, 0.125]], [2])).probs, str(lens)
    (array([[0.375, 0.625]]), 'grouped[0+2]')
    """

    groups: tuple[tuple[object, ...], ...]
    key, title = "grouped", "sums over groups of classes, grouped[A+B|C+D]"
    null = "P(Y in G | sums of p over the groups) = sum of p over G, for every group G"

    @classmethod
    def read(cls, rank: str | None, classes: str | None) -> Lens | None:
        if rank or classes is None:
            return None
        return cls([group.split("+") for group in classes.split("|")])

    def __init__(self, groups: Iterable[object]) -> None:
        object.__setattr__(self, "groups", check_classes_of_groups(groups))

    def __call__(self, predictions: Predictions) -> Predictions:
        """Return the sums over the groups, and the group of the label."""
        group_of = check_grouping(self.groups, predictions.classes)
        names = [*map(_plus, self.groups), "other"][: group_of.max() + 1]
        member = group_of[:, np.newaxis] == np.arange(len(names))
        sums = np.minimum(few_digits(predictions.probs @ member.astype(np.float64)), 1)
        labels, shape = group_of[predictions.labels], predictions.probs.shape
        table = np.broadcast_to(group_of, shape)
        return relabelled(predictions, sums, labels, names, lambda: table)

    def __str__(self) -> str:
        return f"{self.key}[{'|'.join(map(_plus, self.groups))}]"


DIGITS, ROUNDING = 12, 2e-15  # decimals of predictions that were rounded, and of their sums


def few_digits(sums: Floats) -> Floats:
    """Return sums of probabilities of few digits without rounding errors, other sums as they are.

    0.1 + 0.2 is then 0.3: it ties with 0.3, and lies on the edge of the same bin.
    """
    rounded = np.round(sums, DIGITS)
    return np.where(np.abs(rounded - sums) <= ROUNDING * sums, rounded, sums)


FIXED = "return what the probabilities of the row and its label determine"


@dataclass(frozen=True)
class Custom(Lens):
    """A lens of one's own.

    Parameters
    ----------
    f : callable
        Maps probs (n, m) and labels (n,), as codes, to those of the induced model, n rows again.
        The new label may depend on the old one and the probabilities of its row only.
    name : str, optional
        What to call it; by default the name of the function.

    Examples
    --------
    >>> from caltest import Predictions
    >>> lens = Custom(lambda p, y: (p[:, 0], y == 0), name="first")
    >>> lens(Predictions([[0.25, 0.5, 0.25]], [2])).probs, str(lens)
    (array([[0.75, 0.25]]), 'custom[first]')
    """

    f: Callable[[Floats, Codes], object]
    name: str = ""
    key, title = "custom[{name}]", "a function of one's own"
    null = "the predictions that {name} induces are calibrated"

    def __post_init__(self) -> None:
        if not callable(self.f):
            raise invalid("f must be a function", shown(self.f), "pass one, without calling it")
        name = self.name or getattr(self.f, "__name__", type(self.f).__name__)
        object.__setattr__(self, "name", name)

    def __call__(self, predictions: Predictions) -> Predictions:
        """Return what the function returns, checked."""
        induced = self._induced(predictions, predictions.labels)

        def redrawing() -> Redrawing:
            every = (np.full(predictions.n, k) for k in range(predictions.m))
            columns = [self._labels(predictions, labels, induced) for labels in every]
            table = np.column_stack(columns)
            if np.any(table[np.arange(predictions.n), predictions.labels] != induced.labels):
                got = "other labels when asked again with other labels in other rows"
                raise invalid("a label that f returns must depend on its own row only", got, FIXED)
            return predictions.redrawing.relabelled(table, induced.m)

        return Predictions.trusted(
            induced.probs, induced.labels, induced.classes, like=predictions, redrawing=redrawing
        )

    def _labels(self, predictions: Predictions, labels: Codes, induced: Predictions) -> Codes:
        """Return what the function makes of other labels; the probabilities stay."""
        other = self._induced(predictions, labels)
        if other.probs.shape != induced.probs.shape or not np.allclose(other.probs, induced.probs):
            rule = "the probabilities that f returns must not depend on the labels"
            raise invalid(rule, "others with other labels", FIXED)
        return other.labels

    def _induced(self, predictions: Predictions, labels: Codes) -> Predictions:
        """Return what the function makes of the labels, checked."""
        pair = self.f(predictions.probs, labels)
        if not isinstance(pair, tuple) or len(pair) != 2:
            rule = "f must return the pair (probs, labels)"
            raise invalid(rule, f"type {type(pair).__name__}", "return both, for each row")
        shape = as_array(pair[0], "probs").shape
        if shape[:1] not in ((), (predictions.n,)):  # a number is refused as probabilities
            rule = "f must return one row per row that it takes"
            got = f"{shape[0]} for {predictions.n} rows"
            raise invalid(rule, got, "use Predictions.subset to drop rows")
        return Predictions(*pair)


def _predicted(columns: ClassColumns) -> tuple[Any, Any, Any]:
    """Return the largest probability, whether its class is the label, and the code of the class.

    Of equal probabilities the first is the largest, as in a Predictions.
    """
    import narwhals as nw

    largest = columns.largest()
    last = len(columns.probs) - 1
    right, code = columns.is_label[last], nw.lit(last)
    for k in reversed(range(last)):
        here = columns.probs[k] >= largest
        right = nw.when(here).then(columns.is_label[k]).otherwise(right)
        code = nw.when(here).then(nw.lit(k)).otherwise(code)
    return largest, right, code


def _plus(group: Iterable[object]) -> str:
    return "+".join(map(str, group))


def check_classes_of_groups(groups: object) -> tuple[tuple[object, ...], ...]:
    """Check a list of groups of classes; a class by itself is a group of one."""
    rule = "groups must be a list of lists of classes"
    if not isinstance(groups, (list, tuple)) or not groups:
        raise invalid(rule, shown(groups), "pass [['cat', 'dog'], ['bird']]")
    found = tuple(
        tuple(group) if isinstance(group, Iterable) and not isinstance(group, str) else (group,)
        for group in groups
    )
    if not all(found):
        raise invalid(rule, "an empty group", "leave it out")
    return found


def check_grouping(groups: tuple[tuple[object, ...], ...], classes: AnyArray) -> Codes:
    """Check that groups are apart and return the group of each class; the rest come last."""
    group_of = np.full(len(classes), len(groups), dtype=np.int64)
    for g, group in enumerate(groups):
        for k in group:
            code = check_class(k, classes)
            if group_of[code] < len(groups):
                raise invalid("groups must not share classes", f"{k!r} twice", "keep one of them")
            group_of[code] = g
    if np.all(group_of == group_of[0]):
        rule = "groups must leave at least two groups"
        raise invalid(rule, "all the classes in one", "pass a part of them")
    return group_of


@dataclass(frozen=True)
class Ranked(Lens):
    """A lens on the r largest probabilities."""

    r: int

    @classmethod
    def read(cls, rank: str | None, classes: str | None) -> Lens | None:
        return cls(int(rank)) if rank and not classes else None

    def __post_init__(self) -> None:
        check_integer(self.r, "r")


@dataclass(frozen=True)
class TopRank(Ranked):
    """The r-th largest probability, as that of the event that its class is right.

    Parameters
    ----------
    r : int
        Rank, 1 to m; 1 is `Confidence`.

    Examples
    --------
    >>> from caltest import Predictions
    >>> TopRank(2)(Predictions([[0.125, 0.5, 0.375]], [2])).probs
    array([[0.625, 0.375]])
    """

    key, title = "top-{r}", "the R-th largest probability, and whether its class is right"
    null = "probability number {r} in size is the probability that its class is right"

    def __call__(self, predictions: Predictions) -> Predictions:
        """Return (1 - p, p) for the r-th largest p, and 1 where its class is the label."""
        check_rank(self.r, predictions.m, str(self))
        return event_of(predictions, _ordered(predictions)[:, self.r - 1], f"rank {self.r}")


@dataclass(frozen=True)
class WithinTop(Ranked):
    """The sum of the r largest probabilities, as that of the event that the label is among them.

    Parameters
    ----------
    r : int
        Number of classes, 1 to m - 1.

    Examples
    --------
    >>> from caltest import Predictions
    >>> WithinTop(2)(Predictions([[0.125, 0.5, 0.375]], [2])).probs
    array([[0.125, 0.875]])
    """

    key, title = "within-top-{r}", "the sum of the R largest, and whether the label is among them"
    null = "the sum of the {r} largest is the probability that the label is among them"

    def __call__(self, predictions: Predictions) -> Predictions:
        """Return (1 - s, s) for the sum s, and 1 where the label is among the r largest."""
        check_rank(self.r, predictions.m - 1, str(self))
        total = np.minimum(_largest(predictions.probs, self.r).sum(axis=1), 1)
        probs = few_digits(np.column_stack([1 - total, total]))
        within = _rank(predictions) <= self.r
        names = [f"not top {self.r}", f"top {self.r}"]
        return relabelled(predictions, probs, within, names, lambda: _ranks(predictions) <= self.r)


@dataclass(frozen=True)
class Largest(Ranked):
    """The r largest probabilities, in falling order, and the rest.

    Parameters
    ----------
    r : int
        Number of classes that are kept, 1 to m - 1.

    Examples
    --------
    >>> from caltest import Predictions
    >>> Largest(1)(Predictions([[0.125, 0.5, 0.375]], [2])).probs
    array([[0.5, 0.5]])
    """

    key, title = "largest-{r}", "the R largest probabilities, sorted, and the rest"
    null = "the {r} largest and the rest are the probabilities of their classes"
    has_rest = True

    def __call__(self, predictions: Predictions) -> Predictions:
        """Return the r largest and the rest, and the rank of the label."""
        check_rank(self.r, predictions.m - 1, str(self))
        top = _largest(predictions.probs, self.r)
        probs = np.column_stack([top, few_digits(np.maximum(1 - top.sum(axis=1), 0))])
        names = [*(f"rank {i + 1}" for i in range(self.r)), "rest"]

        def group(ranks: Codes) -> Codes:
            return np.minimum(ranks - 1, self.r)

        labels = group(_rank(predictions))
        return relabelled(predictions, probs, labels, names, lambda: group(_ranks(predictions)))

    def size_of(self, seen: Predictions) -> tuple[Predictions, str, str]:
        """Return the first rank, which the model predicts, also where the rest is larger."""
        kept, kind, name = super().size_of(seen)
        return kept if seen.m == 2 else Classwise(seen.classes[0])(seen), kind, name


def _rank(predictions: Predictions) -> Codes:
    """Rank the probability of the label within its row; 1 is the largest."""
    probs, labels = predictions.probs, predictions.labels[:, np.newaxis]
    own = np.take_along_axis(probs, labels, axis=1)
    ahead = probs > own
    ahead |= (probs == own) & (np.arange(predictions.m) < labels)
    rank: Codes = 1 + np.count_nonzero(ahead, axis=1)
    return rank


def _ordered(predictions: Predictions) -> Codes:
    """Sort the classes of each row by falling probability, equals by their order."""
    return np.argsort(-predictions.probs, axis=1, kind="stable")


def _ranks(predictions: Predictions) -> Codes:
    """Rank every class within its row; 1 is the most probable."""
    ranks = np.empty((predictions.n, predictions.m), dtype=np.int64)
    np.put_along_axis(ranks, _ordered(predictions), np.arange(1, predictions.m + 1)[None], axis=1)
    return ranks


def _largest(probs: Floats, r: int) -> Floats:
    """Take the r largest of each row, in falling order."""
    return np.sort(probs, axis=1)[:, ::-1][:, :r]


def check_rank(r: int, limit: int, key: str) -> None:
    """Check that there are classes enough for a rank."""
    if r > limit:
        rule = f"r must be at most {limit} for these predictions"
        raise invalid(rule, f"{r} in {key}", "take a smaller one")
