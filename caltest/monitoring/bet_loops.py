"""The bets: what each wins with a row, and what it learns from the label."""

from __future__ import annotations

import math

import numpy as np

from caltest.numerics.loops import njit
from caltest.types import Codes, Floats

# places in `counts` and `levels`
ROWS, IN_BLOCK, REFIT_AT, IMPOSSIBLE, STRIDE, POINTS = 0, 1, 2, 3, 4, 5
BEST, OFFSET, BET, CURVATURE, REACH, LAST = 0, 1, 2, 3, 4, 5
PRIOR_ROWS = 20.0  # of a calibrated cell, for the isotonic bet
REFIT = 1.05
MOST_INFORMED = 10  # classes, whose information is computed and not estimated
MOST_VARIANCE = 0.1  # of what is learned, where it fades
LEAST_SLOPE, LARGEST_SLOPE, LARGEST_OFFSET = 0.02, 20.0, 20.0
MOST_BET = 0.5
STEP = 2.0 / (2.0 - math.log(3.0))  # of the online Newton step (Cutkosky and Orabona 2018)


@njit()
def temperatures(p: Floats, logs: Floats, label: int, slopes: Floats, wins: Floats) -> None:
    """Bet on powers of the probabilities."""
    m = p.size
    if m == 2:
        z = logs[1 - label] - logs[label]
        for j in range(slopes.size):
            wins[j] = 1.0 / ((1.0 + math.exp(slopes[j] * z)) * p[label])
        return
    most = logs[0]
    for k in range(1, m):
        most = max(most, logs[k])
    for j in range(slopes.size):
        mass = 0.0
        for k in range(m):
            mass += math.exp(slopes[j] * (logs[k] - most))
        wins[j] = math.exp(slopes[j] * (logs[label] - most)) / (mass * p[label])


@njit()
def offsets(
    p: Floats, label: int, offset_class: Codes, gain_of: Floats, first: int, wins: Floats
) -> None:
    """Bet on the odds of a class, changed by a factor of 1 + gain."""
    if p.size == 2:  # all are on the second class
        won = float(label)
        for j in range(offset_class.size):
            wins[first + j] = (1.0 + won * gain_of[j]) / (1.0 + p[1] * gain_of[j])
        return
    for j in range(offset_class.size):
        k = offset_class[j]
        wins[first + j] = (1.0 + (gain_of[j] if k == label else 0.0)) / (1.0 + p[k] * gain_of[j])


@njit()
def recalibrate(
    p: Floats, logs: Floats, label: int, theta: Floats, q: Floats, gradient: Floats
) -> float:
    """Bet on q = softmax(b log p + a), and write q and the gradient of its log likelihood."""
    m = p.size
    top = -math.inf
    for k in range(m):
        q[k] = theta[0] * logs[k] + theta[1 + k]
        top = max(top, q[k])
    mass = 0.0
    for k in range(m):
        q[k] = math.exp(q[k] - top)
        mass += q[k]
    won: float = q[label] / (mass * p[label])
    gradient[0] = logs[label]
    for k in range(m):
        q[k] /= mass
        gradient[0] -= q[k] * logs[k]
        gradient[1 + k] = (1.0 if k == label else 0.0) - q[k]
    return won


@njit()
def newton_step(
    q: Floats,
    logs: Floats,
    theta: Floats,
    inverse: Floats,
    memory: float,
    gradient: Floats,
    deviation: Floats,
    direction: Floats,
) -> None:
    """Add the information of the row to that of the others, and move by inverse times gradient.

    Of many classes the information is estimated by the outer product of the gradient.
    """
    m, d = q.size, theta.size
    if memory < 1.0:
        most = inverse[0, 0]
        for a in range(1, d):
            most = max(most, inverse[a, a])
        for a in range(d if most < MOST_VARIANCE else 0):
            for b in range(d):
                inverse[a, b] /= memory
    if m > MOST_INFORMED:
        add_outer(inverse, gradient, direction)
    else:
        mean = dot(q, logs)
        for k in range(m):
            root = math.sqrt(q[k])
            deviation[0] = root * (logs[k] - mean)
            for a in range(m):
                deviation[1 + a] = -root * q[a]
            deviation[1 + k] += root
            add_outer(inverse, deviation, direction)
    for a in range(d):
        theta[a] += dot_of_row(inverse, a, gradient)
    theta[0] = min(max(theta[0], LEAST_SLOPE), LARGEST_SLOPE)
    for k in range(1, d):
        theta[k] = min(max(theta[k], -LARGEST_OFFSET), LARGEST_OFFSET)


@njit()
def add_outer(inverse: Floats, vector: Floats, direction: Floats) -> None:
    """Turn the inverse of a matrix into that of the matrix plus the outer product of a vector."""
    for a in range(vector.size):
        direction[a] = dot_of_row(inverse, a, vector)
    scale = 1.0 / (1.0 + dot(direction, vector))
    for a in range(vector.size):
        for b in range(vector.size):
            inverse[a, b] -= direction[a] * direction[b] * scale


