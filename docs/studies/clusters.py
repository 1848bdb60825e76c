"""Tests of rows that depend on each other: simulates and writes the tables beside this file.

    python -P docs/studies/clusters.py [--repetitions 400] [--jobs 2]

The text of the page stays; each table is written below the line that names it.
"""

from __future__ import annotations

import argparse
import itertools
import math
import re
import warnings
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import joblib
import numpy as np
from scipy import special

import caltest as ct
from caltest.htests import REGISTRY
from caltest.intervals.cluster import effective_count, jackknife, squared_deviation
from caltest.kernels import Exponential
from caltest.measures import Measure
from caltest.nulls import REGISTRY as NULLS
from caltest.nulls.base import Draws, resampling_pvalue
from caltest.nulls.cluster import Clusters, are_many, cluster_test, flipped_values
from caltest.predictions.dependence import Dependence, block_length

LEVEL = 0.05
SIZES = (10, 30, 200)  # numbers of clusters
WIDTH = 0.3  # of the kernel whose error is known
B = 199  # 0.05 x 200 is whole
ROWS = 10  # of a cluster, on average
FIRST = 20_261_124  # seeds that nothing was chosen on
PAGE = Path(__file__).with_suffix(".md")
TESTS = (
    "combined",
    "skce",
    "kce",
    "mmce",
    "cme",
    "ece",
    "mce",
    "debiased-ece",
    "ks",
    "kuiper",
    "brier",
    "log-loss",
    "cox",
    "calibration-in-the-large",
    "calibration-slope",
)
SOME = ("combined", "skce", "ece", "ks", "brier", "calibration-in-the-large", "calibration-slope")
ERRORS = {"calibrated": (1.0, 0.0), "too extreme": (0.6, 0.0), "too low": (1.0, 0.35)} | {
    "a little too extreme": (0.75, 0.0),
    "a little too low": (1.0, 0.2),
    "much too low": (1.0, 0.7),
}
MAIN = (
    "combined",
    "skce",
    "ks",
    "ece",
    "debiased-ece",
    "calibration-in-the-large",
    "calibration-slope",
    "brier",
)
SCORES = ("calibration-in-the-large", "brier")  # with a sum per cluster for Student's t
OVER_TIME = ("brier", "calibration-in-the-large", "skce", "ks")
CERTIFIED = ("skce", "debiased-ece")
INTERVALS = ("skce", "ece", "ks", "brier", "calibration-in-the-large", "calibration-slope")


@dataclass(frozen=True)
class Cell:
    """A distribution of data sets."""

    clusters: int
    sizes: str = "equal"  # or "unequal"
    correlation: float = 0.0  # of the latent variables that the labels are drawn by
    centre: float = 0.0  # mean log odds
    error: str = "calibrated"
    rows: int = ROWS

    def cluster_sizes(self) -> np.ndarray:
        """Return how many rows each cluster has; unequal ones differ by up to 11 times."""
        if self.sizes == "equal":
            return np.full(self.clusters, self.rows)
        share = np.exp(np.linspace(-1.2, 1.2, self.clusters))
        return np.maximum(1, np.round(self.rows * self.clusters * share / share.sum())).astype(int)


def simulate(cell: Cell, seed: int) -> ct.Predictions:
    """Draw predictions, half of whose variance is between clusters, and labels that correlate."""
    rng = np.random.default_rng([zlib.crc32(repr(cell).encode()), seed])
    c = np.repeat(np.arange(cell.clusters), cell.cluster_sizes())
    x = cell.centre + math.sqrt(0.5) * (rng.normal(size=cell.clusters)[c] + rng.normal(size=c.size))
    shared, own = rng.normal(size=cell.clusters)[c], rng.normal(size=c.size)
    latent = math.sqrt(cell.correlation) * shared + math.sqrt(1 - cell.correlation) * own
    labels = (special.ndtr(latent) < truth(x, cell.error)).astype(int)
    return ct.Predictions(special.expit(x), labels, clusters=c)


def truth(x: np.ndarray, error: str) -> np.ndarray:
    """Return the true probabilities for log odds x of the model."""
    slope, shift = ERRORS[error]
    return np.asarray(special.expit(slope * x + shift))


@dataclass(frozen=True)
class World:
    """A distribution of data sets with skewed sums of few effective clusters.

    Rows of a cluster share their uniform number with probability sqrt(correlation), so that labels
    of equal predictions have this correlation: rare events come in bursts.
    """

    clusters: int
    sizes: str  # rows of a cluster, lognormal with a median, or one that has half of all rows
    law: tuple[float, ...] | None  # of the predictions: beta or Dirichlet; else normal log odds
    correlation: float
    weight: float = 0.0  # the weight of a row is exp(weight p)
    constant: bool = False  # one prediction for all rows of a cluster
    slope: float = 1.0  # of the true log odds by those of the predictions
    shift: float = 0.0  # of the last class


