"""Size and power of the tolerance tests: simulates and writes docs/studies/tolerance.md.

    python -P docs/studies/tolerance.py [--repetitions 500] [--jobs 2] [--keep FILE]
        [--only-write]

The models are off by a known function q(p) - p, so that their errors are known, up to an average
over a million predictions. A tolerance equal to the error is the boundary of both hypotheses. With
--keep, what FILE holds is not run again; with --only-write the page is written of what it holds.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import joblib
import numpy as np

import caltest as ct
from caltest.kernels.fitted import LineKernel

LEVEL = 0.05
N_RESAMPLES = 199  # 0.05 x 200 is whole
RARE_FROM = 0.5  # rates above are those of rare non-events
SIZES = (250, 2000)
KERNEL = ct.kernels.Exponential(bandwidth=0.3)
PAGE = Path(__file__).with_suffix(".md")


@dataclass(frozen=True)
class Model:
    """Binary predictions, and how far their true probabilities are off in units of a size."""

    name: str
    low: float
    high: float
    shape: Callable[[np.ndarray], np.ndarray]
    size: float

    def draw(self, rng: np.random.Generator, n: int, share: float = 1.0) -> tuple:
        """Draw predictions and true probabilities off by a share of the size."""
        p = rng.uniform(self.low, self.high, n)
        return p, p + share * self.size * self.shape((p - self.low) / (self.high - self.low))

    def sample(self, seed: int, n: int, share: float = 1.0) -> ct.Predictions:
        """Draw a data set."""
        rng = np.random.default_rng([seed, n])
        p, q = self.draw(rng, n, share)
        return ct.Predictions(p, (rng.random(n) < q).astype(int))


MODELS = (
    Model("all too low by .1", 0.1, 0.6, np.ones_like, 0.1),
    Model("all too low by .05", 0.1, 0.6, np.ones_like, 0.05),
    Model("first third too low by .1", 0.1, 0.6, lambda x: (x < 1 / 3) * 1.0, 0.1),
    Model("sine of .1, one wave", 0.2, 0.8, lambda x: np.sin(2 * np.pi * x), 0.1),
    Model("zigzag of .15, six teeth", 0.25, 0.75, lambda x: np.where(6 * x % 2 < 1, 1, -1), 0.15),
    Model("rare events, twice as many", 0.0, 0.04, lambda x: x, 0.04),
    Model(
        "zigzag of .25, fifty teeth",
        0.25,
        0.75,
        lambda x: np.where((50 * x + 0.5) % 2 < 1, 1, -1),
        0.25,
    ),
)


@dataclass(frozen=True)
class Case:
    """A test with its options, and its error for true probabilities."""

    name: str
    test: str
    error: Callable[[np.ndarray, np.ndarray], float]
    options: dict = field(default_factory=dict)
    is_ordered: bool = False  # whether the order of the rows matters


def skce_of(p: np.ndarray, q: np.ndarray) -> float:
    """SKCE of the kernel above: the mean of 2 k(p, p') (q - p)(q' - p') over pairs."""
    order = np.argsort(p)
    (scalar,) = ct.kernels.FittedKernel(
        ct.kernels.Scaled(KERNEL), np.column_stack([1 - p, p])[order]
    ).terms
    gap = (q - p)[order]
    return float(LineKernel(scalar, p[order]).row_sums(gap).sum() / (p.size * (p.size - 1)))


def ks_of(p: np.ndarray, q: np.ndarray) -> float:
    """Largest cumulative deviation."""
    return float(np.abs(np.cumsum((q - p)[np.argsort(p)])).max() / p.size)


def binned_of(edges_of: Callable[[np.ndarray], np.ndarray]) -> Callable:
    """Squared error over the bins between the edges."""

    def error(p: np.ndarray, q: np.ndarray) -> float:
        cell = np.searchsorted(edges_of(p), p)
        rows = np.bincount(cell)
        gap = np.bincount(cell, q - p)
        return float((gap[rows > 0] ** 2 / rows[rows > 0]).sum() / p.size)

    return error


CASES = (
    Case("skce", "skce", skce_of, {"kernel": KERNEL}),
    Case("skce-linear", "skce-linear", skce_of, {"kernel": KERNEL}, is_ordered=True),
    Case(
        "skce-block, 10",
        "skce-block",
        skce_of,
        {"kernel": KERNEL, "block_size": 10},
        is_ordered=True,
    ),
    Case("debiased-ece, uniform", "debiased-ece", binned_of(lambda _: np.arange(1, 15) / 15)),
    Case(
        "debiased-ece, quantile",
        "debiased-ece",
        binned_of(lambda p: np.quantile(p, np.arange(1, 15) / 15)),
        {"binning": "quantile"},
    ),
    Case("ks", "ks", ks_of),
)


@dataclass(frozen=True)
class Rare:
    """Rare events, of which the model misses some: in all rows, or in a few rows of their own.

    Attributes
    ----------
    rate : float
        P(Y = 1) of most rows; above a half it is the other class that is rare.
    n : int
    expected : float
        How many more of the rare events are expected than predicted.
    share : float
        The share of the rows that the errors are in, whose predicted risk is ten times as large.
    """

    rate: float
    n: int
    expected: float
    share: float = 1.0

    @property
    def risks(self) -> tuple[np.ndarray, np.ndarray]:
        """The predicted and the true risk of the rare event in each row."""
        rare = min(self.rate, 1.0 - self.rate)
        wrong = round(self.share * self.n)
        risk = np.full(self.n, rare)
        if self.share < 1:
            risk[:wrong] = min(10.0 * rare, 0.5)
        true = risk.copy()
        true[:wrong] += self.expected / wrong
        return risk, true

    @property
    def is_possible(self) -> bool:
        """Whether the rows with errors can have as many."""
        return round(self.share * self.n) > 0 and bool(self.risks[1].max() <= 0.99)

    def probabilities(self) -> tuple[np.ndarray, np.ndarray]:
        """Return predicted and true P(Y = 1)."""
        risk, true = self.risks
        return (1.0 - risk, 1.0 - true) if self.rate > RARE_FROM else (risk, true)

    def sizes(self, case: Case, repetitions: int) -> float:
        """Return how often the error is certified to be below what it is.

        The order of the rows is random. Tests that do not depend on it are run once for each pair
        of numbers of events, in the rows with errors and in the others.
        """
        p, q = self.probabilities()
        error, wrong = case.error(p, q), round(self.share * self.n)
        known: dict[tuple[int, ...], bool] = {}
        found = 0
        for seed in range(repetitions):
            rng = np.random.default_rng([seed, self.n])
            y = (rng.random(self.n) < q).astype(int)
            key = (int(y[:wrong].sum()), int(y[wrong:].sum()), seed if case.is_ordered else 0)
            if key not in known:
                order = rng.permutation(self.n)
                data = ct.Predictions(p[order], y[order], classes=[0, 1])
                known[key] = certifies(case, data, error, seed)
            found += known[key]
        return found / repetitions


def certifies(case: Case, data: ct.Predictions, tolerance: float, seed: int) -> bool:
    """Tell whether an error of at least the tolerance is rejected; never where none is testable."""
    try:
        return rejects(case, data, tolerance, seed, equivalence=True)
    except ct.NotApplicable:
        return False


EXPECTED = (3, 10, 30)
RARE = tuple(
    (rate, n, share)
    for rate in (1e-4, 0.001, 0.01, 0.05, 0.95, 0.99, 0.999, 0.9999)
    for n in (100, 1000, 10_000)
    for share in (1.0, 0.05, 0.01)
    if Rare(rate, n, EXPECTED[0], share).is_possible
)


@dataclass(frozen=True)
class Rates:
    """Shares of data sets in which H0 is rejected: those of a row, for one test.

    Attributes
    ----------
    row : tuple
        Event rate, n and share of a row of the first table; test, model and n of the second.
    case : str
        The test.
    values : tuple of float
        In the first table one for each number of expected errors, NaN where there is no room; in
        the second in the order of its columns.
    repetitions : int
        The number of data sets.
    """

    row: tuple
    case: str
    values: tuple[float, ...]
    repetitions: int


def true_error(case: Case, model: Model) -> float:
    """Return the error of a model, over a million predictions."""
    return case.error(*model.draw(np.random.default_rng(0), 1_000_000))


def rejects(
    case: Case, data: ct.Predictions, tolerance: float, seed: int, *, equivalence: bool
) -> bool:
    """Tell whether the hypothesis with a tolerance is rejected."""
    return bool(
        ct.test_calibration(
            data,
            test=case.test,
            tolerance=tolerance,
            equivalence=equivalence,
            n_resamples=N_RESAMPLES,
            rng=seed,
            **case.options,
        ).pvalue
        <= LEVEL
    )


def rates(case: Case, model: Model, n: int, repetitions: int) -> Rates:
    """Simulate both hypotheses on their boundary and away from it."""
    error = true_error(case, model)
    counts = np.zeros(4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.DegenerateDataWarning)
        for seed in range(repetitions):
            data = model.sample(seed, n)
            counts += (
                rejects(case, data, error, seed, equivalence=False),
                rejects(case, data, error, seed, equivalence=True),
                rejects(case, data, error / 2, seed, equivalence=False),
                rejects(case, model.sample(seed, n, 0.0), error, seed, equivalence=True),
            )
    return Rates((model.name, n), case.name, tuple(counts / repetitions), repetitions)


def rare_rates(case: Case, rate: float, n: int, share: float, repetitions: int) -> Rates:
    """Simulate the sizes for each number of expected errors."""
    settings = [Rare(rate, n, expected, share) for expected in EXPECTED]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.DegenerateDataWarning)
        found = [one.sizes(case, repetitions) if one.is_possible else math.nan for one in settings]
    return Rates((rate, n, share), case.name, tuple(found), repetitions)


