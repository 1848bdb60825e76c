"""Fits of the Gaussian-process classifiers of Milios et al. 2018, and what is measured of them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import caltest as ct
from caltest.classifiers import (
    DirichletGPClassifier,
    GPRegressionClassifier,
    KernelClassifier,
    NystroemKRRClassifier,
    VariationalGPClassifier,
)
from paper_checks.check import Row

SMALLEST_LOG = 750.0  # the authors' log loss where probability 0 is given
BINS = 10


@dataclass(frozen=True)
class DataSet:
    """A data set with the sizes and settings of the authors' program; `rows` are fitted, or all."""

    name: str
    file: str | None
    n_test: int
    n_inducing: int
    alpha: float
    rows: int | None = None
    variational: bool = True


SETS = (
    DataSet("EEG", "uci/eeg-eye-state.npz", 4000, 200, 0.01),
    DataSet("HTRU2", "uci/htru2.npz", 5000, 200, 0.01),
    DataSet("MAGIC", "uci/magic-gamma.npz", 5000, 200, 0.01),
    DataSet("letter", "uci/letter.npz", 5000, 500, 0.001, variational=False),
    DataSet("letter, 2000 rows", "uci/letter.npz", 5000, 100, 0.001, rows=2000),
)
BUNDLED = DataSet("breast cancer", None, 200, 50, 0.01)
BY_NAME = {task.name: task for task in (*SETS, BUNDLED)}


def model(name: str, M: int, alpha: float) -> KernelClassifier:
    """Classifier of the paper with M inducing points or components."""
    if name == "GPC":
        return VariationalGPClassifier(n_inducing=M, random_state=0)
    if name == "GPD":
        return DirichletGPClassifier(alpha=alpha, n_inducing=M, random_state=0)
    if name == "NKRR":
        return NystroemKRRClassifier(n_components=M, random_state=0)
    return GPRegressionClassifier(platt=name.endswith("Platt"), n_inducing=M, random_state=0)


Parts = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]


def split(task: DataSet, path: Path | None, seed: int) -> Parts:
    """Training and test set, scaled to [-1, 1] by the range of the training set."""
    if path is None:
        from sklearn.datasets import load_breast_cancer

        X, y = load_breast_cancer(return_X_y=True)
    else:
        with np.load(path) as stored:
            X, y = stored["X"].astype(float), stored["y"]
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[: -task.n_test][: task.rows], order[-task.n_test :]
    low, high = X[train].min(axis=0), X[train].max(axis=0)
    X = 2 * (X - low) / np.where(high > low, high - low, 1) - 1
    return X[train], y[train], X[test], y[test]


def fit(name: str, path: Path | None, which: str, seed: int) -> list[Row]:
    """Errors of a classifier on a split, and the bins of its reliability diagram on the first."""
    task = BY_NAME[name]
    found, probs, codes = _measured(task, path, which, seed, task.n_inducing, task.alpha)
    row = {"experiment": "figure 4", "set": name, "split": seed, "model": which, **found}
    start = {"experiment": "reliability", "set": name, "split": seed, "model": which}
    bins = [start | cell for cell in _bins(probs, codes)] if seed == 1 else []
    return [row, *bins]


def fit_alpha(name: str, path: Path, alpha: float, seed: int) -> list[Row]:
    """MNLL of GPD with an alpha_eps, on the training and the test set."""
    task = BY_NAME[name]
    X, y, X_test, y_test = split(task, path, seed)
    fitted = model("GPD", task.n_inducing, alpha).fit(X, y)
    values = {
        "train MNLL": _mnll(fitted.predict_proba(X), _codes(fitted, y)),
        "test MNLL": _mnll(fitted.predict_proba(X_test), _codes(fitted, y_test)),
    }
    return [{"experiment": "figure 3", "set": name, "split": seed, "alpha": alpha, **values}]


def fit_size(name: str, path: Path, which: str, M: int) -> list[Row]:
    """Errors and time with M inducing points."""
    task = BY_NAME[name]
    found, *_ = _measured(task, path, which, 1, M, task.alpha)
    return [{"experiment": "figure 5", "set": name, "split": 1, "model": which, "M": M, **found}]


def _measured(
    task: DataSet, path: Path | None, which: str, seed: int, M: int, alpha: float
) -> tuple[dict[str, float], NDArray[np.float64], NDArray[np.int64]]:
    X, y, X_test, y_test = split(task, path, seed)
    start = time.process_time()
    fitted = model(which, M, alpha).fit(X, y)
    seconds = time.process_time() - start
    probs, codes = fitted.predict_proba(X_test), _codes(fitted, y_test)
    found = {
        "error": float(np.mean(probs.argmax(axis=1) != codes)),
        "MNLL": _mnll(probs, codes),
        "ECE": ct.measures.ece(probs, codes, lens="confidence", bins=BINS),
        "seconds": seconds,
    }
    return found, probs, codes


def _codes(fitted: KernelClassifier, y: NDArray[Any]) -> NDArray[np.int64]:
    return np.searchsorted(fitted.classes_, y)


def _mnll(probs: NDArray[np.float64], codes: NDArray[np.int64]) -> float:
    with np.errstate(divide="ignore"):
        losses = -np.log(probs[np.arange(len(codes)), codes])
    return float(np.minimum(losses, SMALLEST_LOG).mean())


def _bins(probs: NDArray[np.float64], codes: NDArray[np.int64]) -> list[Row]:
    top, right = probs.max(axis=1), probs.argmax(axis=1) == codes
    cells = np.clip(np.ceil(top * BINS).astype(int) - 1, 0, BINS - 1)
    return [
        {
            "confidence": float(top[some].mean()),
            "accuracy": float(right[some].mean()),
            "count": int(some.sum()),
        }
        for cell in range(BINS)
        if (some := cells == cell).any()
    ]
