"""Family-wise error and power of the test of segments: writes docs/studies/segments.md.

    python -P docs/studies/segments.py [--sizes 1000] [--powers 300] [--jobs 2]

All segments that a scan of the columns proposes are tested. In the first table the predictions are
right; in the second they are wrong by 10 percentage points in one slice of 2 % of the rows.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import joblib
import numpy as np
from scipy.stats import norm

import caltest as ct

LEVEL = 0.05
GAP, SHARE = 0.1, 0.02
PAGE = Path(__file__).with_suffix(".md")
Draw = Callable[[np.random.Generator, int], np.ndarray]
Columns = dict[str, np.ndarray]


@dataclass(frozen=True)
class Calibrated:
    """Two columns of four values and two of numbers, and labels drawn from the predictions."""

    title: str
    n: int
    draw: Draw
    data_sets: float = 1.0  # share of those that were asked for

    def outcome(self, seed: int) -> tuple[float, bool]:
        """Return the number of segments, and whether any is rejected."""
        rng = np.random.default_rng([seed, 9])
        p = self.draw(rng, self.n)
        p = np.column_stack([1 - p, p]) if p.ndim == 1 else p
        labels = (rng.random((self.n, 1)) > p.cumsum(axis=1)[:, :-1]).sum(axis=1)
        columns = {f"c{j}": rng.integers(0, 4, self.n).astype(str) for j in range(2)}
        columns |= {f"x{j}": rng.normal(size=self.n) for j in range(2)}
        least = {8: 2, 50: 8}.get(self.n, 20)
        found = ct.test_segments(
            p, labels, features=columns, min_size=least, n_resamples=99, rng=seed
        )
        return float(sum(found.n_segments)), bool(found.pvalue <= LEVEL)


@dataclass(frozen=True)
class Planted:
    """Four columns of numbers and two of seven values; a slice of two columns is wrong."""

    title: str
    draw: Draw
    sign: int  # of observed less predicted
    ends: str  # of the corner: "fixed", "random", or "values" for a cell of two values
    n: int = 10_000

    def slice_of(self, rng: np.random.Generator, columns: Columns) -> np.ndarray:
        """Return the rows that are wrong, about 2 %."""
        if self.ends == "values":
            return (columns["a"] == 0) & (columns["b"] == 0)
        first = np.sqrt(SHARE)
        if self.ends == "random":
            first = np.exp(rng.uniform(np.log(0.08), np.log(0.25)))
        return (columns["x0"] > norm.isf(first)) & (columns["x1"] < -norm.isf(SHARE / first))

    def outcome(self, seed: int) -> tuple[bool, bool, bool]:
        """Tell whether the slice is rejected, any segment, and the slice by one who is told it."""
        rng = np.random.default_rng([seed, 77])
        columns = {f"x{j}": rng.normal(size=self.n) for j in range(4)}
        columns |= {name: rng.integers(0, 7, self.n) for name in "ab"}
        wrong = self.slice_of(rng, columns)
        p = self.draw(rng, self.n)
        truth = np.clip(p + self.sign * GAP * wrong, 0, 1)
        labels = (rng.random(self.n) < truth).astype(int)
        text = {key: np.char.add(key, columns[key].astype(str)) for key in "ab"}
        found = ct.test_segments(
            p, labels, features=columns | text, n_resamples=199, rng=seed, keep=50
        )
        names = ("a", "b") if self.ends == "values" else ("x0", "x1")
        hits = (
            row.adjusted <= LEVEL
            and row.depth == 2
            and all(name in row.definition for name in names)
            for row in found
        )
        alone = ct.test_calibration(
            p[wrong], labels[wrong], test="calibration-in-the-large", null="convolution"
        )
        told = alone.pvalue <= LEVEL / sum(found.n_segments)
        return any(hits), bool(found.pvalue <= LEVEL), bool(told)


def risks(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return risks of 5 % on average."""
    return rng.beta(1, 19, n)


SIZES = (
    Calibrated("uniform", 8, lambda rng, n: rng.random(n)),
    Calibrated("beta(2, 5)", 50, lambda rng, n: rng.beta(2, 5, n)),
    Calibrated("rare events, beta(.3, 3)", 50, lambda rng, n: rng.beta(0.3, 3, n)),
    Calibrated("confidence, 3 classes", 50, lambda rng, n: rng.dirichlet(np.ones(3), n)),
    Calibrated("beta(2, 5)", 500, lambda rng, n: rng.beta(2, 5, n), 0.5),
)
POWERS = (
    Planted("corner of two numbers, risks", risks, 1, "fixed"),
    Planted("corner, confidences", lambda rng, n: rng.beta(9, 0.6, n), -1, "fixed"),
    Planted("corner with random ends, risks", risks, 1, "random"),
    Planted("cell of two values, risks", risks, 1, "values"),
)


def main() -> None:
    """Simulate and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, default=1000)
    parser.add_argument("--powers", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    parallel = joblib.Parallel(n_jobs=arguments.jobs)
    sizes, powers = [], []
    for case in SIZES:
        count = int(arguments.sizes * case.data_sets)
        segments, rejected = np.mean(
            parallel(joblib.delayed(case.outcome)(seed) for seed in range(count)), axis=0
        )
        error = 100 * np.sqrt(LEVEL * (1 - LEVEL) / count)
        cells = (case.n, case.title, f"{segments:.0f}", f"{100 * rejected:.1f}", f"{error:.1f}")
        sizes.append("| " + " | ".join(map(str, cells)) + " |")
    for slice_ in POWERS:
        found = parallel(joblib.delayed(slice_.outcome)(seed) for seed in range(arguments.powers))
        rates = " | ".join(f"{100 * rate:.0f}" for rate in np.mean(found, axis=0))
        powers.append(f"| {slice_.title} | {rates} |")
    command = f"--sizes {arguments.sizes} --powers {arguments.powers}"
    PAGE.write_text(page(sizes, powers, arguments.powers, command), encoding="utf-8")


def page(sizes: list[str], powers: list[str], count: int, command: str) -> str:
    """Return the page."""
    size_rows, power_rows = "\n".join(sizes), "\n".join(powers)
    error = 100 * 0.5 / np.sqrt(count)
    return f"""\
# Segments: family-wise error and power

How often does {{py:obj}}`caltest.test_segments` reject a segment of a calibrated model, and how
often does it find one slice that is wrong? No segments are named: a scan proposes those of all
columns, and their intersections. `python -P docs/studies/segments.py {command}` writes this page.

## Family-wise error

Predictions are right in all segments. Two columns have four values, two are numbers. B = 99, level
5 %; entries are percentages of data sets.

| n | predictions | segments | rejected | standard error |
|---:|---|---:|---:|---:|
{size_rows}

## Power

10,000 rows, four columns of numbers and two of seven values; in a slice of 2 % of the rows the
predictions are 10 percentage points off. B = 199, level 5 %; percentages of {count} data sets, with
standard errors of at most {error:.1f}. *The slice* counts rejected segments of the two columns of
the slice, *any* all rejected segments, and *known* is the exact test of the number of events of
the slice alone, known beforehand, at the level divided by the number of segments.

| slice | the slice | any | known |
|---|---:|---:|---:|
{power_rows}
"""


if __name__ == "__main__":
    main()