WORLDS = {
    "10 rows, weights exp(4 p)": World(30, "10", (1, 1), 0.0, 4.0),
    "10 rows, weights exp(-4 p)": World(30, "10", (1, 1), 0.0, -4.0),
    "10 rows, weights exp(4 p), correlation 0.2": World(30, "10", (1, 1), 0.2, 4.0),
    "3 classes, weights exp(4 p)": World(30, "10", (1, 1, 1), 0.0, 4.0),
    "lognormal, beta(1, 30), independent": World(30, "lognormal 20", (1, 30), 0.0),
    "lognormal, beta(1, 30), correlation 0.05": World(30, "lognormal 20", (1, 30), 0.05),
    "lognormal, beta(1, 30), correlation 0.3": World(30, "lognormal 20", (1, 30), 0.3),
    "100 clusters, lognormal, beta(1, 30), correlation 0.3": World(
        100, "lognormal 10", (1, 30), 0.3
    ),
    "1000 clusters of 3, beta(1, 30), correlation 0.3": World(1000, "3", (1, 30), 0.3),
    "p constant within 30 clusters of 10": World(30, "10", (1, 1), 0.3, constant=True),
    "p constant, lognormal": World(30, "lognormal 10", (1, 1), 0.3, constant=True),
    "p constant, lognormal, beta(1, 10)": World(30, "lognormal 10", (1, 10), 0.3, constant=True),
    "p constant, 100 clusters, lognormal": World(100, "lognormal 5", (1, 1), 0.3, constant=True),
    "100 of 10 rows and one of half of the rows": World(101, "half", (1, 1), 0.1),
    "one of half of the rows, beta(1, 10)": World(101, "half", (1, 10), 0.1),
    "one of half of the rows, p constant": World(101, "half", (1, 1), 0.3, constant=True),
    "8 clusters of 20": World(8, "20", (1, 1), 0.2),
    "8 clusters, lognormal, beta(1, 10)": World(8, "lognormal 40", (1, 10), 0.2),
    "15 clusters, lognormal, beta(1, 10)": World(15, "lognormal 30", (1, 10), 0.2),
    "3 classes, lognormal": World(30, "lognormal 10", (1, 1, 1), 0.3),
    "5 classes, four rare, lognormal": World(30, "lognormal 10", (0.3, 0.3, 0.3, 0.3, 10), 0.3),
    "5 classes, p constant, 15 clusters of 10": World(15, "10", (1,) * 5, 0.3, constant=True),
}
WRONG = {
    "too low, 30 clusters of 10": World(30, "10", None, 0.1, shift=0.5),
    "too extreme, 30 clusters of 10": World(30, "10", None, 0.1, slope=0.5),
    "too low, lognormal": World(30, "lognormal 10", None, 0.1, shift=0.6),
    "too extreme, lognormal": World(30, "lognormal 10", None, 0.1, slope=0.4),
    "too low, 100 lognormal, beta(1, 30)": World(100, "lognormal 10", (1, 30), 0.02, shift=0.6),
    "too high, 100 lognormal, beta(1, 30)": World(100, "lognormal 10", (1, 30), 0.02, shift=-0.8),
    "too low, weights exp(4 p)": World(30, "10", (1, 1), 0.05, 4.0, shift=0.8),
    "too extreme, 3 classes": World(30, "10", (1, 1, 1), 0.1, slope=0.6),
    "too low, p constant, 100 lognormal": World(
        100, "lognormal 5", (1, 1), 0.05, constant=True, shift=0.5
    ),
}
BINARY = ("calibration-in-the-large", "ks")
HARD = ("combined", "calibration-in-the-large", "ece", "ks", "skce", "brier")


