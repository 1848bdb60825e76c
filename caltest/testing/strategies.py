"""Strategies for Hypothesis: probabilities, logits, labels, predictions and maps between them.

They need the extra `hypothesis` (`pip install caltest[hypothesis]`). What they draw is valid input
of caltest, and mean: zeros, ones, ties, one-hot rows, rows that sum to 1 after rounding only. They
shrink to few rows of two classes with short numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.vendor import pretty

from caltest.errors import SuspectInputWarning, invalid, shown
from caltest.numerics.softmax import softmax
from caltest.predictions import Predictions
from caltest.types import Codes, Floats

__all__ = [
    "Recalibration",
    "datasets",
    "degenerate",
    "encodings",
    "labels",
    "logits",
    "predictions",
    "probs",
    "recalibration_maps",
    "weights",
]

Size = int | tuple[int, int]


ROWS: Size = (1, 8)


CLASSES: Size = (2, 4)


TINY = (1e-300, 1e-16, 1e-9)  # beside a one, which they leave as it is or move by rounding


MOST_PRINTED = 200  # probabilities of a failing example


SEEDS = st.integers(0, 2**16)


# ---- numbers ------------------------------------------------------------------------------------


@st.composite
def probs(
    draw: st.DrawFn,
    n: Size = ROWS,
    m: Size = CLASSES,
    *,
    zeros: bool = True,
    ties: bool = True,
    rounded: bool = True,
) -> Floats:
    """Draw rows on the simplex.

    Parameters
    ----------
    n, m : int or (int, int)
        Numbers of rows and classes, or their least and largest.
    zeros : bool, default True
        Draw zeros and ones as well, one-hot and sparse rows, and tiny probabilities.
    ties : bool, default True
        Draw equal rows, and equal probabilities in a row. Without, neither occurs.
    rounded : bool, default True
        Draw rows that sum to 1 after rounding only, as those in single precision.

    Returns
    -------
    SearchStrategy of (n, m) array
        It shrinks to rows of small fractions such as 1/2.

    Examples
    --------
    >>> from hypothesis import find
    >>> from caltest.testing import strategies
    >>> find(strategies.probs(), lambda p: len(p) > 1 and p.max() < 1).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    n, m = _drawn(draw, n), _drawn(draw, m)
    counts = st.integers(0 if zeros else 1, 4)
    if not ties:
        return np.random.default_rng(draw(SEEDS)).dirichlet(np.ones(m), n)
    kinds = [st.tuples(*[some] * m).map(_normal) for some in (counts, st.floats(1e-3, 1))]
    if zeros:
        kinds += [st.integers(0, m - 1).map(lambda k: np.eye(m)[k]), _extreme(m)]
    rows = np.array(draw(st.lists(st.one_of(kinds), min_size=n, max_size=n)))
    return rows.astype(np.float32).astype(float) if rounded and draw(st.booleans()) else rows


@st.composite
def _extreme(draw: st.DrawFn, m: int) -> Floats:
    """A tiny probability beside a large one."""
    places = st.tuples(st.sampled_from(TINY), st.integers(0, m - 1), st.integers(1, m - 1))
    tiny, first, beside = draw(places)
    row = np.zeros(m)
    row[first], row[(first + beside) % m] = tiny, 1.0 - tiny
    return row


@st.composite
def logits(draw: st.DrawFn, n: Size = ROWS, m: Size = CLASSES, *, largest: float = 50.0) -> Floats:
    """Draw logits, with ties and rows of equal ones.

    Parameters
    ----------
    n, m : int or (int, int)
        Numbers of rows and classes, or their least and largest.
    largest : float, default 50
        The largest in size.

    Returns
    -------
    SearchStrategy of (n, m) array
        It shrinks to zeros and small integers.

    Examples
    --------
    >>> from hypothesis import find
    >>> from caltest.testing import strategies
    >>> find(strategies.logits(), lambda z: z.max() > 1).tolist()
    [[0.0, 2.0]]
    """
    n, m = _drawn(draw, n), _drawn(draw, m)
    cells = st.integers(-5, 5).map(float) | st.floats(-largest, largest, width=32)
    return np.array(draw(st.lists(st.lists(cells, min_size=m, max_size=m), min_size=n, max_size=n)))


