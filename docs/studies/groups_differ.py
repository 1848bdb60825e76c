"""Size and power of tests that groups differ: prints the tables of docs/studies/groups_differ.md.

python -P docs/studies/groups_differ.py {size,power} [--sets 200]

Log odds of the predictions are normal with standard deviation 1.2. Groups have the same number of
rows on average, but in "one small group"; where predictions differ, the means of their log odds are
up to 3 apart. Of n = 2000 there are 60 data sets. Flipped signs and permutations of the
residuals in blocks of ten neighbours have the statistics of redrawn labels, which caltest takes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

import numpy as np
from scipy.special import expit
from scipy.stats import chi2

from caltest.htests.difference import Event, _statistics
from caltest.nulls.base import Replicates
from caltest.numerics.joint import log_mean_exp, tail_scores

B, LEVEL, BLOCK = 199, 0.05, 10
COMMON = {
    "none": lambda x: x,
    "shift .7": lambda x: x + 0.7,
    "temperature 2": lambda x: x / 2,
    "step of 1.6": lambda x: x + np.where(x > np.median(x), 0.8, -0.8),
}


def draw(
    rng: np.random.Generator,
    n: int,
    groups: int,
    *,
    common: str,
    apart: bool,
    kind: str = "",
    size: float = 0.0,
    mean: float = -0.5,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw log odds, labels and groups."""
    share = np.ones(groups)
    share[0] = 0.3 if kind == "one small group" else 1.0
    g = np.sort(rng.choice(groups, n, p=share / share.sum()))
    x = rng.normal(mean, 1.2, n) + (1.5 * np.linspace(-1, 1, groups)[g] if apart else 0.0)
    eta = COMMON[common](x)
    if kind.startswith("one"):
        eta = eta + size * (g == 0)
    elif kind == "all shifted":
        eta = eta + size * np.linspace(-1, 1, groups)[rng.permutation(groups)][g]
    elif kind == "slopes":
        eta = eta * np.where(g % 2 == 0, 1.0, size)
    return x, (rng.random(n) < expit(eta)).astype(int), g


def likelihood_ratio(x: np.ndarray, y: np.ndarray, g: np.ndarray, *, slopes: bool) -> float:
    """Return the p-value of the interaction of the group with intercept and slope, or intercept."""
    own = (g[:, None] == np.unique(g)).astype(float)

    def loss(columns: np.ndarray) -> float:
        gamma = np.zeros(columns.shape[1])
        for _ in range(60):
            q = expit(x + columns @ gamma)
            H = (q * (1 - q) * columns.T) @ columns + 1e-6 * np.eye(gamma.size)
            step = np.linalg.solve(H, columns.T @ (y - q))
            reach = np.abs(columns @ step).max()
            gamma += step * min(1.0, 4.0 / max(reach, 1e-9))
            if reach < 1e-7:
                break
        return -2 * np.log(np.clip(np.where(y == 1, q, 1 - q), 1e-300, 1)).sum()

    full = np.hstack([own, own * x[:, None] if slopes else x[:, None]])
    gain = loss(np.column_stack([np.ones_like(x), x])) - loss(full)
    return chi2.sf(gain, (1 + slopes) * (own.shape[1] - 1))


def combined(statistics: np.ndarray) -> float:
    """Return the p-value of the three statistics together."""
    tails = [tail_scores(one, float(one.max()), two_sided=False) for one in statistics]
    return Replicates(log_mean_exp(np.array(tails)), 1.0, "greater").pvalue


