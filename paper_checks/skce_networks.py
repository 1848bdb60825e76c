"""Fourteen networks on CIFAR-10, appendix J.3 of Widmann et al. (2019)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from caltest import test_calibration
from caltest.kernels import Exponential
from caltest.measures import ece, skce
from caltest.numerics.tails import normal_sf
from caltest.predictions import Predictions
from paper_checks.check import NO_DATA, Claim, Part, Row, Setting, Task
from paper_checks.consistency import consistency_pvalue
from paper_checks.skce_values import NETWORK_ERRORS, NETWORK_PVALUES

FILE = "logits/widmann_cifar10_14nets_probs.npz"
BINNINGS = {
    "ECE, uniform bins": {"binning": "uniform", "bins": 10},
    "ECE, data-dependent bins": {"binning": "median-variance", "min_size": 100},
}
QUICK = ("densenet121", "googlenet", "resnet_orig", "vgg19_bn")
ESTIMATORS = {"SKCE_b": "biased", "SKCE_uq": "unbiased", "SKCE_ul": "linear"}
ERRORS = (*BINNINGS, *ESTIMATORS)
PVALUES = ("D_b", "D_uq", "D_l", "A_l")
ZEROS = ("C, uniform bins", "C, data-dependent bins", "A_uq")
SIX_DIGITS = "rounding to the six digits that are typed in"
SINGLE = (
    "The predictions are stored in single precision. For resnet_orig, caltest in double precision "
    "gives the same from the decimals of the authors' own file (ECE 0.09817285 and 0.04414384, "
    "SKCE_ul 0.000408220): the difference is not in the copy of the data."
)
DIVISOR = (
    "In the variance of the 5000 terms of SKCE_ul the paper's code divides by N, caltest by N - 1; "
    "A_l is compared after that change."
)
NEGATIVE = (
    "Where the estimate is negative the paper's code squares it in the bound; caltest's p-value is "
    "then 1. The value shown is the bound with the square."
)


def tasks(setting: Setting) -> list[Task]:
    """One task per network: four in a quick run, all in a full one."""
    path = setting.data_file(FILE)
    if path is None:
        return []
    names = setting.choose(QUICK[:1], QUICK, tuple(NETWORK_ERRORS))
    resamples = setting.choose(19, 199, 999)
    return [
        Task(f"network {name}, {resamples} resamples", network, (str(path), name, resamples))
        for name in names
    ]


def network(path: str, name: str, resamples: int) -> list[Row]:
    """Return the estimates and p-values of one network."""
    with np.load(Path(path)) as file:
        predictions = Predictions(file[name], file["y"], renormalize=True)
    bandwidth = median_over_all_pairs(predictions.probs)
    kernel = Exponential(bandwidth)
    row: Row = {"kind": "network", "network": name, "bandwidth": bandwidth}
    for key, options in BINNINGS.items():
        row[key] = float(ece(predictions, **options))
        which = key.removeprefix("ECE, ")
        row[f"C, {which}"] = consistency_pvalue(predictions, options, resamples, 0)
        row[f"exact, {key}"] = _pvalue(predictions, "ece", "exact", resamples, **options)
    for key, estimator in ESTIMATORS.items():
        options = {"estimator": estimator, "kernel": kernel}
        row[key] = float(skce(predictions, n_jobs=1, **options))
    row |= _bounds(row, predictions.n)
    options = {"estimator": "linear", "kernel": kernel}
    z = test_calibration(None, predictions, test="skce", null="asymptotic", n_jobs=1, **options)
    pairs = predictions.n // 2
    row["A_l"] = float(normal_sf(z.statistic * np.sqrt(pairs / (pairs - 1))))
    options = {"kernel": kernel}
    row["A_uq"] = _pvalue(predictions, "skce", "bootstrap", resamples, **options)
    row["exact, SKCE_uq"] = _pvalue(predictions, "skce", "exact", resamples, **options)
    return [row]


def _bounds(row: Row, n: int) -> dict[str, float]:
    """Bounds with the square of the estimate, whatever its sign; theorems 2 and 3 with B = 2."""
    biased = max(0.0, np.sqrt(n * row["SKCE_b"] / 2) - 1)
    return {
        "D_b": float(np.exp(-(biased**2) / 2)),
        "D_uq": float(np.exp(-(n // 2) * row["SKCE_uq"] ** 2 / 8)),
        "D_l": float(np.exp(-(n // 2) * row["SKCE_ul"] ** 2 / 8)),
    }


def _pvalue(
    predictions: Predictions, test: str, null: str, resamples: int, **options: object
) -> float:
    found = test_calibration(
        None, predictions, test=test, null=null, n_resamples=resamples, rng=0, n_jobs=1, **options
    )
    return float(found.pvalue)


def median_over_all_pairs(probs: NDArray[np.float64]) -> float:
    """Median of the n^2 distances, the n zeros of the diagonal included, as in the paper's code."""
    from scipy.spatial.distance import pdist

    distances, n = pdist(probs, "cityblock"), len(probs)
    # Of the n^2 distances n are zero and the others stand twice: their middle is the mean of these.
    middle = [(n**2 // 2 - n - 1) // 2, (n**2 // 2 - n) // 2]
    return float(np.partition(distances, middle)[middle].mean() / 2)


def parts(rows: list[Row], setting: Setting) -> list[Part]:
    """Claims of appendix J.3."""
    found = {row["network"]: row for row in rows if row.get("kind") == "network"}
    if not found:
        claims = [Claim("appendix J.3", "14 networks", None, missing=NO_DATA)]
        return [Part("Appendix J.3: networks on CIFAR-10", claims)]
    errors = [c for name in found for c in _compare(found[name], ERRORS, NETWORK_ERRORS[name])]
    pvalues = [c for name in found for c in _compare(found[name], PVALUES, NETWORK_PVALUES[name])]
    zeros = [_zero(found, key, setting) for key in ZEROS]
    exact = [
        f"p <= {max(row[f'exact, {key}'] for row in found.values()):g} for {key}"
        for key in (*BINNINGS, "SKCE_uq")
    ]
    beside = (
        f"The exact null, which the paper does not have, gives {', '.join(exact)}, every network."
    )
    return [
        Part("Appendix J.3, figure of the estimates: networks on CIFAR-10", errors, fold=True),
        Part(
            "Appendix J.3, figure of the p-values: networks on CIFAR-10",
            pvalues + zeros,
            f"{NEGATIVE} {DIVISOR} {beside}",
            fold=True,
        ),
    ]


def _compare(row: Row, keys: tuple[str, ...], values: tuple[float, ...]) -> list[Claim]:
    place = f"appendix J.3, {row['network']}"
    return [
        Claim(place, key, value, row[key], _sixth_digit(value), SIX_DIGITS, note=SINGLE)
        for key, value in zip(keys, values, strict=True)
    ]


def _sixth_digit(value: float) -> float:
    return 0.5 * 10.0 ** (np.floor(np.log10(abs(value))) - 5)


def _zero(found: dict[str, Row], key: str, setting: Setting) -> Claim:
    least = 1 / (1 + setting.choose(19, 199, 999))
    at_least = [row["network"] for row in found.values() if row[key] > least * (1 + 1e-9)]
    ours = f"no resample reaches the estimate of {len(found) - len(at_least)} of {len(found)}"
    claim = "the approximation of the p-value is 0 for every network"
    return Claim("appendix J.3", key, claim, ours, holds=not at_least)
