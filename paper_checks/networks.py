"""Logits of networks, the calibrators of the papers on them, and the papers' measures."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.model_selection import KFold

import caltest as ct
from caltest.calibrators import (
    Calibrator,
    DirichletCalibrator,
    EnsembleCalibrator,
    Identity,
    MatrixScaling,
    TemperatureScaling,
    VectorScaling,
)
from paper_checks.adam import Adam

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CLIP = 1e-15  # scikit-learn's at the time of the papers
FOLDS = KFold(5, shuffle=True, random_state=15)  # those of Kull et al.
METHODS = ("Uncal", "TempS", "Dir-L2", "Dir-ODIR", "VecS", "MS-ODIR")
NETWORKS = {
    "c10_resnet110": "logits/kull_c10_resnet110.npz",
    "c10_densenet40": "logits/kull_c10_densenet40.npz",
    "c10_convnet": "logits/kull_c10_convnet.npz",
    "c100_convnet": "logits/kull_c100_convnet.npz",
}

# lambda and mu in the units of Kull et al., whose ODIR sums squared weights. Stored by the authors
# (experiments_dnn@24a2a161, the heads of the table of chosen hyper-parameters):
STORED = {
    ("c10_densenet40", "Dir-L2"): (0.01, 0.01),
    ("c10_densenet40", "Dir-ODIR"): (1000.0, 0.01),
    ("c10_densenet40", "MS-ODIR"): (250.0, 0.0001),
    ("c10_convnet", "Dir-L2"): (0.01, 0.01),
    ("c10_convnet", "Dir-ODIR"): (5000.0, 10000.0),
    ("c10_convnet", "MS-ODIR"): (1000.0, 100000.0),
}
# Theirs are not at hand: chosen by the log loss of five folds, as `--full` does again.
CHOSEN = {
    ("c10_resnet110", "Dir-L2"): (0.01, 0.01),
    ("c10_resnet110", "Dir-ODIR"): (0.25, 0.001),
    ("c10_resnet110", "MS-ODIR"): (0.1, 0.0001),
    ("c100_convnet", "Dir-L2"): (0.1, 0.1),
    ("c100_convnet", "Dir-ODIR"): (1e6, 1e6),
    ("c100_convnet", "MS-ODIR"): (1e6, 0.01),
}
PENALTIES = STORED | CHOSEN


class Network(NamedTuple):
    """Logits and labels of the validation and the test part."""

    val: Floats
    y_val: Ints
    test: Floats
    y_test: Ints

    @property
    def m(self) -> int:
        """Number of classes."""
        return self.val.shape[1]


@cache
def load(path: Path) -> Network:
    """Read the logits as float64: all fits start from the same numbers."""
    stored = np.load(path)
    val, test = (stored[f"logits_{part}"].astype(float) for part in ("val", "test"))
    return Network(val, stored["y_val"].ravel(), test, stored["y_test"].ravel())


# ---- the methods --------------------------------------------------------------------------------


def calibrated(network: Network, method: str, penalty: tuple[float, float] | None = None) -> Floats:
    """Test part, calibrated by a method of Kull et al. that was fitted to the validation part.

    Temperature, vector and matrix scaling take logits, Dirichlet calibration probabilities.
    """
    calibrator = _calibrator(method, network.m, penalty)
    return predicted(network, calibrator, from_probs=method.startswith("Dir"))


def predicted(network: Network, calibrator: Calibrator, *, from_probs: bool = False) -> Floats:
    """Probabilities of the test part after a fit to the validation part."""
    val, test = network.val, network.test
    if from_probs:
        val, test = softmax(val, axis=1), softmax(test, axis=1)
    else:
        calibrator.set_params(from_logits=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.DegenerateDataWarning)
        return calibrator.fit(val, network.y_val).predict_proba(test)


def _calibrator(method: str, m: int, penalty: tuple[float, float] | None) -> Calibrator:
    single = {"Uncal": Identity, "TempS": TemperatureScaling, "VecS": VectorScaling}
    if method in single:
        return single[method]()
    if penalty is None:
        raise ValueError(f"{method} needs a penalty")
    return EnsembleCalibrator(penalized(method, m, penalty), cv=FOLDS)


def penalized(method: str, m: int, penalty: tuple[float, float]) -> Calibrator:
    """Map with a penalty in the units of Kull et al.; ours are of means over the weights."""
    lam, mu = penalty
    if method == "Dir-L2":
        return DirichletCalibrator(reg="l2", lam=lam, mu=mu)
    kind = {"Dir-ODIR": DirichletCalibrator, "MS-ODIR": MatrixScaling}[method]
    return kind(reg="odir", lam=lam * m * (m - 1), mu=mu * m)


def without_off_diagonal(network: Network, penalty: tuple[float, float]) -> dict[str, Floats]:
    """Test part after MS-ODIR, and after the same five maps with zeros off the diagonal."""
    fitted = _calibrator("MS-ODIR", network.m, penalty)
    probs = predicted(network, fitted)
    maps = [one.linear_ for one in fitted.calibrators_]
    zero = [softmax(network.test * np.diag(W) + b, axis=1) for W, b in maps]
    return {"MS-ODIR": probs, "MS-ODIR-zero": np.mean(zero, axis=0)}


def selected(network: Network, method: str) -> tuple[Floats, tuple[float, float]]:
    """Test part, and the penalty chosen by the log loss of five folds.

    For 10 classes the grid is that of Kull et al.; for 100, where a fit takes longer, the powers of
    ten among their lambdas and three of their nine mus.
    """
    m = network.m
    powers = 10.0 ** np.arange(-5 if m <= 10 else -2, 7)
    lams = np.sort(np.outer([0.25, 0.5, 1], powers).ravel()) if m <= 10 else powers
    mus = powers if m <= 10 else powers[::4]
    odir = method != "Dir-L2"
    units = (m * (m - 1), m) if odir else (1, 1)
    grid = {"lam": (lams * units[0]).tolist()}
    if odir:
        grid["mu"] = (mus * units[1]).tolist()
    search = EnsembleCalibrator(penalized(method, m, (1.0, 1.0)), param_grid=grid, cv=FOLDS)
    if not odir:
        search.calibrator.set_params(mu=None)
    probs = predicted(network, search, from_probs=method.startswith("Dir"))
    best = search.best_params_
    lam = best["lam"] / units[0]
    return probs, (lam, best["mu"] / units[1] if odir else lam)


def by_adam(
    network: Network, method: str, penalty: tuple[float, float] | None, seed: int
) -> Floats:
    """Test part after a fit as by Kull et al.; the mean of five maps for the matrix forms."""
    val, test = network.val, network.test
    if method == "VecS":
        return Adam("diagonal", seed=seed).fit(val, network.y_val).predict_proba(test)
    if penalty is None:
        raise ValueError(f"{method} needs a penalty")
    if method.startswith("Dir"):
        tiny = np.finfo(float).eps
        val, test = (np.log(np.clip(softmax(z, axis=1), tiny, 1 - tiny)) for z in (val, test))
    kind = "l2" if method == "Dir-L2" else "odir"
    parts = [rows for rows, _ in FOLDS.split(val)]
    maps = [Adam(kind, *penalty, seed).fit(val[rows], network.y_val[rows]) for rows in parts]
    return np.mean([fitted.predict_proba(test) for fitted in maps], axis=0)


def digits() -> Network:
    """Naive Bayes on scikit-learn's digits, which needs no files and is far too confident."""
    from sklearn.datasets import load_digits
    from sklearn.naive_bayes import GaussianNB

    X, y = load_digits(return_X_y=True)
    model = GaussianNB(var_smoothing=1e-3).fit(X[:600], y[:600])
    scores = model.predict_joint_log_proba(X[600:])
    return Network(scores[:600], y[600:1200], scores[600:], y[1200:])


