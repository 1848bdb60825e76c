"""Power of the SKCE under bandwidth rules: simulates and writes the page beside this file.

    python -P docs/studies/bandwidths.py --data DIR [--repetitions 200] [--jobs 2] [--keep FILE]

DIR holds `logits/*.npz`, see NETWORKS. The predictions are those of networks, or simulated; the
labels are always drawn from a truth that is known. With --keep, what FILE holds is not run again.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import zlib
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import joblib
import numpy as np

import caltest as ct
from caltest.kernels import Exponential, FittedKernel, Kernel, Scaled, Sum
from caltest.kernels.bandwidth import line_bandwidth

LEVEL = 0.05
N_RESAMPLES = 199  # 0.05 x 200 is whole
PAGE = Path(__file__).with_suffix(".md")
NETWORKS = {  # file, temperature
    "ResNet-110": ("kull_c10_resnet110", 1.0),
    "DenseNet-40": ("kull_c10_densenet40", 1.0),
    "ResNet-110 at 2.4": ("kull_c10_resnet110", 2.4),
    "C100 ConvNet": ("kull_c100_convnet", 1.0),
    "C100 WRN-16-4": ("netcal_cifar100_wrn16_4", 1.0),
}
TRUTHS = {
    "calibrated": lambda p: p,
    "temperature 1.2": lambda p: p ** (1 / 1.2),
    "temperature 0.8": lambda p: p ** (1 / 0.8),
    "label noise": lambda p: 0.97 * p + 0.03 / p.shape[1],
    "class too often": lambda p: p * np.where(np.arange(p.shape[1]) == CLASS, 0.5, 1.0),
}
CLASS, OTHER = 3, 0  # the class that is predicted too often, and another one
LENSES = {
    "confidence": ("confidence",),
    "class-wise": (f"classwise[{CLASS}]", f"classwise[{OTHER}]"),
}
LOG_ODDS = {  # mean, standard deviation, strength of the alternatives
    "saturated, N(0, 5²)": (0.0, 5.0, 2.0),
    "saturated, N(0, 10²)": (0.0, 10.0, 3.0),
    "N(0, 2²)": (0.0, 2.0, 1.0),
    "N(0, 1)": (0.0, 1.0, 1.0),
    "rare, N(-3.5, 1)": (-3.5, 1.0, 1.5),
    "rare, N(-6, 2²)": (-6.0, 2.0, 2.0),
}
ERRORS = {  # shift of the log-odds, power of their factor, zigzag
    "calibrated": (0.0, 0, 0.0),
    "shift": (0.3, 0, 0.0),
    "too extreme": (0.0, -1, 0.0),
    "not extreme enough": (0.0, 1, 0.0),
    "zigzag": (0.0, 0, 0.6),
}
STRONG = (*NETWORKS, "Dirichlet(0.1), m = 10", "Dirichlet(1), m = 10", "Dirichlet(1), m = 3")


@dataclass(frozen=True)
class Cell:
    """One data set's distribution, seen through one lens."""

    part: str  # "network", "simulated" or "strong"
    data: str
    lens: str
    truth: str
    n: int

    @property
    def lens_kind(self) -> str:
        """The lens without its class."""
        return "class-wise" if self.lens.startswith("classwise") else self.lens


def cells() -> list[Cell]:
    """List the settings."""
    lenses = [lens for group in LENSES.values() for lens in group]
    networks = itertools.product(["network"], NETWORKS, lenses, TRUTHS, (500, 1000))
    simulated = itertools.product(["simulated"], LOG_ODDS, ["strong"], ERRORS, (500, 1000))
    strong = itertools.product(["strong"], STRONG, ["strong"], TRUTHS, (500,))
    return [Cell(*values) for values in (*networks, *simulated, *strong)]


def network(name: str, folder: str) -> np.ndarray:
    """Return the predictions of a network on its test data."""
    file, temperature = NETWORKS[name]
    stored = np.load(Path(folder) / "logits" / f"{file}.npz")
    if "logits_test" in stored:
        logits = stored["logits_test"].astype(float) / temperature
        probs = np.exp(logits - logits.max(axis=1, keepdims=True))
    else:
        probs = stored["probs_test"].astype(float)
    return normalised(probs)


