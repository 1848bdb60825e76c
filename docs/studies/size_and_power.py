"""Size and power of every test under every null: simulates and writes the page beside this file.

    python -P docs/studies/size_and_power.py [--repetitions 400] [--jobs 2]
        [--keep FILE [--only-write]]

Calibrated: M1 of Widmann et al. (2019). Miscalibrated: M2, M3 and labels from the predictions at
temperature 1.2. Every rate is over simulated data sets, each tested at level 5 %. With --keep, what
FILE holds is not run again, so that the study can be interrupted; with --only-write the page is
written of what it holds.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
import warnings
from dataclasses import asdict, dataclass, replace
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
PATIENCE = 1.0  # CPU seconds; a test that takes longer is left out
FEW, BUDGET = 20, 10.0  # data sets, and CPU seconds that a rate may take once it has as many
SLOW_NULLS = {"consistency": 60, "bootstrap": 200}  # data sets, at most
SAME = {"skce-linear": "skce-block", "unreliability": "cox"}  # the same p-values, run once
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

    def __lt__(self, other: Cell) -> bool:
        """Put size before power, and the slow null last."""
        return self._order < other._order

    @property
    def _order(self) -> tuple[bool, int]:
        return self.null == "consistency", MODELS.index(self.model)


@dataclass(frozen=True)
class Rate:
    """How many of the data sets had a p-value, how many had none, and how many were rejected."""

    asked: int
    done: int
    missing: int
    rejected: int

    @property
    def percent(self) -> float:
        """The share of rejections."""
        return 100 * self.rejected / self.done

    @property
    def too_large(self) -> bool:
        """Whether it is more than three standard errors above the level."""
        return self.rejected / self.done > LEVEL + 3 * np.sqrt(LEVEL * (1 - LEVEL) / self.done)


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
    for lens, n in itertools.product(("strong", "confidence"), SIZES[:2]):
        try:
            run(simulate("M1", n, m, 0), test, null, lens, 0)
        except ct.NotApplicable:
            continue
        return lens
    return None


def run(predictions: ct.Predictions, test: str, null: str, lens: str, seed: int) -> float:
    """Return one p-value."""
    return ct.test_calibration(
        predictions, test=test, null=null, lens=lens, n_resamples=N_RESAMPLES, rng=seed
    ).pvalue


def rejection_rate(cell: Cell, repetitions: int) -> tuple[Cell, Rate]:
    """Test simulated data sets, none where one test takes too long."""
    rejected, done, missing, start = 0, 0, 0, time.process_time()
    slow = seconds_of(cell) > PATIENCE
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.DegenerateDataWarning)
        for seed in range(0 if slow else repetitions):
            data = simulate(cell.model, cell.n, cell.m, seed)
            try:
                rejected += run(data, cell.test, cell.null, cell.lens, seed) <= LEVEL
                done += 1
            except ct.NotApplicable:
                missing += 1
            if done >= FEW and is_enough(cell, rejected == done, time.process_time() - start):
                break
    return cell, Rate(repetitions, done, missing, rejected)


def is_enough(cell: Cell, all_rejected: bool, seconds: float) -> bool:  # noqa: FBT001
    """Tell whether a rate has taken long, or is a power that is plainly near 100 %."""
    return seconds > BUDGET or (all_rejected and cell.model != "M1")


def seconds_of(cell: Cell) -> float:
    """Time one test by the CPU, its compilation left out."""
    data = simulate("M1", cell.n, cell.m, 0)
    for _ in range(2):
        start = time.process_time()
        try:
            run(data, cell.test, cell.null, cell.lens, 0)
        except ct.NotApplicable:
            return 0.0
    return time.process_time() - start


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


def measured(grid: list[Cell], repetitions: int, jobs: int, keep: Path | None) -> dict[Cell, Rate]:
    """Return the rates of all cells, and run those that are not kept; with no jobs, none."""
    alone = {cell: replace(cell, test=SAME.get(cell.test, cell.test)) for cell in grid}
    wanted = {cell: repetitions_for(cell, repetitions) for cell in alone.values()}
    kept = kept_rates(keep)
    rates = {c: kept[c] for c, asked in wanted.items() if c in kept and kept[c].asked == asked}
    tasks = (
        joblib.delayed(rejection_rate)(cell, wanted[cell])
        for cell in sorted(wanted)
        if cell not in rates
    )
    workers = joblib.Parallel(jobs or 1, return_as="generator_unordered", batch_size=1, verbose=1)
    for cell, rate in workers(tasks if jobs else ()):
        rates[cell] = rate
        if keep is not None:
            with keep.open("a") as file:
                file.write(json.dumps({"cell": asdict(cell), "rate": asdict(rate)}) + "\n")
    return {cell: rates[other] for cell, other in alone.items() if other in rates}


def kept_rates(keep: Path | None) -> dict[Cell, Rate]:
    """Read the file of a run that was interrupted."""
    if keep is None or not keep.exists():
        return {}
    lines = [json.loads(line) for line in keep.read_text().splitlines()]
    return {Cell(**line["cell"]): Rate(**line["rate"]) for line in lines}


def row(test: str, null: str, m: int, rates: dict[Cell, Rate]) -> str:
    """Format the rates of one test under one null; a dagger marks a size that is too large."""
    lens = next(c.lens for c in rates if (c.test, c.null, c.m) == (test, null, m))
    grid = itertools.product(MODELS, SIZES)
    entries = [entry(model, rates.get(Cell(test, null, lens, model, n, m))) for model, n in grid]
    return f"| {test} | {null} | {lens} | " + " | ".join(entries) + " |"


def entry(model: str, rate: Rate | None) -> str:
    """Format one rate; nothing where it was not run."""
    if rate is None:
        return ""
    if rate.done == 0:
        return "-"
    mark = " †" if model == "M1" and rate.too_large else ""
    return f"{rate.percent:.0f}{'°' * (rate.missing > 0)}{mark}"


def unfinished(rates: dict[Cell, Rate]) -> str:
    """Say how many rates were not run, if any."""
    rows = {(cell.test, cell.null, cell.m) for cell in rates}
    left = len(rows) * len(MODELS) * len(SIZES) - len(rates)
    return f"\n{left} fields are empty: they were not run.\n" if left else ""


def page(rates: dict[Cell, Rate], repetitions: int) -> str:
    """Write the whole page."""
    head = [f"{model}, {n}" for model, n in itertools.product(MODELS, SIZES)]
    settings = {"repetitions": repetitions, "few": FEW, "budget": BUDGET, "b": N_RESAMPLES}
    lines = [HEADER.format(**settings) + unfinished(rates)]
    for m in CLASSES:
        lines += [f"## m = {m} classes\n", "| test | null | lens | " + " | ".join(head) + " |"]
        lines.append("|---|---|---|" + "---:|" * len(head))
        keys = dict.fromkeys((cell.test, cell.null) for cell in rates if cell.m == m)
        lines += [row(test, null, m, rates) for test, null in keys]
        lines.append("")
    return "\n".join([*lines, REASONS])


HEADER = """# Size and power of every test

