"""Sample weights of the rows of cells: what is known of their sums, and how these are redrawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from caltest.numerics.cell_counts import LARGE, CellLaw, binomial_distance, cell_law, draw_weights
from caltest.numerics.labels import row_hashes
from caltest.numerics.loops import njit
from caltest.types import AnyArray, Flags, Floats, Hashes, Ints

CLASSES = 8  # of weights between a power of 2 and the next: within a class they differ by 1/8
SUMMED = 5.0  # variance from which the distribution of a normal sum, corrected, is within 0.0005
MOST = 1 << 20  # classes of all cells that are redrawn as they are
AT_A_TIME = 1 << 9  # cells whose classes are added up: these stay near
COARSEST = 2  # 4 of them become one, at most
LARGEST = 1e38  # weight; those below 1 / LARGEST count as 0
FIRST = CLASSES * 128  # so that the number of a class is not negative
SEEN = -1  # in place of the line of a class that has none yet
SUMS = ("w0", "w1", "w2", "wy", "v0", "v1", "v2", "t0")
OTHERS = ("u", "n", "y", "r1", "r2", "light", "heavy", "least", "most")
MANTISSA = 52  # bits of a weight below its power of 2
WITHIN = MANTISSA - CLASSES.bit_length() + 1  # those below its class
LOWEST = 1023 * CLASSES - FIRST  # what the bits above are of the first class


@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows whose number of events is redrawn together, of a cell and a class of weights, (U,) each.

    Attributes
    ----------
    cell : array
        The number of the cell that they belong to, in ascending order.
    size : array
        Rows.
    expected, variance : array
        Of their number of events.
    mass, centre : array
        Sum of their weights, and the expected one of their events.
    factor : array
        What one event more adds.
    skewness, kurtosis : array
        Of the sum of several classes; NaN where it is that of a number of events.
    hashes : array
        What each contributes to its uniform numbers.
    """

    cell: Ints
    size: Ints
    expected: Floats
    variance: Floats
    mass: Floats
    centre: Floats
    factor: Floats
    skewness: Floats
    kurtosis: Floats
    hashes: Hashes

    def __len__(self) -> int:
        return self.cell.size

    @property
    def cumulants(self) -> tuple[Floats, Floats, Floats]:
        """The second to the fourth cumulant of the sum of weights of each, (U,)."""
        p = self.expected / self.size
        spread = p * (1.0 - p)
        second = np.square(self.factor) * self.variance
        counted = np.isnan(self.skewness)
        third = self.factor * second * (1.0 - 2.0 * p)
        fourth = np.square(self.factor) * second * (1.0 - 6.0 * spread)
        third = np.where(counted, third, self.skewness * second**1.5)
        return second, third, np.where(counted, fourth, self.kurtosis * np.square(second))

    @cached_property
    def law(self) -> CellLaw:
        """What the numbers of events are redrawn from."""
        own = self.skewness, self.kurtosis
        return cell_law(self.size, self.expected, self.variance, cumulants=own)


