"""Sums over rows by their labels, for many redrawn labels or drawn rows at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from caltest.numerics.loops import njit
from caltest.types import AnyArray, Floats, Ints, Labels, Singles, SmallInts

ROWS = 256  # of a table, which stay there for all resamples


@njit()
def moved_rows(label: Labels, top: Labels | Ints, rows: NDArray[np.uint16]) -> np.int64:
    """Write the rows whose label (c,) is not the class `top` (c,) to `rows`; return their number.

    Sums that are known where each label is the predicted class change by these rows alone.
    """
    count = np.uint64(0)
    for i in range(label.size):
        rows[count] = i  # without a branch: the processor cannot guess one
        count += np.uint64(label[i] != top[i])
    return np.int64(count)


@njit()
def class_lists(labels: Labels, usual: Ints | None, m: int) -> tuple[NDArray[np.uint16], SmallInts]:
    """List the columns j of `labels` (B, n <= 2^16) where e_{y_j} - e_{u_j} has a 1 or a -1.

    `usual` (n,) has u_j, or m for none; where the label is the usual one, nothing is listed.
    Returns the columns (B, n or 2 n), and where the ones of each class k start, k, and where the
    minus ones, m + k, (B, m + 1 or 2 m + 2).
    """
    size, n = labels.shape
    sides = 1 if usual is None else 2
    columns, some = np.empty((size, sides * n), np.uint16), np.arange(n).astype(np.uint16)
    start, place = np.zeros((size, sides * (m + 1)), np.int32), np.empty(sides * (m + 1), np.int32)
    count = n
    for b in range(size):
        label, first, found = labels[b], start[b], columns[b]
        if usual is not None:
            count = moved_rows(label, usual, some)
            for j in some[:count]:
                first[m + usual[j] + 1] += 1
        for j in some[:count]:
            first[np.int64(label[j]) + 1] += 1
        for k in range(first.size - 1):
            place[k] = first[k]
            first[k + 1] += first[k]
        for j in some[:count]:
            code = np.int64(label[j])
            found[place[code]] = j
            place[code] += 1
        if usual is not None:
            for j in some[:count]:
                code = usual[j] + m
                found[place[code]] = j
                place[code] += 1
    return columns, start


@njit()
def add_class_sums(
    tile: Floats,
    labels: Labels,
    usual: Ints | None,
    columns: NDArray[np.uint16],
    start: SmallInts,
    matrix: Floats,
    partners: Ints,
    out: Floats,
) -> None:
    """Add sum_ij tile_ij s_i' A s_j with s_i = e_{y_i} - e_{u_i} to `out` (B,) for each resample.

    `labels` (B, rows of the tile) and `usual` are those of the rows, `columns` and `start` the
    `class_lists` of the columns, `matrix` is A, and `partners[k]` lists the classes l with
    A[k, l] != 0, then -1.
    """
    sides, m = 1 if usual is None else 2, len(matrix)
    order, ends = class_lists(labels, usual, m)  # rows of one class are next to each other
    own = np.empty((sides, tile.shape[0]), np.int64)
    if usual is not None:
        own[1] = usual
    for b in range(out.size):
        own[0] = labels[b]
        rows, i = order[b], 0
        while i < ends[b, sides * m]:
            side, end = (0, ends[b, m]) if i < ends[b, m] else (1, ends[b, sides * m])
            k = own[side, rows[i]]
            are_four = i + 3 < end and own[side, rows[i + 3]] == k
            for p in range(partners.shape[1]):
                l = partners[k, p]
                if l < 0:
                    break
                for other in range(sides):
                    code, total = l + other * m, 0.0
                    some = columns[b, start[b, code] : start[b, code + 1]]
                    if are_four:
                        total = _gathered(tile, rows[i : i + 4], some)
                    else:
                        row = tile[rows[i]]
                        for j in some:
                            total += row[j]
                    out[b] += (1.0 if side == other else -1.0) * matrix[k, l] * total
            i += 4 if are_four else 1


@njit(inline="always")
def _gathered(tile: Floats, rows: NDArray[np.uint16], columns: NDArray[np.uint16]) -> float:
    """Sum four rows of a tile over some columns: additions do not wait for each other."""
    one, two, three, four = tile[rows[0]], tile[rows[1]], tile[rows[2]], tile[rows[3]]
    a = b = c = d = 0.0
    for j in columns:
        a += one[j]
        b += two[j]
        c += three[j]
        d += four[j]
    return (a + b) + (c + d)


@njit()
def label_sums(table: AnyArray, labels: Labels) -> AnyArray:
    """Return sum_i table[i, y_i] for each row of `labels` (B, n), of whole numbers one of these."""
    size, n = labels.shape
    out = np.zeros(size, table.dtype)
    for start in range(0, n, ROWS):
        some = table[start : start + ROWS]
        for b in range(size):
            own, total = labels[b, start : start + ROWS], out[b]
            for i in range(own.size):
                total += some[i, own[i]]
            out[b] = total
    return out


@njit()
def placed_sums(labels: Labels, places: NDArray[np.integer], values: Floats, size: int) -> Floats:
    """Return the sums of `values` (n, m) of the labels, at their `places` (n, m), (B, size)."""
    out = np.zeros((len(labels), size))
    for start in range(0, len(places), ROWS):
        place, value = places[start : start + ROWS], values[start : start + ROWS]
        for b in range(len(labels)):
            own, sums = labels[b, start : start + ROWS], out[b]
            for i in range(own.size):
                sums[place[i, own[i]]] += value[i, own[i]]
    return out


@njit()
def add_pair_sums(
    kappa: Floats, left: Ints, right: Ints, labels: Labels, matrix: Floats, out: Floats
) -> None:
    """Add sum_p kappa_p A[y_left(p), y_right(p)] to `out` (B,) for each resample."""
    for b in range(labels.shape[0]):
        row = labels[b]
        total = 0.0
        for p in range(left.size):
            total += kappa[p] * matrix[row[left[p]], row[right[p]]]
        out[b] += total


REDUCE = {"contract", "nsz", "reassoc"}  # lets sums run in several chains


@njit(fastmath=REDUCE)
def binary_brier_sums(labels: Labels, event: Floats, weight: Floats) -> Floats:
    """Return sum_i w_i (y_i - p_i)^2 for each row of `labels` (B, n)."""
    out = np.zeros(labels.shape[0])
    for b in range(labels.shape[0]):
        total = 0.0
        for i in range(labels.shape[1]):
            r = labels[b, i] - event[i]
            total += weight[i] * (r * r)
        out[b] = total
    return out


@njit(fastmath=REDUCE)
def residual_sums(observed: Labels, shift: Floats, slopes: Floats) -> Floats:
    """Return the sums of slopes (J, U) times observed (B, U) less the shift, (B, J)."""
    out = np.empty((len(observed), len(slopes)))
    for b in range(len(observed)):
        seen = observed[b]
        for j in range(len(slopes)):
            factor, total = slopes[j], 0.0
            for i in range(shift.size):
                total += factor[i] * (seen[i] - shift[i])
            out[b, j] = total
    return out


def brier_table(probs: Floats) -> Floats:
    """Return the squared distance of p_i to each unit vector, (n, m), without cancellation."""
    squares = np.square(probs)
    out = np.square(1.0 - probs)
    out[:, 1:] += np.cumsum(squares[:, :-1], axis=1)
    out[:, :-1] += np.cumsum(squares[:, :0:-1], axis=1)[:, ::-1]
    return out


def deviation_table(probs: Floats) -> Floats:
    r"""Return :math:`d_{ik} = \sum_j p_j^2 - p_k`, half the Brier score less its mean, (n, m).

    Computed as :math:`\sum_j p_j (p_j - c) - (p_k - c)` with c the largest probability: exactly 0
    where all positive probabilities are equal, so that no rounding noise is scaled up.
    """
    less = probs - probs.max(axis=1, keepdims=True)
    return np.asarray(np.einsum("ik,ik->i", probs, less)[:, None] - less)


@njit(fastmath=REDUCE)
def wrong_and_right_sums(right: Labels, confidence: Floats, weight: Floats) -> Floats:
    """Return sums over each row of `right` (B, n), 1 where the predicted class is right.

    The columns of the result (B, 4) are the sums of w over the wrong ones and over the right ones,
    of w c over the wrong ones, and of w (1 - c) over the right ones.
    """
    size, n = right.shape
    out = np.empty((size, 4))
    for b in range(size):
        wrong = hits = sure = unsure = 0.0
        for i in range(n):
            hit = weight[i] * right[b, i]
            miss = weight[i] * (1.0 - right[b, i])
            wrong += miss
            hits += hit
            sure += miss * confidence[i]
            unsure += hit * (1.0 - confidence[i])
        out[b, 0], out[b, 1], out[b, 2], out[b, 3] = wrong, hits, sure, unsure
    return out


# ---- rows drawn with replacement ----------------------------------------------------------------


@njit()
def times_drawn(rows: SmallInts, n: int) -> NDArray[np.uint16]:
    """Return how often each of n rows is among `rows`, in an array that the cache holds."""
    counts = np.zeros(n, np.uint16)
    for i in rows:
        counts[i] += np.uint16(1)
    return counts


@njit()
def cell_sums(
    rows: SmallInts,
    codes: NDArray[np.integer],
    first: Ints,
    gap: Floats,
    weight: Floats,
    cells: int,
) -> tuple[Floats, Floats]:
    """Return the sums of weights (cells,) and gaps (cells, c) of the drawn rows by cell.

    There are T tables of cells: `codes` (n, T) tells the cell of each row in each of them, from
    `first` (T,) on, and `gap` (n, T, c), times the weight of the row, what is added there. `weight`
    has length n, or 1 for all alike. How often each row was drawn is counted first; then the rows
    are read in order.
    """
    n, tables, classes = gap.shape
    mass, sums = np.zeros(cells), np.zeros((cells, classes))
    each = weight.size == n
    counts = times_drawn(rows, n)
    for i in range(n):
        if counts[i] == 0:
            continue
        times = float(counts[i])
        w = times * weight[i if each else 0]
        for t in range(tables):
            b = first[t] + np.int64(codes[i, t])
            mass[b] += w
            if classes == 1:  # a loop over one number would take as long as all else
                sums[b, 0] += times * gap[i, t, 0]
            else:
                for k in range(classes):
                    sums[b, k] += times * gap[i, t, k]
    return mass, sums


# ---- features times labels, in whole numbers: the same in any order -----------------------------

UNIT = 1 << 20  # of a feature
FINE = 1 << 32  # of a product of a feature and a probability
SHARE = 1 << 30  # of the squared length of a feature
BLOCK = 512  # rows whose features are added in 32 bits


@njit()
def add_labels(
    features: SmallInts, own: Ints, top: Labels, labels: Labels, out: Ints, sums: Ints
) -> None:
    """Add the features (c, D) of rows at their label, less at their `top`, to `out` (B, m, D).

    `labels` are (B, c); what `own` (c, m) has for them, nothing at `top`, goes to `sums` (B,).
    Features are at most 2^20, so that 512 of them fit into 32 bits. It takes less time where rows
    of one predicted class are next to each other.
    """
    size, m, width = out.shape
    total, rows = np.zeros((m, width), np.int32), np.empty(BLOCK, np.uint16)
    for start in range(0, features.shape[0], BLOCK):
        before, some = top[start : start + BLOCK], features[start : start + BLOCK]
        table = own[start : start + BLOCK]
        alike = (before == before[0]).all()
        for b in range(size):
            total[:] = 0
            label = labels[b, start : start + BLOCK]
            moved, gain = rows[: moved_rows(label, before, rows)], 0
            for i in moved:
                k = label[i]
                gain += table[i, k]
                to, added = total[k], some[i]
                for j in range(width):
                    to[j] += added[j]
            sums[b] += gain
            if alike:
                lose_gains(total, before[0])
            else:
                lose(total, some, moved, before)
            for k in range(m):
                for j in range(width):
                    out[b, k, j] += total[k, j]


@njit()
def lose(total: SmallInts, some: SmallInts, moved: NDArray[np.uint16], before: Labels) -> None:
    """Take the features of rows from what their class `before` has of `total` (m, D)."""
    for i in moved:
        to, lost = total[before[i]], some[i]
        for j in range(to.size):
            to[j] -= lost[j]


@njit()
def lose_gains(total: SmallInts, usual: int) -> None:
    """Take what the other classes have of `total` (m, D) from the usual one, which has none."""
    less = total[usual]
    for k in range(total.shape[0]):
        if k != usual:
            for j in range(less.size):
                less[j] -= total[k, j]


@njit()
def add_expected(features: SmallInts, probs: Floats, top: Labels, out: Ints) -> None:
    """Add the features of each row times its probabilities, less of its `top`, to `out` (m, D).

    In units of 2^-32.
    """
    m, width = out.shape
    for i in range(features.shape[0]):
        for k in range(m):
            p = probs[i, k] * (FINE // UNIT)
            for j in range(width):
                out[k, j] += np.int64(np.rint(features[i, j] * p))
        for j in range(width):
            out[top[i], j] -= features[i, j] * (FINE // UNIT)


@njit(fastmath={"contract"})
def whole_images(values: Floats | Singles, root: Floats, out: SmallInts) -> None:
    """Write the products (c, r) of values (c, D) and a matrix (D, r), rounded to units of 2^-20.

    Row by row and in a fixed order, so that a row has the same among whatever others.
    """
    image, rest = np.empty(root.shape[1]), root.shape[0] % 4
    for i in range(values.shape[0]):
        image[:] = 0.0
        for j in range(rest):
            for r in range(image.size):
                image[r] += values[i, j] * root[j, r]
        # Four at a time, so that the sums are loaded and stored less often.
        for j in range(rest, root.shape[0], 4):
            a, b, c, d = values[i, j], values[i, j + 1], values[i, j + 2], values[i, j + 3]
            for r in range(image.size):
                first = a * root[j, r] + b * root[j + 1, r]
                image[r] += first + (c * root[j + 2, r] + d * root[j + 3, r])
        for r in range(image.size):
            out[i, r] = np.int32(np.rint(image[r] * UNIT))