def study(repetitions: int, jobs: int, keep: Path | None) -> dict[tuple, Rates]:
    """Simulate every test in every row of both tables, but for what is kept."""
    found = {(one.row, one.case): one for one in kept(keep)}
    tasks = [
        joblib.delayed(rare_rates)(case, *row, repetitions)
        for row, case in itertools.product(RARE, CASES)
        if (row, case.name) not in found
    ] + [
        joblib.delayed(rates)(case, model, n, repetitions)
        for case, model, n in itertools.product(CASES, MODELS, SIZES)
        if ((model.name, n), case.name) not in found
    ]
    workers = joblib.Parallel(jobs or 1, return_as="generator_unordered", verbose=1)
    for one in workers(tasks if jobs else ()):
        found[one.row, one.case] = one
        if keep is not None:
            with keep.open("a") as file:
                file.write(json.dumps(asdict(one)) + "\n")
    return found


def kept(keep: Path | None) -> Iterable[Rates]:
    """Read the file of an earlier run."""
    if keep is not None and keep.exists():
        for line in keep.read_text().splitlines():
            one = json.loads(line)
            yield Rates(tuple(one["row"]), one["case"], tuple(one["values"]), one["repetitions"])


def rare_table(found: dict[tuple, Rates]) -> list[str]:
    """Format the sizes with rare events in %."""
    names = " | ".join(case.name for case in CASES)
    lines = [f"| event rate | n | rows with errors | data sets | {names} |"]
    lines.append("|---:|---:|---|---:|" + "---|" * len(CASES))
    for row in RARE:
        some = [found.get((row, case.name)) for case in CASES]
        if not any(some):
            continue
        rate, n, share = row
        where = "all" if share == 1 else f"{share:.0%}, risk ten times as large"
        numbers = sorted({one.repetitions for one in some if one is not None})
        cells = [sizes_of(one) for one in some]
        sets = " to ".join(map(str, numbers[:: max(len(numbers) - 1, 1)]))
        lines.append(f"| {rate:g} | {n} | {where} | {sets} | " + " | ".join(cells) + " |")
    return lines