@dataclass(frozen=True, eq=False)
class Weights:
    r"""What cells of weighted rows have beside sums of w, w y, w p and w p (1 - p), (C,) each.

    Attributes
    ----------
    rows, hits : array
        Numbers of rows, and of their events.
    squares, noise : array
        Sums of :math:`w^2` and of :math:`w^2 p (1 - p)`.
    drawn : Drawn
        What is redrawn: the rows of each class of weights by themselves.
    ratio : float
        Of weights that are redrawn as if they were equal, at most.
    missing : float
        The part of the variance of the sums that redrawing each class at its mean weight leaves
        out.
    """

    rows: Ints
    hits: Ints
    squares: Floats
    noise: Floats
    drawn: Drawn
    ratio: float
    missing: float

    def taken(self, cells: Flags) -> Weights:
        """Return those of some of the cells."""
        arrays = {name: getattr(self, name)[cells] for name in ("rows", "hits", "squares", "noise")}
        one, number = self.drawn, np.cumsum(cells) - 1
        kept = cells[one.cell]
        parts = {name: getattr(one, name)[kept] for name in one.__dataclass_fields__}
        drawn = replace(one, **{**parts, "cell": number[parts["cell"]]})
        return replace(self, **arrays, drawn=drawn)

    @cached_property
    def cumulants(self) -> tuple[Floats, Floats, Floats]:
        """The second to the fourth cumulant of the sum of each cell, as it is redrawn, (C,)."""
        start = np.searchsorted(self.drawn.cell, np.arange(self.rows.size))
        second, third, fourth = (np.add.reduceat(k, start) for k in self.drawn.cumulants)
        return second, third, fourth

    def coarser(self, first: Ints) -> Weights:
        """Return those of cells that begin with the `first` (C',) of these.

        What was redrawn together stays so, and the lightest of the rest join it.
        """
        one = self.drawn
        cell = np.searchsorted(first, one.cell, side="right") - 1
        counted = np.isnan(one.skewness)
        order = np.lexsort((one.factor, counted, cell))
        own = Drawn(**{name: getattr(one, name)[order] for name in one.__dataclass_fields__})
        cell, counted, (second, third, fourth) = cell[order], counted[order], own.cumulants
        ratio = np.where(counted, np.square(own.factor), second / SUMMED)
        start = np.searchsorted(cell, np.arange(first.size))
        together = _summed(second, ratio, start, np.zeros(cell.size, np.bool_))
        some = np.flatnonzero(np.append(True, (np.diff(cell) != 0) | ~together[1:]))
        classes = own.size, own.expected, own.variance, own.mass, own.centre, second, third, fourth
        drawn = _joined(
            classes,
            some,
            together[some],
            own.factor[some],
            cell=cell[some],
            hashes=np.where(together, row_hashes(cell), own.hashes)[some],
        )
        given = self.rows, self.hits, self.squares, self.noise
        rows, hits, squares, noise = (np.add.reduceat(values, first) for values in given)
        return Weights(rows, hits, squares, noise, drawn, self.ratio, self.missing)

    @cached_property
    def distance(self) -> float:
        """Total variation between the numbers of events as they are redrawn small, and exactly."""
        one = self.drawn
        small = one.variance <= LARGE
        given = (one.size[small], one.expected[small], one.variance[small])
        return float(binomial_distance(*given).sum())

    def redrawn(self, keys: Hashes) -> Floats:
        """Redraw the sums of the weights of events, (B, C)."""
        one = self.drawn
        weighing = one.cell, one.centre, one.factor, one.expected, one.mass
        return draw_weights(one.law, one.hashes, keys, weighing, self.rows.size)


