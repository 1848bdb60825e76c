"""Size and power of every test under every null: simulates and writes docs/size_and_power.md.

    python docs/size_and_power.py [--repetitions 400] [--jobs 2]

Calibrated: M1 of Widmann et al. (2019). Miscalibrated: M2, M3 and labels from the predictions at
temperature 1.2. Every rate is over simulated data sets, each tested at level 5 %.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import joblib
import numpy as np

import caltest as ct
from caltest.htests import REGISTRY
from caltest.nulls import REGISTRY as NULLS

LEVEL = 0.05
N_RESAMPLES = 199  # 0.05 x 200 is whole, so that the exact null can have size 5 %
SIZES = (50, 250, 2000)
CLASSES = (2, 10)
MODELS = ("M1", "M2", "M3", "T1.2")
PATIENCE = 1.0  # seconds; a test that takes longer is left out
SLOW_NULLS = {"consistency": 60, "bootstrap": 200}  # data sets, at most
PAGE = Path(__file__).with_suffix(".md")


@dataclass(frozen=True)
class Cell:
    """One rate of the table."""

    test: str
    null: str
    lens: str
    model: str
    n: int
    m: int


def simulate(model: str, n: int, m: int, seed: int) -> ct.Predictions:
    """Draw a data set; "T1.2" draws labels from the predictions at temperature 1.2."""
    if model != "T1.2":
        return ct.datasets.generative_model(model, n=n, m=m, rng=seed)
    shown = ct.datasets.generative_model("M1", n=n, m=m, rng=seed)
    tempered = shown.probs ** (1 / 1.2)
    tempered /= tempered.sum(axis=1, keepdims=True)
    labels = ct.Predictions(tempered, shown.labels).simulate(seed + 1_000_000).labels
    return ct.Predictions(shown.probs, labels)


def lens_for(test: str, null: str, m: int) -> str | None:
    """Take the strong lens, the confidence where a test needs two classes, None where neither."""
    predictions = simulate("M1", 50, m, 0)
    for lens in ("strong", "confidence"):
        try:
            run(predictions, test, null, lens, 0)
        except ct.NotApplicable:
            continue
        return lens
    return None


def run(predictions: ct.Predictions, test: str, null: str, lens: str, seed: int) -> float:
    """Return one p-value."""
    return ct.test_calibration(
        predictions, test=test, null=null, lens=lens, n_resamples=N_RESAMPLES, rng=seed
    ).pvalue


def rejection_rate(cell: Cell, repetitions: int) -> tuple[float, int]:
    """Return the share of data sets that are rejected at the level, and their number."""
    rejected, done = 0, 0
    if seconds_of(cell) > PATIENCE:
        return float("nan"), 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.DegenerateDataWarning)
        for seed in range(repetitions):
            data = simulate(cell.model, cell.n, cell.m, seed)
            try:
                rejected += run(data, cell.test, cell.null, cell.lens, seed) <= LEVEL
            except ct.NotApplicable:
                continue
            done += 1
    return (rejected / done if done else float("nan")), done


def seconds_of(cell: Cell) -> float:
    """Time one test, its compilation left out."""
    data = simulate("M1", cell.n, cell.m, 0)
    for _ in range(2):
        start = time.perf_counter()
        try:
            run(data, cell.test, cell.null, cell.lens, 0)
        except ct.NotApplicable:
            return 0.0
    return time.perf_counter() - start


def repetitions_for(cell: Cell, repetitions: int) -> int:
    """Spend fewer data sets where each is expensive or the answer is plain."""
    most = min(repetitions, SLOW_NULLS.get(cell.null, repetitions))
    if cell.n > 250:
        most = min(most, 30 if cell.null == "consistency" else max(repetitions // 4, 1))
    return most if cell.model == "M1" else max(most // 2, 1)


def cells() -> list[Cell]:
    """List all rates: tests x applicable nulls x models x n x m."""
    found = []
    for (test, named), m in itertools.product(REGISTRY.items(), CLASSES):
        for null in (key for key in NULLS if key in named.nulls):
            lens = lens_for(test, null, m)
            if lens is None:
                continue
            grid = itertools.product(MODELS, SIZES)
            found += [Cell(test, null, lens, model, n, m) for model, n in grid]
    return found


def row(test: str, null: str, m: int, rates: dict[Cell, tuple[float, int]]) -> str:
    """Format the rates of one test under one null; a dagger marks a size that is too large."""
    lens = next(c.lens for c in rates if (c.test, c.null, c.m) == (test, null, m))
    entries = []
    for model, n in itertools.product(MODELS, SIZES):
        rate, done = rates[Cell(test, null, lens, model, n, m)]
        entries.append("-" if done == 0 else f"{100 * rate:.0f}{dagger(model, rate, done)}")
    return f"| {test} | {null} | {lens} | " + " | ".join(entries) + " |"


def dagger(model: str, rate: float, done: int) -> str:
    """Mark a size more than three standard errors above the level."""
    return " †" if model == "M1" and rate > LEVEL + 3 * np.sqrt(LEVEL * (1 - LEVEL) / done) else ""


def page(rates: dict[Cell, tuple[float, int]], repetitions: int, seconds: float) -> str:
    """Write the whole page."""
    head = [f"{model}, {n}" for model, n in itertools.product(MODELS, SIZES)]
    lines = [HEADER.format(repetitions=repetitions, minutes=seconds / 60, b=N_RESAMPLES)]
    for m in CLASSES:
        lines += [f"## m = {m} classes\n", "| test | null | lens | " + " | ".join(head) + " |"]
        lines.append("|---|---|---|" + "---:|" * len(head))
        keys = dict.fromkeys((cell.test, cell.null) for cell in rates if cell.m == m)
        lines += [row(test, null, m, rates) for test, null in keys]
        lines.append("")
    return "\n".join(lines)


HEADER = """# Size and power of every test

Rejections in % of simulated data sets at level 5 %, for n = 50, 250 and 2000. Column M1 is size:
the predictions are calibrated, and 5 is right, less is conservative. Columns M2, M3 (Widmann et al.
2019, section 8) and T1.2 (labels drawn from the predictions at temperature 1.2, a mild
overconfidence) are power: more is better.

A dagger (†) marks a size more than three standard errors above 5 %: that null fails there. The
binomial standard error of a rate of 5 % over N data sets is 22 / sqrt(N) points: 1.8 for N = 150,
2.8 for N = 60, 3.6 for N = 37, 4.0 for N = 30.

Data sets in a column M1: {repetitions} (n = 2000: a quarter; bootstrap at most 200; consistency at
most 60, and 30 for n = 2000); half as many in the others. B = {b} resamples. A dash stands where a
null has no meaning at this n, or one test takes more than a second.

Made by `python docs/size_and_power.py --repetitions {repetitions}` in {minutes:.0f} minutes.
"""


def main() -> None:
    """Run the study and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    start = time.perf_counter()
    grid = cells()
    tasks = (
        joblib.delayed(rejection_rate)(cell, repetitions_for(cell, arguments.repetitions))
        for cell in grid
    )
    values = joblib.Parallel(n_jobs=arguments.jobs, verbose=1)(tasks)
    rates = dict(zip(grid, values, strict=True))
    PAGE.write_text(page(rates, arguments.repetitions, time.perf_counter() - start))


if __name__ == "__main__":
    main()