def sizes_of(one: Rates | None) -> str:
    """Format the three sizes of a cell; nothing where they were not run."""
    return "" if one is None else " · ".join(size_cell(v, one.repetitions) for v in one.values)


def size_cell(size: float, repetitions: int) -> str:
    """Format a size in %; a dagger marks one that is too large."""
    if math.isnan(size):
        return "-"
    limit = LEVEL + 2 * np.sqrt(LEVEL * (1 - LEVEL) / repetitions)
    return f"{100 * size:.1f}" + (" †" if size > limit else "")


def table(found: dict[tuple, Rates]) -> list[str]:
    """Format the rates in %; a dagger marks a size that is too large."""
    head = "| test | model | error | n | size, at most | size, at least "
    head += "| power, at most half | power, at least: calibrated |"
    lines = [head, "|---|---|---:|---:|---:|---:|---:|---:|"]
    for case, model, n in itertools.product(CASES, MODELS, SIZES):
        one = found.get(((model.name, n), case.name))
        if one is None:
            continue
        cells = [size_cell(value, one.repetitions) for value in one.values[:2]]
        cells += [f"{100 * value:.1f}" for value in one.values[2:]]
        head = f"| {case.name} | {model.name} | {true_error(case, model):.2g} | {n} | "
        lines.append(head + " | ".join(cells) + " |")
    return lines