def resampled(
    x: np.ndarray, y: np.ndarray, g: np.ndarray, rng: np.random.Generator
) -> Iterator[float]:
    """Yield p-values of redrawn labels, of flipped signs, and of permutation in blocks."""
    ones, start = np.ones(x.size), np.searchsorted(g, np.unique(g))
    event = Event("", x, ones, y.astype(float), ones, start, None)
    scores, covariance = event.drawn(B, int(rng.integers(1 << 30)))
    yield combined(_statistics(scores, covariance))
    flipped = Event("", x, ones, y.astype(float), ones, start, np.arange(x.size))
    yield combined(_statistics(*flipped.drawn(B, int(rng.integers(1 << 30)))))
    order = np.argsort(x)
    residual, block = (y - event.common)[order], np.arange(x.size) // BLOCK
    rows = np.empty((B + 1, x.size))
    rows[0, order] = residual
    rows[1:, order] = residual[np.argsort(block + rng.random((B, x.size)), axis=1)]
    ends = [*start[1:], x.size]
    parts = [rows[:, i:j] @ event.basis[i:j] for i, j in zip(start, ends, strict=True)]
    sums = np.hstack(parts)
    yield combined(_statistics(sums @ event.weights.reshape(sums.shape[1], -1), covariance))


METHODS = ("redrawn", "flipped signs", "permuted", "LR", "LR, shifts only")


def pvalues(x: np.ndarray, y: np.ndarray, g: np.ndarray, rng: np.random.Generator) -> list[float]:
    """Return the p-value of each method."""
    ratios = [likelihood_ratio(x, y, g, slopes=slopes) for slopes in (True, False)]
    return [*resampled(x, y, g, rng), *ratios]


def scenarios(what: str) -> Iterator[tuple[int, int, str, dict]]:
    """Yield the number of rows and groups, what is drawn, and its name."""
    for n in (200, 2000):
        for groups in (2, 4, 20):
            if what == "size":
                both = (("temperature 2", False), *((one, True) for one in COMMON))
                for common, apart in both if n == 200 else both[-1:]:
                    name = f"{common} | {'differ' if apart else 'same'}"
                    yield n, groups, name, {"common": common, "apart": apart}
                if groups == 4 and n == 200:
                    rare = {"common": "temperature 2", "apart": True, "mean": -3.5}
                    yield n, groups, "temperature 2, rare events | differ", rare
                continue
            more = (3.0 if n == 200 else 1.0) * (1.7 if groups == 20 else 1.0)
            for kind, size in (
                ("one shifted", 0.35),
                ("all shifted", 0.22),
                ("one small group", 0.45),
            ):
                asked = {"kind": kind, "size": size * more, "common": "shift .7", "apart": False}
                yield n, groups, f"{kind} by {size * more:.2f}", asked
            slope = 0.25 if n == 200 else 0.6
            asked = {"kind": "slopes", "size": slope, "common": "shift .7", "apart": False}
            yield n, groups, f"slopes 1 and {slope}", asked


def row(number: int, n: int, groups: int, name: str, what: dict, *, sets: int) -> str:
    """Return a row of the table: rates with standard errors, in per cent."""
    rng, found = np.random.default_rng([number, n]), []
    while len(found) < sets:
        x, y, g = draw(rng, n, groups, **what)
        if y.min() < y.max() and np.unique(g).size > 1:
            found.append(pvalues(x, y, g, rng))
    rates = 100 * (np.array(found) <= LEVEL).mean(axis=0)
    errors = np.sqrt(rates * (100 - rates) / sets)
    cells = [f"{rate:.1f} ({error:.1f})" for rate, error in zip(rates, errors, strict=True)]
    return f"| {n} | {groups} | {name} | {' | '.join(cells)} |\n"


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("size", "power"))
    parser.add_argument("--sets", type=int, default=200)
    asked = parser.parse_args()
    head = "common error | predictions" if asked.what == "size" else "difference"
    header = ("n", "groups", head, *METHODS)
    sys.stdout.write(f"| {' | '.join(header)} |\n")
    rule = "|---:|---:|---|" + "---|" * (asked.what == "size") + "---:|" * len(METHODS)
    sys.stdout.write(f"{rule}\n")
    for number, (n, groups, name, what) in enumerate(scenarios(asked.what)):
        sets = asked.sets if n < 1000 else 60
        sys.stdout.write(row(number, n, groups, name, what, sets=sets))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
