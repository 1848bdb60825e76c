"""Where predictions and labels differ: classes and ranges of probability, judged together.

The gap of a place is what is observed there less what is predicted. The p-values of all places are
adjusted together, by the labels that the tests of the report are judged by: a class never says
another thing than its ranges, since one rule has found, ranked and signed them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from caltest.measures.gap import Rows, event_rows, gap_of
from caltest.measures.label_scores import row_weights
from caltest.nulls.cluster import Clusters
from caltest.numerics.joint import step_down, tail_scores
from caltest.numerics.labels import resample_keys
from caltest.predictions import Predictions
from caltest.reporting.content import Place
from caltest.reporting.gaps import place_of, ranked
from caltest.reporting.wording import percent

Floats = NDArray[np.float64]
Codes = NDArray[np.integer]

CUTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999)
FEWEST = 20  # rows of a range
SHARE = 0.05  # of all rows, that a range has at least
LARGEST = 1e8  # probabilities whose classes have ranges
BLOCK = 1 << 24  # redrawn labels at a time


@dataclass(frozen=True)
class Places:
    """Some parts of the rows, each with an event that may happen in its rows.

    Attributes
    ----------
    kind : str
        "range", "class" or "class range".
    names : tuple of str
        Of the K places.
    codes : (n, m) or (n, 1) array
        The place of each row, for each label or whatever the label is.
    hit : (n, m) bool array or None
        Whether the event happens, for each label; None where a place has one label.
    chance : (n, m) or (n, 1) array
        The probability of the event of the place.
    """

    kind: str
    names: tuple[str, ...]
    codes: Codes
    hit: NDArray[np.bool_] | None
    chance: Floats

    def counts(self, labels: Codes, weight: Floats) -> Floats:
        """Return the sum of weights of the events of each place, for labels (B, n)."""
        at = np.arange(len(self.codes))
        out = np.empty((len(self.names), len(labels)))
        for b, row in enumerate(labels):
            if self.hit is None:
                where, mass = self.codes[at, row], weight
            else:
                where, mass = self.codes[:, 0], weight * self.hit[at, row]
            out[:, b] = np.bincount(where, mass, len(self.names))
        return out

    def sums(self, values: Floats) -> Floats:
        """Return the sums over the rows of each place of values (n, m), (n, 1) or (n,)."""
        values = np.broadcast_to(values.reshape(len(self.codes), -1), self.codes.shape)
        return np.asarray(
            np.bincount(self.codes.ravel(), values.ravel(), len(self.names)), dtype=np.float64
        )


def find_places(predictions: Predictions, *, n_resamples: int, seed: int) -> tuple[Place, ...]:
    """Compare what is predicted with what is observed in every class and range, the worst first.

    Parameters
    ----------
    predictions : Predictions
        With clusters, signs of their residuals are flipped instead of labels redrawn.
    n_resamples, seed : int
        As of the tests.

    Returns
    -------
    tuple of Gap
        Those of kind "range" are of the event of two classes, or of the largest probability of
        more. The p-values are adjusted for all of them (Westfall and Young, step-down).
    """
    families = list(_families(predictions))
    weight = predictions.sample_weight
    weight = np.ones(predictions.n) if weight is None else weight
    scores = np.vstack([_scores(one, predictions, weight, n_resamples, seed) for one in families])
    adjusted = step_down(scores)
    found: list[Place] = []
    start = 0
    for family in families:
        stop = start + len(family.names)
        found += _gaps(family, predictions, adjusted[start:stop])
        start = stop
    return ranked(found)


def cut_points(values: Floats) -> tuple[float, ...]:
    """Return the ends of ranges with round ends, each with enough of the values.

    They depend on the predictions alone.
    """
    least = max(FEWEST, SHARE * values.size)
    ends, start = [0.0], 0
    ordered = np.sort(values)
    for cut in CUTS:
        stop = int(np.searchsorted(ordered, cut, side="right"))
        if stop - start >= least and values.size - stop >= least:
            ends.append(cut)
            start = stop
    return (*ends, 1.0)


def _families(predictions: Predictions) -> Iterator[Places]:
    """Yield the ranges of the event, or those of the largest probability and of the classes.

    Yields
    ------
    Places
        A family of them.
    """
    probs, m = predictions.probs, predictions.m
    label = np.arange(m)
    if m == 2:
        yield _ranges(probs[:, 1], np.broadcast_to(label == 1, probs.shape))
        return
    yield _ranges(probs.max(axis=1), predictions.predicted[:, None] == label)
    names = tuple(map(str, predictions.classes.tolist()))
    codes = np.broadcast_to(label, probs.shape)
    yield Places("class", names, codes, None, probs)
    if probs.size <= LARGEST:
        divided = list(_class_ranges(probs, names))
        if divided:
            yield _joined(divided, probs)


def _ranges(values: Floats, hit: NDArray[np.bool_]) -> Places:
    ends = cut_points(values)
    return Places("range", range_names(ends), _place(values, ends)[:, None], hit, values[:, None])


def _class_ranges(probs: Floats, names: Sequence[str]) -> Iterator[tuple[int, tuple[float, ...]]]:
    """Yield the classes that are divided, with the ends of their ranges."""
    for k in range(len(names)):
        ends = cut_points(probs[:, k])
        if len(ends) > 2:
            yield k, ends


def _joined(divided: Sequence[tuple[int, tuple[float, ...]]], probs: Floats) -> Places:
    """Number the ranges of all classes; the last place takes the labels of undivided ones."""
    codes = np.full(probs.shape, -1, dtype=np.int64)
    names: list[str] = []
    for k, ends in divided:
        codes[:, k] = _place(probs[:, k], ends) + len(names)
        names += [f"{k}\0{name}" for name in range_names(ends)]
    codes[codes < 0] = len(names)
    return Places("class range", (*names, f"{probs.shape[1]}\0"), codes, None, probs)


def _place(values: Floats, ends: Sequence[float]) -> NDArray[np.int64]:
    return np.searchsorted(np.asarray(ends[1:-1]), values, side="left").astype(np.int64)


def range_names(ends: Sequence[float]) -> tuple[str, ...]:
    """Return the ranges in words.

    Examples
    --------
    >>> range_names((0.0, 0.2, 0.9, 1.0))
    ('up to 20 %', '20 to 90 %', 'above 90 %')
    """
    if len(ends) == 2:
        return ("all rows",)
    inner = [f"{percent(low)} to {percent(high)} %" for low, high in pairwise(ends[1:-1])]
    return (f"up to {percent(ends[1])} %", *inner, f"above {percent(ends[-2])} %")


def _scores(
    places: Places, predictions: Predictions, weight: Floats, n_resamples: int, seed: int
) -> Floats:
    """Return how far out each place is, for the observed labels and for each resample."""
    expected = places.sums(weight[:, None] * places.chance)
    seen = places.counts(predictions.labels[None].astype(np.int64), weight)
    if predictions.has_dependence:
        values = _flipped(places, predictions, weight, n_resamples, seed)
        differences = np.hstack([seen - expected[:, None], values])
    else:
        redrawn = [seen]
        keys = resample_keys(seed, n_resamples)
        step = max(1, BLOCK // predictions.n)
        for start in range(0, n_resamples, step):
            labels = predictions.redrawing.labels(keys[start : start + step])
            redrawn.append(places.counts(labels, weight))
        differences = np.hstack(redrawn) - expected[:, None]
    scale = float(weight.sum())
    return np.vstack([tail_scores(row, scale, two_sided=True) for row in differences])


def _flipped(
    places: Places, predictions: Predictions, weight: Floats, n_resamples: int, seed: int
) -> Floats:
    """Return the differences with the sign of each cluster flipped at random, (K, B)."""
    clusters = Clusters.of(predictions)
    sums = np.zeros((clusters.count, len(places.names)))
    if places.hit is None:
        happens: NDArray[np.bool_] = predictions.labels[:, None] == np.arange(predictions.m)
    else:
        happens = places.hit[np.arange(predictions.n), predictions.labels][:, None]
    residuals = weight[:, None] * (happens - places.chance)
    code = np.broadcast_to(clusters.codes[:, None], places.codes.shape)
    np.add.at(sums, (code, places.codes), residuals)
    return np.hstack([sums.T @ signs.T for signs in clusters.signs(n_resamples, seed)])


def _gaps(places: Places, predictions: Predictions, adjusted: Floats) -> Iterator[Place]:
    every, weight = event_rows(predictions), row_weights(predictions)
    names = tuple(map(str, predictions.classes.tolist()))
    for number, name in enumerate(places.names):
        # Of "class range" alone: a name of a class may hold anything.
        known, _, part = name.partition("\0") if places.kind == "class range" else ("", "", name)
        if places.kind == "range":
            rows, some = every, places.codes[:, 0] == number
        else:
            k = int(known) if known else number
            if k >= len(names):  # what is left over
                continue
            happens = predictions.labels == k
            rows = Rows(predictions.probs[:, k], happens, every.weight, every.clusters)
            some = places.codes[:, k] == number
        if weight[some].any():
            yield place_of(
                gap_of(rows.of(some), places.kind, name),
                places.kind,
                names[int(known)] if known else part,
                part=part if known else "",
                pvalue=float(adjusted[number]),
            )
