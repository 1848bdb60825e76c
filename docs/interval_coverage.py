"""Coverage of every confidence interval: simulates and writes docs/interval_coverage.md.

    python docs/interval_coverage.py [--repetitions 400] [--jobs 2]

The share of simulated data sets whose 95 % interval holds the true value, for `M1` (calibrated) and
`M2` of Widmann et al. (2019), and for labels drawn from the predictions at temperature 1.2.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import joblib
import numpy as np

import caltest as ct
from caltest.htests import REGISTRY
from caltest.intervals import choose

LEVEL = 0.95
N_RESAMPLES = 199
SIZES = (50, 250, 1000)
SCORES = ("brier", "log-loss")
TRUTH = 300_000  # rows of the sample that stands for the population
PAGE = Path(__file__).with_suffix(".md")
# Mean total variation distance of the predictions, and SKCE of M2 with it: shared/reference.
BANDWIDTH = {2: 0.4889275982237544, 10: 0.8274012122141459}
SKCE_OF_M2 = {2: 0.1016853, 10: 0.0893735}


@dataclass(frozen=True)
class Cell:
    """One row of the table."""

    test: str
    model: str
    m: int
    lens: str = "strong"
    alpha: float = 1.0
    pi: float = 0.5
    options: tuple[tuple[str, object], ...] = field(default=())

    @property
    def words(self) -> str:
        """The model with its share of labels that ignore the prediction."""
        return f"{self.model}, pi = {self.pi:g}" if self.model == "M2" else self.model


def simulate(cell: Cell, n: int, seed: int) -> ct.Predictions:
    """Draw a data set; "T1.2" draws labels from the predictions at temperature 1.2."""
    name = "M2" if cell.model == "M2" else "M1"
    pi = cell.pi if cell.model == "M2" else None
    shown = ct.datasets.generative_model(name, n=n, m=cell.m, alpha=cell.alpha, pi=pi, rng=seed)
    if cell.model != "T1.2":
        return shown
    tempered = shown.probs ** (1 / 1.2)
    tempered /= tempered.sum(axis=1, keepdims=True)
    labels = ct.Predictions(tempered, shown.labels).simulate(seed + 1_000_000).labels
    return ct.Predictions(shown.probs, labels)


def truth(cell: Cell) -> float:
    """Return the true value: in closed form for kernels, else that of a large sample."""
    root = cell.test in {"kce", "mmce"}
    if cell.model == "M1" and cell.test not in SCORES:
        return 0.0
    if cell.test.startswith(("skce", "kce")) and cell.model == "M2":
        square = SKCE_OF_M2[cell.m] * (cell.pi / 0.5) ** 2
        return float(np.sqrt(square)) if root else square
    data = simulate(cell, TRUTH, 10**7)
    return float(
        REGISTRY[cell.test].with_options(dict(cell.options)).evaluate(data, lens=cell.lens)
    )


def covered(cell: Cell, n: int, value: float, repetitions: int) -> tuple[float, ...]:
    """Return shares of intervals that hold the value, lie below and above it; length; number."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.DegenerateDataWarning)
        for seed in range(repetitions):
            data = simulate(cell, n, seed)
            options = {"lens": cell.lens, "n_resamples": 1, **dict(cell.options)}
            result = ct.test_calibration(data, test=cell.test, rng=seed, **options)
            try:
                interval = result.confidence_interval(LEVEL, n_resamples=N_RESAMPLES)
            except ct.NotApplicable:
                continue
            below, above = interval.high < value, interval.low > value
            length = interval.high - interval.low
            found.append((not (below or above), below, above, length))
    return (*np.mean(found, axis=0), len(found))