def world_data(world: World, seed: int) -> ct.Predictions:
    """Draw a data set."""
    rng = np.random.default_rng([zlib.crc32(repr(world).encode()), seed])
    kind, _, size = world.sizes.rpartition(" ")
    if kind:
        draws = float(size) * np.exp(1.2 * rng.normal(size=world.clusters))
        rows = np.maximum(1, np.round(draws)).astype(int)
    elif size == "half":
        rows = np.full(world.clusters, 10)
        rows[0] = 10 * (world.clusters - 1)
    else:
        rows = np.full(world.clusters, int(size))
    c = np.repeat(np.arange(world.clusters), rows)
    if world.law is None:
        x = math.sqrt(0.5) * (rng.normal(size=world.clusters)[c] + rng.normal(size=c.size))
        p = np.column_stack([1 - special.expit(x), special.expit(x)])
    else:
        p = rng.dirichlet(world.law[::-1], size=world.clusters if world.constant else c.size)
        p = p[c] if world.constant else p
    logs = world.slope * np.log(np.maximum(p, 1e-300))
    logs[:, -1] += world.shift
    shared = rng.random(c.size) < math.sqrt(world.correlation)
    uniform = np.where(shared, rng.random(world.clusters)[c], rng.random(c.size))
    labels = np.sum(np.cumsum(special.softmax(logs, axis=1), axis=1) < uniform[:, None], axis=1)
    labels = np.minimum(labels, p.shape[1] - 1)
    weight = np.exp(world.weight * p[:, -1]) if world.weight else None
    return ct.Predictions(p, labels, classes=range(p.shape[1]), sample_weight=weight, clusters=c)


def before_and_after(key: str, predictions: ct.Predictions, seed: int) -> tuple[float, float]:
    """Return the p-value without and with what allows for skewed sums."""
    measure, draws = REGISTRY[key].with_options({}), Draws(B, seed)
    outcome = cluster_test(measure, predictions, draws)
    before = float(outcome.replicates.pvalues()[0])
    if not are_many(predictions, Clusters.of(predictions)):
        exact = NULLS["exact"].run(measure, predictions, draws)
        before = max(before, float(exact.pvalue))
    return before, float(outcome.pvalue)


def robust_t(predictions: ct.Predictions) -> tuple[float, float]:
    """Return the p-values of the mean residual of the last class by t and z, robust to clusters."""
    weight = np.ones(predictions.n)
    if predictions.sample_weight is not None:
        weight = predictions.sample_weight
    residual = (predictions.labels == predictions.m - 1) - predictions.probs[:, -1]
    sums = np.bincount(predictions.clusters, weight * residual)
    z = abs(float(sums.sum())) / math.sqrt(float(np.square(sums).sum()))
    t = z * math.sqrt(1.0 - 1.0 / sums.size)
    return 2.0 * float(special.stdtr(sums.size - 1, -t)), 2.0 * float(special.ndtr(-z))


def world_rates(world: World, seeds: range) -> np.ndarray:
    """Count rejections before, after, and by the robust t and z, (4, tests)."""
    warnings.simplefilter("ignore")
    out = np.full((4, len(HARD)), np.nan)
    out[:2] = 0
    out[2:, 1] = 0
    for seed in seeds:
        predictions = world_data(world, seed)
        for j, key in enumerate(HARD):
            if predictions.m > 2 and key in BINARY:
                out[:2, j] = np.nan
                continue
            found = before_and_after(key, predictions, seed)
            out[:2, j] += np.array(found) <= LEVEL
        out[2:, 1] += np.array(robust_t(predictions)) <= LEVEL
    return out


def world_table(pool: joblib.Parallel, worlds: dict[str, World], repetitions: int) -> str:
    """Rejections in worlds with skewed sums, before and after."""
    rows = []
    ways = ("before", "now", "robust t", "robust z")
    for name, world in worlds.items():
        last = FIRST + repetitions
        parts = [range(i, min(i + 25, last)) for i in range(FIRST, last, 25)]
        counts = sum(pool(joblib.delayed(world_rates)(world, seeds) for seeds in parts))
        for way, line in zip(ways, 100 * counts / repetitions, strict=True):
            cells = ["" if np.isnan(v) else entry(float(v), repetitions) for v in line]
            rows.append([name, way, *cells])
    return table(["data", "null", *HARD], rows, 2)


def pvalue(key: str, predictions: ct.Predictions, null: str, seed: int) -> float:
    """Return the p-value of a test."""
    run = NULLS[null].test
    measure = REGISTRY[key].with_options({})
    return float(run(measure, predictions, n_resamples=B, seed=seed).pvalue)


def signs_alone(key: str, predictions: ct.Predictions, seed: int) -> float:
    """Return the p-value of flipped signs, without the exact null."""
    [one] = REGISTRY[key].with_options({}).residual_statistics(predictions)
    values = flipped_values([one], Clusters.of(predictions), Draws(B, seed))[0]
    return resampling_pvalue(
        float(values[0]), values[1:], one.scale, "two-sided" if one.two_sided else "greater"
    )