@st.composite
def labels(draw: st.DrawFn, n: Size = ROWS, m: Size = CLASSES, *, every: bool = False) -> Codes:
    """Draw labels as codes 0..m-1.

    Parameters
    ----------
    n, m : int or (int, int)
        Numbers of rows and classes, or their least and largest.
    every : bool, default False
        Whether each class must occur, for which `n` must be at least m.

    Returns
    -------
    SearchStrategy of (n,) array
        It shrinks to zeros.

    Examples
    --------
    >>> from hypothesis import find
    >>> from caltest.testing import strategies
    >>> find(strategies.labels(4, 3, every=True), lambda y: True).tolist()
    [0, 1, 2, 0]
    """
    n, m = _drawn(draw, n), _drawn(draw, m)
    if every and n < m:
        remedy = "draw more rows, or every=False"
        raise invalid("n must be at least m for labels of every class", f"{n} of {m}", remedy)
    some = draw(st.lists(st.integers(0, m - 1), min_size=n, max_size=n))
    if every:
        some[:m] = draw(st.permutations(range(m)))
    return np.array(some, dtype=np.int64)


@st.composite
def encodings(draw: st.DrawFn, codes: Sequence[int] | Codes, m: int) -> tuple[Any, list[Any]]:
    """Draw a way to write labels: numbers from another one on, names in any order, booleans.

    Parameters
    ----------
    codes : (n,) array_like
        The labels as codes 0..m-1.
    m : int
        The number of classes.

    Returns
    -------
    SearchStrategy of (array, list)
        The labels as they may come, and the names of the classes in the order of the columns.

    Examples
    --------
    >>> from hypothesis import find
    >>> from caltest.testing import strategies
    >>> find(strategies.encodings([0, 1, 1], 2), lambda drawn: isinstance(drawn[1][0], str))
    (array(['a', 'b', 'b'], dtype='<U1'), ['a', 'b'])
    """
    kinds: list[st.SearchStrategy[list[Any]]] = [
        st.integers(0, 3).map(lambda first: list(range(first, first + m))),
        st.permutations("abcdefghijklmnopqrstuvwxyz"[:m]).map(list),
        st.just([float(k) for k in range(m)]),
    ]
    if m == 2:
        kinds += [st.just([False, True]), st.just([-1, 1])]
    names = draw(st.one_of(kinds))
    return np.array(names)[np.asarray(codes)], names


def weights(n: int, values: Sequence[float] = (1.0, 0.5, 2.0)) -> st.SearchStrategy[Floats]:
    """Draw sample weights that are not all 0.

    Parameters
    ----------
    n : int
        Number of rows.
    values : sequence of float, default (1.0, 0.5, 2.0)
        What a weight may be, simple ones first; with 0 a row may count for nothing.

    Returns
    -------
    SearchStrategy of (n,) array
        It shrinks to the first of the values.

    Examples
    --------
    >>> from hypothesis import find
    >>> from caltest.testing import strategies
    >>> find(strategies.weights(3), lambda w: w.sum() > 3).tolist()
    [1.0, 1.0, 2.0]
    """
    return st.lists(st.sampled_from(list(values)), min_size=n, max_size=n).filter(any).map(np.array)


# ---- predictions --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recalibration:
    r"""A map of the simplex: :math:`q_k \propto p_k^a e^{b_k}`, a temperature and a shift.

    Attributes
    ----------
    slope : float
        a, above 1 for sharper predictions.
    shift : tuple of float
        b, one for each class.

    Examples
    --------
    >>> from caltest.testing.strategies import Recalibration
    >>> Recalibration(2.0, (0.0, 0.0))([[0.25, 0.75]]).round(3).tolist()
    [[0.1, 0.9]]
    """

    slope: float
    shift: tuple[float, ...]

    def __call__(self, probs: object) -> Floats:
        """Map (n, m) probabilities to (n, m) probabilities."""
        with np.errstate(divide="ignore"):
            return softmax(np.log(np.asarray(probs, float)), self.slope, np.array(self.shift))


# The true probabilities, from those that are predicted.
ALTERNATIVES: Mapping[str, Callable[[Floats], Floats]] = {
    "overconfident": lambda p: Recalibration(0.5, (0.0,) * p.shape[1])(p),
    "underconfident": lambda p: Recalibration(2.0, (0.0,) * p.shape[1])(p),
    "shifted": lambda p: Recalibration(1.0, (1.0, *[0.0] * (p.shape[1] - 1)))(p),
}


