"""How long the calibrators take to fit, beside other packages on the same data in the same run.

    pytest tests/benchmarks/test_calibrator_speed.py --benchmark-columns=median,rounds \
        --benchmark-sort=name --benchmark-json=speed.json

prints a table for each fit; the number in brackets is the ratio to the fastest. Every library is
given probabilities and labels, and is called once before it is timed, unless it takes seconds. What
it reached is in the JSON file under extra_info: "objective" is the mean log loss on the calibration
set, with the penalty where one is named. The goals are those of the project's fourth issue.

The extra `bench` installs betacal, probcal, splinecalib and venn-abers. netcal and probmetrics need
torch, which is a matter of gigabytes, and are measured where they are installed; dirichletcal does
not install, so that its objective is minimised by SciPy.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import NamedTuple

import numpy as np
import pytest
from scipy.special import expit, log_softmax, logit, softmax

from caltest import calibrators

pytest.importorskip("pytest_benchmark", reason='pip install ".[bench]"')
pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.filterwarnings("ignore"),  # those of other packages
]

EPS = np.finfo(np.float64).eps
BINS = 15
KNOTS = 6
PACKAGES = ("betacal", "netcal", "probcal", "probmetrics", "splinecalib", "venn_abers")


# ---- data ---------------------------------------------------------------------------------------


@cache
def binary(n):
    """Return overconfident P(class 1) and labels, related by a beta calibration map."""
    rng = np.random.default_rng(0)
    event = expit(rng.normal(-0.3, 2, n))
    truth = expit(0.7 * np.log(event) - 0.5 * np.log1p(-event) + 0.1)
    return event, (rng.random(n) < truth).astype(np.int64)


@cache
def multiclass(n, m):
    """Return overconfident probabilities and labels of m classes of different temperatures."""
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 1.5, (n, m))
    scores[np.arange(n), rng.integers(m, size=n)] += 1 + np.log(m)
    truth = np.cumsum(softmax(scores, axis=1), axis=1)
    labels = np.minimum((truth < rng.random((n, 1))).sum(axis=1), m - 1)
    return softmax(scores * rng.uniform(1.3, 2, m) + rng.normal(0, 0.3, m), axis=1), labels


# ---- SciPy, NumPy and scikit-learn --------------------------------------------------------------


def scipy_odir(probs, labels, *, lam, mu):
    """Minimise the objective of dirichletcal's FullDirichletCalibrator as it does for m > 36."""
    from scipy.optimize import fmin_l_bfgs_b

    n, m = probs.shape
    x = np.column_stack([np.log(np.maximum(probs, EPS)), np.ones(n)])
    penalty = np.column_stack([lam * (1 - np.eye(m)), np.full(m, mu)])

    def objective(flat):
        w = flat.reshape(m, m + 1)
        logs = log_softmax(x @ w.T, axis=1)
        residual = np.exp(logs)
        residual[np.arange(n), labels] -= 1
        value = -logs[np.arange(n), labels].mean() + np.sum(penalty * w**2)
        return value, (residual.T @ x / n + 2 * penalty * w).ravel()

    w = fmin_l_bfgs_b(objective, np.eye(m, m + 1).ravel(), factr=1.0, maxls=128)[0]
    w = w.reshape(m, m + 1)
    return Linear(w[:, :m], w[:, m])


class Linear(NamedTuple):
    """A fitted map softmax(W ln q + b), which knows its penalty."""

    w: np.ndarray
    b: np.ndarray

    def __call__(self, probs):
        """Return the calibrated probabilities."""
        return softmax(np.log(np.maximum(probs, EPS)) @ self.w.T + self.b, axis=1)


def sklearn_logistic(probs, labels, **options):
    """Fit multinomial logistic regression on log p."""
    from sklearn.linear_model import LogisticRegression

    logs = np.log(np.maximum(probs, EPS))
    fitted = LogisticRegression(max_iter=1000, **options).fit(logs, labels)
    return Linear(fitted.coef_, fitted.intercept_)