def rejections(cell: Cell, tests: Iterable[str], ways: Iterable[str], seeds: range) -> np.ndarray:
    """Return how often each test rejects by each way, (ways, tests)."""
    warnings.simplefilter("ignore")
    tests, ways = list(tests), list(ways)
    out = np.zeros((len(ways), len(tests)))
    for seed in seeds:
        predictions = simulate(cell, seed)
        for i, way in enumerate(ways):
            for j, key in enumerate(tests):
                out[i, j] += pvalue_by(way, key, predictions, seed) <= LEVEL
    return out


def pvalue_by(way: str, key: str, predictions: ct.Predictions, seed: int) -> float:
    """Return the p-value by a null, by signs alone, or by Student's t of the sums of clusters."""
    if way == "signs":
        return signs_alone(key, predictions, seed)
    if way == "t":
        return student(predictions, key) if key in SCORES else math.nan
    return pvalue(key, predictions, way, seed)


def simulated(
    pool: joblib.Parallel, jobs: list[tuple[Cell, tuple[str, ...], tuple[str, ...], int]]
) -> list[np.ndarray]:
    """Return the rejections of each job in %, its data sets spread over processes."""
    parts = [
        (number, range(first, min(first + 25, repetitions)))
        for number, (*_, repetitions) in enumerate(jobs)
        for first in range(0, repetitions, 25)
    ]
    found = pool(joblib.delayed(rejections)(*jobs[k][:3], seeds) for k, seeds in parts)
    totals: list[np.ndarray] = [np.zeros(1)] * len(jobs)
    for (number, _), counts in zip(parts, found, strict=True):
        totals[number] = totals[number] + counts
    return [100 * t / job[3] for t, job in zip(totals, jobs, strict=True)]


def entry(rate: float, repetitions: int) -> str:
    """Return a rate in % with its standard error."""
    se = 100 * math.sqrt(max(rate * (100 - rate), 100 / repetitions) / repetitions) / 100
    return f"{rate:.1f} ({se:.1f})"


def table(header: list[str], rows: Iterable[list[str]], words: int = 1) -> str:
    """Return a table in Markdown."""
    align = ["---"] * words + ["---:"] * (len(header) - words)
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, align, *rows))


def size_table(pool: joblib.Parallel, repetitions: int) -> str:
    """Size of the main tests."""
    kinds = list(itertools.product(("equal", "unequal"), (0.0, 0.05, 0.2, 0.5)))
    grid = [(c, *kind) for c in SIZES for kind in kinds]
    jobs = [(Cell(c, s, r), MAIN, ("cluster",), repetitions) for c, s, r in grid]
    found = dict(zip(grid, simulated(pool, jobs), strict=True))
    rows = []
    for number, key in enumerate(MAIN):
        for clusters in SIZES:
            rates = [float(found[clusters, *kind][0, number]) for kind in kinds]
            cells = [entry(rate, repetitions) for rate in rates]
            mean = entry(float(np.mean(rates)), len(kinds) * repetitions)
            rows.append([key, str(clusters), *cells, mean])
    names = [f"{s}, {r:g}" for s, r in kinds]
    return table(["test", "clusters", *names, "mean"], rows)


def other_size_table(pool: joblib.Parallel, repetitions: int) -> str:
    """Size of the other tests with 30 clusters."""
    kinds = list(itertools.product(("equal", "unequal"), (0.0, 0.2)))
    others = tuple(key for key in TESTS if key not in MAIN)
    jobs = [(Cell(30, s, r), others, ("cluster",), repetitions) for s, r in kinds]
    found = simulated(pool, jobs)
    names = [f"{s}, correlation {r:g}" for s, r in kinds]
    rows = [
        [name, *[entry(float(v), repetitions) for v in rates[0]]]
        for name, rates in zip(names, found, strict=True)
    ]
    return table(["data", *others], rows)