HEADER = """# Tolerance tests: size at the boundary, and power

The entries are rejections in % of simulated data sets at level 5 %. A {{term}}`tolerance` is the
true error of the model: there both hypotheses, "the error is at most the tolerance" and "at least
the tolerance", hold on their boundary, so that 5 is right and less is conservative. A dagger (†)
marks a size more than two standard errors above 5 %: these are 1.0 point for 500 data sets, and 1.5
for 200. The kernel is exponential with bandwidth 0.3; KS takes B = {b} resamples.

`python -P docs/studies/tolerance.py` makes the tables anew, with as many data sets for every entry.

## Rare events: false certificates

The model predicts that events (or non-events, where the rate is above a half) are rare, and misses
3, 10 or 30 of those that are expected, in all rows or in a few: the three sizes of a cell are those
of "at least", which certify that the error is smaller than it is. A hyphen marks more events than
the rows have room for, and an empty cell was not run. Sizes below 5 % are what whole numbers of
events allow: with three expected, only none at all speaks for fewer. Rows of the table that are not
there, such as errors in a few of 1000 rows with rare non-events, were not run.

"""

ORDINARY = """
## Known errors: both hypotheses, and power

The models are off by a known function of the prediction, and predictions are uniform on an
interval. The last two columns are power: against a tolerance of half the error, and of "at least"
for a calibrated model. Each entry has {sets} data sets.

"""


def page(found: dict[tuple, Rates]) -> str:
    """Write the page of what was simulated."""
    second = {one.repetitions for one in found.values() if len(one.values) > len(EXPECTED)}
    ordinary = ORDINARY.format(sets=" to ".join(str(sets) for sets in sorted(second)))
    return HEADER.format(b=N_RESAMPLES) + "\n".join(
        [*rare_table(found), ordinary + "\n".join(table(found)), ""]
    )


def main() -> None:
    """Run the study and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--only-write", action="store_true")
    arguments = parser.parse_args()
    jobs = 0 if arguments.only_write else arguments.jobs
    PAGE.write_text(page(study(arguments.repetitions, jobs, arguments.keep)))


if __name__ == "__main__":
    main()