@st.composite
def predictions(
    draw: st.DrawFn,
    n: Size = ROWS,
    m: Size = CLASSES,
    *,
    calibrated: bool | str | Callable[[Floats], Floats] = False,
    weighted: bool | Sequence[float] = True,
    zeros: bool = True,
    ties: bool = True,
    rounded: bool = True,
) -> Predictions:
    """Draw predictions with their labels.

    Parameters
    ----------
    n, m : int or (int, int)
        Numbers of rows and classes, or their least and largest.
    calibrated : bool, str or callable, default False
        By default any labels. With True they are drawn from the predictions; with a key of
        `ALTERNATIVES` or a callable from the true probabilities that it makes of the predictions.
    weighted : bool or sequence of float, default True
        Whether there may be sample weights, or their values.
    zeros, ties, rounded : bool, default True
        As for `probs`.

    Returns
    -------
    SearchStrategy of Predictions
        It shrinks to one row; Hypothesis prints how each is made.

    Raises
    ------
    InvalidInput
        If there is no such alternative.

    Examples
    --------
    >>> from hypothesis import find
    >>> from caltest.testing import strategies
    >>> found = find(strategies.predictions(), lambda data: data.labels.max() == 1)
    >>> found.n, found.m, found.labels.tolist()
    (1, 2, [1])
    """
    p = draw(probs(n, m, zeros=zeros, ties=ties, rounded=rounded))
    if calibrated is False:
        y = draw(labels(len(p), p.shape[1]))
    else:
        truth = calibrated if callable(calibrated) else ALTERNATIVES.get(str(calibrated))
        if truth is None and calibrated is not True:
            rule = f"calibrated must be True, False, {', '.join(map(repr, ALTERNATIVES))} or a map"
            raise invalid(rule, shown(calibrated), "use one")
        y = redrawn(p if truth is None else truth(p), np.random.default_rng(draw(SEEDS)))
    values = (1.0, 0.5, 2.0) if isinstance(weighted, bool) else weighted
    weight = draw(st.none() | weights(len(p), values)) if weighted is not False else None
    return generated(p, y, sample_weight=weight)


def generated(probs: Floats, labels: Codes, **options: Any) -> Predictions:
    """Return predictions that no user made: what looks like a mistake is none."""
    with warnings.catch_warnings(action="ignore", category=SuspectInputWarning):
        return Predictions(probs, labels, classes=list(range(probs.shape[1])), **options)


def _print_whole(obj: object, printer: pretty.RepresentationPrinter, _cycle: object) -> None:
    """Print what makes the predictions of a failing example."""
    data = cast("Predictions", obj)
    if data.probs.size > MOST_PRINTED:
        printer.text(repr(data))
        return
    values = [repr(data.probs.tolist()), repr(data.classes[data.labels].tolist())]
    values.append(f"classes={data.classes.tolist()!r}")
    if data.sample_weight is not None:
        values.append(f"sample_weight={data.sample_weight.tolist()!r}")
    with printer.group(indent=4, open="Predictions(", close=""):
        for one in values:
            printer.break_()
            printer.text(f"{one},")
    printer.break_()
    printer.text(")")


pretty.for_type_by_name(Predictions.__module__, Predictions.__name__, _print_whole)


def redrawn(truth: Floats, rng: np.random.Generator) -> Codes:
    """Draw labels from their probabilities (n, m)."""
    uniform = rng.random((len(truth), 1))
    return np.asarray((uniform > truth.cumsum(axis=1)[:, :-1]).sum(axis=1), dtype=np.int64)


@st.composite
def recalibration_maps(draw: st.DrawFn, m: int) -> Recalibration:
    """Draw invertible maps of the simplex: a temperature and a shift of the logits.

    Parameters
    ----------
    m : int
        Number of classes.

    Returns
    -------
    SearchStrategy of Recalibration
        Callables that map (n, m) probabilities; they shrink to the identity.

    Examples
    --------
    >>> from hypothesis import find
    >>> from caltest.testing import strategies
    >>> find(strategies.recalibration_maps(2), lambda map_: map_.slope > 1)
    Recalibration(slope=2.0, shift=(0.0, 0.0))
    """
    slope = draw(st.sampled_from([1.0, 2.0, 0.5, 4.0]))
    shift = draw(st.lists(st.integers(-2, 2).map(float), min_size=m, max_size=m))
    return Recalibration(slope, tuple(shift))


@st.composite
def datasets(
    draw: st.DrawFn, n: Size = (6, 20), d: Size = (1, 3), m: Size = CLASSES
) -> tuple[Floats, Codes]:
    """Draw features and labels, for classifiers: columns with ties, each class at least once.

    Parameters
    ----------
    n, d, m : int or (int, int)
        Numbers of rows, columns and classes, or their least and largest.

    Returns
    -------
    SearchStrategy of ((n, d) array, (n,) array)
        X and y; X shrinks to zeros.

    Examples
    --------
    >>> from hypothesis import find
    >>> from caltest.testing import strategies
    >>> X, y = find(strategies.datasets(4, 1, 2), lambda drawn: True)
    >>> X.ravel().tolist(), y.tolist()
    ([0.0, 0.0, 0.0, 0.0], [0, 1, 0, 0])
    """
    y = draw(labels(n, m, every=True))
    columns = _drawn(draw, d)
    cells = st.integers(-3, 3).map(float) | st.floats(-100, 100, width=32)
    row = st.lists(cells, min_size=columns, max_size=columns)
    return np.array(draw(st.lists(row, min_size=len(y), max_size=len(y)))), y