def variance_table(repetitions: int) -> str:
    """Power of sums of clusters by what is known of their variance."""
    grid = [
        (Cell(clusters, "equal", 0.0, 0.0, error), key)
        for clusters, a_little in ((30, ""), (100, "a little "))
        for error, key in (("too extreme", "brier"), ("too low", "calibration-in-the-large"))
        for error in (a_little + error,)
    ]
    grid += [
        (Cell(30, "equal", correlation), key) for correlation in (0.0, 0.2) for key in SCORES[::-1]
    ]
    rows = []
    for cell, key in grid:
        found = [cluster_sums(simulate(cell, seed), key) for seed in range(repetitions)]
        sums, null, products = (np.array(column) for column in zip(*found, strict=True))
        total, df = sums.sum(axis=1), cell.clusters - 1
        quantile, t = special.stdtrit(df, 1 - LEVEL / 2), total.mean() / total.std()
        known = special.ndtri(1 - LEVEL / 2)
        error = sums.std(axis=1, ddof=1) * math.sqrt(cell.clusters)
        rates = [
            np.mean(np.abs(total) > known * np.sqrt(null)),
            np.mean(np.abs(total) > known * total.std()),
            np.mean(np.abs(total) > quantile * error),
            1 - special.nctdtr(df, t, quantile) + special.nctdtr(df, t, -quantile),
            np.mean(np.abs(total) > quantile * np.sqrt(np.maximum(null + products, 1e-12))),
        ]
        name = f"{cell.error}, {cell.clusters} clusters, correlation {cell.correlation:g}"
        ratio = f"{np.var(total) / null.mean():.2f}"
        rows.append([name, key, ratio, *(f"{100 * rate:.1f}" for rate in rates)])
    header = ["data", "sum", "variance", "from the predictions", "true", "Student's t", "its bound"]
    return table([*header, "products"], rows, 2)


def cluster_sums(predictions: ct.Predictions, key: str) -> tuple[np.ndarray, float, float]:
    """Return the sums, their variance by the predictions, and products of rows of a cluster."""
    p = predictions.probs[:, 1]
    weight = 1 - 2 * p if key == "brier" else np.ones_like(p)
    residual = weight * (predictions.labels - p)
    sums = np.bincount(predictions.clusters, residual)
    null = float((np.square(weight) * p * (1 - p)).sum())
    return sums, null, float(np.square(sums).sum() - np.square(residual).sum())


def student(predictions: ct.Predictions, key: str) -> float:
    """Return the p-value of Student's t of the sums of clusters of a score."""
    p = predictions.probs[:, 1]
    weight = 1 - 2 * p if key == "brier" else 1.0
    sums = np.bincount(predictions.clusters, weight * (predictions.labels - p))
    t = sums.mean() / (sums.std(ddof=1) / math.sqrt(sums.size))
    return 2.0 * float(special.stdtr(sums.size - 1, -abs(t)))


def certified(cell: Cell, key: str, true: float, seeds: range) -> np.ndarray:
    """Return how often an error is certified to be below 1, 2 and 4 times itself, and by plain t.

    The floor of numbers of events, which can only lower the rates, is left out.
    """
    measure = certificate_measure(key)
    out = np.zeros((2, 3))
    for seed in seeds:
        predictions = simulate(cell, seed)
        clusters = Clusters.of(predictions)
        found = jackknife(measure, predictions, seed, clusters.codes)
        deviation = squared_deviation(measure, predictions, clusters, found)
        degrees = min(found.degrees, effective_count(clusters) - 1)
        for k, tau in enumerate((true, 2 * true, 4 * true)):
            out[0, k] += special.stdtr(degrees, deviation.z(tau)) <= LEVEL
            plain = (found.estimate - tau) / found.error
            out[1, k] += special.stdtr(found.degrees, plain) <= LEVEL
    return out


def certificate_measure(key: str) -> Measure:
    """Return a measure whose true value is known: its kernel has a fixed bandwidth."""
    return REGISTRY[key].with_options({"kernel": Exponential(WIDTH)} if key == "skce" else {})


def squared_error(key: str, error: str) -> float:
    """Return the squared error of a model."""
    if key == "skce":
        x = np.random.default_rng(5).normal(size=3000)
        return skce_of(x, truth(x, error), WIDTH)
    x = np.random.default_rng(6).normal(size=1_000_000)
    p = special.expit(x)
    cell = np.minimum((15 * p).astype(int), 14)
    size, gaps = np.bincount(cell), np.bincount(cell, truth(x, error) - p)
    return float(np.sum(gaps[size > 0] ** 2 / size[size > 0]) / x.size)


def certificate_table(pool: joblib.Parallel, repetitions: int) -> str:
    """Certificates of squared errors: false ones at the tolerance, and power."""
    rows = []
    errors = ("too low", "too extreme", "much too low")
    for key, error, clusters in itertools.product(CERTIFIED, errors, (10, 30, 100)):
        true = squared_error(key, error)
        some = repetitions // (2 if clusters == 100 else 1)
        parts = [range(i, min(i + 25, some)) for i in range(0, some, 25)]
        cell = Cell(clusters, "unequal", 0.2, 0.0, error)
        found = 100 * sum(pool(joblib.delayed(certified)(cell, key, true, s) for s in parts)) / some
        cells = [entry(float(v), some) for v in (*found[0], found[1, 0])]
        rows.append([key, f"{error}, {true:.4f}", str(clusters), *cells])
    header = ["measure", "model, error", "clusters", "at the tolerance", "half", "a quarter"]
    return table([*header, "plain t, at the tolerance"], rows, 2)