The entries are rejections in % of simulated data sets at level 5 %, for n = 50, 250 and 2000.
Column M1 is size: the predictions are calibrated, so that 5 is right and less is conservative.
Columns M2, M3 (Widmann et al. 2019, section 7) and T1.2 (labels drawn from the predictions at
temperature 1.2, a mild overconfidence) are power: more is better. Sizes of the tests with
`tolerance=` are in [tolerance.md](tolerance.md), those of grouped tests and rating grades on other
data in [risk_groups_and_grades.md](risk_groups_and_grades.md).

A dagger (†) marks a size more than three standard errors above 5 %: that null fails there, for the
reason given below the tables. The binomial standard error of a rate of 5 % over N data sets is 22 /
sqrt(N) points: 1.8 for N = 150, 2.8 for N = 60, 3.6 for N = 37, 4.0 for N = 30.

Column M1 has {repetitions} data sets (n = 2000: a quarter; bootstrap at most 200; consistency at
most 60, and 30 for n = 2000), the others half as many. A rate ends after {few} data sets where it
has taken {budget:.0f} seconds, or where it is a power and all were rejected. There are B = {b}
resamples. A dash stands where a null is not defined at this n, or where one test takes more than a
second. A ring (°) says that some of the data sets have no p-value, as with separated classes under
the asymptotic null of the calibration belt, or where every bin of the debiased ECE holds a single
row; the rate is then that of the others. The p-values of "skce-linear" are those of "skce-block",
and those of "unreliability" are those of "cox": they are run once.

