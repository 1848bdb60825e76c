"""Places that a verdict names: simulates and writes the tables of docs/studies/places.md.

    python -P docs/studies/places.py [--repetitions 400] [--jobs 2] [--only WORLD ...]

Of data sets of two and of five classes, most of them with errors in some of the rows: how often a
place is named, how often a place holds no wrong row or an interval that misses its gap, and how the
numbers that are told compare with the true ones. Beside it the power of Bonferroni's method over
the deciles of the predictions, and of the largest z of the ranges between 20 quantiles.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import joblib
import numpy as np
from scipy import special

import caltest as ct

LEVEL = 0.05
N_RESAMPLES = 199
SIZES = (200, 1000)
PAGE = Path(__file__).with_suffix(".md")
TABLES = "<!-- tables -->"
DECILES, QUANTILES = 10, 20
FEWEST = 20  # rows of a range

Probs = np.ndarray
Truth = Callable[[Probs], Probs]


def _odds(p: Probs, slope: float = 1.0, shift: float = 0.0) -> Probs:
    return special.expit(slope * special.logit(p) + shift)


def _within(p: Probs, low: float, high: float, points: float) -> Probs:
    return np.where((p > low) & (p < high), points / 100, 0.0)


TWO: dict[str, Truth] = {
    "calibrated": lambda p: p,
    "slope .7": lambda p: _odds(p, 0.7),
    "shift .3": lambda p: _odds(p, 1.0, 0.3),
    "sine": lambda p: np.clip(p + 0.1 * np.sin(4 * np.pi * p), 0.005, 0.995),
    "above .8, 13 points": lambda p: p - _within(p, 0.8, 2.0, 13),
    "one band, 12 points": lambda p: p + _within(p, 0.4, 0.6, 12),
    "two bands": lambda p: p + _within(p, 0.2, 0.35, 12) - _within(p, 0.6, 0.8, 14),
    "rare, calibrated": lambda p: p,
    "rare, half as many": lambda p: p * np.where(p > 0.05, 0.5, 1.0),
}


def _sharper(p: Probs) -> Probs:
    """Class 0 has less extreme log odds than predicted."""
    first = _odds(p[:, 0], 0.5)
    return np.column_stack([first, p[:, 1:] * ((1 - first) / (1 - p[:, 0]))[:, None]])


def _tail(p: Probs) -> Probs:
    """A confidence above .8 is too high by 15 points, which the other classes get."""
    top, out = p.argmax(axis=1), p.copy()
    wrong = np.flatnonzero(p.max(axis=1) > 0.8)
    out[wrong] += 0.15 / 4
    out[wrong, top[wrong]] -= 0.15 * 5 / 4
    return out


def _scaled(p: Probs) -> Probs:
    """Class 0 is predicted too often."""
    return p * np.where(np.arange(p.shape[1]) == 0, 0.6, 1.0)


FIVE: dict[str, Truth] = {
    "calibrated": lambda p: p,
    "temperature 1.4": lambda p: p**0.7,
    "confidence above .8": _tail,
    "class 0 sharper": _sharper,
    "class 0 times .6": _scaled,
}


def simulate(m: int, world: str, n: int, seed: int) -> tuple[ct.Predictions, Probs]:
    """Draw predictions with labels, and return the true probabilities (n, m) as well."""
    rng = np.random.default_rng([m, n, seed])
    if m == 2:
        a, b = (0.5, 20) if world.startswith("rare") else (1, 1.5)
        p = rng.beta(a, b, n).clip(1e-4, 1 - 1e-4)
        q = TWO[world](p)
        p, q = np.column_stack([1 - p, p]), np.column_stack([1 - q, q])
    else:
        p = rng.dirichlet(np.full(m, 0.3 if "above" in world else 1.0), n).clip(1e-9)
        p /= p.sum(axis=1, keepdims=True)
        q = FIVE[world](p)
        q = q / q.sum(axis=1, keepdims=True)
    labels = (rng.random(n)[:, None] > np.cumsum(q, axis=1)[:, :-1]).sum(axis=1)
    return ct.Predictions(p, labels), q


@dataclass(frozen=True)
class Told:
    """A place that was named: its true gap, what was told, and whether a row of it is wrong."""

    true: float
    gap: float
    sure: float
    covered: bool
    wrong: bool


def told(place: object, predictions: ct.Predictions, q: Probs) -> Told:
    """Compare a place with the true probabilities of the rows that it names."""
    rows, at = place.mask(predictions), np.arange(predictions.n)
    event = place.where.event
    k = predictions.predicted if event is None else np.full(predictions.n, int(event))
    error = (q - predictions.probs)[at, k][rows]
    true = float(error.mean())
    sign = np.sign(place.gap)
    return Told(
        true=true,
        gap=place.gap,
        sure=float(sign * place.surely),
        covered=place.low <= true <= place.high,
        wrong=bool((np.abs(error) > 1e-9).any()),
    )


def ordered(predictions: ct.Predictions) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities of the event or the confidence, ascending, and what happened."""
    probs, labels = predictions.probs, predictions.labels
    p = probs[:, 1] if predictions.m == 2 else probs.max(axis=1)
    order = np.argsort(p)
    return p[order], (labels == (1 if predictions.m == 2 else predictions.predicted))[order]


