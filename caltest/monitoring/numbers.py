"""Bets on forecasts of numbers: what is bet on, and with what."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import ndtri

from caltest.forecasts.container import LEAST, Forecasts
from caltest.numerics.labels import content_hashes, draw_uniforms, resample_keys
from caltest.numerics.loops import njit
from caltest.types import Codes, Floats

LEVEL = 0.9  # of the central interval whose coverage is watched
SEED = 20210501  # of the numbers where a distribution has steps: the same for all monitors
MOST_ALONG = 2.0  # standard deviations of what is predicted
SAME = 1e-9  # relative spread of what is predicted, up to which it does not vary
TAILS = 0.1  # share of the density with heavy tails
KEPT = 0.001  # of the wealth is not bet by what is learned: none of it is ever lost altogether
BINS = 10  # of the distribution of the uniform numbers

_SHIFTS = np.array([0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0])
_NEAR = [1.07, 1.15, 1.25, 1.4, 1.6, 2.0, 2.5, 3.5]


def _grid(locations: Any, scales: Any = (1.0,), along: Any = (0.0,)) -> Floats:
    return np.array(np.meshgrid(locations, scales, along, indexing="ij")).reshape(3, -1)


GRIDS = {
    "location": _grid([*-_SHIFTS, *_SHIFTS]),
    "spread": _grid([0.0], [*(1.0 / np.array(_NEAR[:-1])), *_NEAR]),
    "location-and-spread": _grid([-1.0, -0.5, -0.2, 0.2, 0.5, 1.0], [0.6, 0.8, 1.25, 1.7]),
    "slope": _grid([0.0], [1.0], [-0.8, -0.4, -0.2, -0.1, 0.1, 0.2, 0.4, 0.8]),
}
ALONE = {"location-and-spread": ("location", "spread")}  # has bets on both, and on none alone
GRID = np.hstack(list(GRIDS.values()))
PARTS = (*GRIDS, "shape")
SIZES = [*(grid.shape[1] for grid in GRIDS.values()), 2]


def rows_of(forecasts: Forecasts, before: int) -> tuple[Floats, Codes]:
    """Return what is bet on: the event that the interval holds the outcome, and more columns.

    Parameters
    ----------
    forecasts : Forecasts
        With their outcomes.
    before : int
        Rows before them: where a distribution has steps, the place within one is drawn from a hash
        of the number of the row and of what was seen, which gives the same data the same answer.

    Returns
    -------
    (n, 6) array
        Probabilities that it does not and that it does, the normal and the uniform number of the
        outcome, a size of the forecast of which they are independent under calibration, and how
        much of the step of the outcome the interval holds.
    (n,) array
        1 where it holds some; of an outcome that is impossible both its probability is 0.
    """
    (low, high), is_possible = forecasts.limits, ~forecasts.impossible
    seen = [np.arange(before, before + forecasts.n), forecasts.outcomes + 0.0, low, high]
    within = draw_uniforms(content_hashes(np.column_stack(seen)), resample_keys(SEED, 1))[0]
    u = np.clip(low + (high - low) * within, LEAST, 1.0 - LEAST)
    start = forecasts.law.attained(0.5 - LEVEL / 2, is_lower=True)
    end = forecasts.law.attained(0.5 + LEVEL / 2)
    chance = np.where(is_possible, end - start, 0.0)
    size = np.nan_to_num(forecasts.law.drawn_from(forecasts.outcomes).mean)
    share = np.where(is_possible, forecasts.held(start, end), 1.0)
    columns = np.column_stack([1.0 - chance, chance, ndtri(u), u, size, share])
    return columns, (share > 0.0).astype(np.int64)


@njit()
def bet_on_number(
    P: Floats, i: int, grid: Floats, moments: Floats, counts: Floats, memory: float, wins: Floats
) -> None:
    """Bet on normal numbers of another location, scale and slope, on heavy tails, and on bins.

    Row i of P is of `rows_of`. `moments` are those of the sizes so far: rows and 1, mean, sum of
    squares; `counts` are of bins of the uniform numbers. Both are learned here.
    """
    z, u, size = P[i, 2], P[i, 3], P[i, 4]
    rows = memory * (moments[0] - 1.0) + 1.0
    change = size - moments[1]
    moments[0] = rows + 1.0
    moments[1] += change / rows
    moments[2] = memory * moments[2] + change * (size - moments[1])
    spread, place = math.sqrt(moments[2] / rows), 0.0
    if spread > SAME * abs(moments[1]):
        place = min(max((size - moments[1]) / spread, -MOST_ALONG), MOST_ALONG)
    for g in range(grid.shape[1]):
        scale = grid[1, g]
        rest = (z - grid[0, g] - grid[2, g] * place) / scale
        wins[g] = math.exp(0.5 * (z * z - rest * rest)) / scale
    G, k = grid.shape[1], min(int(BINS * u), BINS - 1)
    # 1 / sqrt(2 min(u, 1 - u)) has the mean 2.
    wins[G] = 1.0 - TAILS + 0.5 * TAILS / math.sqrt(2.0 * min(u, 1.0 - u))
    seen, total = counts[k] + 1.0, float(BINS)
    for j in range(BINS):
        total += counts[j]
        counts[j] *= memory
    counts[k] += 1.0
    wins[G + 1] = KEPT + (1.0 - KEPT) * seen * BINS / total


def in_words(part: str, log_wealth: Floats, counts: Floats) -> str:
    """Say what the bets of a part have won with."""
    if part == "shape":
        tails, learned = log_wealth
        if tails > learned:
            return "heavier tails: more outcomes are far out than predicted"
        found = counts[:BINS] / counts[:BINS].sum()
        k = int(np.argmax(np.abs(found - 1.0 / BINS)))
        ends = f"the quantiles of {100 * k // BINS} and {100 * (k + 1) // BINS} %"
        share = f"{100 * found[k]:.3g} % of the outcomes so far"
        return f"another shape: {share} are between {ends}, not {100 // BINS} %"
    location, scale, along = GRIDS[part] @ np.exp(log_wealth - np.logaddexp.reduce(log_wealth))
    side, deviations = "low" if location > 0 else "high", f"{abs(location):.2g} of their standard"
    sure = "too sure" if scale > 1 else "not sure enough"
    sentences = {
        f"forecasts are too {side} by {deviations} deviations": location,
        f"{sure}: outcomes scatter {scale:.2g} times as widely as predicted in normal scores": scale
        - 1.0,
        f"outcomes rise {'more' if along > 0 else 'less'} steeply than forecasts": along,
    }
    return "; ".join(words for words, size in sentences.items() if abs(size) > SAME)
