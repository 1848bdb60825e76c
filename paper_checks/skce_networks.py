"""Fourteen networks on CIFAR-10: figures 83 and 84, appendix J.3 of Widmann et al. (2019)."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from caltest import test_calibration
from caltest.kernels import Exponential
from caltest.measures import ece
from caltest.predictions import Predictions
from paper_checks.check import NO_DATA, Claim, Part, Row, Setting, Task
from paper_checks.consistency import consistency_pvalue, median_variance_cells, uniform_cells
from paper_checks.skce_models import N
from paper_checks.skce_simulation import squared_bound
from paper_checks.skce_values import NETWORK_ERRORS, NETWORK_PVALUES

FILE = "logits/widmann_cifar10_14nets_probs.npz"
Probs = NDArray[np.float64]
BINNINGS = {
    "ECE, uniform bins": {"binning": "uniform", "bins": 10},
    "ECE, data-dependent bins": {"binning": "median-variance", "min_size": 100},
}
QUICK = ("densenet121", "googlenet", "resnet_orig", "vgg19_bn")
ESTIMATORS = {
    "SKCE_b": ("biased", "D_b"),
    "SKCE_uq": ("unbiased", "D_uq"),
    "SKCE_ul": ("linear", "D_l"),
}
ERRORS = (*BINNINGS, *ESTIMATORS)
PVALUES = ("D_b", "D_uq", "D_l", "A_l")
ZEROS = ("C, uniform bins", "C, data-dependent bins", "A_uq")
SIX_DIGITS = "rounding to the six digits that are typed in"
UNDIVIDED = "undivided, "  # starts the name of a number from rows that need not sum to one
SUMS = (
    "The rows of the authors' files, softmax in single precision, sum to one up to 4e-7, and "
    "caltest divides them by their sums. From the rows as they are, the same formulas give the "
    "paper's six digits of this number."
)
DIVISOR = (
    "In the variance of the 5000 terms of SKCE_ul the paper's code divides by 5000, caltest by "
    "4999; A_l is compared after that change."
)
NEGATIVE = (
    "D_b, D_uq and D_l are caltest's distribution-free p-values, by lemma 2. Where SKCE_ul is "
    "negative, caltest's D_l is 1, and what is compared is the value with the square of the "
    "estimate, as in the paper's code."
)
BY_CHANCE = (
    "For googlenet one of our 999 resamples reaches the estimate. With 9999 resamples (seed 1) 14 "
    "do, so that the p-value is near 0.0014, and none of the paper's 1000 resamples does with "
    "probability 0.25."
)


def tasks(setting: Setting) -> list[Task]:
    """One task per network: four in a quick run, all in a full one."""
    path = setting.data_file(FILE)
    if path is None:
        return []
    names = setting.choose(QUICK[:1], QUICK, tuple(NETWORK_ERRORS))
    resamples = setting.choose(19, 199, 999)
    key = "network {}, {} resamples, rows as they are beside"
    return [Task(key.format(k, resamples), network, (str(path), k, resamples)) for k in names]


def network(path: str, name: str, resamples: int) -> list[Row]:
    """Return the estimates and p-values of one network."""
    with np.load(Path(path)) as file:
        stored = file[name].astype(float)
        predictions = Predictions(stored, file["y"], renormalize=True)
    bandwidth = median_over_all_pairs(predictions.probs)
    kernel = Exponential(bandwidth)
    row: Row = {"kind": "network", "network": name, "bandwidth": bandwidth}
    for key, options in BINNINGS.items():
        row[key] = float(ece(predictions, **options))
        which = key.removeprefix("ECE, ")
        row[f"C, {which}"] = consistency_pvalue(predictions, options, resamples, 0)
        row[f"exact, {key}"] = _test(predictions, "ece", "exact", resamples, **options).pvalue
    for key, (estimator, bound) in ESTIMATORS.items():
        options = {"estimator": estimator, "kernel": kernel}
        found = _test(predictions, "skce", "distribution-free", 1, **options)
        row |= {key: found.estimate, bound: found.pvalue}
    # The bound depends on n SKCE_ul^2, and `squared_bound` is that of N observations.
    row["D_l, squared"] = squared_bound("ul", math.sqrt(predictions.n / N) * row["SKCE_ul"])
    z = _test(predictions, "skce", "asymptotic", 1, estimator="linear", kernel=kernel).statistic
    pairs = predictions.n // 2
    row["A_l"] = float(norm.sf(z * np.sqrt(pairs / (pairs - 1))))
    for key, null in (("A_uq", "bootstrap"), ("exact, SKCE_uq", "exact")):
        row[key] = _test(predictions, "skce", null, resamples, kernel=kernel).pvalue
    return [row | _undivided(stored, predictions.labels, bandwidth)]


def _test(predictions: Predictions, test: str, null: str, resamples: int, **options: object) -> Any:
    return test_calibration(
        None, predictions, test=test, null=null, n_resamples=resamples, rng=0, n_jobs=1, **options
    )


def _undivided(probs: Probs, labels: NDArray[np.int64], bandwidth: float) -> dict[str, float]:
    """ECE, SKCE_ul and A_l of rows that are not divided by their sums, from their definitions."""
    n, m = probs.shape
    errors = np.eye(m)[labels] - probs
    found, both = {}, (uniform_cells(probs, 10), median_variance_cells(probs, 100.0))
    for key, cells in zip(BINNINGS, both, strict=True):
        sums = np.zeros((cells.max() + 1, m))
        np.add.at(sums, cells, errors)
        found[UNDIVIDED + key] = float(np.abs(sums).sum() / (2 * n))
    distances = np.abs(probs[::2] - probs[1::2]).sum(axis=1) / 2
    terms = np.exp(-distances / bandwidth) * np.sum(errors[::2] * errors[1::2], axis=1)
    found[f"{UNDIVIDED}SKCE_ul"] = float(terms.mean())
    z = np.sqrt(terms.size) * terms.mean() / terms.std()
    return {**found, f"{UNDIVIDED}A_l": float(norm.sf(z))}


def median_over_all_pairs(probs: NDArray[np.float64]) -> float:
    """Median of the n^2 distances, the n zeros of the diagonal included, as in the paper's code."""
    from scipy.spatial.distance import pdist

    distances, n = pdist(probs, "cityblock"), len(probs)
    # Of the n^2 distances n are zero and the others stand twice: their middle is the mean of these.
    middle = [(n**2 // 2 - n - 1) // 2, (n**2 // 2 - n) // 2]
    return float(np.partition(distances, middle)[middle].mean() / 2)


def parts(rows: list[Row], setting: Setting) -> list[Part]:
    """Claims of figures 83 and 84."""
    found = {row["network"]: row for row in rows if row.get("kind") == "network"}
    if not found:
        claims = [Claim("figures 83 and 84", "14 networks", None, missing=NO_DATA)]
        return [Part("Figures 83 and 84 (appendix J.3): networks on CIFAR-10", claims)]
    errors = [c for row in found.values() for c in _errors(row)]
    pvalues = [c for row in found.values() for c in _pvalues(row)]
    zeros = [_zero(found, key, setting) for key in ZEROS]
    exact = max(row[f"exact, {key}"] for row in found.values() for key in (*BINNINGS, "SKCE_uq"))
    beside = (
        f"The exact null, which the paper does not have, gives p <= {exact:g} with both ECEs and "
        "with SKCE_uq for every network."
    )
    return [
        Part("Figure 83 (appendix J.3): estimates of networks on CIFAR-10", errors, fold=True),
        Part(
            "Figure 84 (appendix J.3): p-values of networks on CIFAR-10",
            pvalues + zeros,
            f"{NEGATIVE} {DIVISOR} {beside}",
            fold=True,
        ),
    ]


def _errors(row: Row) -> list[Claim]:
    values = zip(ERRORS, NETWORK_ERRORS[row["network"]], strict=True)
    return [_compare("figure 83", row, key, value) for key, value in values]


def _pvalues(row: Row) -> list[Claim]:
    used = {**row, "D_l": row["D_l, squared"]} if row["SKCE_ul"] < 0 else row
    values = zip(PVALUES, NETWORK_PVALUES[row["network"]], strict=True)
    return [_compare("figure 84", used, key, value) for key, value in values]


def _compare(figure: str, row: Row, key: str, value: float) -> Claim:
    half = _sixth_digit(value)
    # The note stands only where the experiment explains the difference.
    explained = abs(row.get(UNDIVIDED + key, math.nan) - value) <= half
    note = SUMS if explained else ""
    place = f"{figure}, {row['network']}"
    return Claim(place, key, value, row[key], half, SIX_DIGITS, note=note, explained=bool(note))


def _sixth_digit(value: float) -> float:
    return 0.5 * 10.0 ** (np.floor(np.log10(abs(value))) - 5)


def _zero(found: dict[str, Row], key: str, setting: Setting) -> Claim:
    least = 1 / (1 + setting.choose(19, 199, 999))
    at_least = [row["network"] for row in found.values() if row[key] > least * (1 + 1e-9)]
    ours = f"no resample reaches the estimate of {len(found) - len(at_least)} of {len(found)}"
    claim = "the approximation of the p-value is 0 for every network"
    googlenet = key == "A_uq" and setting.mode == "full" and at_least == ["googlenet"]
    note = BY_CHANCE if googlenet else ""
    return Claim("figure 84", key, claim, ours, holds=not at_least, note=note, explained=bool(note))