def deciles_reject(predictions: ct.Predictions) -> bool:
    """Test each decile of the event or the confidence, by z and Bonferroni's method."""
    p, happened = ordered(predictions)
    for rows in np.array_split(np.arange(p.size), DECILES):
        z = (happened[rows] - p[rows]).sum() / np.sqrt((p[rows] * (1 - p[rows])).sum())
        if 2 * special.ndtr(-abs(z)) <= LEVEL / DECILES:
            return True
    return False


def ranges_reject(predictions: ct.Predictions, seed: int) -> bool:
    """Test all ranges between 20 quantiles by the largest z, against that of redrawn events."""
    p, happened = ordered(predictions)
    redrawn = np.random.default_rng(seed).random((N_RESAMPLES, p.size)) < p
    cuts = np.unique(np.round(np.linspace(0, p.size, QUANTILES + 1)).astype(int))
    first, last = np.triu_indices(cuts.size, 1)
    kept = cuts[last] - cuts[first] >= FEWEST
    first, last = cuts[first[kept]], cuts[last[kept]]
    sums = np.cumsum(np.pad(np.vstack([happened, redrawn]) - p, ((0, 0), (1, 0))), axis=1)
    variance = np.append(0, np.cumsum(p * (1 - p)))
    z = np.abs(sums[:, last] - sums[:, first]) / np.sqrt(variance[last] - variance[first])
    largest = z.max(axis=1)
    return bool(np.mean(largest >= largest[0] - 1e-9) <= LEVEL)


def one(m: int, world: str, n: int, seed: int) -> tuple[list[Told], tuple[bool, bool]]:
    """Return the places of one data set, and whether deciles and ranges reject."""
    predictions, q = simulate(m, world, n, seed)
    result = ct.test_calibration(predictions, n_resamples=N_RESAMPLES, rng=seed)
    others = deciles_reject(predictions), ranges_reject(predictions, seed)
    return [told(place, predictions, q) for place in result.places], others


def lines(m: int, worlds: list[str], repetitions: int, jobs: int) -> Iterator[str]:
    """Yield a line of the table for each world and n."""
    for world in worlds:
        for n in SIZES:
            found = joblib.Parallel(jobs)(
                joblib.delayed(one)(m, world, n, seed) for seed in range(repetitions)
            )
            others = np.mean([by for _, by in found], axis=0)
            line = row(world, n, [sets for sets, _ in found], others)
            sys.stderr.write(f"{m} {line}\n")
            yield line


def row(world: str, n: int, found: list[list[Told]], others: np.ndarray) -> str:
    """Return the line of the table of some data sets."""
    places = [place for sets in found for place in sets]
    first = [sets[0] for sets in found if sets]
    misled = np.mean([any(not (p.covered and p.wrong) for p in sets) for sets in found])
    right = [place for place in first if place.wrong and place.true * place.gap > 0]
    cells = [
        world,
        str(n),
        f"{100 * len(first) / len(found):.1f}",
        *(f"{100 * share:.1f}" for share in others),
        f"{100 * misled:.1f}",
        str(len(places)),
        f"{100 * np.mean([p.covered for p in places]):.1f}" if places else "-",
        f"{np.median([p.gap / p.true for p in right]):.2f}" if right else "-",
        f"{np.median([p.sure / p.true for p in right]):.2f}" if right else "-",
        f"{100 * np.median([abs(p.sure) for p in right]):.1f}" if right else "-",
        f"{100 * np.median([abs(p.true) for p in right]):.1f}" if right else "-",
    ]
    return f"| {' | '.join(cells)} |"


COLUMNS = (
    "n",
    "named",
    "deciles",
    "ranges",
    "misled",
    "places",
    "covered",
    "reported / true",
    "sure / true",
    "sure",
    "true",
)
HEADER = f"| world | {' | '.join(COLUMNS)} |\n|---|{'---:|' * len(COLUMNS)}"


def main() -> None:
    """Simulate, and write the tables into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="*", help="worlds; the page is not written")
    given = parser.parse_args()
    tables = []
    for m, title, worlds in ((2, "Two classes", TWO), (5, "Five classes", FIVE)):
        some = [world for world in worlds if given.only is None or world in given.only]
        body = "\n".join(lines(m, some, given.repetitions, given.jobs))
        tables.append(f"## {title}\n\n{HEADER}\n{body}\n")
    if given.only is None:
        text = PAGE.read_text(encoding="utf-8").partition(TABLES)[0]
        PAGE.write_text(f"{text}{TABLES}\n\n" + "\n".join(tables), encoding="utf-8")


if __name__ == "__main__":
    main()
