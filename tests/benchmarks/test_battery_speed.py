"""How long the battery takes, beside other packages and plain NumPy in the same run.

    pytest tests/benchmarks/test_battery_speed.py --benchmark-columns=median,rounds \
        --benchmark-sort=name

prints a table for each work; the number in brackets is the ratio to the fastest. All have two
cores. "caltest" is given Predictions, which are checked once; all others, "caltest, arrays" too,
are given arrays. Everything is called once before it is timed, unless it takes seconds. The goals
are those of the project's third issue.

The extra `bench` installs mapie, relplot, calzone-tool and uncertainty-calibration. torchmetrics
and netcal need torch, which is a matter of gigabytes, and are measured where they are installed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pytest
from scipy.special import ndtr

from caltest import Predictions
from caltest import test_calibration as calibration_test
from caltest.datasets import generative_model
from caltest.measures import (
    brier_score,
    classwise_ece,
    debiased_ece,
    ece,
    ks_error,
    mmce,
    smooth_ece,
)

pytest.importorskip("pytest_benchmark", reason='pip install ".[bench]"')
pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.filterwarnings("ignore"),  # those of other packages
]

BINS = 15
B = 1000
PACKAGES = {
    "calzone": "calzone",
    "mapie": "mapie",
    "netcal": "netcal",
    "relplot": "relplot",
    "torchmetrics": "torchmetrics",
    "uncertainty-calibration": "calibration",
}


# ---- data ---------------------------------------------------------------------------------------


@cache
def binary(n):
    """Return P(class 1) and labels of calibrated binary predictions."""
    rng = np.random.default_rng(0)
    event = rng.random(n)
    return event, (rng.random(n) < event).astype(np.int64)


@cache
def multiclass(n, m):
    """Return probabilities and labels of calibrated predictions of m classes."""
    predictions = generative_model("M1", n=n, m=m, alpha=1.0, rng=0)
    return np.array(predictions.probs), np.array(predictions.labels)


# ---- plain NumPy --------------------------------------------------------------------------------


def bin_codes(probs):
    """Return the bins of equal width; edges are of no account in random data."""
    return np.minimum((probs * BINS).astype(np.int64), BINS - 1)


def numpy_ece(event, labels):
    return np.abs(np.bincount(bin_codes(event), labels - event)).sum() / event.size


def numpy_ece_pvalue(event, labels):
    """Return the exact p-value of the ECE, one resample at a time."""
    rng, codes = np.random.default_rng(0), bin_codes(event)
    expected = np.bincount(codes, event, BINS)
    observed, extreme = np.abs(np.bincount(codes, labels, BINS) - expected).sum(), 0
    for _ in range(B):
        redrawn = codes[rng.random(event.size) < event]
        extreme += np.abs(np.bincount(redrawn, minlength=BINS) - expected).sum() >= observed
    return (1 + extreme) / (1 + B)


def class_bins(probs):
    """Return the number of the bin among those of all classes, and the sums of probabilities."""
    m = probs.shape[1]
    codes = bin_codes(probs) + BINS * np.arange(m)
    return codes, np.bincount(codes.ravel(), probs.ravel(), BINS * m)


def numpy_classwise_ece(probs, labels):
    codes, expected = class_bins(probs)
    counts = np.bincount(codes[np.arange(len(labels)), labels], minlength=expected.size)
    return np.abs(counts - expected).sum() / probs.size


def numpy_classwise_pvalue(probs, labels):
    """Return the exact p-value of the classwise ECE, one resample at a time."""
    rng, (n, m), rows = np.random.default_rng(0), probs.shape, np.arange(len(probs))
    cumulative = np.cumsum(probs, axis=1)[:, :-1]
    codes, expected = class_bins(probs)

    def statistic(redrawn):
        return np.abs(np.bincount(codes[rows, redrawn], minlength=BINS * m) - expected).sum()

    observed, extreme = statistic(labels), 0
    for _ in range(B):
        extreme += statistic((rng.random((n, 1)) > cumulative).sum(axis=1)) >= observed
    return (1 + extreme) / (1 + B)


def numpy_debiased_ece(event, labels):
    """Return the squared ECE less its bias."""
    codes = bin_codes(event)
    size = np.bincount(codes)
    gap = np.bincount(codes, labels - event) / size
    y = np.bincount(codes, labels) / size
    return size @ (gap**2 - y * (1 - y) / (size - 1)) / event.size


def numpy_ks_pvalue(event, labels):
    """Return the Brownian p-value of the KS error."""
    order = np.argsort(event)
    sums = np.cumsum(labels[order] - event[order])
    x = np.abs(sums).max() / np.sqrt(np.sum(event * (1 - event)))
    odd = 2 * np.arange(50) + 1
    terms = (-1.0) ** np.arange(50) / odd * np.exp(-((odd * np.pi / x) ** 2) / 8)
    return 1 - 4 / np.pi * terms.sum()


def numpy_spiegelhalter_pvalue(event, labels):
    """Return the two-sided normal p-value of Spiegelhalter's z."""
    slope = 1 - 2 * event
    z = (labels - event) @ slope / np.sqrt(np.sum(slope**2 * event * (1 - event)))
    return 2 * ndtr(-abs(z))