def weighted_cells(
    sums: Mapping[str, AnyArray], first: Ints, place_hashes: Ints, grid: int, unit: int
) -> tuple[dict[str, Any], Weights]:
    r"""Add up the classes of weights of each cell.

    A class has weights between :math:`2^e (1 + j / 8)` and the next of these. The number of events
    of each is redrawn, and weighs the mean weight of the expected ones. The classes of a cell are
    redrawn together, as one normal sum with their cumulants

    .. math:: \sum w^2 p (1 - p), \quad \sum w^3 p (1 - p)(1 - 2 p), \quad
        \sum w^4 p (1 - p)(1 - 6 p (1 - p)),

    where weights differ within a class and :math:`(\sum w^2 p (1 - p))^2 / \sum w^4 p (1 - p)`,
    which is the variance of the number of events where they do not, is above 5: as many of the
    lightest as that holds for, the others by themselves. Where there are more than 2^20 to redraw,
    two or four neighbouring classes become one.

    Parameters
    ----------
    sums : Mapping of str to (P,) array
        The columns of the table of cells and classes, in the order of cells.
    first : (C,) array
        The first class of each cell.
    place_hashes : (C,) array
        A whole number that tells a cell from another.
    grid, unit : int
        Places, and what remainders are whole numbers of.

    Returns
    -------
    arrays : dict
        Of the cells: n, events, expected, variance, least, most.
    weights : Weights
        The rest.
    """
    scale = np.exp2(np.floor_divide(sums["u"], CLASSES).astype(np.float64))
    scale /= (scale * (sums["w0"] / unit)).sum() / sums["n"].sum()  # weights over their mean
    equal = sums["light"] == sums["heavy"]
    classes, together = np.empty((8, scale.size)), np.empty(scale.size, np.bool_)
    parts = []
    for begin in range(0, first.size, AT_A_TIME):
        own = first[begin : begin + AT_A_TIME]
        stop = first[begin + AT_A_TIME] if begin + AT_A_TIME < first.size else scale.size
        some, own = slice(own[0], stop), own - own[0]
        given = {name: x[some] for name, x in sums.items()}
        part, classes[:, some], ratio = _moments(given, scale[some], own, grid, unit)
        parts.append(part)
        together[some] = _summed(classes[5, some], ratio, own, equal[some])
    arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    cell = np.repeat(np.arange(first.size), np.diff(np.append(first, scale.size)))
    shift = 0
    while True:
        new = (np.diff(sums["u"] >> shift) != 0) & ~together[1:]
        new |= np.diff(together) != 0
        start = np.flatnonzero(np.append(True, (np.diff(cell) != 0) | new))
        if start.size <= MOST or shift == COARSEST:
            break
        shift += 1

    rows, mean, _, masses, centres, noises, *_ = (np.add.reduceat(own, start) for own in classes)
    weight = np.divide(centres, mean, out=masses / rows, where=mean > 0)
    same = equal[start] & (np.diff(np.append(start, scale.size)) == 1)
    weight[same] = (scale * sums["heavy"])[start][same]
    is_one = together[start]
    code = np.where(is_one, 2 * FIRST - 1, (sums["u"][start] >> shift) + FIRST)
    hashes = row_hashes(place_hashes[cell[start]] * (2 * FIRST) + code)
    drawn = _joined(classes, start, is_one, weight, cell=cell[start], hashes=hashes)
    left_out = np.where(same | is_one, 0.0, noises - np.square(weight) * drawn.variance)
    whole = float(noises.sum())
    weights = Weights(
        rows=arrays.pop("rows").astype(np.int64),
        hits=arrays.pop("hits").astype(np.int64),
        squares=arrays.pop("squares"),
        noise=arrays.pop("noise"),
        drawn=drawn,
        missing=float(left_out.sum()) / whole if whole > 0 else 0.0,
        ratio=1.0 + 2.0**shift / CLASSES,
    )
    return arrays, weights


def _joined(
    classes: Iterable[AnyArray],
    start: Ints,
    is_one: Flags,
    weight: Floats,
    *,
    cell: Ints,
    hashes: Hashes,
) -> Drawn:
    """Return what is redrawn of classes that are added up from `start` on, (U,) each.

    Those that `is_one` sum are normal; of the others, the weight is what an event adds.
    """
    of_start = (np.add.reduceat(own, start) for own in classes)
    rows, mean, spreads, masses, centres, noises, third, fourth = of_start
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(is_one, np.sqrt(noises / spreads), weight)
        skewness = np.where(is_one, third / noises**1.5, np.nan)
        kurtosis = np.where(is_one, fourth / np.square(noises), np.nan)
    return Drawn(
        cell=cell,
        size=rows.astype(np.int64),
        expected=mean,
        variance=spreads,
        mass=masses,
        centre=centres,
        factor=factor,
        skewness=skewness,
        kurtosis=kurtosis,
        hashes=hashes,
    )


def sums_in_memory(
    p: Floats, happens: Flags, weight: Floats, start: Ints
) -> tuple[dict[str, AnyArray], Ints]:
    """Add up rows (n,) of cells, which begin at `start` (C + 1,), by the class of their weights.

    Returns
    -------
    sums, first
        As for `weighted_cells` with a grid and a unit of 1: sums of p itself, which are not
        rounded.
    """
    bits = weight.view(np.int64)
    first = np.append(0, np.cumsum(_classes_of(bits, start)))
    table = np.zeros((first[-1], len(SUMS) + len(OTHERS)))
    _add_up((p, happens, bits), start, first, table)
    sums: dict[str, AnyArray] = dict(zip((*OTHERS, *SUMS), table.T, strict=True))
    sums |= {"u": sums["u"].astype(np.int64), "place": np.zeros(len(table), np.int64)}
    return sums, first[:-1]


@njit()
def _classes_of(bits: Ints, start: Ints) -> Ints:
    """Return how many classes of weights there are in each cell."""
    seen, counts = np.full(2 * FIRST, -1), np.zeros(start.size - 1, np.int64)
    for c in range(counts.size):
        for i in range(start[c], start[c + 1]):
            k = (bits[i] >> WITHIN) - LOWEST
            counts[c] += np.int64(seen[k] != c)
            seen[k] = c
    return counts