def sklearn_temperature(probs, labels):
    """Fit the map inside of CalibratedClassifierCV(method="temperature")."""
    from sklearn.calibration import _TemperatureScaling

    fitted = _TemperatureScaling().fit(two_columns(probs), labels)
    return lambda probs: fitted.predict(two_columns(probs))


def sklearn_platt(probs, labels):
    """Fit the sigmoid of CalibratedClassifierCV to log odds; it smooths the targets."""
    from sklearn.calibration import _SigmoidCalibration

    fitted = _SigmoidCalibration().fit(logit(probs), labels)
    return lambda event: fitted.predict(logit(event))


def sklearn_isotonic(probs, labels):
    from sklearn.isotonic import IsotonicRegression

    return IsotonicRegression(out_of_bounds="clip").fit(probs, labels).predict


def numpy_histogram(probs, labels):
    """Take the mean label of each bin of equal width."""
    codes = np.minimum((probs * BINS).astype(np.int64), BINS - 1)
    rate = np.bincount(codes, labels, BINS) / np.maximum(np.bincount(codes, minlength=BINS), 1)
    return lambda event: rate[np.minimum((event * BINS).astype(np.int64), BINS - 1)]


def numpy_spline(probs, labels):
    """Do what the script of Gupta et al. does, without its loops over rows."""
    from scipy.interpolate import CubicSpline

    order = np.argsort(probs)
    scores, n = probs[order], len(probs)
    fractile = np.linspace(0, 1, n)
    basis = CubicSpline(np.linspace(0, 1, KNOTS), np.eye(KNOTS), bc_type="natural")
    gap = np.cumsum(labels[order] - scores) / n
    heights = np.linalg.lstsq(basis(fractile), gap, rcond=-1)[0]
    accuracy = scores + basis(fractile, 1) @ heights
    return lambda event: np.interp(event, scores, accuracy)


def two_columns(probs):
    """Return P(class 0) and P(class 1), where only the latter is given."""
    return probs if probs.ndim == 2 else np.column_stack([1 - probs, probs])


# ---- other packages -----------------------------------------------------------------------------


def netcal(probs, labels, *, module, name, **options):
    from importlib import import_module

    fitted = getattr(import_module(f"netcal.{module}"), name)(**options)
    with contextlib.redirect_stderr(io.StringIO()):  # a progress bar
        fitted.fit(probs, labels)
    return fitted.transform


netcal_temperature = partial(netcal, module="scaling", name="TemperatureScaling")
netcal_logistic = partial(netcal, module="scaling", name="LogisticCalibration")


def probmetrics(probs, labels, *, name, **options):
    from probmetrics import calibrators as theirs

    fitted = getattr(theirs, name)(**options).fit(two_columns(probs), labels)
    return lambda probs: fitted.predict_proba(two_columns(probs))


def probcal(name, **options):
    """Return the fit by a class of probcal, which has two classes only."""

    def fit(probs, labels):
        import probcal as package

        return getattr(package, name)(**options).fit(probs, labels).predict_proba

    return fit


def betacal(probs, labels):
    """Fit betacal's BetaCalibration."""
    from betacal import BetaCalibration

    return BetaCalibration("abm").fit(probs, labels).predict


def splinecalib(probs, labels):
    """Fit SplineCalib: logistic regression on a spline, penalised by cross-validation."""
    from splinecalib import SplineCalib

    fitted = SplineCalib()
    fitted.fit(probs, labels)
    return fitted.calibrate


def venn_abers(probs, labels):
    from venn_abers import VennAbers

    fitted = VennAbers()
    fitted.fit(two_columns(probs), labels)
    return lambda event: fitted.predict_proba(two_columns(event))[0]


# ---- the fits -----------------------------------------------------------------------------------


def ours(name, **options):
    """Return the fit by a class of caltest."""
    return getattr(calibrators, name)(**options).fit