def numpy_mmce(probs, labels):
    """Return the MMCE from the whole kernel matrix."""
    confidence = probs.max(axis=1)
    delta = (probs.argmax(axis=1) == labels) - confidence
    kernel = np.exp(-2.5 * np.abs(confidence[:, None] - confidence))
    return np.sqrt(delta @ kernel @ delta) / len(labels)


def numpy_t_cal_pvalue(event, labels):
    """Return the exact p-value of T-Cal from the sums over the cells of each scale."""
    rng, n, order = np.random.default_rng(0), event.size, np.argsort(event)
    p, v = event[order], (event * (1 - event))[order]
    scales = []
    for scale in range(1, 1 + int(2 * np.log2(n / np.sqrt(np.log(n))))):
        start = np.flatnonzero(np.diff(np.floor(p * 2**scale), prepend=-1))
        size = np.diff(start, append=n)
        pairs = np.add.reduceat(v, start) ** 2 - np.add.reduceat(v**2, start)
        scales.append((start, size, np.sqrt(2 * np.sum(pairs / size**2))))

    def statistic(redrawn):
        r = redrawn - p
        return max(
            ((np.add.reduceat(r, start) ** 2 - np.add.reduceat(r * r, start)) / size).sum() / sd
            for start, size, sd in scales
            if sd > 0
        )

    observed = statistic(labels[order])
    extreme = sum(statistic(rng.random(n) < p) >= observed for _ in range(B))
    return (1 + extreme) / (1 + B)


def np_sort(event, labels):
    """Sort the scores: the yardstick of the measures that sort them."""
    np.sort(event)


# ---- other packages -----------------------------------------------------------------------------


def relplot_ece(event, labels):
    """Return the ECE over bins that are closed on the left."""
    from relplot.metrics import binnedECE

    return binnedECE(event, labels, nbins=BINS)


def relplot_smooth_ece(event, labels):
    """Return the smooth ECE, on a grid of 200 points or more, to 0.001."""
    from relplot.metrics import smECE

    return smECE(event, labels)


def torchmetrics_ece(event, labels):
    import torch
    from torchmetrics.functional.classification import binary_calibration_error

    tensors = torch.from_numpy(event), torch.from_numpy(labels)
    return float(binary_calibration_error(*tensors, n_bins=BINS, norm="l1"))


def torchmetrics_classwise_ece(probs, labels):
    """Return the mean over classes of the ECE."""
    columns = enumerate(np.ascontiguousarray(probs.T))
    errors = [torchmetrics_ece(column, (labels == k).astype(np.int64)) for k, column in columns]
    return np.mean(errors)


def netcal_ece(event, labels):
    from netcal.metrics import ECE

    return ECE(BINS).measure(event, labels)


def netcal_mmce(probs, labels):
    from netcal.metrics import MMCE

    return MMCE().measure(probs, labels)


def verified_debiased_ece(event, labels):
    """Return the root of the debiased squared ECE over bins of equal mass, 0 if negative."""
    from calibration import get_calibration_error

    return get_calibration_error(event, labels, p=2, debias=True)


def mapie_ks_pvalue(event, labels):
    """Return the Brownian p-value; the scores get a random jitter against ties."""
    from mapie.metrics.calibration import kolmogorov_smirnov_p_value

    return kolmogorov_smirnov_p_value(labels, event)


def mapie_spiegelhalter_pvalue(event, labels):
    """Return a one-sided p-value."""
    from mapie.metrics.calibration import spiegelhalter_p_value

    return spiegelhalter_p_value(labels, event)


def calzone_spiegelhalter_pvalue(event, labels):
    """Return the two-sided p-value."""
    from calzone.metrics import spiegelhalter_z_test

    return spiegelhalter_z_test(labels, np.column_stack([1 - event, event]))[1]


# ---- the works ----------------------------------------------------------------------------------


def caltest_pvalue(*data, test, **options):
    """Return the p-value of a test of Predictions or of arrays."""
    return calibration_test(*data, test=test, rng=0, n_jobs=2, **options).pvalue


class Work(NamedTuple):
    """What each library is asked to do on the same data."""

    name: str
    data: Callable[[], tuple]
    ours: Callable
    peers: Mapping[str, Callable] = MappingProxyType({})
    differ: tuple[str, ...] = ()  # the peers that do not give our number
    rounds: int = 15