def normalised(rows: np.ndarray) -> np.ndarray:
    """Make rows sum to one."""
    return rows / rows.sum(axis=1, keepdims=True)


def simulate(cell: Cell, source: np.ndarray | None, seed: int) -> ct.Predictions:
    """Draw predictions, and labels from the truth."""
    rng = np.random.default_rng([zlib.crc32(repr(cell).encode()), seed])
    if cell.part == "simulated":
        centre, spread, strength = LOG_ODDS[cell.data]
        z = rng.normal(centre, spread, cell.n)
        true = sigmoid(true_log_odds(z, centre, strength, cell.truth))
        return ct.Predictions(sigmoid(z), (rng.random(cell.n) < true).astype(int), classes=[0, 1])
    probs = predictions(cell, source, rng)
    cumulative = np.cumsum(normalised(TRUTHS[cell.truth](probs)), axis=1)
    labels = (rng.random(cell.n)[:, None] > cumulative[:, :-1]).sum(axis=1)
    return ct.Predictions(probs, labels)


def true_log_odds(z: np.ndarray, centre: float, strength: float, truth: str) -> np.ndarray:
    """Return the log-odds of the truth where those of the model are z."""
    shift, power, zigzag = ERRORS[truth]
    straight = centre + (z - centre) * (1 + 0.35 * strength) ** power + strength * shift
    return straight + strength * zigzag * np.sign(np.sin(4 * np.pi * (z - centre)))


def predictions(cell: Cell, source: np.ndarray | None, rng: np.random.Generator) -> np.ndarray:
    """Take rows of a network, or draw from a Dirichlet distribution."""
    if source is not None:
        return source[rng.choice(len(source), cell.n, replace=False)]
    concentration = 0.1 if "0.1" in cell.data else 1.0
    return rng.dirichlet(np.full(int(cell.data.split("= ")[1]), concentration), cell.n)


