"""Estimates and p-values on simulated data sets, for the check of Widmann et al. (2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from caltest.kernels import Exponential
from caltest.measures import ece, skce
from caltest.predictions import Predictions
from paper_checks.check import Row
from paper_checks.consistency import consistency_pvalue
from paper_checks.skce_models import ALL, N, seeds

LEVELS = np.arange(101) / 100  # the grid of the paper's figures
BINNINGS = {
    "ECE_uniform": {"binning": "uniform", "bins": 10},
    "ECE_dynamic": {"binning": "median-variance", "min_size": 5},
}
ESTIMATORS = {"b": "biased", "uq": "unbiased", "ul": "linear"}


def estimates(model: str, m: int, chunk: int, size: int) -> list[Row]:
    """Return one row per estimator with its values on the data sets of a chunk."""
    values: dict[str, list[float]] = {}
    for seed in seeds(model, m, chunk, size):
        predictions = ALL[model].draw(m, seed)
        for name, value in _estimates_of(predictions, kernels(model, m, predictions)).items():
            values.setdefault(name, []).append(value)
    base = {"kind": "estimate", "model": model, "m": m}
    return [{**base, "name": name, "values": _join(found)} for name, found in values.items()]


def _estimates_of(predictions: Predictions, used: dict[str, Exponential]) -> dict[str, float]:
    found = {name: float(ece(predictions, **options)) for name, options in BINNINGS.items()}
    for rule, kernel in used.items():
        unbiased = float(skce(predictions, estimator="unbiased", kernel=kernel))
        # They differ by the diagonal, where the kernel is 1.
        found[f"SKCEb_{rule}"] = ((N - 1) * unbiased + _mean_square(predictions)) / N
        found[f"SKCEuq_{rule}"] = unbiased
        found[f"SKCEul_{rule}"] = float(skce(predictions, estimator="linear", kernel=kernel))
    return found


def _mean_square(predictions: Predictions) -> float:
    own = predictions.probs[np.arange(predictions.n), predictions.labels]
    return float(np.mean(np.sum(predictions.probs**2, axis=1) - 2 * own + 1))


def kernels(model: str, m: int, predictions: Predictions) -> dict[str, Exponential]:
    """Kernels of the paper: bandwidth by median heuristic, or the mean distance of the model."""
    median, mean = median_distance(predictions.probs), ALL[model].mean_distance(m)
    return {"median": Exponential(median), "mean": Exponential(mean)}


def median_distance(probs: NDArray[np.float64]) -> float:
    """Median of the n^2 total variation distances, as in the paper's code.

    The n zeros of the diagonal are among them, which caltest's own rule "median" leaves out.
    """
    return float(np.median(cdist(probs, probs, "cityblock")) / 2)


def pvalues(model: str, m: int, chunk: int, size: int, resamples: int, exact: int) -> list[Row]:
    """Return one row per test with its p-values on the data sets of a chunk.

    Parameters
    ----------
    model : str
        Key of `skce_models.ALL`.
    m : int
        Number of classes.
    chunk, size : int
        Which data sets.
    resamples : int
        Resamples of the bootstrap and of consistency resampling.
    exact : int
        Resamples of the exact null.
    """
    found: dict[str, list[float]] = {}
    for seed in seeds(model, m, chunk, size):
        predictions = ALL[model].draw(m, seed)
        used = kernels(model, m, predictions)
        for name, value in _pvalues_of(predictions, used, seed, resamples, exact).items():
            found.setdefault(name, []).append(value)
    base = {"kind": "pvalue", "model": model, "m": m}
    return [{**base, "name": name, "values": _join(values)} for name, values in found.items()]


def _pvalues_of(
    predictions: Predictions,
    used: dict[str, Exponential],
    seed: np.random.SeedSequence,
    resamples: int,
    exact: int,
) -> dict[str, float]:
    first, second, third = (int(child.generate_state(1)[0]) for child in seed.spawn(3))
    found = {}
    for name, options in BINNINGS.items():
        found[name] = consistency_pvalue(predictions, options, resamples, first)
        found[f"{name}_exact"] = _pvalue(predictions, "ece", "exact", exact, second, **options)
    for rule, kernel in used.items():
        for name, estimator in ESTIMATORS.items():
            stem = f"SKCE{name}_{rule}"
            options = {"estimator": estimator, "kernel": kernel}
            bound = _test(predictions, "skce", "distribution-free", 1, 0, **options)
            found[f"{stem}_distribution_free"] = bound.pvalue
            found[f"{stem}_squared_bound"] = squared_bound(name, bound.estimate)
        options = {"estimator": "unbiased", "kernel": kernel}
        stem = f"SKCEuq_{rule}"
        found[f"{stem}_asymptotic"] = _pvalue(
            predictions, "skce", "bootstrap", resamples, third, **options
        )
        found[f"{stem}_exact"] = _pvalue(predictions, "skce", "exact", exact, second, **options)
        found[f"SKCEul_{rule}_asymptotic"] = _pvalue(
            predictions, "skce", "asymptotic", 1, 0, estimator="linear", kernel=kernel
        )
    return found


def squared_bound(name: str, estimate: float) -> float:
    """Bound as the paper's code computed it: the square of a negative estimate counts too.

    B = 2 for the kernel exp(-d) I; CalibrationTests.jl squares the estimate before it asks for its
    sign, so that negative estimates get small p-values.
    """
    if name == "b":
        return float(np.exp(-(max(0.0, np.sqrt(N * max(estimate, 0.0) / 2) - 1) ** 2) / 2))
    return float(np.exp(-(N // 2) * estimate**2 / 8))


def _test(
    predictions: Predictions, test: str, null: str, resamples: int, seed: int, **options: object
) -> object:
    from caltest import test_calibration

    return test_calibration(
        None,
        predictions,
        test=test,
        null=null,
        n_resamples=resamples,
        rng=seed,
        n_jobs=1,
        **options,
    )


def _pvalue(*arguments: object, **options: object) -> float:
    return float(_test(*arguments, **options).pvalue)


def _join(values: list[float]) -> str:
    return " ".join(f"{value:.9g}" for value in values)


@dataclass(frozen=True, slots=True)
class Summary:
    """What is stored of a sample: its size, its mean and deviation, or its share at each level.

    It answers what the claims ask of a sample.
    """

    row: Row

    @property
    def size(self) -> int:
        """Number of data sets."""
        return int(self.row["n"])

    def mean(self) -> float:
        """Mean over the data sets."""
        return float(self.row["mean"])

    def std(self, *, ddof: int) -> float:
        """Standard deviation over the data sets, with `ddof` 1."""
        return float(self.row["sd"])

    def __sub__(self, value: float) -> Summary:
        return Summary({**self.row, "mean": self.mean() - value})


def rejection(values: NDArray[np.float64] | Summary) -> NDArray[np.float64]:
    """Share of the p-values at or below each level."""
    if isinstance(values, Summary):
        return np.array([values.row[f"{level:.2f}"] for level in LEVELS], float)
    return np.searchsorted(np.sort(values), LEVELS + 1e-12, side="right") / values.size


def pooled(rows: list[Row], kind: str) -> dict[tuple[str, int, str], Any]:
    """Values of all chunks by model, number of classes and name; of stored rows their summary."""
    stored = "rejection rate" if kind == "pvalue" else kind
    summed = {
        (row["model"], row["m"], row["name"]): Summary(row)
        for row in rows
        if row.get("kind") == stored and "n" in row
    }
    if summed:
        return summed
    found: dict[tuple[str, int, str], list[str]] = {}
    for row in rows:
        if row.get("kind") == kind:
            found.setdefault((row["model"], row["m"], row["name"]), []).append(row["values"])
    return {key: np.array(" ".join(texts).split(), float) for key, texts in found.items()}