# ---- degenerate data ----------------------------------------------------------------------------


def _regular(m: int, n: int = 80) -> Floats:
    return softmax(np.random.default_rng(0).normal(0, 2, (n, m)), 1.0)


DEGENERATE: Mapping[str, tuple[Floats, Codes]] = {
    name: (np.asarray(p, dtype=float), np.asarray(y, dtype=np.int64))
    for name, (p, y) in {
        "one-row": ([[0.3, 0.7]], [1]),
        "one-row-of-three-classes": ([[0.2, 0.3, 0.5]], [0]),
        "two-rows": ([[0.3, 0.7], [0.6, 0.4]], [1, 0]),
        "two-rows-of-one-class": ([[0.3, 0.7], [0.6, 0.4]], [1, 1]),
        "two-equal-rows": ([[0.3, 0.7], [0.3, 0.7]], [1, 0]),
        "constant": (np.tile([0.3, 0.7], (20, 1)), [0, 1, 1, 1] * 5),
        "constant-of-three-classes": (np.tile([0.2, 0.3, 0.5], (20, 1)), [0, 1, 2, 2] * 5),
        "constant-zero": (np.tile([1.0, 0.0], (20, 1)), [0, 1, 0, 0] * 5),
        "uniform": (np.full((20, 4), 0.25), [0, 1, 2, 3] * 5),
        "one-class": (_regular(2), np.ones(80)),
        "one-class-of-three": (_regular(3), np.zeros(80)),
        "separable": (_regular(2), _regular(2).argmax(axis=1)),
        "separable-in-three-classes": (_regular(3), _regular(3).argmax(axis=1)),
        "separable-the-wrong-way": (_regular(2), _regular(2).argmin(axis=1)),
        "certain-and-right": (np.eye(3)[[0, 1, 2] * 5], [0, 1, 2] * 5),
        "certain-and-wrong": (np.eye(3)[[0, 1, 2] * 5], [1, 2, 0] * 5),
        "unseen-column": (np.column_stack([_regular(2), np.zeros(80)]), _regular(2).argmax(axis=1)),
        "huge-ratios": ([[1e-300, 1.0], [1.0, 1e-300], [0.5, 0.5]], [0, 1, 1]),
    }.items()
}


def degenerate() -> st.SearchStrategy[tuple[Floats, Codes]]:
    """Draw one of the sets of `DEGENERATE`: a single row or class, constants, separable labels.

    Returns
    -------
    SearchStrategy of ((n, m) array, (n,) array)
        Probabilities and labels as codes.

    Examples
    --------
    >>> from hypothesis import find
    >>> from caltest.testing import strategies
    >>> find(strategies.degenerate(), lambda drawn: True)
    (array([[0.3, 0.7]]), array([1]))
    """
    return st.sampled_from(sorted(DEGENERATE.values(), key=lambda drawn: drawn[0].size))


def _normal(row: Sequence[float]) -> Floats:
    """Rescale a row; one of zeros becomes uniform, the simplest of all."""
    return np.asarray(row, dtype=float) / sum(row) if any(row) else np.full(len(row), 1 / len(row))


def _drawn(draw: st.DrawFn, size: Size) -> int:
    return size if isinstance(size, int) else draw(st.integers(*size))


def search(
    property_: Callable[..., None], arguments: Mapping[str, Any], *, examples: int, rng: int
) -> None:
    """Search for arguments that break a property; raise with the smallest that Hypothesis finds.

    Parameters
    ----------
    property_ : callable
        A function that asserts something of its arguments.
    arguments : mapping of str to SearchStrategy
        A strategy for each argument.
    examples : int
        How many are tried.
    rng : int
        The seed.
    """
    options = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,  # one example, that is printed, and not a group without any
    )
    seed(rng)(options(given(**arguments)(property_)))()


def distance(first: Floats, second: Floats) -> float:
    """Return how far apart two arrays of probabilities are, at most.

    Parameters
    ----------
    first, second : ndarray
        Of one shape.
    """
    return float(np.abs(first - second).max())