@njit()
def isotonic(p: Floats, label: int, cells: Floats, shift: Floats) -> float:
    """Bet on the log odds of an event, shifted by what their cell has shown.

    The event is the second of two classes, of more that the predicted class is right.
    """
    m, n_cells = p.size, shift.size
    top = 1
    if m > 2:
        top = 0
        for k in range(1, m):
            if p[k] > p[top]:
                top = k
    chance = p[top]
    if chance >= 1.0 or chance <= 0.0:
        return 1.0
    odds = math.log(chance) - math.log1p(-chance)
    c = min(max(int((odds + 10.0) * n_cells / 20.0), 0), n_cells - 1)
    happened = label == top
    new = 1.0 / (1.0 + math.exp(-odds - shift[c]))
    won: float = new / chance if happened else (1.0 - new) / (1.0 - chance)
    cells[0, c] += 1.0
    cells[1, c] += chance
    cells[2, c] += 1.0 if happened else 0.0
    return won


@njit()
def refit(cells: Floats, shift: Floats, memory: float, counts: Codes) -> None:
    """Fit the shares of the cells again, increasing with the probability, by pooling."""
    n_cells = shift.size
    start = np.empty(n_cells + 1, dtype=np.int64)
    share = np.empty(n_cells)
    mass = np.empty(n_cells)
    blocks = 0
    for c in range(n_cells):
        if cells[0, c] <= 0.0:
            continue
        mean = cells[1, c] / cells[0, c]
        weight = cells[0, c] + PRIOR_ROWS
        start[blocks] = c
        mass[blocks] = weight
        share[blocks] = (cells[2, c] + PRIOR_ROWS * mean) / weight
        blocks += 1
        while blocks > 1 and share[blocks - 2] >= share[blocks - 1]:
            both = mass[blocks - 2] + mass[blocks - 1]
            share[blocks - 2] = (
                mass[blocks - 2] * share[blocks - 2] + mass[blocks - 1] * share[blocks - 1]
            ) / both
            mass[blocks - 2] = both
            blocks -= 1
    start[blocks] = n_cells
    for block in range(blocks):
        level = min(max(share[block], 1e-9), 1.0 - 1e-9)
        for c in range(start[block], start[block + 1]):
            if cells[0, c] > 0.0:
                mean = min(max(cells[1, c] / cells[0, c], 1e-9), 1.0 - 1e-9)
                shift[c] = math.log(level / (1.0 - level)) - math.log(mean / (1.0 - mean))
    rows = counts[ROWS]
    after = max(rows + 1, math.ceil(REFIT * rows))
    if memory < 1.0:
        after = min(after, rows + int(0.1 / (1.0 - memory)) + 1)
        kept = math.pow(memory, float(after - rows))
        for k in range(cells.shape[0]):
            for c in range(n_cells):
                cells[k, c] *= kept
    counts[REFIT_AT] = after


@njit(fastmath={"nnan", "nsz"})
def binary_witness(
    chance: float, label: int, kernel: Floats, witness: Floats, reach: float
) -> tuple[float, float]:
    """Return the gain of betting on the residuals of similar predictions, within [-1, 1].

    And the largest absolute value of the witness, which is its reach in the next row.
    """
    c = min(int(chance * witness.size), witness.size - 1)
    residual = label - chance
    gain = witness[c] * residual / reach if reach > 0.0 else 0.0
    most = 0.0
    for j in range(witness.size):
        learned = witness[j] + kernel[c, j] * residual
        witness[j] = learned
        most = max(most, abs(learned))
    return gain, most


@njit()
def class_witness(
    p: Floats,
    label: int,
    features: Floats,
    phases: Floats,
    sums: Floats,
    levels: Floats,
    phi: Floats,
    f: Floats,
) -> float:
    """Return the same for several classes, with a kernel of random features."""
    m, D = p.size, phases.size
    for k in range(m):
        f[k] = 0.0
    for j in range(D):
        angle = phases[j]
        for k in range(m):
            angle += features[j, k] * p[k]
        phi[j] = math.cos(angle)
        for k in range(m):
            f[k] += phi[j] * sums[j, k]
    mean, least, most = 0.0, f[0], f[0]
    for k in range(m):
        mean += p[k] * f[k]
        least = min(least, f[k])
        most = max(most, f[k])
    levels[REACH] = max(levels[REACH], most - least)
    gain = (f[label] - mean) / levels[REACH] if levels[REACH] > 0.0 else 0.0
    for j in range(D):
        for k in range(m):
            sums[j, k] -= phi[j] * p[k]
        sums[j, label] += phi[j]
    return gain


@njit()
def bet_gain(gain: float, levels: Floats) -> float:
    """Win with the share of the wealth that is bet, then move it by an online Newton step."""
    won: float = 1.0 + levels[BET] * gain
    slope = gain / won
    levels[CURVATURE] += slope * slope
    levels[BET] = min(max(levels[BET] + STEP * slope / levels[CURVATURE], 0.0), MOST_BET)
    return won


@njit()
def dot(a: Floats, b: Floats) -> float:
    """Sum products, in their order: the sum is the same wherever it is computed."""
    total = 0.0
    for j in range(a.size):
        total += a[j] * b[j]
    return total


@njit()
def dot_of_row(matrix: Floats, row: int, vector: Floats) -> float:
    """Sum the products of a row and a vector."""
    total = 0.0
    for j in range(vector.size):
        total += matrix[row, j] * vector[j]
    return total


@njit(fastmath={"nnan", "nsz"})
def largest(values: Floats) -> float:
    """Return the largest absolute value, 0 of none."""
    most = 0.0
    for j in range(values.size):
        most = max(most, abs(values[j]))
    return most