# ---- the measures -------------------------------------------------------------------------------


def measures(probs: Floats, labels: Ints) -> dict[str, float]:
    """Errors of the tables of Kull et al. and the KS errors of Gupta et al., in their units."""
    data = ct.Predictions(probs, labels)
    found = {
        "log loss": ct.measures.log_loss(data, eps=CLIP),
        "error": 100 * float(np.mean(data.probs.argmax(axis=1) != data.labels)),
        "confidence-ECE": ct.measures.ece(data, lens="confidence"),
        "classwise ECE": kull_classwise_ece(probs, labels),
    }
    return found | ks_errors(probs, labels)


KS_LENSES = {"top-1": "confidence", "top-2": "top-2", "within-top-2": "within-top-2"}


def ks_errors(probs: Floats, labels: Ints) -> dict[str, float]:
    """KS errors in per cent."""
    return {
        f"KS {name}": 100 * float(ct.measures.ks_error(probs, labels, lens=lens))
        for name, lens in KS_LENSES.items()
    }


def kull_classwise_ece(probs: Floats, labels: Ints) -> float:
    """Class-wise ECE of the program of Kull et al.: a sum over classes.

    It has 14 bins, closed on the left, and one for the probability 1.
    """
    total = 0.0
    for k, p in enumerate(probs.T):
        cells = np.digitize(p, np.linspace(0, 1, 15))
        total += float(np.abs(np.bincount(cells, (labels == k) - p)).sum()) / len(labels)
    return total


def in_single_precision(network: Network, method: str) -> Floats:
    """Test part as the program of Kull et al. computes it before and after temperature scaling.

    Softmax in float32, relative to the largest of all logits.
    """
    temperature = 1.0
    if method == "TempS":
        fitted = TemperatureScaling(from_logits=True).fit(network.val, network.y_val)
        temperature = fitted.temperature_
    return single_softmax(network.test, temperature).astype(float)


def single_softmax(logits: Floats, temperature: float = 1.0) -> NDArray[np.float32]:
    """Softmax in float32, relative to the largest of all logits."""
    z = logits.astype(np.float32) / np.float32(temperature)
    e = np.exp(z - z.max())
    found: NDArray[np.float32] = e / e.sum(axis=1, keepdims=True)
    return found