def cells() -> list[Cell]:
    """List the rows of the table."""
    kernels = {m: (("kernel", ct.kernels.Exponential(nu)),) for m, nu in BANDWIDTH.items()}
    found = [
        Cell(test, model, m, alpha=0.1, pi=pi, options=kernels[m])
        for test, m in itertools.product(("skce", "kce", "skce-block"), (2, 10))
        for model, pi in (("M1", 0.0), ("M2", 0.1), ("M2", 0.5))
    ]
    models = (("M1", 0.0), ("T1.2", 0.0), ("M2", 0.1), ("M2", 0.5))
    binary = ("mmce", "ece", "mce", "ks", "kuiper", "debiased-ece", "smooth-ece", *SCORES)
    found += [Cell(test, model, 2, pi=pi) for test in binary for model, pi in models]
    found += [Cell("classwise-ece", model, 3, pi=pi) for model, pi in models]
    found += [Cell("ece", model, 10, "confidence", pi=pi) for model, pi in models]
    return found


def row(cell: Cell, value: float, rates: list[tuple[float, ...]]) -> str:
    """Format one row: the method, the true value, and coverage (mean length) for every n."""
    entries = [f"{100 * rate[0]:.0f}{dagger(rate)} ({rate[3]:.2g})" for rate in rates]
    method = choose(REGISTRY[cell.test].with_options(dict(cell.options))).key
    head = (cell.test, method, cell.lens, str(cell.m), cell.words, f"{value:.3g}")
    return "| " + " | ".join((*head, *entries)) + " |"


def dagger(rate: tuple[float, ...]) -> str:
    """Mark a coverage more than three standard errors below the level."""
    return " †" if rate[0] < LEVEL - 3 * np.sqrt(LEVEL * (1 - LEVEL) / rate[4]) else ""


HEADER = """# Coverage of the confidence intervals

Coverage in % and, in brackets, mean length of `result.confidence_interval(0.95)` over
{repetitions} simulated data sets of n = 50, 250 and 1000 rows, with the default method of each
test and B = {b} resamples. The standard error of a coverage of 95 % is {error:.1f} points.

A dagger (†) marks a coverage more than three standard errors below 95 %: the interval is too short
there. More than 95 is conservative, the price of holding where the error is small.

M1 is calibrated: the true error is 0. M2 (Widmann et al. 2019) has a share pi of labels of the
first class. T1.2: labels drawn from the predictions at temperature 1.2. alpha is 0.1 for the tests
skce and kce, whose kernel is the exponential with the mean distance as bandwidth, so that the true
value is known; it is 1 for the others, whose true value is that of {truth:,} rows.

What the table shows:

- The plug-in ECE is biased upwards, and resampled rows add their own bias: in one setting
  (15 bins, two classes, n = 1000, log odds 0.9 times those predicted) percentile and
  bias-corrected intervals hold the true ECE in 0 % of 300 data sets, the basic bootstrap in 75 %.
  Hence "convex", by the triangle inequality below and Jensen's above, conservative at every error.
- The bootstrap of a supremum (KS, MCE) is not consistent at 0 and where two places attain it;
  "convex" needs neither.
- Few rows with rare and large errors (M2 with pi = 0.1 and two classes, n = 50: five rows) do not
  show how large the error can be. Every interval is too short there; those of blocks most, since a
  pair tells something only where both rows err. Prefer the test skce to skce-block.

The size of the tolerance tests at their boundary is in [tolerance.md](tolerance.md).

Made by `python docs/interval_coverage.py --repetitions {repetitions}` in {minutes:.0f} minutes.

| test | method | lens | m | model | true | n = 50 | n = 250 | n = 1000 |
|---|---|---|---:|---|---:|---:|---:|---:|
"""


def study(cell: Cell, repetitions: int) -> str:
    """Return one row of the table."""
    value = truth(cell)
    return row(cell, value, [covered(cell, n, value, repetitions) for n in SIZES])


def main() -> None:
    """Run the study and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    start = time.perf_counter()
    tasks = (joblib.delayed(study)(cell, arguments.repetitions) for cell in cells())
    rows = joblib.Parallel(n_jobs=arguments.jobs, verbose=1)(tasks)
    head = HEADER.format(
        repetitions=arguments.repetitions,
        b=N_RESAMPLES,
        error=100 * np.sqrt(LEVEL * (1 - LEVEL) / arguments.repetitions),
        truth=TRUTH,
        minutes=(time.perf_counter() - start) / 60,
    )
    PAGE.write_text(head + "\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