def sigmoid(z: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-z))."""
    return 1 / (1 + np.exp(-z))


def rejections(cell: Cell, repetitions: int, folder: str) -> tuple[Cell, dict[str, list[int]]]:
    """Test the same data sets under every rule."""
    out: dict[str, list[int]] = {}
    source = network(cell.data, folder) if cell.data in NETWORKS else None
    for seed in range(repetitions // 2 if cell.part == "strong" else repetitions):
        seen = ct.lenses.resolve_lens(cell.lens)(simulate(cell, source, seed))
        for rule, kernel in kernels(seen).items():
            result = ct.test_calibration(
                seen, test="skce", kernel=kernel, n_resamples=N_RESAMPLES, rng=seed
            )
            out.setdefault(rule, []).append(int(result.pvalue <= LEVEL))
    return cell, out


def kernels(seen: ct.Predictions) -> dict[str, Kernel]:
    """Return the kernel of every rule."""
    if seen.m > 2:
        return {"median": Exponential("median"), "weighted": Exponential("weighted-median")}
    event = np.sort(seen.probs[:, 1])
    clipped = event.clip(2.0**-52, 1 - 2.0**-52)
    (scalar,) = FittedKernel(Scaled(Exponential("weighted-median")), seen.probs).scalars
    median, nu = median_distance(event), scalar.bandwidth
    odds = median_distance(np.log(clipped) - np.log1p(-clipped))
    return {
        "median": Exponential(median),
        "mean": Exponential(mean_distance(event)),
        "weighted": Exponential(nu),
        "half": Exponential(nu / 2),
        "scales": Sum(Exponential(nu / 4), Exponential(nu), Exponential(4 * nu)),
        "floor": Exponential(max(median, 0.1)),
        "logit": Exponential(odds, metric="logit"),
    }


def median_distance(points: np.ndarray) -> float:
    """Return the median distance of sorted points: all pairs have the same weight."""
    found = line_bandwidth(points, np.ones(points.size), 1.0)
    return found[0] if found else 1.0


def mean_distance(points: np.ndarray) -> float:
    """Return the mean distance of sorted points, by the number of pairs that cross each gap."""
    below = np.arange(1, points.size)
    return float(np.diff(points) @ (below * (points.size - below)) / (points.size * below[-1] / 2))


def measured(
    repetitions: int, jobs: int, folder: str, keep: Path | None
) -> dict[Cell, dict[str, list[int]]]:
    """Return the decisions of all cells; run those that are not kept."""
    lines = keep.read_text().splitlines() if keep is not None and keep.exists() else []
    kept = {Cell(**line["cell"]): line["out"] for line in map(json.loads, lines)}
    left = [cell for cell in cells() if cell not in kept]
    tasks = (joblib.delayed(rejections)(cell, repetitions, folder) for cell in left)
    for cell, out in joblib.Parallel(jobs, return_as="generator_unordered", verbose=1)(tasks):
        kept[cell] = out
        if keep is not None:
            with keep.open("a") as file:
                file.write(json.dumps({"cell": asdict(cell), "out": out}) + "\n")
    return {cell: kept[cell] for cell in cells()}


def entry(found: list[list[int]]) -> str:
    """Format the mean rate over settings, with its standard error."""
    rates = np.array([np.mean(each) for each in found])
    variances = [rate * (1 - rate) / len(each) for rate, each in zip(rates, found, strict=True)]
    error = np.sqrt(np.sum(variances)) / len(found)
    return f"{100 * rates.mean():.1f} ({100 * error:.1f})"


def gain(old: list[list[int]], new: list[list[int]]) -> str:
    """Format the mean gain over the median, with the standard error of paired differences."""
    pairs = [np.subtract(b, a) for a, b in zip(old, new, strict=True)]
    error = np.sqrt(np.sum([d.var(ddof=1) / d.size for d in pairs])) / len(pairs)
    return f"{100 * np.mean([d.mean() for d in pairs]):+.1f} ({100 * error:.1f})"


def table(
    results: dict[Cell, dict[str, list[int]]], part: str, key: Callable[[Cell], str], title: str
) -> list[str]:
    """Write the mean rates of groups of cells, a row each, and the gain of the weighted median."""
    groups: dict[str, list[dict[str, list[int]]]] = {}
    for cell, out in results.items():
        if cell.part == part:
            for name in (key(cell), "all errors" * (cell.truth != "calibrated")):
                groups.setdefault(name, []).append(out)
    groups.pop("", None)
    groups["all errors"] = groups.pop("all errors")  # the last row
    rules = list(next(iter(groups.values()))[0])
    lines = [f"| {title} | " + " | ".join(rules) + " | weighted - median |"]
    lines.append("|---|" + "---:|" * (len(rules) + 1))
    for name, group in groups.items():
        found = {rule: [out[rule] for out in group] for rule in rules}
        entries = [entry(found[rule]) for rule in rules]
        entries.append(gain(found["median"], found["weighted"]))
        lines.append(f"| {name} | " + " | ".join(entries) + " |")
    return [*lines, ""]


def power_only(parts: Callable[[Cell], Iterable[str]]) -> Callable[[Cell], str]:
    """Group cells that are not calibrated."""
    return lambda cell: "" if cell.truth == "calibrated" else ", ".join(parts(cell))


def page(results: dict[Cell, dict[str, list[int]]], repetitions: int) -> str:
    """Write the whole page."""
    lines = [HEADER.format(repetitions=repetitions, b=N_RESAMPLES)]
    lines += ["## Networks, one-dimensional lenses\n"]
    by_truth = lambda cell: f"{cell.lens_kind}, {cell.truth}, n = {cell.n}"  # noqa: E731
    lines += table(results, "network", by_truth, "lens, truth (mean over networks)")
    by_network = power_only(lambda cell: (cell.data, cell.lens_kind))
    lines += table(results, "network", by_network, "network, lens (mean over errors and n)")
    lines += ["## Simulated predictions, two classes\n"]
    by_error = lambda cell: f"{cell.data}; {cell.truth}"  # noqa: E731
    lines += table(results, "simulated", by_error, "log-odds; truth (mean over n)")
    lines += ["## Many classes, strong lens\n", STRONG_TEXT]
    by_data = power_only(lambda cell: (cell.data,))
    lines += table(results, "strong", by_data, "predictions (mean over errors)")
    lines += table(results, "strong", lambda cell: cell.truth, "truth (mean over predictions)")
    return "\n".join([*lines, CONCLUSION])


HEADER = """# Bandwidths of the SKCE