class Fit(NamedTuple):
    """What each library is asked to fit to the same data."""

    name: str
    data: Callable[[], tuple]
    ours: Callable
    peers: Mapping[str, Callable]
    penalty: tuple[float, float] | None = None  # of each off-diagonal weight and each intercept
    rounds: int = 7
    slow: tuple[str, ...] = ()  # called once only


def temperature(m, goal, rounds=7):
    """Return the fit of a temperature to n = 10^4 predictions."""
    peers = {
        "netcal": netcal_temperature,
        "probmetrics": partial(probmetrics, name="TemperatureScalingCalibrator"),
        "scikit-learn": sklearn_temperature,
    }
    name = f"temperature, n = 10^4, m = {m} (goal {goal} s)"
    return Fit(name, partial(multiclass, 10**4, m), ours("TemperatureScaling"), peers, None, rounds)


def vector(m, goal):
    """Return the fit of vector scaling; SVS has penalties, and torch's BFGS may stop early."""
    peers = {
        "netcal": netcal_logistic,
        "probmetrics": partial(probmetrics, name="VectorScalingCalibrator"),
        "probmetrics, SVS": partial(probmetrics, name="SVSCalibrator"),
    }
    name = f"vector, n = 10^4, m = {m} (goal {goal} s)"
    slow = ("netcal",) if m > 10 else ()
    return Fit(name, partial(multiclass, 10**4, m), ours("VectorScaling"), peers, None, 5, slow)


def odir(calibrator, m, goal):
    """Return the fit of m (m + 1) weights with ODIR; scikit-learn and SMS have other penalties."""
    lam, mu = 1e-3, 1e-3
    peers = {
        "SciPy": partial(scipy_odir, lam=lam, mu=mu),
        "scikit-learn": sklearn_logistic,
        "probmetrics, SMS": partial(probmetrics, name="SMSCalibrator"),
    }
    # The paper takes means over the weights, dirichletcal sums.
    fit = ours(calibrator, reg="odir", lam=lam * m * (m - 1), mu=mu * m)
    name = f"{calibrator}, ODIR, n = 10^4, m = {m} (goal {goal} s)"
    slow = tuple(peers) if m > 10 else ()
    return Fit(name, partial(multiclass, 10**4, m), fit, peers, (lam, mu), 5, slow)