@njit()
def _add_up(rows: tuple[Floats, Flags, Ints], start: Ints, first: Ints, table: Floats) -> None:
    """Write the sums of each class of each cell, in the order of `OTHERS` and `SUMS`."""
    p, happens, bits = rows
    line = np.zeros(2 * FIRST, np.int64)
    for c in range(start.size - 1):
        some = range(start[c], start[c + 1])
        low, high = 2 * FIRST, 0
        for i in some:
            k = (bits[i] >> WITHIN) - LOWEST
            line[k], low, high = SEEN, min(low, k), max(high, k)
        used = first[c]
        for k in range(low, high + 1):
            if line[k] == SEEN:
                line[k] = used
                table[used, 0], table[used, 5], table[used, 7] = k - FIRST, 2.0, 1.0
                used += 1
        for i in some:
            own = table[line[(bits[i] >> WITHIN) - LOWEST]]
            y, r = np.float64(happens[i]), p[i]
            x = 1.0 + (bits[i] & ((1 << MANTISSA) - 1)) / float(1 << MANTISSA)
            square = x * x
            values = (1.0, y, r, r * r)
            for j in range(4):
                own[1 + j] += values[j]
            own[5], own[6] = min(own[5], x), max(own[6], x)
            own[7], own[8] = min(own[7], r), max(own[8], r)
            powers = (x, x * r, x * r * r, x * y, square, square * r, square * r * r, square * x)
            for j in range(8):
                own[9 + j] += powers[j]


def _moments(
    sums: Mapping[str, AnyArray], scale: Floats, first: Ints, grid: int, unit: int
) -> tuple[dict[str, Floats], list[Floats], Floats]:
    """Return what cells have, what their classes have, and noise over variance of these."""
    floor = np.maximum(sums["place"], 0).astype(np.float64)

    def moments(names: str, weight: Floats | float) -> tuple[Floats, Floats, Floats]:
        """Return the sums of a power of w, times 1, p and p^2."""
        zero, one, two = (weight * (sums[name] / unit) for name in names.split())
        squares = (zero * floor * floor + 2.0 * floor * one + two) / grid**2
        return zero, (zero * floor + one) / grid, squares

    sums = {**sums, "r0": sums["n"] * float(unit)}
    n, expected, squared = moments("r0 r1 r2", 1.0)
    variance = np.maximum(expected - squared, 0.0)
    mass, centre, square = moments("w0 w1 w2", scale)
    squares, own, own_square = moments("v0 v1 v2", scale**2)
    noise = np.maximum(own - own_square, 0.0)
    p = np.clip(expected / n, 0.0, 1.0)
    spread = p * (1.0 - p)
    third = scale**3 * (sums["t0"] / unit) * spread * (1.0 - 2.0 * p)
    ratio = np.divide(noise, variance, out=np.ones_like(noise), where=variance > 0)
    fourth = np.square(ratio) * variance * (1.0 - 6.0 * spread)
    added = {
        "n": mass,
        "events": scale * (sums["wy"] / unit),
        "expected": centre,
        "variance": np.maximum(centre - square, 0.0),
        "rows": n,
        "hits": sums["y"].astype(np.float64),
        "squares": squares,
        "noise": noise,
    }
    cells = {name: np.add.reduceat(values, first) for name, values in added.items()}
    cells["least"] = np.minimum.reduceat((floor + sums["least"]) / grid, first)
    cells["most"] = np.maximum.reduceat((floor + sums["most"]) / grid, first)
    return cells, [n, expected, variance, mass, centre, noise, third, fourth], ratio


def _summed(noise: Floats, ratio: Floats, first: Ints, equal: Flags) -> Flags:
    """Return which classes are redrawn together: the lightest of each cell, as many as suffice."""
    number, light = np.arange(noise.size), []
    sizes = np.diff(np.append(first, noise.size))
    for values in (noise, ratio * noise):
        sums = np.cumsum(np.append(0.0, values))
        light.append(sums[1:] - np.repeat(sums[first], sizes))
    last = np.where(np.square(light[0]) > SUMMED * light[1], number, -1)
    last = np.maximum.reduceat(last, first)
    last[np.logical_and.reduceat(equal, first)] = -1
    return np.asarray(number <= np.repeat(last, sizes))