def independent_table(pool: joblib.Parallel, repetitions: int) -> str:
    """Size of the exact null where rows depend."""
    grid = list(itertools.product((30, 100), (0.05, 0.2, 0.5)))
    jobs = [(Cell(c, "unequal", r), SOME, ("exact",), repetitions // 2) for c, r in grid]
    found = simulated(pool, jobs)
    rows = [
        [f"{c} clusters, correlation {r:g}", *[entry(float(v), repetitions // 2) for v in rates[0]]]
        for (c, r), rates in zip(grid, found, strict=True)
    ]
    return table(["data", *SOME], rows)


def power_table(pool: joblib.Parallel, repetitions: int) -> str:
    """Power of the nulls, and of Student's t of the sums of clusters."""
    grid = [
        (30, "too extreme"),
        (30, "too low"),
        (100, "a little too extreme"),
        (100, "a little too low"),
    ]
    rows = []
    settings = [Cell(c, "equal", r, 0.0, e) for r in (0.0, 0.2) for c, e in grid]
    few, many = ("t", "cluster"), ("exact", "t", "cluster")
    jobs = [
        (
            cell,
            MAIN,
            few if cell.correlation else many,
            repetitions // (cell.clusters // 50 + 1),
        )
        for cell in settings
    ]
    names = {"t": "Student's t"}
    for job, rates in zip(jobs, simulated(pool, jobs), strict=True):
        cell = job[0]
        for way, line in zip(job[2], rates, strict=True):
            shown = [
                "" if way == "t" and key not in SCORES else entry(float(v), job[3])
                for key, v in zip(MAIN, line, strict=True)
            ]
            what = f"{cell.error}, {cell.clusters} clusters, correlation {cell.correlation:g}"
            rows.append([what, names.get(way, way), *shown])
    return table(["data", "null", *MAIN], rows, 2)


def rare_table(pool: joblib.Parallel, repetitions: int) -> str:
    """Size with few events, with and without the exact null."""
    tests = tuple(key for key in TESTS if key != "combined")
    grid = list(itertools.product((-4.0, -2.0), (0.0, 0.2)))
    jobs = [
        (Cell(30, "unequal", r, centre), tests, ("signs", "cluster"), repetitions // 2)
        for centre, r in grid
    ]
    rows = []
    for (centre, r), rates in zip(grid, simulated(pool, jobs), strict=True):
        x = np.random.default_rng(0).normal(centre, 1, 100_000)
        events = 300 * float(special.expit(x).mean())
        for way, line in zip(("signs alone", "cluster"), rates, strict=True):
            rows.append(
                [f"{events:.0f} events, correlation {r:g}, {way}", *[f"{v:.1f}" for v in line]]
            )
    return table(["data, null", *tests], rows)


def multipliers(kind: str, rng: np.random.Generator, clusters: int) -> np.ndarray:
    """Draw multipliers of clusters: signs, the six points of Webb, or normal ones."""
    if kind == "normal":
        return rng.normal(size=(999, clusters))
    points = np.sqrt([0.5, 1.0, 1.5]) if kind == "Webb" else np.ones(1)
    return rng.choice(np.concatenate([-points, points]), (999, clusters))


def multiplier_table(repetitions: int) -> str:
    """Size of kinds of multipliers for a sum, as it is and over its cluster-robust error."""
    rng = np.random.default_rng(1)
    kinds, rows = ("signs", "Webb", "normal"), []
    for clusters, centre in itertools.product((6, 10, 20, 50), (0.0, -3.0)):
        cell = Cell(clusters, "unequal", 0.2, centre)
        found = np.zeros((len(kinds), 2))
        for seed in range(repetitions):
            p = simulate(cell, seed)
            u = np.bincount(p.clusters, p.labels - p.probs[:, 1], clusters)
            for k, kind in enumerate(kinds):
                w = multipliers(kind, rng, clusters)
                sums, errors = np.abs(w @ u), np.sqrt(np.square(w) @ np.square(u))
                total, error = abs(u.sum()), math.sqrt(np.square(u).sum())
                extreme = [sums >= total - 1e-12, sums / errors >= total / error - 1e-12]
                found[k] += (1 + np.sum(extreme, axis=1)) / 1000 <= LEVEL
        rates = 100 * found.ravel() / repetitions
        rows.append([str(clusters), f"{centre:g}", *[entry(float(v), repetitions) for v in rates]])
    header = [f"{kind}, {what}" for kind in kinds for what in ("sum", "t")]
    return table(["clusters", "log odds", *header], rows)


def persistent(n: int, correlation: float, rng: np.random.Generator) -> np.ndarray:
    """Draw a series of standard normal values each of which depends on the one before."""
    noise = rng.normal(size=n + 200)
    x = np.zeros(n + 200)
    for i in range(1, n + 200):
        x[i] = correlation * x[i - 1] + math.sqrt(1 - correlation**2) * noise[i]
    return x[200:]


def forecasts(n: int, lag: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw persistent predictions, and labels that depend on each other up to `lag` steps apart."""
    rng = np.random.default_rng([n, lag, seed])
    x = persistent(n, 0.8, rng)
    latent = np.convolve(rng.normal(size=n + lag), np.ones(lag + 1), "valid") / math.sqrt(lag + 1)
    p = special.expit(x)
    return p, (special.ndtr(latent) < p).astype(int)


def time_rates(n: int, lag: int, seeds: range) -> np.ndarray:
    """Return how often tests of forecasts reject: exact, blocks, and for sums Bartlett weights."""
    warnings.simplefilter("ignore")
    out = np.zeros((3, len(OVER_TIME)))
    width = lag + 1
    gap = np.abs(np.arange(n)[:, None] - np.arange(n))
    root = np.linalg.cholesky(np.maximum(1 - gap / width, 0) + 1e-10 * np.eye(n))
    for seed in seeds:
        p, y = forecasts(n, lag, seed)
        rows = ct.Predictions(p, y)
        blocks = Dependence(time=np.arange(n), lag=lag).given_to(rows)
        w = np.random.default_rng(seed).normal(size=(B, n)) @ root.T
        for j, key in enumerate(OVER_TIME):
            out[0, j] += pvalue(key, rows, "exact", seed) <= LEVEL
            out[1, j] += pvalue(key, blocks, "cluster", seed) <= LEVEL
            if j < 2:
                terms = (y - p) * ((1 - 2 * p) if j == 0 else 1)
                out[2, j] += (1 + np.sum(np.abs(w @ terms) >= abs(terms.sum()))) / (B + 1) <= LEVEL
    return out


def time_table(pool: joblib.Parallel, repetitions: int) -> str:
    """Size for overlapping forecasts."""
    grid = [(100, 4), (250, 4), (1000, 4), (250, 0)]
    rows = []
    for n, lag in grid:
        some = repetitions // (4 if n == 1000 else 1)
        parts = [range(i, min(i + 25, some)) for i in range(0, some, 25)]
        found = 100 * sum(pool(joblib.delayed(time_rates)(n, lag, s) for s in parts)) / some
        for way, line in zip(("exact", "blocks", "Bartlett"), found, strict=True):
            kept = line if way != "Bartlett" else line[:2]
            cells = [entry(float(v), some) for v in kept] + [""] * (4 - len(kept))
            rows.append([str(n), str(lag), way, *cells])
    return table(["steps", "lag", "null", *OVER_TIME], rows, 3)


def fading_rates(correlation: float, n: int, lag: int, seeds: range) -> np.ndarray:
    """Return how often blocks reject where latent variables depend on all that were before."""
    warnings.simplefilter("ignore")
    out = np.zeros(len(OVER_TIME))
    for seed in seeds:
        rng = np.random.default_rng([n, round(100 * correlation), seed])
        p = special.expit(persistent(n, 0.8, rng))
        y = (special.ndtr(persistent(n, correlation, rng)) < p).astype(int)
        blocks = Dependence(time=np.arange(n), lag=lag).given_to(ct.Predictions(p, y))
        out += [pvalue(key, blocks, "cluster", seed) <= LEVEL for key in OVER_TIME]
    return out


def fading_table(pool: joblib.Parallel, repetitions: int) -> str:
    """Size for labels whose dependence fades and never ends, by the lag that is given."""
    some = [(0.5, n, lag) for n in (100, 1000) for lag in (1, 3)]
    grid = [*some, *((0.8, n, lag) for n in (100, 250, 1000) for lag in (4, 7, 10, 14))]
    rows = []
    for correlation, n, lag in grid:
        parts = [range(i, min(i + 25, repetitions)) for i in range(0, repetitions, 25)]
        job = joblib.delayed(fading_rates)
        found = 100 * sum(pool(job(correlation, n, lag, s) for s in parts)) / repetitions
        left, cells = (
            f"{correlation ** (lag + 1):.2f}",
            [entry(float(v), repetitions) for v in found],
        )
        count = n // block_length(n, lag)
        rows.append([f"{correlation:g}", str(n), str(lag), left, str(count), *cells])
    return table(["correlation", "steps", "lag", "left beyond it", "blocks", *OVER_TIME], rows, 5)


def covered(cell: Cell, key: str, true: float, seeds: range) -> np.ndarray:
    """Return how often intervals contain the true value: by clusters, and as if rows were alone."""
    warnings.simplefilter("ignore")
    out = np.zeros(2)
    for seed in seeds:
        predictions = simulate(cell, seed)
        result = ct.test_calibration(None, predictions, test=key, n_resamples=B, rng=seed)
        plain = ct.Predictions(predictions.probs, predictions.labels)
        other = ct.test_calibration(None, plain, test=key, n_resamples=B, rng=seed)
        out += [true in one.confidence_interval(n_resamples=B) for one in (result, other)]
    return out


def coverage_table(pool: joblib.Parallel, repetitions: int) -> str:
    """Coverage of intervals."""
    rows = []
    some = repetitions
    for error, key in itertools.product(("calibrated", "too extreme"), INTERVALS):
        x = np.random.default_rng(5).normal(size=20_000)
        # The labels' own noise is averaged out by both labels of a row, weighted by the truth.
        t = truth(x, error)
        weights = np.concatenate([1 - t, t])
        labels = np.repeat([0, 1], x.size)
        if key == "skce":
            true = skce_of(x, t, median_width(x, t))
        else:
            probs = np.tile(special.expit(x), 2)
            both = ct.Predictions(probs, labels, sample_weight=weights)
            bound = REGISTRY[key].with_options({}).bind(both)
            true = bound.estimate(bound.value())
        true = 0.0 if error == "calibrated" and key in {"skce", "ece", "ks"} else true
        parts = [range(i, min(i + 25, some)) for i in range(0, some, 25)]
        for correlation in (0.2,):
            cell = Cell(30, "unequal", correlation, 0.0, error)
            found = (
                100 * sum(pool(joblib.delayed(covered)(cell, key, true, s) for s in parts)) / some
            )
            rows.append([key, error, f"{correlation:g}", *[entry(float(v), some) for v in found]])
    return table(
        ["measure", "model", "correlation", "over clusters", "rows as if independent"], rows, 3
    )


def median_width(x: np.ndarray, t: np.ndarray) -> float:
    """Return the bandwidth of the SKCE for these rows."""
    some = ct.Predictions(special.expit(x[:3000]), (t[:3000] > 0.5).astype(int))
    bound = REGISTRY["skce"].with_options({}).bind(some)
    return float(str(bound.parameters["bandwidth"]).split()[0])


def skce_of(x: np.ndarray, t: np.ndarray, width: float) -> float:
    """Return the SKCE from the mean deviations."""
    p = special.expit(x[:3000])
    d = t[:3000] - p
    kernel = np.exp(-np.abs(p[:, None] - p) / width)
    return float(2 * (d @ kernel @ d - np.sum(d * d)) / (d.size * (d.size - 1)))


def write(name: str, text: str) -> None:
    """Write a table below the line that names it."""
    page = PAGE.read_text(encoding="utf-8")
    pattern = rf"(<!-- {name} -->\n)(?:\|.*\n)*"
    PAGE.write_text(re.sub(pattern, lambda m: m[1] + text + "\n", page), encoding="utf-8")


def main() -> None:
    """Simulate all tables, or those that are named."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="*")
    given = parser.parse_args()
    pool = joblib.Parallel(given.jobs)
    makers = {
        "multipliers": lambda: multiplier_table(5 * given.repetitions),
        "power": lambda: power_table(pool, given.repetitions),
        "variance": lambda: variance_table(10 * given.repetitions),
        "independent": lambda: independent_table(pool, given.repetitions),
        "time": lambda: time_table(pool, given.repetitions),
        "fading": lambda: fading_table(pool, given.repetitions),
        "coverage": lambda: coverage_table(pool, given.repetitions),
        "skewed": lambda: world_table(pool, WORLDS, 5 * given.repetitions // 2),
        "skewed-power": lambda: world_table(pool, WRONG, given.repetitions),
        "rare": lambda: rare_table(pool, given.repetitions),
        "size": lambda: size_table(pool, given.repetitions),
        "others": lambda: other_size_table(pool, given.repetitions),
        "certificates": lambda: certificate_table(pool, given.repetitions),
    }
    for name, make in makers.items():
        if not given.only or name in given.only:
            write(name, make())


if __name__ == "__main__":
    main()