MILLION = partial(binary, 10**6)
SMALLER = partial(binary, 10**5)
PLATT_PEERS = {
    "netcal": netcal_logistic,
    "probcal": probcal("PlattCalibrator"),
    "probmetrics": partial(probmetrics, name="BinaryLogisticCalibrator", type="affine"),
    "scikit-learn": sklearn_platt,
}
BETA_PEERS = {
    "betacal": betacal,
    "netcal": partial(netcal, module="scaling", name="BetaCalibration"),
    "probcal": probcal("BetaCalibrator"),
}
ISOTONIC_PEERS = {
    "netcal": partial(netcal, module="binning", name="IsotonicRegression"),
    "probcal": probcal("IsotonicCalibrator"),
    "scikit-learn": sklearn_isotonic,
}
HISTOGRAM_PEERS = {
    "NumPy": numpy_histogram,
    "netcal": partial(netcal, module="binning", name="HistogramBinning", bins=BINS),
    "probcal": probcal("HistogramBinningCalibrator", n_bins=BINS, strategy="width", shrinkage=None),
}
QUANTILE_PEERS = {
    "probcal": probcal("HistogramBinningCalibrator", n_bins=BINS, shrinkage=None),
}
BBQ_PEERS = {
    "netcal": partial(netcal, module="binning", name="BBQ"),
    "probcal": probcal("BBQCalibrator"),
}
SPLINE = ours("SplineCalibrator", mode="class-wise")  # of two classes, the second
SPLINE_PEERS = {
    "NumPy": numpy_spline,
    "probcal": probcal("SplineCalibrator"),
    "splinecalib": splinecalib,
}
VENN_ABERS_PEERS = {"probcal": probcal("VennAbersCalibrator"), "venn_abers": venn_abers}
BINARY_TEMPERATURE_PEERS = {
    "netcal": netcal_temperature,
    "probcal": probcal("TemperatureCalibrator"),
    "probmetrics": partial(probmetrics, name="BinaryLogisticCalibrator", type="linear"),
    "scikit-learn": sklearn_temperature,
}
FITS = [
    temperature(10, 0.006, rounds=15),
    temperature(100, 0.04),
    temperature(1000, 0.5, rounds=3),
    Fit(
        "temperature, n = 10^6, m = 2 (goal 0.1 s)",
        MILLION,
        ours("TemperatureScaling"),
        BINARY_TEMPERATURE_PEERS,
    ),
    vector(10, 0.05),
    vector(100, 0.3),
    *(
        odir(calibrator, m, goal)
        for calibrator in ("MatrixScaling", "DirichletCalibrator")
        for m, goal in ((10, 0.06), (100, 3))
    ),
    Fit("Platt, n = 10^6 (goal 0.12 s)", MILLION, ours("PlattScaling"), PLATT_PEERS),
    Fit("beta, n = 10^6 (goal 0.15 s)", MILLION, ours("BetaCalibrator"), BETA_PEERS),
    Fit("isotonic, n = 10^6", MILLION, ours("IsotonicCalibrator"), ISOTONIC_PEERS),
    Fit(
        "histogram, n = 10^6 (goal 0.04 s)",
        MILLION,
        ours("HistogramBinning", bins=BINS),
        HISTOGRAM_PEERS,
    ),
    Fit(
        "histogram, quantile bins, n = 10^6",
        MILLION,
        ours("HistogramBinning", bins=BINS, binning="quantile"),
        QUANTILE_PEERS,
    ),
    Fit("BBQ, n = 10^5 (goal 0.1 s)", SMALLER, ours("BBQ"), BBQ_PEERS, None, 5, ("netcal",)),
    Fit(
        "spline, n = 10^5 (goal 0.03 s)",
        SMALLER,
        SPLINE,
        SPLINE_PEERS,
        slow=("probcal", "splinecalib"),
    ),
    Fit("Venn-Abers, n = 10^5", SMALLER, ours("VennAbers"), VENN_ABERS_PEERS, None, 5),
]
CASES = [
    pytest.param(fit, library, id=f"{fit.name}-{library}")
    for fit in FITS
    for library in ("caltest", *fit.peers)
]


def log_loss(fitted, probs, labels):
    """Return the mean log loss of the fitted map, all of them clipped alike."""
    calibrated = getattr(fitted, "predict_proba", fitted)(probs)
    calibrated = two_columns(np.squeeze(calibrated))
    return -np.log(np.clip(calibrated[np.arange(len(labels)), labels], EPS, 1)).mean()


def penalty(fitted, lam, mu):
    """Return what ODIR adds to the log loss, in dirichletcal's units; NaN where W is hidden."""
    if not isinstance(fitted, Linear):
        fitted = Linear(*getattr(fitted, "linear_", (np.full((1, 1), np.nan), np.nan)))
    off_diagonal = fitted.w - np.diag(np.diag(fitted.w))
    return lam * np.sum(off_diagonal**2) + mu * np.sum(np.square(fitted.b))


@pytest.mark.parametrize(("fit", "library"), CASES)
def test_fit(fit, library, benchmark):
    package = library.split(",")[0]
    if package in PACKAGES:
        pytest.importorskip(package, exc_type=ImportError)
    benchmark.group = fit.name
    call, (probs, labels), slow = fit.peers.get(library, fit.ours), fit.data(), library in fit.slow
    rounds = 1 if slow else fit.rounds
    fitted = benchmark.pedantic(call, (probs, labels), rounds=rounds, warmup_rounds=int(not slow))
    value = log_loss(fitted, probs, labels)
    if fit.penalty is not None:
        benchmark.extra_info["penalised"] = float(value + penalty(fitted, *fit.penalty))
    benchmark.extra_info["objective"] = float(value)
    assert np.isfinite(value)