MILLION = partial(binary, 10**6)
ONE_DIMENSION = dict.fromkeys(("ks", "mmce", "skce", "brier"), "strong") | {"ece": "confidence"}
Z_PEERS = {
    "NumPy": numpy_spiegelhalter_pvalue,
    "mapie": mapie_spiegelhalter_pvalue,
    "calzone": calzone_spiegelhalter_pvalue,
}
ECE_PEERS = {
    "NumPy": numpy_ece,
    "relplot": relplot_ece,
    "netcal": netcal_ece,
    "torchmetrics": torchmetrics_ece,
}
CLASSWISE_PEERS = {"NumPy": numpy_classwise_ece, "torchmetrics": torchmetrics_classwise_ece}
DEBIASED_PEERS = {"NumPy": numpy_debiased_ece, "uncertainty-calibration": verified_debiased_ece}
KS_PEERS = {"np.sort": np_sort, "NumPy": numpy_ks_pvalue, "mapie": mapie_ks_pvalue}
SMOOTH_PEERS = {"relplot": relplot_smooth_ece}
SORTED = {"ECE": ece, "KS": ks_error, "Brier score": brier_score}

VALUES = [
    Work("ECE, n = 10^6 (goal 0.002 s)", MILLION, ece, ECE_PEERS),
    Work(
        "classwise ECE, n = 10^4, m = 1000 (goal 0.05 s)",
        partial(multiclass, 10**4, 1000),
        classwise_ece,
        CLASSWISE_PEERS,
    ),
    Work(
        "debiased ECE, n = 10^6 (goal 0.02 s)",
        MILLION,
        debiased_ece,
        DEBIASED_PEERS,
        differ=("uncertainty-calibration",),
    ),
    Work("smooth ECE, n = 10^6 (goal 0.02 s)", MILLION, smooth_ece, SMOOTH_PEERS, ("relplot",)),
    Work("smooth ECE, exact, n = 10^6", MILLION, partial(smooth_ece, method="exact"), rounds=3),
    Work(
        "MMCE, n = 10^4, m = 10 (goal 0.003 s)",
        partial(multiclass, 10**4, 10),
        mmce,
        {"NumPy": numpy_mmce, "netcal": netcal_mmce},
    ),
    *(
        Work(
            f"{name}, n = 10^7 (goal twice the time of sorting)",
            partial(binary, 10**7),
            measure,
            {"np.sort": np_sort},
            differ=("np.sort",),
            rounds=3,
        )
        for name, measure in SORTED.items()
    ),
    Work(
        "KS with Brownian p, n = 10^6 (goal 1.5 times the time of sorting)",
        MILLION,
        partial(caltest_pvalue, test="ks", null="asymptotic"),
        KS_PEERS,
        differ=("np.sort",),
    ),
    Work(
        "Spiegelhalter, n = 10^6 (goal 0.004 s)",
        MILLION,
        partial(caltest_pvalue, test="spiegelhalter", null="asymptotic"),
        Z_PEERS,
        differ=("mapie",),
    ),
]


def resampled(test, size, goal, *, peer=None, rounds=3, n_resamples=B, **options):
    """Return the work of an exact p-value; NumPy has resamples of its own."""
    data = partial(multiclass if len(size) > 1 else binary, *size)
    shape = ", ".join(f"{letter} = {number}" for letter, number in zip("nm", size, strict=False))
    name = f"{test} p-value, {n_resamples} resamples, {shape} (goal {goal} s)"
    ours = partial(caltest_pvalue, test=test, n_resamples=n_resamples, **options)
    peers = {} if peer is None else {"NumPy": peer}
    return Work(name, data, ours, peers, differ=tuple(peers), rounds=rounds)


PVALUES = [
    resampled("ece", (10**5,), 0.3, peer=numpy_ece_pvalue),
    resampled("classwise-ece", (10**4, 10), 0.5, peer=numpy_classwise_pvalue),
    resampled("classwise-ece", (10**4, 100), 4, peer=numpy_classwise_pvalue),
    resampled("t-cal", (10**4,), 0.05, peer=numpy_t_cal_pvalue),
    *(
        resampled(test, (n,), goal, rounds=rounds, n_resamples=999, lens=lens)
        for n, goal, rounds in ((10**5, 1, 3), (10**6, 10, 1))
        for test, lens in ONE_DIMENSION.items()
    ),
]
CASES = [
    pytest.param(work, library, id=f"{work.name}-{library}")
    for works, ours in ((VALUES, ["caltest", "caltest, arrays"]), (PVALUES, ["caltest"]))
    for work in works
    for library in (*ours, *work.peers)
]


@pytest.mark.parametrize(("work", "library"), CASES)
def test_battery(work, library, benchmark):
    """Libraries that compute the same give the same number."""
    if library in PACKAGES:
        pytest.importorskip(PACKAGES[library], exc_type=ImportError)
    benchmark.group = work.name
    call = work.peers.get(library, work.ours)
    data = (Predictions(*work.data()),) if library == "caltest" else work.data()
    rounds = work.rounds // 5 or 1 if library in work.peers else work.rounds
    value = benchmark.pedantic(call, data, rounds=rounds, warmup_rounds=int(rounds > 1))
    benchmark.extra_info["value"] = value
    if library in work.peers and library not in work.differ:
        assert value == pytest.approx(work.ours(*work.data()), rel=1e-6)