`python -P docs/studies/size_and_power.py --repetitions {repetitions}` reproduces the tables.
"""
REASONS = """## Why some sizes are too large

- "cox", "unreliability" and "calibration-slope", asymptotic, two classes, n = 50: the predictions
  of M1 are Beta(0.1, 0.1), so near 0 or 1 that 50 of them are as informative as 8 predictions of
  1/2: sum p (1 - p) = 2.1. That is too little for a limiting distribution with one or two
  parameters. At n = 250 it holds.
- "cme", asymptotic: T^2 has the inverse of an estimated covariance matrix, which the chi^2 limit
  treats as known. It needs about 1000 rows for each test location, and the result says so.
- "ece" and "classwise-ece", consistency, ten classes: rows are drawn with replacement, and copies
  of a row fall into one bin, in which the row was alone. Their deviations average out, so that the
  resamples show less error than the data. The exact null keeps the rows.

## Why some sizes are too small

- "distribution-free": it is an upper bound on the p-value that holds for every model.
- "confidence-band", closed-form: the error probabilities of all blocks are added (Bonferroni); the
  exact null of the same statistic is not conservative.
- "e-likelihood-ratio" and "e-hosmer-lemeshow": 1 / e is a p-value by Markov's inequality, which
  also holds for products and means of e-values, and costs power for one test by itself.
- "binomial", "jeffreys" and "normal", closed-form or asymptotic: they take the rows for one grade
  with one PD, and events vary less where predictions differ. "vasicek" moreover assumes correlated
  defaults, here with Basel's correlation for corporates, and these are independent.
- "binomial", "jeffreys" and "normal", consistency, two classes: their statistic is the number of
  events, which varies with the predictions too when rows are drawn with replacement.
- "hosmer-lemeshow", asymptotic, ten classes: predictions differ within the groups.

Tests of grades look for more events than predicted, and use only their number. Where the event is
that the most likely class is right, M2, M3 and T1.2 have fewer events than predicted, which such a
test does not see; T1.2 with two classes has as many of each class as predicted.

## Hosmer-Lemeshow: where the chi-square limit fails

With fewer than about two expected events in a group the test rejects too often (8 % where 0.2 to 2
are expected, 17 % where 0.02 to 0.2 are). The wrong degrees of freedom give wrong sizes: g - 2 on
other data 11 to 13 %, g on the sample that the model was fitted to 2 %. The exact null keeps the
level where the chi^2 limit does not, for data that the model was not fitted to. The numbers, with
those of Pigeon and Heyse, of le Cessie and van Houwelingen and of the tests of rating grades under
correlated defaults, are in [risk_groups_and_grades.md](risk_groups_and_grades.md).
"""


def main() -> None:
    """Run the study and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--only-write", action="store_true")
    arguments = parser.parse_args()
    grid = cells()
    jobs = 0 if arguments.only_write else arguments.jobs
    rates = measured(grid, arguments.repetitions, jobs, arguments.keep)
    PAGE.write_text(page(rates, arguments.repetitions))


if __name__ == "__main__":
    main()