Which rule should set the bandwidth of the kernel? The median distance is the usual one. Under the
one-dimensional lenses of networks it fails: nearly all predictions crowd at 0 or 1, their median
distance is 1e-5 (confidence) to 1e-14 (a class of 100), and the kernel pairs no two rows whose
labels are uncertain. Where there are two classes, the default is therefore the weighted median:
half of the weight v_i v_j of all pairs, v_i = p_i (1 - p_i), lies within it. It is a function of
the predictions alone, so the exact null stays exact.

The entries are rejections in % at level 5 % by the exact test `skce` with the exponential kernel,
{repetitions} data sets for each setting (strong lens: half as many), B = {b}, with standard errors
in brackets; all rules see the same data sets, and the last column is the mean gain of the
weighted median over the median with the standard error of the paired differences. The rules:

- "median", "mean": of the distances over all pairs. "weighted": the weighted median.
- "half": half the weighted median. "scales": the sum of three kernels, at a quarter of the weighted
  median, at the weighted median and at four times it.
- "floor": the median, but 0.1 at least. "logit": the median distance of the log-odds.

Labels are drawn from a known truth. Networks (predictions on test data, rows drawn without
replacement): ResNet-110, DenseNet-40 (CIFAR-10), a small ConvNet and a wide ResNet (CIFAR-100);
"at 2.4" is at temperature 2.4, which calibrates it. Truths: the predictions at temperature 1.2 and
0.8; 3 % of the labels uniform noise; class 3 half as likely as predicted. Class-wise lenses are
those of the classes 3 and 0. Simulated predictions of two classes have normal log-odds; their truth
is shifted, has another slope, or goes up and down by turns ("zigzag": a period of half a unit of
log-odds).

`python -P docs/studies/bandwidths.py --data DIR --jobs 2` reproduces the tables in about half an
hour, up to the random numbers of the redrawn labels, which have changed since.
"""
STRONG_TEXT = """The same rules for whole vectors of predictions, with v_i = sum_k p_ik (1 - p_ik),
at n = 500.
"""
CONCLUSION = """## What follows

- Under the class-wise lenses of networks the median finds little but noise, and rejects calibrated
  models in 1 to 2 % instead of 5 % of the data sets, since its statistic hardly varies; under the
  confidence lens it loses ten points against wrong temperatures. The weighted median repairs it and
  changes little where predictions do not crowd: a gain for wrong slopes, a loss of two points at
  most for shifts.
- For rare events (log-odds N(-6, 2²), as of probabilities of default) the gain is largest.
- It loses to the median where events happen that the model takes for next to impossible: 3 % label
  noise, by ten points under the class-wise lens at n = 1000. Narrow kernels see the crowd of those
  rows by itself. The log loss is the test of that error.
- The mean distance and a floor of 0.1 are as good under the lenses of networks, and worse for two
  simulated classes. The mean follows the share of uncertain rows, so that it fails for rare events;
  the floor is a number without a reason. Distances of log-odds give all crowded rows a place of
  their own: best for rare events, and worst against noise and for saturated predictions that are
  not extreme enough.
- Half the weighted median has as much power on average: more for narrow errors, less for shifts.
  Three scales at once have less power than one: the noise of the wide kernel covers the signal of
  the narrow one.
- With more than two classes the rules agree, because the median is a distance between rows of
  different classes, near 1, for both. The plain median stays the default there.
"""


def main() -> None:
    """Run what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("CALTEST_DATA", "."))
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    results = measured(options.repetitions, options.jobs, options.data, options.keep)
    PAGE.write_text(page(results, options.repetitions))


if __name__ == "__main__":
    main()
